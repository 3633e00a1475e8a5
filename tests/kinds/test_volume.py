"""Volumes fitted directly: axes, places, held-out voxels, files on the disk."""

import io
from pathlib import Path

import numpy as np
import pytest
import tifffile
from nibabel.nifti1 import Nifti1Image
from scipy.interpolate import interp1d
from scipy.ndimage import gaussian_filter

import passband as pb
from passband.cli.main import main
from passband.data.large_volume import write_slices
from passband.data.volumes import read_volume
from passband.data.voxels import read_voxels
from passband.domain import extent_of, grid_coords
from passband.file_gate import give_back
from passband.kinds.render import render_file
from passband.kinds.render_options import RenderOptions
from passband.kinds.render_slices import middle_planes
from passband.kinds.volume import VolumeKind
from passband.plot.volume_slices import planes
from passband.tasks.slices import mean_of_neighbours, places_along
from passband.tasks.streamed import StreamedTask
from passband.tuning.problem import HeldPoints
from passband.tuning.spectrum import axis_shares

SMALL = {"width": 8, "layers": 2, "steps": 12, "batch": 64, "mapping": "gaussian:2,m=8"}
AFFINE = np.array(
    [[0, -1.5, 0, 40], [2, 0, 0, -7], [0, 0, 3, 5], [0, 0, 0, 1.0]], float
)
"""Voxels of 2 x 1.5 x 3 mm, turned."""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def wave(x, y, z):
    """Differs along each axis, inside (0, 1)."""
    return (
        0.5 + 0.2 * np.sin(x / 3) + 0.15 * np.cos(y / 4) + 0.1 * np.sin(z / 2 + x / 5)
    )


def sampled(x: int, y: int, z: int) -> np.ndarray:
    """(x, y, z)."""
    return wave(*np.mgrid[:x, :y, :z])


def nifti(values: np.ndarray, name: str = "a.nii.gz") -> str:
    Nifti1Image(values, AFFINE).to_filename(name)
    return name


def test_a_field_of_a_volume_is_the_function_that_was_sampled():
    """Between the voxels too, in the order x, y, z, whatever the order of the file."""
    np.save("a.npy", sampled(24, 20, 16).T)
    model = pb.fit("a.npy", kind="volume", width=32, layers=3, steps=300,
                   mapping="gaussian:1.2,m=32", holdout="0.2")  # fmt: skip
    assert model.metrics["psnr_test"] > 35 and model.metrics["psnr_train"] > 35
    coords = np.random.default_rng(0).uniform(2, 13, (200, 3)) * [1.6, 1.3, 1]
    error = model(coords)[:, 0] - wave(*coords.T)
    assert np.sqrt(np.mean(error**2)) < 0.02
    assert model.coords.startswith("x, y, z")


def test_a_volume_is_one_whatever_file_it_is_in():
    values = (250 * sampled(9, 7, 5)).astype(np.int16)
    nifti(values)
    np.save("a.npy", values.T)
    told = {"axes": "ZYX", "spacing": 3.0, "unit": "mm"}
    across = (1 / 2, 1 / 1.5)
    tifffile.imwrite("a.tif", values.T, imagej=True, resolution=across, metadata=told)
    found = [read_voxels(Path(n)) for n in ("a.nii.gz", "a.npy", "a.tif")]
    for one in found:
        np.testing.assert_array_equal(one.values[..., 0].swapaxes(0, 1), values)
        assert (one.low, one.high) == (values.min(), values.max())
    assert [one.order for one in found] == ["xyz", "zyx", "zyx"]
    np.testing.assert_allclose(found[0].spacing, (1.5, 2, 3))
    np.testing.assert_allclose(found[2].spacing, (1.5, 2, 3))
    whole = read_volume("a.nii.gz")
    np.testing.assert_array_equal(whole.values, values)


def test_a_nifti_file_keeps_its_place_through_a_fit():
    values = (250 * sampled(12, 10, 6)).astype(np.uint8)
    model = pb.fit(nifti(values), **SMALL)
    assert model.kind == "volume"
    model.save("m.safetensors")
    command = ["render", "m.safetensors", "--quiet", "--out"]
    # At half the voxels, of a box, and as it was: where a voxel lies says the affine.
    assert main([*command, "own.nii.gz"]) == 0
    assert main([*command, "half.nii", "--resolution", "6"]) == 0
    assert main([*command, "box.nii", "--crop", "2,4,1,8,9,4"]) == 0
    own, half, box = (
        Nifti1Image.from_filename(name)
        for name in ("own.nii.gz", "half.nii", "box.nii")
    )
    assert (own.shape, half.shape, box.shape) == ((12, 10, 6), (6, 5, 3), (6, 5, 3))
    np.testing.assert_allclose(np.asarray(own.affine), AFFINE)
    np.testing.assert_allclose(
        np.asarray(half.affine) @ [1, 1, 1, 1], AFFINE @ [2, 2, 2, 1]
    )
    np.testing.assert_allclose(
        np.asarray(box.affine) @ [1, 2, 2, 1], AFFINE @ [3, 6, 3, 1]
    )
    assert own.header.get_xyzt_units()[0] == "mm"
    whole = own.get_fdata()
    index = np.array([[3, 6, 3], [11, 0, 5], [0, 9, 2]])
    np.testing.assert_allclose(whole[tuple(index.T)], model(index)[:, 0], rtol=1e-5)
    np.testing.assert_allclose(half.get_fdata(), whole[::2, ::2, ::2], rtol=1e-5)
    np.testing.assert_allclose(box.get_fdata(), whole[2:8, 4:9, 1:4], rtol=1e-5)
    np.testing.assert_allclose(model.render(), whole, rtol=1e-6)
    # The other files have the same numbers, as those programs read them.
    for name in ("own.npy", "own.tif", "own.png"):
        assert main([*command, name]) == 0
    np.testing.assert_array_equal(np.load("own.npy", mmap_mode="r"), whole)
    seen = tifffile.imread("own.tif")
    assert seen.dtype == np.uint8 and seen.shape == (6, 10, 12)
    assert np.abs(seen.T - whole).max() <= 0.5 + 1e-3
    again = read_voxels(Path("own.tif"))
    np.testing.assert_allclose(again.spacing, (1.5, 2, 3), rtol=1e-6)
    for wrong, words in (
        (RenderOptions(crop="1,2,3,4"), "X,Y,Z,X,Y,Z"),
        (RenderOptions(size="4x4"), "resolution"),
        (RenderOptions(bits=8), "TIFF"),
    ):
        with pytest.raises(pb.InputError, match=words):
            render_file("m.safetensors", wrong, Path("no.npy"))


def test_slices_make_the_bytes_that_others_write():
    values = sampled(7, 6, 5).astype(np.float32)[..., None]
    parts = [values[:, :, k].swapaxes(0, 1) for k in range(5)]
    about = {"low": 0.0, "high": 1.0, "affine": AFFINE}
    for order, name in (("xyz", "a.npy"), ("zyx", "b.npy"), ("xyz", "a.nii")):
        write_slices(Path(name), parts, (5, 6, 7, 1), order=order, **about)
    image = Nifti1Image(values[..., 0], AFFINE)
    image.header.set_xyzt_units("mm")
    assert Path("a.nii").read_bytes() == image.to_bytes()
    for name, same in (("a.npy", np.asfortranarray(values[..., 0])),
                       ("b.npy", np.ascontiguousarray(values[..., 0].T))):  # fmt: skip
        stream = io.BytesIO()
        np.save(stream, same)
        assert Path(name).read_bytes() == stream.getvalue()


def test_three_planes_are_those_of_the_volume():
    field = pb.make_field("gaussian:2,m=8", d=3, out=1, key=0, width=8)
    axes = places_along((np.arange(5), np.arange(6), np.arange(7)), (5, 6, 7))
    x, y, z = np.meshgrid(*axes, indexing="ij")
    whole = field.predict(np.stack([x, y, z], axis=-1).reshape(-1, 3)).reshape(6, 5, 7)
    ours = middle_planes(field, axes, 0.0, 1.0)
    for (a, *told), (b, *other) in zip(ours, planes(whole), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
        assert told == other


def test_the_report_shows_the_planes_of_the_file(monkeypatch):
    values = (250 * sampled(12, 10, 9)).astype(np.uint8)
    monkeypatch.setattr("passband.data.voxels.MAPPED_FROM", 100)
    monkeypatch.setattr("passband.kinds.volume.SLAB", 2)
    np.save("a.npy", values.T)
    kind = pb.read("a.npy", kind="volume")
    assert isinstance(kind, VolumeKind)
    rows: dict = {}
    monkeypatch.setattr(
        "passband.kinds.volume.draw_planes", lambda found, *told: rows.update(found)
    )
    field = pb.make_field("gaussian:2,m=8", d=3, out=1, key=0, width=8)
    kind._figure(field)
    for (a, *told), (b, *other) in zip(rows["Truth"], planes(values), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)
        assert told == other
    assert [name for *_, name in rows["Field"]] == ["x = 6", "y = 5", "z = 4"]


@pytest.mark.parametrize("name", ["a.npy", "a.nii", "a.tif"])
def test_a_volume_on_the_disk_is_fitted_as_one_in_memory(name, here, monkeypatch):
    """Up to the rounding of two programs: 3e-7 after twelve steps."""
    values = (250 * sampled(12, 10, 9)).astype(np.int16)
    np.save("a.npy", values.T)
    nifti(values, "a.nii")
    tifffile.imwrite("a.tif", values.T, photometric="minisblack")
    held = pb.fit(name, kind="volume", holdout="odd", **SMALL)
    monkeypatch.setattr("passband.data.voxels.MAPPED_FROM", 100)
    monkeypatch.setattr("passband.kinds.volume.SPARSE", 1)  # the mean where both begin
    kind = pb.read(name, kind="volume", holdout="odd", **SMALL)
    assert isinstance(kind, VolumeKind) and kind.volume.mapped
    training = kind.training(kind.options, pb.parse_mapping("gaussian:2,m=8"))
    assert isinstance(kind.task(training), StreamedTask)
    streamed = pb.fit(kind)
    for a, b in zip(held.field.mlp.weights, streamed.field.mlp.weights, strict=True):
        np.testing.assert_allclose(a, b, atol=3e-6)
    assert held.metrics == pytest.approx(streamed.metrics, abs=1e-4)
    assert held.metrics.keys() == {"psnr", "psnr_train", "psnr_test", "ssim"}
    with pytest.raises(pb.InputError, match="disk"):
        pb.read(name, kind="volume", holdout="0.1")

    def resident() -> int:
        own = Path("/proc/self/smaps").read_text().split(f"{here}/{name}")[1]
        return int(own.split("Rss:")[1].split()[0])

    assert kind.volume.values.sum() > 0 and resident() > 0
    give_back(kind.volume.values)
    assert resident() == 0


def test_a_large_volume_is_judged_by_some_of_its_voxels(monkeypatch):
    monkeypatch.setattr("passband.kinds.volume.CPU_MOST_POINTS", 12 * 10 * 3)
    np.save("a.npy", sampled(36, 30, 9).T)
    model = pb.fit("a.npy", kind="volume", holdout="odd", **SMALL)
    # Every third voxel, but along z no fewer than eight.
    told = "one voxel in 3 along x, 3 along y, 1 along z"
    assert model.result["evaluated"] == told
    thin = model.render().astype(np.float64)[:, ::3, ::3]
    truth = sampled(36, 30, 9).T[:, ::3, ::3]
    error = np.mean((thin[1::2] - truth[1::2]) ** 2)
    assert model.metrics["psnr_test"] == pytest.approx(-10 * np.log10(error), abs=1e-3)
    # The mean of neighbours is linear interpolation along z.
    between = interp1d(np.arange(0, 9, 2), truth[::2], axis=0)(np.arange(1, 9, 2))
    error = np.mean((between - truth[1::2]) ** 2)
    [beside] = model.baselines.values()
    assert beside["psnr_test"] == pytest.approx(-10 * np.log10(error), abs=1e-3)


def test_slices_between_come_from_those_trained_on():
    values = np.random.default_rng(0).random((8, 2, 3, 1))
    train, at = np.array([0, 3, 4, 7]), np.array([1, 4, 6])
    want = interp1d(train, values[train], axis=0)(at)
    np.testing.assert_allclose(mean_of_neighbours(values, train, at), want, rtol=1e-5)


def test_trials_stand_where_the_fit_stands():
    """In millimetres, and of the middle alone."""
    nifti((250 * sampled(12, 10, 6)).astype(np.uint8))
    kind = pb.read("a.nii.gz", mapping="gaussian:2,m=8")
    held = kind.trials(kind.options, kind.cpu_trials).held
    assert isinstance(held, HeldPoints)
    sides, spacing = (10, 12, 6), (1.5, 2.0, 3.0)
    fit = grid_coords(np.arange(720), sides, extent_of(sides, spacing))
    seen = np.concatenate([held.task.coords, held.coords])
    order, other = np.lexsort(seen.T.round(5)), np.lexsort(fit.T.round(5))
    np.testing.assert_allclose(seen[order], fit[other], atol=1e-6)
    assert kind.nyquist() == pytest.approx(0.5 * 24 / 1.5)


def test_axes_that_are_alike_in_millimetres_have_one_scale():
    noise = np.random.default_rng(0).standard_normal((24, 24, 24))
    fine = gaussian_filter(noise, 2.5)
    coarse = fine[:, :, ::3, None]
    assert axis_shares(coarse) is not None
    assert axis_shares(coarse, (1.0, 1.0, 3.0)) is None


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        (np.zeros((4, 4)), {}, "shape"),
        (np.zeros((4, 4, 1)), {}, "2 or more"),
        (np.zeros((4, 4, 4, 5)), {}, "channels"),
        (np.zeros((4, 4, 4), complex), {}, "real numbers"),
        (np.zeros((4, 4, 4)), {"holdout": "even"}, "`odd` or a share"),
        (np.zeros((2, 4, 4)), {"holdout": "odd"}, "one slice of 2"),
        (np.zeros((4, 4, 4)), {"volume": 0}, "NIfTI"),
    ],
)
def test_what_is_no_volume_is_said_in_one_line(values, options, words):
    np.save("a.npy", values)
    with pytest.raises(pb.InputError, match=words):
        pb.read("a.npy", kind="volume", **options)


def test_colours_of_a_volume_and_one_of_several():
    np.save("a.npy", np.random.default_rng(0).random((4, 5, 6, 3)))
    model = pb.fit("a.npy", kind="volume", **SMALL)
    assert model.render(resolution=12).shape == (8, 10, 12, 3)
    model.save("m.safetensors")
    with pytest.raises(pb.InputError, match="npy alone"):
        render_file("m.safetensors", RenderOptions(), Path("a.nii"))
    four = np.stack([sampled(5, 4, 3), 2 * sampled(5, 4, 3)], axis=-1)
    nifti(four)
    with pytest.raises(pb.InputError, match="volume=0"):
        pb.read("a.nii.gz")
    kind = pb.read("a.nii.gz", volume=1)
    assert isinstance(kind, VolumeKind) and kind.volume.high > 1.2
