"""`passband fit ct`: from a picture or a sinogram to densities in the user's units."""

import json
from pathlib import Path

import numpy as np
import pytest
from skimage.transform import radon

from passband.cli.main import main
from passband.kinds.ct import CTKind
from passband.kinds.ct_options import CTOptions
from passband.model_file import load_with_info

SIDE = 32  # with 16 views, as in other tests: what they compiled is found
QUICK = ("--steps", "25", "--layers", "2", "--width", "16", "--mapping",
         "gaussian:2,m=8", "--batch", "256")  # fmt: skip


@pytest.fixture(scope="module")
def scan(tmp_path_factory) -> Path:
    """scikit-image's sinogram of two discs with densities up to 40, its transpose, the
    discs themselves, and a run."""
    folder = tmp_path_factory.mktemp("ct")
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE // 2
    discs = 30.0 * (np.hypot(x, y) < 11) + 10 * (np.hypot(x - 3, y + 2) < 5)
    sinogram = radon(discs, theta=np.arange(16) * 11.25, circle=True)
    np.save(folder / "discs.npy", discs.astype(np.float32))
    np.save(folder / "theirs.npy", sinogram)
    np.save(folder / "scan.npy", 0.5 * sinogram.T)
    words = ["fit", "ct", folder / "scan.npy", "--angles", "0:180:16", "--pixel", "0.5",
             "--truth", folder / "discs.npy", "--out", folder / "run", "--quiet",
             *QUICK]  # fmt: skip
    assert main([str(word) for word in words]) == 0
    return folder


def test_a_sinogram_comes_out_beside_its_baselines(scan):
    result = json.loads((scan / "run" / "result.json").read_text())
    assert set(result["metrics"]) == {"psnr", "ssim", "error_train", "error_test"}
    assert set(result["baselines"]) == {"FBP", "SART", "TV", "free grid"}
    # In the user's units: a wrong factor would leave nothing near the truth.
    assert result["baselines"]["TV"]["psnr"] > 18
    assert result["baselines"]["TV"]["error_test"] < 0.05
    assert "grid" not in result  # the steps are split: all of the picture is learned
    report = (scan / "run" / "report.html").read_text()
    assert "Reconstructions" in report and "Sinogram" in report
    assert (scan / "run" / "preview.png").stat().st_size > 0
    lines = (scan / "run" / "metrics.jsonl").read_text().splitlines()
    assert "error_test" in json.loads(lines[-1])


def test_a_density_that_no_step_moves_is_tried_again(scan, tmp_path, capsys):
    words = ["fit", "ct", scan / "scan.npy", "--angles", "0:180:16", "--pixel", "0.5",
             "--out", tmp_path / "run", "--lr", "1e3", "--steps", "100",
             "--recipe", "paper", *QUICK[2:]]  # fmt: skip
    assert main([str(word) for word in words]) == 1
    said = capsys.readouterr().err
    assert "it is at an end of the sigmoid, where no step moves it" in said
    assert "starting anew with seed 1" in said
    assert "try another `--seed` or `--mapping`" in said


def test_a_field_begins_at_the_mean_density(scan):
    options = CTOptions(file=str(scan / "scan.npy"), angles="0:180:16", pixel=0.5)
    kind = CTKind.read(options)
    start = kind.network().start
    truth = np.load(scan / "discs.npy")
    assert start == pytest.approx(truth.mean() / kind.high, rel=0.05)


def test_the_model_renders_in_the_users_units(scan, tmp_path):
    out = tmp_path / "densities.npy"
    model = str(scan / "run" / "model.safetensors")
    assert main(["render", model, "--out", str(out), "--quiet"]) == 0
    densities = np.load(out)
    _, about = load_with_info(model)
    assert densities.shape == (SIDE, SIDE, 1)
    assert about["pixel"] == 0.5 and 40 <= about["high"] < 100
    assert densities.min() >= 0 and densities.max() <= about["high"]
    assert densities.max() > 4  # not in [0, 1]


def test_a_simulated_run_stops_when_held_out_rays_say_so(scan, tmp_path, capsys):
    words = ["fit", "ct", "--simulate", str(scan / "discs.npy"), "--views", "16",
             "--noise", "0.5", "--patience", "1", "--out", str(tmp_path / "run"),
             "--json", "--lr", "0.1", *QUICK, "--steps", "2000"]  # fmt: skip
    assert main(words) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["task"] == "ct" and result["steps"] < 2000
    assert "psnr" in result["metrics"] and "psnr" in result["baselines"]["FBP"]


def test_a_transposed_sinogram_is_taken_as_it_was_meant(scan):
    ours, theirs = (
        CTKind.read(CTOptions(file=str(scan / name), angles="0:180:16", pixel=pixel))
        for name, pixel in (("scan.npy", 0.5), ("theirs.npy", 1.0))
    )
    np.testing.assert_allclose(theirs.data.values, 2 * ours.data.values, rtol=1e-6)
    assert "taken as (bins, views)" in theirs.warnings[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scan.npy"], "`--angles` is missing; such as 0:180:20"),
        (["scan.npy", "--angles", "0:180:9"], "`--angles` (=0:180:9) gives 9"),
        ([], "SCAN is missing"),
        (["scan.npy", "--simulate", "discs.npy"], "exclude each other"),
        (
            ["scan.npy", "--angles", "0:180:16", "--offset", "99"],
            "`--offset` (=99.0) must be less than half of the 32 bins",
        ),
    ],
)
def test_mistakes_take_one_line(scan, monkeypatch, fails, words, message):
    monkeypatch.chdir(scan)
    assert message in fails("fit", "ct", *words, "--out", "nowhere", *QUICK)
    assert not (scan / "nowhere").exists()


def test_radians_are_warned_of(scan, monkeypatch, capsys):
    monkeypatch.chdir(scan)
    np.save("radians.npy", np.arange(16) * np.pi / 16)
    words = ["fit", "ct", "scan.npy", "--angles", "radians.npy", "--out", "radians"]
    assert main([*words, *QUICK]) == 0
    assert "if they are radians" in capsys.readouterr().err
