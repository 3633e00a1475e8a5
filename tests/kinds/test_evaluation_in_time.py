"""An evaluation that may take so many seconds takes less of the data.

Before, `--steps 5 --minutes 0.2` of 48 million pixels was still evaluating after 100 s.
"""

import json

import numpy as np
import pytest

from passband.cli.main import main
from passband.data.toy_scene import ANGLE
from passband.data.volumes import head_phantom
from passband.tasks.toy_views import toy_views

SMALL = ("--steps", "25", "--layers", "2", "--width", "16", "--mapping",
         "gaussian:2,m=8", "--json", "--quiet")  # fmt: skip


@pytest.fixture
def hurried(monkeypatch):
    """As if evaluating took far too long, for a fit of any `minutes`."""
    monkeypatch.setattr("passband.kinds.fit.LEAST_SECONDS", 0.0)
    for kind in ("image", "signal", "shape", "mri"):
        monkeypatch.setattr(f"passband.kinds.{kind}.points_in", lambda *_: 600)
    monkeypatch.setattr("passband.kinds.nerf._views_in", lambda *_: 1)
    # A long time ago is when the baselines began.
    monkeypatch.setattr(
        "passband.reconstruct.baselines.time.perf_counter",
        iter(range(0, 10**9, 1000)).__next__,
    )


def fitted(capsys, *words: str) -> dict:
    """Without and with a limit of time; the second result."""
    assert main(["fit", *words, *SMALL, "--out", "whole"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert "evaluated" not in whole and "left_out" not in whole
    assert main(["fit", *words, *SMALL, "--out", "part", "--minutes", "9"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("passband.cli.console.PIPE_SECONDS", 1e9)
    return tmp_path


def test_of_a_picture_some_rows_and_columns(here, capsys, hurried):
    np.save(here / "a.npy", np.random.default_rng(0).random((60, 80)))
    found = fitted(capsys, "image", "a.npy", "--batch", "64")
    assert found["evaluated"] == "one row and one column in 3"
    assert found["steps"] == 25


def test_of_a_signal_a_stretch(here, capsys, hurried):
    np.save(here / "a.npy", np.sin(np.arange(3000) / 50))
    found = fitted(capsys, "signal", "a.npy", "--batch", "64")
    assert found["evaluated"] == "samples 1200 to 1799 of 3000"
    page = (here / "part" / "report.html").read_text()
    assert "Spectrum" in page or "spectrum" in page


def test_of_a_sinogram_fewer_methods_beside_it(here, capsys, hurried):
    y, x = np.mgrid[:32, :32] - 16
    np.save(here / "a.npy", (np.hypot(x, y) < 11).astype(np.float32))
    words = ("ct", "--simulate", "a.npy", "--views", "16", "--batch", "256")
    found = fitted(capsys, *words)
    assert list(found["baselines"]) == ["FBP"]
    assert found["left_out"] == ["SART", "TV", "free grid"]


def test_of_k_space_the_lowest_frequencies(here, capsys, hurried):
    np.save(here / "a.npy", head_phantom(16))
    words = ("mri", "--simulate", "a.npy", "--fraction", "0.5", "--batch", "600")
    found = fitted(capsys, *words)
    assert found["evaluated"] == "the 8 x 8 x 8 lowest frequencies"
    assert list(found["baselines"]) == ["zero-filled"]
    assert main(["render", "part", "--out", "a.nii", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shape"] == [16, 16, 16]


def test_of_a_scene_fewer_views(here, capsys, hurried):
    from PIL import Image

    for seed, (split, count) in enumerate((("train", 6), ("test", 3))):
        views = toy_views(count, 12, seed=seed)
        (here / split).mkdir()
        frames = []
        for k in range(count):
            Image.fromarray(np.asarray(views.pixels[k])).save(f"{split}/{k}.png")
            pose = [*np.asarray(views.poses[k]).tolist(), [0, 0, 0, 1]]
            frames.append({"file_path": f"{split}/{k}", "transform_matrix": pose})
        content = {"camera_angle_x": ANGLE, "frames": frames}
        (here / f"transforms_{split}.json").write_text(json.dumps(content))
    found = fitted(capsys, "nerf", ".", "--batch", "64", "--samples", "16")
    assert found["evaluated"].startswith("1 of 3 test views")
