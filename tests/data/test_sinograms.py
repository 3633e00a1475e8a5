"""Sinogram files: layout, angles, and everything that is wrong with them."""

import numpy as np
import pytest

from passband.data.sinograms import parse_angles, read_sinogram
from passband.errors import InputError


@pytest.fixture
def disc() -> np.ndarray:
    """Of a disc off the axis: every row adds up to its area."""
    angles = np.deg2rad(np.arange(12) * 15)[:, None]
    t = np.linspace(-1, 1, 30) - 0.3 * np.cos(angles)
    return np.sqrt(np.clip(0.25 - t**2, 0, None))


@pytest.fixture
def save(tmp_path):
    def saved(values, name="sinogram.npy"):
        np.save(tmp_path / name, values)
        return tmp_path / name

    return saved


def test_a_sinogram_keeps_its_numbers(save, disc):
    found = read_sinogram(save(7 * disc), "0:180:12")
    np.testing.assert_allclose(found.values, 7 * disc, rtol=1e-6)
    np.testing.assert_allclose(found.angles, np.arange(12) * 15)
    assert found.warnings == () and found.name == "sinogram"


def test_half_precision_is_read(save, disc):
    found = read_sinogram(save(disc.astype(np.float16)), "0:180:12")
    assert found.values.dtype == np.float32
    np.testing.assert_allclose(found.values, disc, atol=1e-3)


def test_angles_leave_the_stop_out():
    np.testing.assert_array_equal(parse_angles("0:180:4"), [0, 45, 90, 135])
    np.testing.assert_array_equal(parse_angles("-90:90:2"), [-90, 0])


def test_angles_come_from_files(tmp_path, save):
    (tmp_path / "angles.csv").write_text("0, 10\n20,\n30\n")
    np.testing.assert_array_equal(
        parse_angles(str(tmp_path / "angles.csv")), [0, 10, 20, 30]
    )
    column = save(np.array([[0.0], [10.0]]), "angles.npy")
    np.testing.assert_array_equal(parse_angles(str(column)), [0, 10])


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("0:180", "START:STOP:COUNT"),
        ("0:180:0", "START:STOP:COUNT"),
        ("a:b:c", "START:STOP:COUNT"),
        ("nowhere.txt", "is no file"),
    ],
)
def test_angles_that_make_no_sense_are_refused(word, message):
    with pytest.raises(InputError, match=message):
        parse_angles(word)


def test_a_file_of_words_is_no_list_of_angles(tmp_path):
    (tmp_path / "angles.txt").write_text("zero ten")
    with pytest.raises(InputError, match="not a file of angles"):
        parse_angles(str(tmp_path / "angles.txt"))


def test_a_wrong_count_names_both(save, disc):
    with pytest.raises(InputError, match=r"12 views of 30 bins.*gives 20$"):
        read_sinogram(save(disc), "0:180:20")


def test_a_transposed_sinogram_is_told(save, disc):
    turned = read_sinogram(save(disc.T), "0:180:12")
    np.testing.assert_array_equal(turned.values, disc.astype(np.float32))
    [warning] = turned.warnings
    assert "(30, 12) and there are 12 angles: it is taken as (bins, views)" in warning
    [warning] = read_sinogram(save(disc.T), "0:180:30").warnings
    assert "looks transposed" in warning


def test_radians_raise_a_doubt(save, disc, tmp_path):
    np.save(tmp_path / "radians.npy", np.deg2rad(np.arange(12) * 15.0))
    [warning] = read_sinogram(save(disc), str(tmp_path / "radians.npy")).warnings
    assert "radians" in warning


def test_intensities_and_negative_values_raise_a_doubt(save, disc):
    [warning] = read_sinogram(save(np.exp(-disc)), "0:180:12").warnings
    assert "-log(I / I0)" in warning
    [warning] = read_sinogram(save(disc - 0.2), "0:180:12").warnings
    assert "goes down to -0.2" in warning


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((12, 30), complex), "holds complex128; only real"),
        (np.full((12, 30), np.nan), "360 NaN or infinite values"),
        (np.zeros((12, 30)), "0 everywhere"),
        (np.ones((12, 30, 2)), r"has shape \(12, 30, 2\); a sinogram is"),
        (np.ones((12, 3)), "12 views of 3 bins"),
    ],
)
def test_what_is_no_sinogram_is_refused(save, values, message):
    with pytest.raises(InputError, match=message):
        read_sinogram(save(values), "0:180:12")


def test_files_that_are_not_there_or_of_another_kind_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_sinogram(tmp_path / "none.npy", "0:180:12")
    (tmp_path / "sinogram.txt").write_text("1 2 3")
    with pytest.raises(InputError, match=r"ends in `.txt`; sinograms are .npy or .tif"):
        read_sinogram(tmp_path / "sinogram.txt", "0:180:12")
