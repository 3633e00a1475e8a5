"""Scans as scanners write them: tiny files of the same layouts, and wrong ones."""

import json
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
import tifffile

from passband.data.ct_geometry import from_about, read_geometry, settle
from passband.data.matlab import read_matlab
from passband.data.scans import read_scan, read_stack
from passband.errors import InputError

VIEWS, ROWS, BINS = 6, 2, 9
RNG = np.random.default_rng(0)
COUNTS = RNG.integers(100, 900, (VIEWS, ROWS, BINS)).astype(np.uint16)
FLATS, DARKS = np.full((3, ROWS, BINS), 1000.0), np.full((2, ROWS, BINS), 10.0)
THETA = np.arange(VIEWS) * 30.0
SINOGRAM = RNG.random((VIEWS, BINS))
FAN = {"source_origin": 410.66, "source_detector": 553.74, "pitch": 0.2, "unit": "mm"}


def exchange(
    path: Path, changes: dict[str, Any] | None = None, units="degrees"
) -> Path:
    """Data Exchange, as tomopy's tooth.h5 has it; None leaves an array out."""
    arrays = {"data": COUNTS, "data_white": FLATS, "data_dark": DARKS, "theta": THETA}
    with h5py.File(path, "w") as file:
        for name, value in (arrays | (changes or {})).items():
            if value is not None:
                file[f"exchange/{name}"] = value
        if "exchange/theta" in file:
            file["exchange/theta"].attrs["units"] = units
    return path


def struct(**changes: Any) -> dict[str, Any]:
    """The Helsinki challenge's, less what no reader needs."""
    parameters = {
        "distanceSourceOrigin": 410.66, "distanceSourceDetector": 553.74,
        "distanceUnit": "mm", "pixelSize": 0.05, "pixelSizePost": 0.2,
        "effectivePixelSizePost": 0.1483, "angles": THETA, "geometryType": "Cone",
    }  # fmt: skip
    found = {"type": "2D", "sinogram": SINOGRAM, "parameters": parameters}
    for name, value in changes.items():
        inside = parameters if name in parameters else found
        inside[name] = value
    return {
        "CtDataLimited": {
            k: dict(p) if isinstance(p, dict) else p
            for k, p in found.items() if p is not None
        }
    }  # fmt: skip


def matlab5(path: Path, **changes: Any) -> Path:
    scipy.io.savemat(path, struct(**changes), do_compression=True)
    return path


def matlab73(path: Path, **changes: Any) -> Path:
    """As MATLAB 7.3 writes it: 512 bytes before HDF5, axes turned, text as numbers."""

    def put(group: Any, content: dict[str, Any]) -> None:
        for name, value in content.items():
            if isinstance(value, dict):
                put(group.create_group(name), value)
            elif isinstance(value, str):
                data = np.array([[ord(c)] for c in value], np.uint16)
                group[name] = data
                group[name].attrs["MATLAB_class"] = np.bytes_(b"char")
            else:
                group[name] = np.atleast_2d(value).T
                group[name].attrs["MATLAB_class"] = np.bytes_(b"double")

    with h5py.File(path, "w", userblock_size=512) as file:
        put(file, struct(**changes))
    return path


def test_data_exchange_keeps_counts_flats_darks_and_angles(tmp_path):
    found = read_scan(exchange(tmp_path / "a.h5"))
    np.testing.assert_array_equal(found.values, COUNTS)
    np.testing.assert_array_equal(found.angles, THETA)
    assert found.flats is not None and found.flats.shape == FLATS.shape
    assert found.darks is not None and found.darks.shape == DARKS.shape
    assert not found.flat and found.name == "a"


def test_angles_in_radians_are_converted(tmp_path):
    path = exchange(tmp_path / "a.h5", {"theta": np.deg2rad(THETA)}, units="radians")
    found = read_scan(path)
    np.testing.assert_allclose(np.asarray(found.angles), THETA)
    assert "radians" in found.notes[0]


@pytest.mark.parametrize("write", [matlab5, matlab73], ids=["5", "7.3"])
def test_a_struct_of_the_challenge_gives_sinogram_and_geometry(tmp_path, write):
    found = read_scan(write(tmp_path / "tb.mat"))
    np.testing.assert_allclose(found.values[:, 0], SINOGRAM)
    np.testing.assert_allclose(np.asarray(found.angles), THETA)
    assert found.geometry == pytest.approx(FAN) and found.flat


def test_an_archive_is_told_by_its_names(tmp_path):
    np.savez(
        tmp_path / "a.npz", projections=COUNTS, theta_rad=np.deg2rad(THETA),
        flat_field=FLATS, dark=DARKS[0], DSO_mm=410.66, DSD_mm=553.74,
        detector_pixel_mm=0.2, ground_truth=np.ones((4, 4)),
    )  # fmt: skip
    found = read_scan(tmp_path / "a.npz")
    np.testing.assert_allclose(np.asarray(found.angles), THETA)
    assert found.geometry == pytest.approx(FAN)
    assert found.darks is not None and found.darks.shape == (1, ROWS, BINS)
    named = read_scan(tmp_path / "a.npz", "flat_field")
    np.testing.assert_array_equal(named.values, FLATS)


def test_tiff_stacks_and_folders_are_views_in_order(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", COUNTS, photometric="minisblack")
    np.testing.assert_array_equal(read_scan(tmp_path / "a.tif").values, COUNTS)
    folder = tmp_path / "views"
    folder.mkdir()
    for k in (10, 2, 1):  # by number, not by letter
        tifffile.imwrite(folder / f"view_{k}.tif", COUNTS[k % 6])
    np.testing.assert_array_equal(read_stack(folder), COUNTS[[1, 2, 4]])


def test_npy_of_two_and_three_axes(tmp_path):
    np.save(tmp_path / "a.npy", SINOGRAM)
    np.save(tmp_path / "b.npy", COUNTS)
    assert read_scan(tmp_path / "a.npy").values.shape == (VIEWS, 1, BINS)
    assert read_scan(tmp_path / "b.npy").values.shape == (VIEWS, ROWS, BINS)


def cut(path: Path, share: float = 0.5) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    return path


def text(path: Path, content: str | bytes = "not a scan") -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def other_hdf5(path: Path, content: dict[str, Any]) -> Path:
    with h5py.File(path, "w") as file:
        for name, value in content.items():
            file[name] = value
    return path


def linked(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        file["exchange/theta"] = THETA
        file["exchange/data"] = h5py.ExternalLink("/etc/passwd", "/x")
    return path


def huge(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        file.create_dataset("exchange/data", (10**5, 10**4, 10), "f4", chunks=(1, 8, 8))
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p / "a.h5", "does not exist"),
        (lambda p: text(p / "a.h5", b""), "is empty"),
        (lambda p: text(p / "a.h5"), "no HDF5 file by its first bytes"),
        (lambda p: cut(exchange(p / "a.h5")), "damaged, cut short or not a scan"),
        (
            lambda p: other_hdf5(p / "a.h5", {"entry/x": THETA}),
            "has no `exchange/data`",
        ),
        (lambda p: other_hdf5(p / "a.h5", {"exchange/data/x": THETA}), "is a group"),
        (lambda p: exchange(p / "a.h5", {"data": THETA}), "a scan is (views, bins)"),
        (
            lambda p: exchange(p / "a.h5", {"data_white": FLATS[:, :, :4]}),
            "the flats have shape",
        ),
        (
            lambda p: exchange(p / "a.h5", {"theta": np.full(VIEWS, np.nan)}),
            "are not finite numbers",
        ),
        (lambda p: exchange(p / "a.h5", {"data": COUNTS + 1j}), "has real numbers"),
        (lambda p: linked(p / "a.h5"), "a link to another file"),
        (lambda p: huge(p / "a.h5"), "`max_input=112GiB` allows it"),
    ],
)
def test_wrong_data_exchange_files_take_one_line(tmp_path, make, message):
    refused(make(tmp_path), message)


@pytest.mark.parametrize("write", [matlab5, matlab73], ids=["5", "7.3"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sinogram": None}, "none by a name of projections"),
        ({"sinogram": np.zeros((2, 2, 2, 3))}, "a scan is (views, bins)"),
        ({"angles": np.array([np.inf])}, "are not finite numbers"),
        ({"sinogram": SINOGRAM + 1j}, "has real numbers"),
        ({"flats": np.ones((3, 5))}, "the flats have shape"),
    ],
)
def test_wrong_structs_take_one_line(tmp_path, write, change, message):
    if write is matlab73 and np.iscomplexobj(change.get("sinogram")):
        pytest.skip("h5py writes no complex numbers of MATLAB's kind")
    refused(write(tmp_path / "a.mat", **change), message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: text(p / "a.mat"), "damaged, cut short or not"),
        (lambda p: cut(matlab5(p / "a.mat")), "cut short"),
        (lambda p: cut(matlab73(p / "a.mat")), "damaged, cut short or not"),
        (lambda p: matlab5(p / "a.mat"), "`array` (=nothing)"),
        (lambda p: text(p / "a.xyz"), "scans are .npy, .npz"),
    ],
)
def test_wrong_matlab_files_take_one_line(tmp_path, make, message):
    refused(make(tmp_path), message, "nothing" if "nothing" in message else None)


def archive(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: text(p / "a.npz"), "damaged, cut short or not an NPZ archive"),
        (lambda p: cut(archive(p / "a.npz", sinogram=SINOGRAM)), "not an NPZ archive"),
        (lambda p: archive(p / "a.npz", x=SINOGRAM, y=SINOGRAM), "give one by `array`"),
        (lambda p: archive(p / "a.npz", theta=THETA), "none by a name of projections"),
        (lambda p: archive(p / "a.npz", sinogram=THETA), "a scan is (views, bins)"),
        (lambda p: archive(p / "a.npz", sinogram=SINOGRAM + 1j), "has real numbers"),
        (
            lambda p: archive(p / "a.npz", sinogram=np.array([[None]])),
            "holds Python objects",
        ),
        (
            lambda p: archive(p / "a.npz", data=COUNTS, flats=FLATS[..., :3]),
            "the flats have shape",
        ),
        (
            lambda p: archive(p / "a.npz", data=COUNTS, darks=DARKS[:, :, :2]),
            "the darks have shape",
        ),
        (
            lambda p: archive(p / "a.npz", data=COUNTS, theta=np.array(["a"])),
            "are not finite numbers",
        ),
    ],
)
def test_wrong_archives_take_one_line(tmp_path, make, message):
    refused(make(tmp_path), message)


def pages(path: Path, *pictures: np.ndarray) -> Path:
    with tifffile.TiffWriter(path) as file:
        for picture in pictures:
            file.write(picture, photometric="minisblack")
    return path


def folder_of(path: Path, *pictures: np.ndarray) -> Path:
    path.mkdir()
    for k, picture in enumerate(pictures):
        tifffile.imwrite(path / f"{k}.tif", picture)
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: text(p / "a.tif"), "damaged, cut short or not a TIFF file"),
        (lambda p: text(p / "a.tif", b""), "is empty"),
        (lambda p: cut(pages(p / "a.tif", *COUNTS)), "lies beyond its end"),
        (lambda p: cut(pages(p / "a.tif", *COUNTS), 0.02), "not a TIFF file"),
        (lambda p: pages(p / "a.tif", COUNTS[0], COUNTS[1, :, :5]), "one size"),
        (
            lambda p: pages(p / "a.tif", COUNTS[0], COUNTS[0].astype(np.float32)),
            "page 1 is",
        ),
        (lambda p: p / "none.tif", "does not exist"),
        (lambda p: folder_of(p / "empty"), "holds no TIFF file"),
        (lambda p: folder_of(p / "b", COUNTS[0], COUNTS[0, :, 1:]), "of one size"),
        (lambda p: folder_of(p / "c", COUNTS, COUNTS), "of one size"),
    ],
)
def test_wrong_tiff_stacks_take_one_line(tmp_path, make, message):
    path = make(tmp_path)
    with pytest.raises(InputError) as caught:
        read_stack(path)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def refused(path: Path, message: str, array: str | None = None) -> None:
    with pytest.raises(InputError) as caught:
        read_scan(path, array)
    said = str(caught.value)
    assert message in said and "\n" not in said and path.name in said


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    path = exchange(tmp_path / "a.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    said = 'h5py, which is not installed; `pip install "passband[formats]"`'
    with pytest.raises(InputError) as caught:
        read_scan(path)
    assert said in str(caught.value)


def geometry(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_geometry_file_is_settled_as_documented(tmp_path):
    said = FAN | {"type": "fan", "detector": "arc", "offset": 0.5, "angles": [0, 1]}
    found = read_geometry(geometry(tmp_path / "g.json", said))
    assert found == said
    whole = settle(found, 560)
    assert whole.axis == pytest.approx(279.5 + 2.5)
    assert whole.pixel == pytest.approx(0.2 * 410.66 / 553.74)
    assert whole.centre == (whole.size - 1) / 2 and whole.unit == "mm"
    # The picture holds the circle that the longer side of the detector sees.
    outer = 282.5 * 0.2 / 553.74
    assert whole.side == pytest.approx(2 * 410.66 * np.sin(outer), rel=0.01)
    assert from_about(json.loads(json.dumps(whole.about()))) == whole


def test_parallel_rays_without_a_size_are_those_of_scikit_image():
    plain = settle({}, 33)
    assert (plain.size, plain.axis, plain.centre, plain.pixel) == (33, 16, 16, 1.0)
    assert plain.unit == "pixel" and not plain.axis_known
    sized = settle({"pixel": 0.5, "pitch": 1.0, "size": 40, "axis": 15.2}, 33)
    assert (sized.size, sized.centre, sized.axis) == (40, 19.5, 15.2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is no JSON"),
        ([1, 2], "holds no JSON object"),
        ({"source_orgin": 1}, "did you mean `source_origin`"),
        ({"type": "cone"}, '`type` (="cone") must be one of parallel, fan'),
        ({"detector": "curved"}, "must be one of flat, arc"),
        ({"pitch": -0.2}, "must be a length"),
        ({"pitch": "0.2 mm"}, "must be a length"),
        ({"unit": "inch"}, "must be one of m, cm, mm, um, pixel"),
        ({"size": 0.5}, "a whole number of pixels"),
        ({"angles": [0, "x"]}, "must be a list of degrees"),
        ({"angles": []}, "must be a list of degrees"),
        ({"offset": None}, "must be a finite number"),
    ],
)
def test_wrong_geometry_files_take_one_line(tmp_path, content, message):
    with pytest.raises(InputError) as caught:
        read_geometry(geometry(tmp_path / "g.json", content))
    said = str(caught.value)
    assert message in said and "\n" not in said and "g.json" in said


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"type": "fan", "pitch": 1}, "`source_origin` is missing"),
        ({"source_origin": 5, "pitch": 1}, "`source_detector` is missing"),
        ({"source_origin": 5, "source_detector": 9}, "`pitch` is missing"),
        ({"source_origin": 9, "source_detector": 5, "pitch": 1}, "must be less than"),
        ({"type": "parallel", "source_origin": 5}, "means nothing to parallel rays"),
        ({"detector": "arc"}, "means nothing to parallel rays"),
        ({"axis": 3, "offset": 0}, "say the same"),
        ({"axis": 33}, "beside the 33 columns"),
        ({"pitch": 0.1, "offset": 50}, "is `offset` in the unit of `pitch`"),
    ],
)
def test_a_geometry_that_cannot_be_is_refused(asked, message):
    with pytest.raises(InputError, match=message):
        settle(asked, 33)


def test_a_type_that_scipy_would_die_of_is_one_line(tmp_path: Path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"x": np.ones((3, 5), np.float32)})
    content, tag = path.read_bytes(), bytes([7, 0, 0, 0, 60, 0, 0, 0])
    assert content.count(tag) == 1
    path.write_bytes(content.replace(tag, b"w" + tag[1:]))
    with pytest.raises(InputError, match="there is no data of type 119"):
        read_matlab(path)
