"""Small files and small fits that the tests of the command share."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import wavfile

from passband.cli.main import main

# Small enough to train in a moment; one shape, so that it is compiled once.
SMALL = ("--steps", "25", "--layers", "2", "--width", "16", "--batch", "128")
IMAGE = (*SMALL, "--mapping", "gaussian:4,m=8")


def waves(rows: int = 24, columns: int = 32) -> np.ndarray:
    """A smooth picture with every level from dark to bright, as uint8."""
    y, x = np.mgrid[0:rows, 0:columns] / max(rows, columns)
    parts = [np.sin(9 * x + 4 * y), np.cos(7 * y - 3 * x), np.sin(12 * x * y)]
    return np.round(127.5 * (1 + np.stack(parts, axis=-1))).astype(np.uint8)


@pytest.fixture(autouse=True)
def no_progress_in_pipes(monkeypatch):
    """A busy machine may take ten seconds for what is quick elsewhere."""
    monkeypatch.setattr("passband.cli.console.PIPE_SECONDS", 1e9)


@pytest.fixture(scope="session")
def quick() -> tuple[str, ...]:
    """Options of a fit that takes a moment."""
    return IMAGE


@pytest.fixture(scope="session")
def picture() -> np.ndarray:
    """The picture that the shared fits are of."""
    return waves()


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty working folder with one picture in it."""
    monkeypatch.chdir(tmp_path)
    Image.fromarray(waves()).save(tmp_path / "photo.png")
    return tmp_path


@pytest.fixture(scope="module")
def image_run(tmp_path_factory) -> Path:
    """The run folder of a fitted picture; not to be changed."""
    folder = tmp_path_factory.mktemp("image")
    Image.fromarray(waves()).save(folder / "photo.png")
    out = folder / "run"
    words = ["fit", "image", str(folder / "photo.png"), "--out", str(out), "--quiet"]
    assert main([*words, *IMAGE]) == 0
    return out


@pytest.fixture(scope="module")
def signal_run(tmp_path_factory) -> Path:
    """The run folder of a fitted sound of a quarter of a second; not to be changed."""
    folder = tmp_path_factory.mktemp("signal")
    t = np.arange(200) / 800
    sound = np.stack([np.sin(60 * t), 0.5 * np.cos(40 * t)], axis=1)
    wavfile.write(folder / "tone.wav", 800, np.round(30000 * sound).astype(np.int16))
    out = folder / "run"
    words = ["fit", "signal", str(folder / "tone.wav"), "--out", str(out), "--quiet"]
    assert main([*words, *SMALL]) == 0
    return out


@pytest.fixture
def fails(capsys):
    """Runs a command that must fail: one line on stderr, status 2, no result."""

    def run(*words: object) -> str:
        assert main([str(word) for word in words]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("passband: ")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        return err

    return run
