"""`passband fit mri`: simulated, from files, with coils; rendered; and bad input."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nibabel.loadsave import load
from nibabel.nifti1 import Nifti1Image

from passband.cli.main import main
from passband.data.volumes import head_phantom, write_volume
from passband.errors import InputError
from passband.field import make_field
from passband.kinds.defaults import out_of_patience
from passband.kinds.mri_grid import coarser, looks_of
from passband.kinds.mri_measurement import measurement
from passband.kinds.mri_options import MriOptions
from passband.train.memory import microbatch_voxels

TINY = ("--steps", "4", "--layers", "2", "--width", "8", "--mapping", "gaussian:2,m=4",
        "--quiet")  # fmt: skip
AFFINE = np.diag([2.0, 2.0, 3.0, 1.0])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The run folder of a simulated scan in units of 1000; not to be changed."""
    folder = tmp_path_factory.mktemp("mri")
    volume = 1000 * head_phantom(12)[:, :, :8]
    write_volume(folder / "head.nii.gz", volume, AFFINE)
    out = folder / "run"
    words = ["fit", "mri", "--simulate", str(folder / "head.nii.gz"), "--fraction",
             "0.5", "--batch", "300", "--descent", "direct", "--max-memory",
             "1MiB"]  # fmt: skip
    assert main([*words, "--out", str(out), *TINY]) == 0
    return out


def test_a_simulated_scan_comes_with_its_baselines(run):
    result = json.loads((run / "result.json").read_text())
    names = {"psnr", "ssim", "error_test", "error_train"}
    assert set(result["metrics"]) == names
    assert set(result["baselines"]) == {"zero-filled", "total variation", "free grid"}
    assert all(set(scores) == names for scores in result["baselines"].values())
    assert result["grid"] == [6, 6, 4]  # the centre of k-space: at most 300 voxels
    tv = result["baselines"]["total variation"]
    assert tv["psnr"] > result["baselines"]["zero-filled"]["psnr"]
    lines = (run / "metrics.jsonl").read_text().splitlines()
    assert all("error_test" in json.loads(line) for line in lines)


def test_a_volume_at_another_resolution_keeps_its_place(run, capfd):
    out = run.parent / "fine.nii.gz"
    words = ["render", str(run / "model.safetensors"), "--resolution", "24"]
    assert main([*words, "--out", str(out)]) == 0
    assert "24 x 24 x 16" in capfd.readouterr().out
    image = load(out)
    assert isinstance(image, Nifti1Image) and image.affine is not None
    assert image.shape == (24, 24, 16)
    assert np.allclose(image.affine, np.diag([1.0, 1.0, 1.5, 1.0]))
    assert np.abs(image.get_fdata()).max() > 10  # the user's units, not [0, 1]
    for name in ("slices.png", "own.npy"):
        plain = [*words[:2], "--out", str(run.parent / name), "--quiet"]
        assert main(plain) == 0
    assert np.load(run.parent / "own.npy").shape == (12, 12, 8)


def test_what_a_volume_cannot_be_rendered_to(run, fails):
    model = run / "model.safetensors"
    assert "must end in" in fails("render", model, "--out", run.parent / "v.mp4")
    line = fails("render", model, "--out", run.parent / "v.npy", "--size", "4x4")
    assert "a volume has `--resolution`" in line


@pytest.mark.parametrize("norm", ["ortho", "none"])
def test_coils_in_sigpys_convention(tmp_path, norm):
    """Fully measured, zero filling must give the truth back, in the user's units."""
    rng = np.random.default_rng(0)
    truth = (50 * head_phantom(11, dims=2) * np.exp(0.3j)).astype(np.complex64)
    maps = rng.normal(size=(2, 3, 11, 11))
    maps = maps[0] + 1j * maps[1]
    axes = (1, 2)
    way = "ortho" if norm == "ortho" else "backward"
    shifted = np.fft.ifftshift(maps * truth, axes)
    samples = np.fft.fftshift(np.fft.fftn(shifted, axes=axes, norm=way), axes)
    for name, values in (("k", samples), ("s", maps), ("t", truth)):
        np.save(tmp_path / f"{name}.npy", values)
    k, s, t = (str(tmp_path / f"{name}.npy") for name in "kst")
    options = MriOptions(
        file=k, sens=s, truth=t, image="complex", holdout=0.0, norm=norm
    )
    read = measurement(options)
    found = read.forward().zero_filled(jnp.asarray(read.measured))
    pair = read.high * np.asarray(found)
    np.testing.assert_allclose(pair[..., 0] + 1j * pair[..., 1], truth, atol=1e-3)
    assert read.truth is not None and np.array_equal(read.truth, truth)


def test_a_fit_ends_when_nothing_is_gained():
    assert not out_of_patience(2, [3.0, 2.0])
    assert not out_of_patience(2, [3.0, 2.0, 2.5, 1.9])
    assert out_of_patience(2, [3.0, 2.0, 2.5, 2.1])
    assert not out_of_patience(None, [1.0, 2.0, 3.0])
    looks = looks_of([2, 4, 12, 14, 24], [3.0, 3.0, 2.0, 2.0, 2.0])
    assert looks == [(2, 3.0), (12, 2.0), (24, 2.0)]


def kspace(side: int = 8) -> np.ndarray:
    image = head_phantom(side, dims=2)
    return np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(image), norm="ortho"))


def test_bad_files(tmp_path, monkeypatch, fails):
    monkeypatch.chdir(tmp_path)
    good = kspace()
    np.save("k.npy", good)
    bad = good.copy()
    bad[2, 3] = np.nan
    files = {
        "real": np.real(good), "nan": bad, "zero": 0 * good,
        "coils": np.stack([good] * 3),
        "four": np.zeros((2, 3, 8, 8), complex), "mask0": np.zeros((8, 8), bool),
        "mask9": np.ones((9, 8), bool), "weights": np.full((8, 8), 0.5),
        "negative": -np.ones((8, 8)), "maps": np.ones((2, 8, 8)),
    }  # fmt: skip
    for name, values in files.items():
        np.save(f"{name}.npy", values)
    Nifti1Image(np.zeros((4, 4, 4, 3), np.float32), np.eye(4)).to_filename("4d.nii")
    cases = [
        (["real.npy"], "k-space is complex"),
        (["nan.npy"], "1 NaN or infinite values, the first at index (2, 3);"),
        (["zero.npy"], "nothing but zeros"),
        (["four.npy"], "several need `--axes cxy`"),
        (["k.npy", "--mask", "mask0.npy"], "no frequency was measured"),
        (["k.npy", "--mask", "mask9.npy"], r"shape (9, 8)"),
        (["k.npy", "--mask", "weights.npy"], "0 and 1"),
        (["coils.npy", "--sens", "maps.npy"], "coils in one order"),
        (["k.npy", "--truth", "maps.npy"], "on the same grid"),
        (["k.npy", "--spacing", "1,2,3"], "must be 2 positive numbers"),
        (["--simulate", "k.npy"], "a real volume is meant"),
        (["--simulate", "4d.nii"], "`--volume 0` takes the first of several"),
        (["--simulate", "negative.npy"], "a magnitude has none"),
        (["--simulate", "real.npy", "--truth", "real.npy"], "does not go with"),
        (["--simulate", "4d.nii", "--volume", "3"], "has 3, counted from 0"),
        (["k.npy", "--simulate", "real.npy"], "exclude each other"),
        ([], "KSPACE is missing"),
    ]
    for words, expected in cases:
        assert expected in fails("fit", "mri", *words, "--out", "run"), words


def test_an_image_with_phase_is_told_of(tmp_path, capfd):
    np.save(tmp_path / "k.npy", kspace() * np.exp(1j))
    words = ["fit", "mri", str(tmp_path / "k.npy"), "--max-memory", "1", "--out"]
    assert main([*words, str(tmp_path / "run")]) == 2
    err = capfd.readouterr().err
    assert "not that of a real image" in err
    assert "coarser grid" in err


def test_parts_fit_the_memory():
    field = eqx.filter_eval_shape(
        lambda: make_field("gaussian:5,m=64", d=3, out=1, key=jax.random.key(0))
    )
    assert microbatch_voxels(field, 1000, 1, 2**30) == 1000
    few = microbatch_voxels(field, 96**3, 1, 2**28)
    assert 10_000 < few < 96**3
    assert few > microbatch_voxels(field, 96**3, 4, 2**28)
    with pytest.raises(InputError, match="coarser grid"):
        microbatch_voxels(field, 192**3, 1, 2**28)


def test_a_coarser_grid_keeps_the_shape():
    assert coarser((96, 96, 96), 884_736) == (96, 96, 96)
    assert coarser((96, 96, 96), 120_000) == (48, 48, 48)
    assert coarser((181, 217, 181), 110_000) == (44, 54, 44)
    assert coarser((64, 6), 100) == (32, 4)


@pytest.mark.parametrize(
    ("origin", "other"), [("middle", "corner"), ("corner", "middle")]
)
def test_an_origin_at_the_wrong_place_is_told(tmp_path, origin, other):
    """Sides may be odd, and frequency 0 is the brightest of an image."""
    k = np.fft.fftn(head_phantom(15, dims=2)[:, :12]).astype(np.complex64)
    right = {"corner": k, "middle": np.fft.fftshift(k)}
    for place, kspace in right.items():
        np.save(tmp_path / f"{place}.npy", kspace)
        file = str(tmp_path / f"{place}.npy")
        said = " ".join(measurement(MriOptions(file=file, origin=origin)).warnings)
        assert (f"add `origin={other}`" in said) == (place == other)


def test_a_black_volume_is_noticed_and_begins_anew_at_its_mean(tmp_path, capsys):
    vessels = np.zeros((16, 16, 16), np.float32)
    vessels[5, 9, 2:14] = vessels[10, 4, 2:14] = 1
    np.save(tmp_path / "vessels.npy", vessels)
    words = ["fit", "mri", "--simulate", tmp_path / "vessels.npy", "--fraction", "0.5",
             "--mapping", "gaussian:3,m=64", "--width", "64", "--steps", "100",
             "--lr", "0.02", "--recipe", "paper",
             "--out", tmp_path / "run"]  # fmt: skip
    assert main([str(word) for word in words]) == 0
    assert "where no step moves it; starting anew" in capsys.readouterr().err
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["metrics"]["error_train"] < 0.9
