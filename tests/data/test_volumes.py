"""Volumes from files and back, and the phantom."""

import numpy as np
import pytest
from nibabel.loadsave import load, save
from nibabel.nifti1 import Nifti1Image

from passband.data.volumes import head_phantom, read_volume, rescaled, write_volume
from passband.errors import InputError

AFFINE = np.array([[0, -2.0, 0, 9], [1.0, 0, 0, -4], [0, 0, 3.0, 7], [0, 0, 0, 1]])


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).random((4, 5, 6)).astype(np.float32)


@pytest.mark.parametrize("name", ["v.nii", "v.nii.gz"])
def test_nifti_keeps_values_affine_and_spacing(tmp_path, values, name):
    write_volume(tmp_path / name, values, AFFINE)
    volume = read_volume(tmp_path / name)
    assert np.array_equal(volume.values, values)
    assert volume.affine is not None and np.allclose(volume.affine, AFFINE)
    assert volume.spacing == (1.0, 2.0, 3.0)
    assert volume.name == "v"
    theirs = load(tmp_path / name)
    assert np.array_equal(theirs.get_fdata(), values)  # pyright: ignore


def test_stored_integers_come_with_their_slope(tmp_path, values):
    image = Nifti1Image((100 * values).astype(np.int16), AFFINE)
    image.header.set_slope_inter(0.5, 10)
    save(image, tmp_path / "v.nii")
    expected = 10 + 0.5 * (100 * values).astype(np.int16)
    assert np.allclose(read_volume(tmp_path / "v.nii").values, expected)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.uint8, np.complex64])
def test_npy_becomes_single_precision(tmp_path, values, kind):
    given = (100 * values).astype(kind)
    np.save(tmp_path / "v.npy", given)
    volume = read_volume(tmp_path / "v.npy", allow_complex=True)
    expected = np.complex64 if kind is np.complex64 else np.float32
    assert volume.values.dtype == expected
    assert np.array_equal(volume.values, given.astype(expected))


def test_another_grid_over_the_same_box(tmp_path):
    new = rescaled(AFFINE, (4, 5, 6), (8, 5, 12))
    assert np.allclose(new @ [8, 5, 12, 1], AFFINE @ [4, 5, 6, 1])
    assert np.allclose(new[:, 3], AFFINE[:, 3])


def test_what_is_no_volume(tmp_path, values):
    np.save(tmp_path / "four.npy", np.zeros((4, 4, 4, 2)))
    with pytest.raises(InputError, match="has 4 axes"):
        read_volume(tmp_path / "four.npy")
    image = Nifti1Image(np.zeros((3, 3, 3, 2), np.float32), AFFINE)
    save(image, tmp_path / "series.nii")
    with pytest.raises(InputError, match="has 4 axes"):
        read_volume(tmp_path / "series.nii")
    np.save(tmp_path / "k.npy", values * 1j)
    with pytest.raises(InputError, match="a real volume is meant"):
        read_volume(tmp_path / "k.npy")
    values[1, 2, 3] = np.nan
    np.save(tmp_path / "nan.npy", values)
    with pytest.raises(InputError, match=r"1 NaN or infinite.*\(1, 2, 3\)"):
        read_volume(tmp_path / "nan.npy")
    (tmp_path / "cut.nii").write_bytes(b"abc")
    with pytest.raises(InputError, match="not a NIfTI"):
        read_volume(tmp_path / "cut.nii")
    (tmp_path / "cut.npy").write_bytes(b"abc")
    with pytest.raises(InputError, match="not an NPY"):
        read_volume(tmp_path / "cut.npy")
    (tmp_path / "v.mha").write_bytes(b"abc")
    with pytest.raises(InputError, match="volumes are read from"):
        read_volume(tmp_path / "v.mha")


def test_every_seed_has_another_head():
    one, two = head_phantom(16), head_phantom(16, seed=1)
    assert one.shape == (16, 16, 16) and one.min() == 0 and one.max() <= 1
    assert np.abs(one - two).mean() > 0.01
    assert head_phantom(16, dims=2).shape == (16, 16)
