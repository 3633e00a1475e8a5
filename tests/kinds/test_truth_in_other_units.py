"""A truth in other units is noticed by what would be measured of it.

Before, the 8-bit picture of a phantom in [0, 1] gave five methods 12.71 dB each.
"""

import numpy as np
import pytest
from PIL import Image
from skimage.data import shepp_logan_phantom
from skimage.transform import radon, resize

from passband.errors import InputError
from passband.forward.radon import Radon
from passband.kinds.ct import CTKind
from passband.kinds.ct_options import CTOptions
from passband.kinds.mri import MriKind
from passband.kinds.mri_options import MriOptions
from passband.reconstruct.backprojection import filtered_backprojection


@pytest.fixture(scope="module")
def phantom() -> np.ndarray:
    return np.asarray(resize(shepp_logan_phantom(), (64, 64)), np.float32)


def read_ct(folder, phantom, truth, **more) -> CTKind:
    """scikit-image's sinogram of the phantom, beside a truth."""
    sinogram = radon(phantom, theta=np.arange(20) * 9.0, circle=True).T
    np.save(folder / "scan.npy", sinogram.astype(np.float32))
    path = folder / "truth.npy"
    np.save(path, truth)
    options = CTOptions(
        file=str(folder / "scan.npy"), angles="0:180:20", truth=str(path), **more
    )
    return CTKind.read(options)


def test_a_picture_of_bytes_is_scored_in_the_units_of_the_sinogram(tmp_path, phantom):
    same = read_ct(tmp_path, phantom, phantom)
    assert same.warnings == ()
    assert same.truth is not None and np.array_equal(same.truth, phantom)
    Image.fromarray(np.round(255 * phantom).astype(np.uint8)).save(tmp_path / "t.png")
    options = CTOptions(
        file=str(tmp_path / "scan.npy"),
        angles="0:180:20",
        truth=str(tmp_path / "t.png"),
    )
    other = CTKind.read(options)
    [warning] = other.warnings
    # scikit-image's projector and ours differ by 0.4 % of their norm.
    assert warning.startswith("`truth` measures 25")
    assert "times the sinogram; scores are against the truth / 25" in warning
    assert other.truth is not None
    np.testing.assert_allclose(other.truth, phantom, atol=0.02)
    assert other.truth_range == pytest.approx(1, rel=0.02)
    task = other._task(64)
    assert isinstance(task.forward, Radon)
    seen = np.asarray(filtered_backprojection(task.forward, task.sinogram))
    scores = [kind._scores(seen)["psnr"] for kind in (same, other)]
    assert scores[0] == pytest.approx(scores[1], abs=0.3)
    assert min(scores) > 16


@pytest.mark.parametrize(("factor", "sign"), [(10.0, "/"), (0.1, "x")])
def test_the_factor_is_told_either_way(tmp_path, phantom, factor, sign):
    kind = read_ct(tmp_path, phantom, factor * phantom)
    [warning] = kind.warnings
    before, told = warning.split(f"scores are against the truth {sign} ")
    assert float(told) == pytest.approx(10, rel=0.01)
    assert float(before.split()[2]) == pytest.approx(factor, rel=0.01)
    assert kind.truth is not None
    np.testing.assert_allclose(kind.truth, phantom, atol=0.02)


def test_pixels_of_another_length_are_a_factor_too(tmp_path, phantom):
    assert (
        "times the sinogram"
        in read_ct(tmp_path, phantom, phantom, pixel=2.0).warnings[0]
    )


def test_another_picture_in_other_units_is_refused(tmp_path, phantom):
    for wrong in (1000 * phantom - 1000, 9 * (1 - phantom), 9 * phantom.T):
        with pytest.raises(InputError, match="would not measure as the sinogram"):
            read_ct(tmp_path, phantom, wrong)


def test_a_picture_that_is_turned_is_warned_of(tmp_path, phantom):
    [warning] = read_ct(tmp_path, phantom, np.ascontiguousarray(phantom.T)).warnings
    assert "is it turned" in warning


def test_noise_hides_no_factor(tmp_path, phantom):
    clean = read_ct(tmp_path, phantom, phantom).data.values
    rng = np.random.default_rng(0)
    noise = 0.2 * clean.max() * rng.normal(size=clean.shape)
    np.save(tmp_path / "scan.npy", (clean + noise).astype(np.float32))
    for factor, count in ((1, 0), (255, 1)):
        np.save(tmp_path / "truth.npy", factor * phantom)
        options = CTOptions(
            file=str(tmp_path / "scan.npy"), angles="0:180:20",
            truth=str(tmp_path / "truth.npy"),
        )  # fmt: skip
        found = CTKind.read(options)
        assert sum("scores are against" in w for w in found.warnings) == count


@pytest.mark.parametrize("image", ["magnitude", "complex"])
@pytest.mark.parametrize("factor", [1.0, 255.0])
def test_the_same_of_k_space(tmp_path, phantom, image, factor):
    rng = np.random.default_rng(0)
    phase = np.exp(1j) if image == "complex" else 1.0
    samples = np.fft.fft2(phase * phantom, norm="ortho")
    samples = np.where(rng.random(samples.shape) < 0.5, samples, 0)
    samples[0, 0] = (phase * phantom).sum() / 64
    np.save(tmp_path / "k.npy", samples.astype(np.complex64))
    np.save(tmp_path / "truth.npy", (factor * phantom).astype(np.float32))
    options = MriOptions(
        file=str(tmp_path / "k.npy"), truth=str(tmp_path / "truth.npy"),
        origin="corner", image=image,
    )  # fmt: skip
    kind = MriKind.read(options)
    told = [w for w in kind.warnings if "scores are against" in w]
    if factor == 1:
        assert told == []
    else:
        assert told == [
            "`truth` measures 255 times the k-space; scores are against the truth / 255"
        ]
    assert kind.data.truth is not None
    np.testing.assert_allclose(kind.data.truth, phantom, atol=1e-3)
