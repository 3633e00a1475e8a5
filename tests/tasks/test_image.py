"""The image task: the paper's grid and split, metrics, rendering."""

import jax
import numpy as np
import pytest
from skimage.metrics import peak_signal_noise_ratio

from passband.data.images import Image
from passband.errors import InputError
from passband.field import Field, make_field
from passband.tasks.image import image_task, render, split_pixels

RNG = np.random.default_rng(0)


def _picture(h=12, w=8, c=3):
    return Image(RNG.integers(0, 256, (h, w, c), dtype=np.uint8), 0.0, 255.0, "p")


def _field(out=3) -> Field:
    return make_field("gaussian:1,m=8", d=2, out=out, key=jax.random.key(0), width=16)


def test_quarter_is_the_papers_split():
    train, test = split_pixels((6, 6), "quarter", 0)
    index = np.arange(36).reshape(6, 6)
    np.testing.assert_array_equal(train, index[::2, ::2].ravel())
    np.testing.assert_array_equal(test, index[1::2, 1::2].ravel())


def test_a_share_is_held_out_at_random_and_parts_the_pixels():
    train, test = split_pixels((20, 10), "0.1", 3)
    assert train is not None and test is not None
    assert len(test) == 20
    np.testing.assert_array_equal(
        np.sort(np.concatenate([train, test])), np.arange(200)
    )


@pytest.mark.parametrize("holdout", ["half", "0", "1", "1.5", "-0.1", "nan"])
def test_wrong_holdouts_are_refused(holdout):
    with pytest.raises(InputError, match="`holdout`"):
        split_pixels((8, 8), holdout, 0)


def test_loss_is_half_the_mean_square_of_the_training_pixels():
    picture, field = _picture(), _field()
    task = image_task(picture, holdout="quarter")
    seen = render(field, (12, 8), (12, 8))[::2, ::2]
    want = 0.5 * np.mean((seen - picture.values[::2, ::2] / 255) ** 2)
    np.testing.assert_allclose(task.loss(field, jax.random.key(0)), want, rtol=1e-4)


def test_a_minibatch_is_an_unbiased_sample():
    picture, field = _picture(), _field()
    whole = float(image_task(picture).loss(field, jax.random.key(0)))
    task = image_task(picture, batch=32)
    some = [float(task.loss(field, jax.random.key(k))) for k in range(100)]
    assert abs(np.mean(some) - whole) < 4 * np.std(some) / 10


def test_metrics_agree_with_scikit_image():
    picture, field = _picture(16, 16), _field()
    task = image_task(picture, holdout="quarter")
    found = task.metrics(field)
    seen, truth = task.predict(field), picture.values / 255
    want = {
        "psnr": (seen, truth),
        "psnr_train": (seen[::2, ::2], truth[::2, ::2]),
        "psnr_test": (seen[1::2, 1::2], truth[1::2, 1::2]),
    }
    for name, (a, b) in want.items():
        np.testing.assert_allclose(
            found[name], peak_signal_noise_ratio(b, a.astype(float), data_range=1)
        )
    assert set(found) == {"psnr", "psnr_train", "psnr_test", "ssim"}


def test_16_bit_and_float_ranges_are_normalised():
    deep = Image(np.array([[[0], [65535]]] * 2, np.uint16), 0.0, 65535.0, "d")
    np.testing.assert_allclose(image_task(deep).truth()[0, :, 0], [0, 1])
    free = Image(np.array([[[-3], [5]]] * 2, np.float32), -3.0, 5.0, "f")
    np.testing.assert_allclose(image_task(free).truth()[0, :, 0], [0, 1])


def test_rendering_at_twice_the_size_passes_through_the_pixels():
    field = _field()
    own = render(field, (12, 8), (12, 8))
    twice = render(field, (12, 8), (24, 16))
    np.testing.assert_allclose(twice[::2, ::2], own, atol=1e-5)


def test_a_crop_is_a_part_of_the_picture():
    field = _field()
    own = render(field, (12, 8), (12, 8))
    part = render(field, (12, 8), (4, 3), crop=(2, 1, 6, 4))
    np.testing.assert_allclose(part, own[2:6, 1:4], atol=1e-5)
    with pytest.raises(InputError, match="must lie inside the picture"):
        render(field, (12, 8), (4, 4), crop=(0, 0, 13, 8))
