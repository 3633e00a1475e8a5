"""DICOM pictures, frames and series: in order, in units, in their place."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nibabel.loadsave import load
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.sequence import Sequence
from pydicom.uid import (
    ExplicitVRLittleEndian,
    JPEGBaseline8Bit,
    MRImageStorage,
    generate_uid,
)

from passband.data import dicom
from passband.data.images import read_image
from passband.data.volumes import read_volume, volume_of
from passband.errors import LONGEST_MESSAGE, InputError

REAL = Path(os.environ.get("PASSBAND_DATA", "")) / "real" / "dicom"
ROWS, COLUMNS, SLICES = 5, 7, 4
VALUES = np.random.default_rng(0).integers(0, 4000, (SLICES, ROWS, COLUMNS))
TURN = [0.0, 1.0, 0.0, 0.0, 0.0, -1.0]  # rows run along y, columns down: sagittal
SERIES = generate_uid()


def write(path: Path, pixels: np.ndarray, syntax: Any = None, **tags: Any) -> Path:
    """By pydicom's own writer."""
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = syntax or ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = MRImageStorage
    meta.MediaStorageSOPInstanceUID = generate_uid()
    data = Dataset()
    data.file_meta = meta
    data.SOPClassUID = meta.MediaStorageSOPClassUID
    data.SOPInstanceUID = meta.MediaStorageSOPInstanceUID
    data.SeriesInstanceUID = SERIES
    data.Rows, data.Columns = pixels.shape[-2:]
    data.SamplesPerPixel, data.PhotometricInterpretation = 1, "MONOCHROME2"
    data.BitsAllocated = data.BitsStored = 16
    data.HighBit, data.PixelRepresentation = 15, 0
    data.PixelSpacing, data.SliceThickness = [2.0, 3.0], 1.0
    data.ImageOrientationPatient = TURN
    data.PixelData = pixels.astype("<u2").tobytes()
    for name, value in tags.items():
        if value is None:
            delattr(data, name)
        else:
            setattr(data, name, value)
    if syntax is not None:
        data.PixelData = encapsulate([b"no such picture"])
    data.save_as(path, enforce_file_format=True)
    return path


def series(folder: Path, order: list[int], **tags: Any) -> Path:
    """Slices in files whose names and numbers are in another order than they lie."""
    folder.mkdir(exist_ok=True)
    for number, k in enumerate(order):
        place = [10.0 + 4 * k, 20.0, 30.0]
        write(folder / f"{number}.dcm", VALUES[k], InstanceNumber=number + 1,
              **{"ImagePositionPatient": place} | tags)  # fmt: skip
    return folder


def test_a_series_is_ordered_by_position_and_placed(tmp_path):
    """Slices follow the normal of their plane, row x column, which is -x here."""
    folder = series(tmp_path / "s", [2, 0, 3, 1], RescaleSlope=2, RescaleIntercept=-7)
    (folder / "notes.txt").write_text("not a DICOM file\n" * 20)
    found = volume_of(folder)
    assert found.values.shape == (COLUMNS, ROWS, SLICES)
    np.testing.assert_array_equal(found.values, 2.0 * VALUES[::-1].T - 7)
    assert found.spacing == (3.0, 2.0, 4.0) and found.affine is not None
    # Left, posterior, superior of the third slice's first pixel; then right, anterior.
    index = [0, 0, SLICES - 1 - 2, 1]
    np.testing.assert_allclose(found.affine @ index, [-18, -20, 30, 1])
    step = found.affine @ [1, 0, 0, 0]
    np.testing.assert_allclose(step, [0, -3, 0, 0])  # along a row: 3 mm to posterior


def test_frames_of_one_file_have_their_places_in_groups(tmp_path):
    def item(**tags: Any) -> Dataset:
        inner, group = Dataset(), Dataset()
        for name, value in tags.items():
            setattr(inner, name, value)
        group.PlanePositionSequence = Sequence([inner])
        return group

    shared, measures, values = Dataset(), Dataset(), Dataset()
    measures.PixelSpacing, measures.SliceThickness = [2.0, 3.0], 4.0
    values.RescaleSlope, values.RescaleIntercept = 0.5, 1.0
    shared.PixelMeasuresSequence = Sequence([measures])
    shared.PixelValueTransformationSequence = Sequence([values])
    order = [1, 3, 0, 2]
    frames = [item(ImagePositionPatient=[4.0 * k, 0.0, 0.0]) for k in order]
    path = write(
        tmp_path / "m.dcm", VALUES[order], NumberOfFrames=SLICES, PixelSpacing=None,
        SharedFunctionalGroupsSequence=Sequence([shared]), SliceThickness=None,
        PerFrameFunctionalGroupsSequence=Sequence(frames),
    )  # fmt: skip
    found = read_volume(path)
    np.testing.assert_array_equal(found.values, 0.5 * VALUES[::-1].T + 1)
    assert found.spacing == (3.0, 2.0, 4.0)


def test_times_are_volumes_of_their_own(tmp_path):
    folder = series(tmp_path / "s", [0, 1, 2, 3], AcquisitionNumber=1)
    later = series(tmp_path / "t", [0, 1, 2, 3], AcquisitionNumber=2, RescaleSlope=3,
                   RescaleIntercept=0)  # fmt: skip
    for path in later.iterdir():
        path.rename(folder / f"later-{path.name}")
    assert volume_of(folder).notes == ("volume 0 of 2 (`volume` takes another)",)
    np.testing.assert_array_equal(
        volume_of(folder, volume=1).values, 3.0 * VALUES[::-1].T
    )
    with pytest.raises(InputError, match="has 2, counted from 0"):
        volume_of(folder, volume=2)


def test_a_picture_has_its_rescaled_values(tmp_path):
    path = write(tmp_path / "p.dcm", VALUES[0], RescaleSlope=1, RescaleIntercept=-1024)
    found = read_image(path)
    np.testing.assert_array_equal(found.values[..., 0], VALUES[0] - 1024.0)
    bare = path.rename(tmp_path / "IM000001")  # as scanners name them
    np.testing.assert_array_equal(read_image(bare).values, found.values)
    flat = read_volume(bare)
    np.testing.assert_array_equal(flat.values, VALUES[0].T - 1024.0)


def cut(path: Path) -> Path:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 30])
    return path


def text(path: Path) -> Path:
    path.write_text("dear reader\n" * 60)
    return path


def one(**tags: Any):
    return lambda p: write(p / "a.dcm", VALUES[0], **tags)


def of(order: list[int], **tags: Any):
    return lambda p: series(p / "s", order, **tags)


def also(p: Path, **tags: Any) -> Path:
    folder = series(p / "s", [0, 1])
    write(folder / "x.dcm", VALUES[2][:4], **tags)
    return folder


WRONG = {
    "cut short": (lambda p: cut(one()(p)), "cut short"),
    "no DICOM": (lambda p: text(p / "a.dcm"), "is no DICOM file"),
    "packed": (one(syntax=JPEGBaseline8Bit), "is packed as JPEG Baseline"),
    "a claim beyond the file": (one(Rows=60_000, Columns=60_000), "cut short: it cl"),
    "no pixels": (one(PixelData=None), "has no pixels"),
    "a pixel of 0 mm": (one(PixelSpacing=[0.0, 1.0]), "`PixelSpacing` is .0.0, 1.0."),
    "one number for two": (one(PixelSpacing=1.0), "`PixelSpacing` .* 2 numbers"),
    "a slope of 0": (one(RescaleSlope=0, RescaleIntercept=0), "`RescaleSlope` is 0"),
    "a slice missing": (of([0, 1, 3]), "4 to 8 mm apart; is one missing"),
    "a place twice": (of([0, 0, 1]), "1 to 2 slices at one place"),
    "two series": (lambda p: also(p, SeriesInstanceUID=generate_uid()), "has 2 series"),
    "other sides": (lambda p: also(p, ImagePositionPatient=[18.0, 20, 30]),
                    "5 x 7 pixels and .* 4 x 7"),
    "turned slices": (lambda p: also(p, ImagePositionPatient=[18.0, 20, 30],
                                     ImageOrientationPatient=[1.0, 0, 0, 0, 1, 0]),
                      "turned differently"),
    "no orientation": (of([0, 1], ImageOrientationPatient=[0.0] * 6), "`ImageOrient"),
    "an empty folder": (lambda p: (p / "s").mkdir() or p / "s", "no DICOM picture"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_in_one_line(tmp_path, make, said):
    with pytest.raises(InputError, match=said) as error:
        volume_of(make(tmp_path))
    assert "\n" not in str(error.value) and len(str(error.value)) < LONGEST_MESSAGE


def test_a_picture_of_many_frames_or_colours_is_refused(tmp_path):
    many = write(tmp_path / "a.dcm", VALUES, NumberOfFrames=SLICES)
    with pytest.raises(InputError, match="has 4 frames; a picture has one"):
        read_image(many)
    odd = write(
        tmp_path / "b.dcm", VALUES[0], PhotometricInterpretation="PALETTE COLOR"
    )
    with pytest.raises(InputError, match="is PALETTE COLOR; grey and 8-bit RGB"):
        dicom.read_picture(odd)


@pytest.mark.skipif(not REAL.is_dir(), reason="PASSBAND_DATA has no real/dicom")
def test_a_real_series_is_what_dcm2niix_made_of_it():
    """dcm2niix, which nobody here wrote, turns rows upside down; places agree."""
    image: Any = load(REAL / "DCM2NIIX_regression_test_4.nii")
    ours = volume_of(REAL / "mr_epi_series")
    theirs = np.asarray(image.dataobj)[..., 0]
    np.testing.assert_array_equal(ours.values[:, ::-1], theirs)
    turned = np.diag([1.0, -1.0, 1.0, 1.0])
    turned[1, 3] = theirs.shape[1] - 1
    assert ours.affine is not None
    np.testing.assert_allclose(ours.affine @ turned, image.affine, atol=1e-4)
    second = volume_of(REAL / "DCM2NIIX_regression_test_4.nii", volume=1)
    np.testing.assert_array_equal(second.values, np.asarray(image.dataobj)[..., 1])
