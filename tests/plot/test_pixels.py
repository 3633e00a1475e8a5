import numpy as np
import pytest
from skimage.transform import downscale_local_mean

from passband.plot.envelope import envelope
from passband.plot.pixels import (
    as_picture,
    as_rgb,
    check_box,
    cut,
    detailed_box,
    shrink,
    value_range,
)


def test_unsigned_integers_become_shares_of_their_range():
    for dtype in (np.uint8, np.uint16):
        top = np.iinfo(dtype).max
        picture = as_picture(np.array([[0, top]], dtype))
        assert picture.shape == (1, 2, 1)
        assert picture.ravel().tolist() == [0.0, 1.0]


@pytest.mark.parametrize("shape", [(4,), (4, 4, 5), (2, 4, 4, 3), (0, 4)])
def test_what_is_no_picture_is_named(shape):
    with pytest.raises(ValueError, match="`target` has shape"):
        as_picture(np.zeros(shape), "target")


def test_shrink_is_scikit_images_local_mean():
    picture = np.random.default_rng(0).random((60, 90, 3)).astype(np.float32)
    expected = downscale_local_mean(picture, (3, 3, 1))
    np.testing.assert_allclose(shrink(picture, 30), expected, atol=1e-6)


def test_shrink_by_a_fraction_is_the_mean_of_the_area():
    picture = np.random.default_rng(1).random((12, 18, 1))
    # Every pixel repeated until whole blocks fall on each output pixel.
    fine = picture.repeat(8, axis=0).repeat(12, axis=1)
    expected = fine.reshape(8, 12, 12, 18, 1).mean(axis=(1, 3))
    np.testing.assert_allclose(shrink(picture, 12), expected, atol=1e-6)


def test_shrink_leaves_small_pictures_alone():
    picture = np.random.default_rng(2).random((7, 9, 3))
    assert shrink(picture, 9) is picture


def test_shrink_of_a_line_keeps_its_single_row():
    assert shrink(np.ones((1, 5000, 3)), 100).shape == (1, 100, 3)


def test_hidden_colours_do_not_bleed():
    red_shown, green_hidden = [1.0, 0, 0, 1], [0, 1.0, 0, 0]
    picture = np.array([[red_shown, green_hidden], [green_hidden, red_shown]])
    np.testing.assert_allclose(shrink(picture, 1)[0, 0], [1, 0, 0, 0.5], atol=1e-6)


def test_alpha_shows_the_checker_beneath():
    clear = as_rgb(np.zeros((64, 64, 4)))
    assert len(np.unique(clear)) == 2
    assert clear.min() > 0.5
    solid = as_rgb(np.concatenate([np.full((8, 8, 1), 0.3), np.ones((8, 8, 1))], 2))
    np.testing.assert_allclose(solid, 0.3)


def test_values_beyond_the_unit_stretch_the_range():
    assert value_range(np.array([0.2, 0.4])) == (0.0, 1.0)
    assert value_range(np.array([-3.0, np.nan, 5.0])) == (-3.0, 5.0)
    shown = as_rgb(np.array([[[-3.0], [1.0], [5.0], [np.nan]]]), -3.0, 5.0)
    assert shown[0, :, 0].tolist() == [0.0, 0.5, 1.0, 0.0]


def test_the_box_finds_the_detail():
    picture = np.full((300, 400, 1), 0.5)
    picture[200:230, 50:80] = np.random.default_rng(3).random((30, 30, 1))
    row, col, height, width = detailed_box(picture) or (0, 0, 0, 0)
    assert row <= 200
    assert row + height >= 230
    assert col <= 50
    assert col + width >= 80


@pytest.mark.parametrize("shape", [(8, 8), (20, 30), (1, 40), (1, 1)])
def test_a_small_picture_has_no_box(shape):
    assert detailed_box(np.random.default_rng(4).random((*shape, 3))) is None


@pytest.mark.parametrize("shape", [(4, 3000), (3000, 4), (90, 90), (1500, 1500)])
def test_a_box_lies_inside(shape):
    picture = np.random.default_rng(5).random((*shape, 1))
    box = detailed_box(picture)
    assert box is not None
    assert cut(picture, check_box(box, picture)).shape[:2] == box[2:]
    assert max(box[2:]) <= 128


@pytest.mark.parametrize(
    "box", [(-1, 0, 4, 4), (0, 0, 9, 4), (0, 6, 4, 4), (0, 0, 0, 1)]
)
def test_a_box_outside_is_refused(box):
    with pytest.raises(ValueError, match="`zoom`"):
        check_box(box, np.zeros((8, 8, 1)))


def test_an_envelope_keeps_every_extreme():
    x = np.arange(100_000.0)
    y = np.random.default_rng(6).normal(size=100_000)
    y[54_321], y[99] = 50, -50
    thin_x, thin_y = envelope(x, y, 500)
    assert len(thin_x) <= 1002
    assert (np.diff(thin_x) > 0).all()
    assert (thin_y.min(), thin_y.max()) == (-50, 50)
    assert thin_x[[0, -1]].tolist() == [0, 99_999]
    assert set(thin_x.tolist()) <= set(x.tolist())


def test_an_envelope_of_a_short_line_is_the_line():
    x, y = np.arange(10.0), np.ones(10)
    assert envelope(x, y, 5) == (x, y)
