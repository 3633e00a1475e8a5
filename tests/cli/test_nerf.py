"""`passband fit nerf` and its renders, as a new user tries them."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from passband.cli.main import main
from passband.data.toy_scene import ANGLE
from passband.tasks.toy_views import toy_views

QUICK = ("--layers", "2", "--width", "16", "--batch", "64", "--samples", "16")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A Blender-style scene of 6 training and 2 test views of 12 x 12 pixels."""
    folder = tmp_path_factory.mktemp("toy")
    for seed, (split, count) in enumerate((("train", 6), ("test", 2))):
        views = toy_views(count, 12, seed=seed)
        (folder / split).mkdir()
        frames = []
        for k in range(count):
            Image.fromarray(np.asarray(views.pixels[k])).save(
                folder / split / f"{k}.png"
            )
            pose = [*np.asarray(views.poses[k]).tolist(), [0, 0, 0, 1]]
            frames.append({"file_path": f"{split}/{k}", "transform_matrix": pose})
        content = {"camera_angle_x": ANGLE, "frames": frames}
        (folder / f"transforms_{split}.json").write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    out = folder / "run"
    words = ["fit", "nerf", str(folder), "--out", str(out), "--quiet", "--steps", "60"]
    assert main([*words, *QUICK, "--mapping", "gaussian:3,m=8"]) == 0
    return out


def test_a_scene_is_fitted_and_scored_on_its_test_views(run: Path):
    result = json.loads((run / "result.json").read_text())
    assert (result["task"], result["steps"]) == ("nerf", 60)
    assert set(result["metrics"]) == {"psnr_test", "ssim"}
    assert result["baselines"]["nearest photograph"]["psnr_test"] > 5
    with Image.open(run / "preview.png") as preview:
        assert preview.size == (24, 12)  # a photograph, and its view
    page = (run / "report.html").read_text()
    assert "Rendered" in page or "Views" in page


@pytest.mark.parametrize("given", [(), ("--recipe", "paper", "--skip-empty")])
def test_empty_space_is_left_out(folder, tmp_path, monkeypatch, given):
    """On a CPU; after the first steps, and with an entry for each look."""
    monkeypatch.setattr("passband.tasks.nerf.SKIP_AFTER", 50)
    words = ["fit", "nerf", str(folder), "--quiet", "--steps", "110", *QUICK]
    out = tmp_path / "run"
    mapping = ("--mapping", "gaussian:3,m=8")
    assert main([*words, *mapping, "--out", str(out), *given]) == 0
    config = json.loads((out / "config.json").read_text())
    assert config["skip_empty"] is True and config["every"] == 50
    lines = (out / "metrics.jsonl").read_text().splitlines()
    steps = [json.loads(line)["step"] for line in lines]
    assert steps == [50, 100, 110]
    result = json.loads((out / "result.json").read_text())
    assert result["step_points"] == 64 * 16
    assert result["metrics"]["psnr_test"] > 5


@pytest.mark.parametrize(
    "given", [("--no-skip-empty",), ("--recipe", "paper"), ("--members", "2")]
)
def test_empty_space_is_not_left_out(folder, tmp_path, given):
    words = ["fit", "nerf", str(folder), "--quiet", "--steps", "30", *QUICK]
    out = tmp_path / "run"
    mapping = ("--mapping", "gaussian:3,m=8")
    assert main([*words, *mapping, "--out", str(out), *given]) == 0
    config = json.loads((out / "config.json").read_text())
    assert config["skip_empty"] is False and config["every"] == 25
    assert config["samples"] == 16


def test_an_orbit_is_a_moving_picture(run: Path, tmp_path: Path, capsys):
    out = tmp_path / "orbit.gif"
    model = str(run / "model.safetensors")
    words = ["render", model, "--out", str(out), "--json", "--resolution", "20"]
    assert main([*words, "--orbit", "3"]) == 0
    assert json.loads(capsys.readouterr().out)["shape"] == [3, 20, 20, 3]
    with Image.open(out) as image:
        frames = [frame.copy() for frame in ImageSequence.Iterator(image)]
    assert [frame.size for frame in frames] == [(20, 20)] * 3


def test_test_views_and_their_depth(run: Path, tmp_path: Path):
    model = str(run / "model.safetensors")
    out = tmp_path / "view.png"
    assert main(["render", model, "--out", str(out), "--views", "test"]) == 0
    seen = [np.asarray(Image.open(tmp_path / f"view-{k}.png")) for k in range(2)]
    assert seen[0].shape == (12, 12, 3) and (seen[0] != seen[1]).any()
    out = tmp_path / "depth.npy"
    assert main(["render", model, "--out", str(out), "--depth"]) == 0
    depth = np.load(out)
    solid = np.isfinite(depth)
    assert depth.shape == (12, 12)
    assert ((depth[solid] > 1.5) & (depth[solid] < 6.5)).all()


def test_cameras_come_from_a_file(run: Path, folder: Path, tmp_path: Path):
    """The training cameras, at another size; a file of cameras needs no pictures."""
    model, cameras = str(run / "model.safetensors"), folder / "transforms_train.json"
    out = tmp_path / "seen.png"
    words = ["render", model, "--out", str(out), "--camera", str(cameras)]
    assert main([*words, "--size", "6x9"]) == 0
    files = sorted(tmp_path.iterdir())
    assert [f.name for f in files] == [f"seen-{k}.png" for k in range(6)]
    with Image.open(files[0]) as image:
        assert image.size == (9, 6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "x.obj"], "must end in .png, .npy, .gif, .mp4, .onnx"),
        (["--out", "x.gif", "--orbit", "3", "--views", "test"], "exclude each other"),
        (["--out", "x.png", "--bits", "8"], "`--bits` is for pictures"),
        (["--out", "x.png", "--size", "12"], "must be ROWSxCOLUMNS"),
        (["--out", "x.png", "--camera", "no.json"], "`no.json` does not exist"),
    ],
)
def test_renders_that_cannot_be(
    run: Path, tmp_path, monkeypatch, capsys, words, message
):
    monkeypatch.chdir(tmp_path)
    assert main(["render", str(run / "model.safetensors"), *words]) == 2
    assert message in capsys.readouterr().err


def test_a_collapse_is_noticed_and_tried_again(folder: Path, tmp_path: Path, capsys):
    """A rate of 30 kills any network, and so do a third, a ninth and a 27th of it."""
    out = tmp_path / "run"
    words = ["fit", "nerf", str(folder), "--out", str(out), "--steps", "200",
             "--recipe", "paper"]  # fmt: skip
    assert main([*words, *QUICK, "--mapping", "gaussian:99,m=8", "--lr", "30"]) == 1
    said = capsys.readouterr().err
    for start in ("`--near` is", "`--far` is", "Nyquist"):  # once, not at every start
        assert said.count(start) == 1
    assert (
        "collapsed by step 50: a colour channel is the same on every ray; starting "
        "anew with seed 1" in said
    )
    assert [f"a rate of {r}" in said for r in ("10", "3.33", "1.11")] == [True] * 3
    assert "try another `--seed` or `--mapping`" in said
    assert json.loads((out / "config.json").read_text())["lr"] == pytest.approx(30 / 27)


def test_a_scene_outside_near_and_far_is_refused(folder: Path, tmp_path: Path, capsys):
    words = ["fit", "nerf", str(folder), "--out", str(tmp_path / "run")]
    assert main([*words, "--near", "20", "--far", "30"]) == 2
    assert "misses the scene" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_on_a_cpu_the_scale_of_a_scene_is_a_guess_unless_trials_are_asked_for(
    folder: Path, tmp_path: Path, capsys
):
    out = tmp_path / "tune"
    words = ["tune", "nerf", str(folder), "--out", str(out), "--json", "--width", "16"]
    assert main(words) == 0
    guessed = json.loads(capsys.readouterr().out)
    assert guessed["curves"] == [] and not guessed["conclusive"]
    assert guessed["sigma"] == guessed["guess"]
    assert "too short to tell" in (out / "report.html").read_text()
    words += ["--overwrite"]
    assert main([*words, "--steps", "16", "--batch", "8"]) == 0
    tried = json.loads(capsys.readouterr().out)
    assert [curve["steps"] for curve in tried["curves"]] == [4, 8, 16]
    assert tried["above"] > 1
    assert "a fit is longer than these trials" in (out / "report.html").read_text()
