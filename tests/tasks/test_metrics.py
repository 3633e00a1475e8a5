import math

import jax.numpy as jnp
import numpy as np
import pytest
import skimage.data
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from passband.errors import InputError
from passband.tasks.metrics import iou, psnr, ssim


@pytest.fixture(scope="module")
def pair():
    truth = skimage.data.astronaut()[100:260:2, 150:310:2] / 255
    noise = np.random.default_rng(3).normal(0, 0.05, truth.shape)
    return np.clip(truth + noise, 0, 1), truth


def test_psnr_is_scikit_images(pair):
    prediction, truth = pair
    assert psnr(prediction, truth, data_range=1.0) == pytest.approx(
        peak_signal_noise_ratio(truth, prediction, data_range=1.0), abs=1e-12
    )


def test_psnr_of_a_known_error_is_closed_form():
    truth = np.zeros((5, 7))
    assert psnr(truth + 0.1, truth, data_range=1.0) == pytest.approx(20.0)
    assert psnr(truth + 10, truth, data_range=255) == pytest.approx(
        20 * math.log10(25.5)
    )


def test_psnr_does_not_wrap_unsigned_bytes():
    black, white = np.zeros((4, 4), np.uint8), np.full((4, 4), 255, np.uint8)
    assert psnr(black, white, data_range=255) == pytest.approx(0.0)


def test_psnr_is_taken_in_float64():
    # In float32 the squares of these round by about 1e-7 dB.
    truth = np.zeros(1000, np.float32)
    prediction = np.full_like(truth, 1e-3)
    error = float(np.float32(1e-3))
    assert psnr(prediction, truth, data_range=1.0) == pytest.approx(
        -20 * math.log10(error), abs=1e-9
    )


def test_psnr_takes_jax_arrays_of_any_precision(pair):
    prediction, truth = (jnp.asarray(a, jnp.bfloat16) for a in pair)
    expected = peak_signal_noise_ratio(
        np.asarray(truth, float), np.asarray(prediction, float), data_range=1.0
    )
    assert psnr(prediction, truth, data_range=1.0) == pytest.approx(expected)


def test_equal_arrays_score_the_best(pair):
    _, truth = pair
    assert psnr(truth, truth, data_range=1.0) == math.inf
    assert ssim(truth, truth, data_range=1.0) == pytest.approx(1.0)


def test_a_run_that_blew_up_scores_quietly():
    truth = np.zeros(3)
    assert math.isnan(psnr(np.array([0, np.nan, 0]), truth, data_range=1.0))
    assert psnr(np.array([0, np.inf, 0]), truth, data_range=1.0) == -math.inf
    assert psnr(np.array([0, 1e200, 0]), truth, data_range=1.0) == -math.inf


@pytest.mark.parametrize("channels", [None, 1, 3])
def test_ssim_is_scikit_images(pair, channels):
    prediction, truth = pair
    if channels is None:
        prediction, truth = prediction[..., 0], truth[..., 0]
    else:
        prediction, truth = prediction[..., :channels], truth[..., :channels]
    expected = structural_similarity(
        truth,
        prediction,
        data_range=1.0,
        channel_axis=None if channels is None else -1,
    )
    assert ssim(prediction, truth, data_range=1.0) == pytest.approx(expected)


def test_ssim_of_a_volume_is_scikit_images():
    truth = np.random.default_rng(0).random((9, 10, 11))
    prediction = np.clip(truth + 0.1, 0, 1)
    expected = structural_similarity(truth, prediction, data_range=1.0)
    assert ssim(prediction, truth, data_range=1.0, channel_axis=None) == pytest.approx(
        expected
    )


@pytest.mark.parametrize(("rows", "window"), [(6, 5), (5, 5), (4, 3), (3, 3)])
def test_ssim_window_shrinks_to_the_odd_width_that_fits(rows, window):
    rng = np.random.default_rng(1)
    truth, prediction = rng.random((2, rows, 40, 3))
    expected = structural_similarity(
        truth, prediction, data_range=1.0, win_size=window, channel_axis=-1
    )
    assert ssim(prediction, truth, data_range=1.0) == pytest.approx(expected)


def test_ssim_of_a_strip_is_its_luminance_term():
    rng = np.random.default_rng(2)
    truth, prediction = rng.random((2, 2, 30))
    c1 = 0.01**2
    luminance = (2 * truth * prediction + c1) / (truth**2 + prediction**2 + c1)
    assert ssim(prediction, truth, data_range=1.0) == pytest.approx(luminance.mean())


def test_iou_counts():
    a = np.array([True, True, False, False])
    b = np.array([True, False, True, False])
    assert iou(a, b) == pytest.approx(1 / 3)
    assert iou(a, a) == 1.0
    assert iou(a, ~a) == 0.0
    assert iou(a & ~a, b & ~b) == 1.0


@pytest.mark.parametrize("metric", [psnr, ssim])
def test_metrics_refuse_to_broadcast(metric):
    with pytest.raises(InputError, match=r"`prediction` has shape \(8, 1\).*\(8, 8\)"):
        metric(np.zeros((8, 1)), np.zeros((8, 8)), data_range=1.0)
    with pytest.raises(InputError, match="`target` is empty"):
        metric(np.zeros((0, 8)), np.zeros((0, 8)), data_range=1.0)


def test_iou_refuses_to_broadcast():
    with pytest.raises(InputError, match="never broadcasts"):
        iou(np.zeros((4, 1), bool), np.zeros((4, 4), bool))


def test_iou_refuses_numbers():
    with pytest.raises(InputError, match="`prediction` holds float64"):
        iou(np.zeros(4), np.zeros(4, bool))


def test_metrics_refuse_complex_numbers():
    with pytest.raises(InputError, match="`target` holds complex128"):
        psnr(np.zeros(4), np.zeros(4, complex), data_range=1.0)


@pytest.mark.parametrize("data_range", [0.0, -1.0, math.inf, math.nan])
def test_data_range_must_be_positive(data_range):
    with pytest.raises(InputError, match="`data_range`"):
        psnr(np.zeros(4), np.zeros(4), data_range=data_range)


def test_ssim_needs_a_picture():
    with pytest.raises(InputError, match=r"`target` has shape \(9,\)"):
        ssim(np.zeros(9), np.zeros(9), data_range=1.0)
