"""Rows of a detector from a scanner's file to one volume, and back."""

import dataclasses
from typing import Any

import h5py
import jax
import nibabel
import numpy as np
import pytest
import tifffile
from skimage.transform import radon as skimage_radon

import passband as pb
from passband.data.ct_geometry import from_about, settle
from passband.errors import InputError
from passband.field import make_field
from passband.kinds.ct import CTKind
from passband.kinds.ct_options import CTOptions
from passband.kinds.ct_rows import chosen_rows, read_slices
from passband.kinds.ct_scan import measure
from passband.kinds.ct_volume import slab_of
from passband.kinds.fit import fit
from passband.kinds.kind import SILENT, Rendered
from passband.kinds.render_options import RenderOptions
from passband.model import Model

SIDE, ANGLES = 32, np.linspace(0, 180, 13)


@pytest.mark.parametrize(
    ("word", "found"),
    [
        (None, 5), (3, 3), ("all", range(10)), ("2:10", range(2, 10)), ("4:5", 4),
        ("2:10:3", range(2, 10, 3)), (":3", range(3)), ("-2:", range(8, 10)),
    ],
)  # fmt: skip
def test_rows_are_those_of_a_python_slice(word, found):
    assert chosen_rows(word, 10, "a scan") == found


@pytest.mark.parametrize(
    "word", ["x", "1:2:3:4", "1:2:0", "7:3", "10:", "8:12", "3,4", 10]
)
def test_rows_that_are_none_are_one_line(word):
    with pytest.raises(InputError, match=r"`rows` \(="):
        chosen_rows(word, 10, "`scan.h5`")


def test_rows_of_python_are_words_that_a_run_can_keep():
    assert CTOptions(file="a", rows=slice(2, 10)).rows == "2:10:1"
    assert CTOptions(file="a", rows="7").rows == 7
    assert chosen_rows(CTOptions(file="a", rows=slice(None)).rows, 9, "") == range(9)


def test_a_simulated_scan_is_not_taken_apart():
    with pytest.raises(InputError, match="`each_row` takes a scan apart"):
        CTOptions(simulate="head.npy", each_row=True)


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """Counts of four rows: discs that grow, about an axis at column 14.5, not 16."""
    path = tmp_path_factory.mktemp("rows") / "cone.h5"
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE // 2
    at, bins = np.arange(SIDE) + 1.5, np.arange(SIDE)
    rows = []
    for radius in (5, 7, 9, 11):
        disc = 0.05 * (np.hypot(x - 1, y + 2) < radius)
        whole = skimage_radon(disc, theta=ANGLES, circle=True).T
        rows.append(np.stack([np.interp(at, bins, view) for view in whole]))
    lines = np.stack(rows, axis=1)
    with h5py.File(path, "w") as file:
        file["exchange/data"] = 5 + 1000 * np.exp(-lines)
        file["exchange/data_white"] = np.full((2, 4, SIDE), 1005.0)
        file["exchange/data_dark"] = np.full((2, 4, SIDE), 5.0)
        file["exchange/theta"] = ANGLES
    return path, lines


def measured(path, **more: Any):
    return measure(CTOptions(file=str(path), **more), path)


def test_several_rows_are_read_as_each_by_itself(scan):
    path, lines = scan
    found = measured(path, rows="1:4:2", weights="counts")
    np.testing.assert_allclose(found.data.values, lines[:, [1, 3]], atol=1e-3)
    alone = measured(path, rows=3, weights="counts").data
    np.testing.assert_array_equal(found.data.values[:, 1], alone.values)
    assert found.data.weights is not None
    np.testing.assert_array_equal(found.data.weights[:, 1], alone.weights)
    assert found.data.geometry is not None
    assert found.data.geometry.axis == pytest.approx(14.5, abs=0.15)  # of both
    assert found.data.row_spacing == 2.0
    wider = measured(path, rows="1:4:2", row_pitch=0.3, pitch=0.1).data
    assert wider.row_spacing == pytest.approx(0.6)


def test_a_cone_that_is_no_fan_is_told(scan):
    path, _ = scan
    fan = {"source_origin": 300.0, "source_detector": 450.0, "pitch": 1.5, "axis": 14.5}
    found = measured(path, rows="all", **fan)
    assert found.data.row_spacing == pytest.approx(1.0)  # as the axis sees 1.5
    geometry = found.data.geometry
    assert geometry is not None
    # The outer rays cross the axis 1.5 rows up, and the picture's edge so much more.
    off = 1.5 * (geometry.side / 2) / 300
    assert any(f"by up to {off:.2g} rows" in note for note in found.notes)
    near = fan | {"source_origin": 30.0, "source_detector": 45.0}
    warned = measured(path, rows="all", **(near | {"size": 41})).data.warnings
    assert any("take rows nearer to the middle" in text for text in warned)


def test_a_step_has_its_points_in_few_rows_rather_than_in_specks():
    assert slab_of(8000, 2, 640) == (63, 2)
    assert slab_of(8000, 64, 640) == (63, 2)
    assert slab_of(64 * 32**2, 64, 32) == (32, 64)
    assert slab_of(20, 4, 640) == (3, 2)


def volume_model(unit: str = "um") -> Model:
    """An untrained field of three rows, 0.5 apart, of pixels of 0.25."""
    field = make_field("gaussian:1", d=3, out=1, output="sigmoid", width=16, layers=2,
                       key=jax.random.key(0))  # fmt: skip
    geometry = settle({"pixel": 0.25, "unit": unit, "row_pitch": 0.5}, SIDE)
    about = {"task": "ct", "shape": [3, SIDE, SIDE, 1], "low": 0.0, "high": 3.0,
             "geometry": geometry.about(), "bins": SIDE, "angles": [0.0, 45.0],
             "spacing": [0.5, 0.25, 0.25], "unit": unit}  # fmt: skip
    return Model(field, about)


def test_a_volume_is_measured_as_scikit_image_would():
    model = volume_model()
    seen, shown = model.measure(), model.render()
    assert seen.shape == (2, 3, SIDE) and shown.shape == (3, SIDE, SIDE)
    inner = slice(SIDE // 4, -SIDE // 4)
    for k in range(3):
        theirs = 0.25 * skimage_radon(shown[k], theta=[0.0, 45.0], circle=False).T
        begin = (theirs.shape[1] - SIDE) // 2
        theirs = theirs[:, begin : begin + SIDE][:, inner]
        assert np.abs(seen[:, k, inner] - theirs).max() < 0.05 * theirs.max()
    at = model(np.array([[7.0, 2.0, 1.0]]))  # column, row, slice
    np.testing.assert_allclose(at[0], shown[1, 2, 7], rtol=1e-5)
    assert "per um" in CTKind.units(model.field, dict(model.about)).values


def rendered(model: Model) -> Rendered:
    options = RenderOptions(resolution=64)
    return CTKind.render(model.field, dict(model.about), options, SILENT)


def test_files_of_a_volume_have_its_spacing(tmp_path):
    model = volume_model()
    shown = model.render(resolution=64)
    assert shown.shape == (6, 64, 64)
    for name in ("v.npy", "v.nii.gz", "v.tif"):
        found = rendered(model).write(tmp_path / name)
        assert found["spacing"] == [0.25, 0.125, 0.125] and found["unit"] == "um"
        np.testing.assert_allclose(read_slices(tmp_path / name), shown, rtol=1e-6)
    image: Any = nibabel.load(tmp_path / "v.nii.gz")  # pyright: ignore
    zooms = image.header.get_zooms()
    np.testing.assert_allclose(zooms, [1.25e-4, 1.25e-4, 2.5e-4], rtol=1e-5)  # mm
    middle = image.affine @ [31.5, 31.5, 0, 1]
    np.testing.assert_allclose(middle, [0, 0, 0, 1], atol=1e-8)
    with tifffile.TiffFile(tmp_path / "v.tif") as file:
        assert file.imagej_metadata is not None
        assert file.imagej_metadata["spacing"] == 0.25
        assert file.imagej_metadata["unit"] == "um"
        across, one = file.pages[0].aspage().tags["XResolution"].value
    assert across / one == pytest.approx(1 / 0.125)
    with pytest.raises(InputError, match="must end in"):
        rendered(model).write(tmp_path / "v.jpg")


def test_a_geometry_of_a_model_without_rows_is_known():
    old = settle({}, 8).about()
    del old["row_pitch"]
    assert from_about(old).row_pitch is None


def test_a_volume_goes_from_file_to_model_and_back(tmp_path):
    z, y, x = np.mgrid[:5, :16, :16]
    inside = np.hypot(x - 8, y - 8) < 2 + z
    np.save(tmp_path / "cone.npy", (inside * 0.5).astype(np.float32))
    options = CTOptions(
        simulate=str(tmp_path / "cone.npy"), rows="1:5", views=6, steps=8, width=16,
        layers=2, mapping="gaussian:2,m=16", prior="tv:1e-4",
    )  # fmt: skip
    kind = dataclasses.replace(CTKind.read(options), beside=False)
    assert kind.truth is not None and len(kind.truth) == 4
    assert "4 rows are fitted as one volume" in kind.notes
    done = fit(kind, options, place=tmp_path / "run")
    assert {"psnr", "ssim", "error_test"} <= set(done.result["metrics"])
    assert done.result["evaluated"] == "3 of 4 rows"
    assert (tmp_path / "run/report.html").read_text().count("Slices") >= 1
    model = pb.load(tmp_path / "run")
    size = kind.geometry.size
    assert model.render().shape == (4, size, size)
    assert model.measure(angles="0:180:3").shape == (3, 4, kind.data.bins)


def test_a_truth_has_a_slice_for_every_row(tmp_path, scan):
    path, _ = scan
    np.save(tmp_path / "few.npy", np.ones((3, 8, 8), np.float32))
    options = CTOptions(file=str(path), rows="all", truth=str(tmp_path / "few.npy"))
    with pytest.raises(InputError, match="has 3 slices, and 4 rows are fitted"):
        CTKind.read(options)
    np.save(tmp_path / "flat.npy", np.ones((8, 8), np.float32))
    simulate = CTOptions(simulate=str(tmp_path / "flat.npy"), rows="all")
    with pytest.raises(InputError, match="several `rows` need a volume"):
        CTKind.read(simulate)


def test_each_row_is_a_field_of_a_set(scan, tmp_path, monkeypatch):
    """One network a row, about one axis, so that all train as one program."""
    path, _ = scan
    monkeypatch.setattr("passband.kinds.many_set.pictures_of", lambda *a: {})
    small = {"steps": 4, "width": 8, "layers": 2, "mapping": "gaussian:2,m=8"}
    with pytest.raises(InputError, match="makes a set of fields"):
        pb.read(path, kind="ct", rows="1:4", each_row=True)
    found = pb.fit_many(
        [path], kind="ct", rows="1:3", each_row=True, out=tmp_path / "set", **small
    )
    assert found.names == ["cone-row-1", "cone-row-2"]
    axes = {one.about["geometry"]["axis"] for one in found}
    [axis] = axes
    assert axis == pytest.approx(14.5, abs=0.15)
    kind = CTKind.read(CTOptions(file=str(path), rows=2, axis=axis))
    assert found["cone-row-2"].about["high"] == pytest.approx(kind.high)
