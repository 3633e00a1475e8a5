"""Never dead: data whose mean lies at an end of the sigmoid, or that are hardly there.

From 1/2 the first steps carry a field to 0 or to 1, where no slope brings it back. A
field that learned nothing is as good as the best constant, 0 dB above it here.
"""

import numpy as np
import pytest
from PIL import Image

import passband as pb

SIDE = 48


@pytest.fixture(autouse=True)
def no_baselines(monkeypatch):
    """They have their own tests, and take longer than these."""
    for kind in ("ct", "mri"):
        monkeypatch.setattr(f"passband.kinds.{kind}.baselines", lambda task, **_: {})


def stars(rng: np.random.Generator) -> np.ndarray:
    """A black sky with a few white points, a little blurred."""
    sky = np.zeros((SIDE, SIDE))
    rows, columns = rng.integers(2, SIDE - 2, (2, 12))
    y, x = np.mgrid[:SIDE, :SIDE]
    for r, c in zip(rows, columns, strict=True):
        sky += np.exp(-((y - r) ** 2 + (x - c) ** 2) / 2)
    return np.clip(sky, 0, 1)


def drawing(rng: np.random.Generator) -> np.ndarray:
    """Thin black lines on white."""
    page = np.ones((SIDE, SIDE))
    y, x = np.mgrid[:SIDE, :SIDE]
    page[np.abs(y - 10 - x / 3) < 1] = 0
    page[np.abs(np.hypot(y - 26, x - 26) - 14) < 1] = 0
    return page


def page(rng: np.random.Generator) -> np.ndarray:
    """White, but for one small mark."""
    white = np.ones((SIDE, SIDE))
    white[20:24, 18:30] = 0.2
    return white


def gain_over_a_constant(seen: np.ndarray, truth: np.ndarray) -> float:
    """In dB."""
    return float(10 * np.log10(truth.var() / np.mean((seen - truth) ** 2)))


@pytest.mark.parametrize("make", [stars, drawing, page])
def test_pictures_at_an_end_of_the_sigmoid_are_learned(make, tmp_path):
    truth = make(np.random.default_rng(0))
    Image.fromarray((255 * truth).astype(np.uint8)).save(tmp_path / "picture.png")
    model = pb.fit(
        tmp_path / "picture.png", mapping="gaussian:6,m=64", steps=150, width=64
    )
    seen = np.asarray(model.render(size=(SIDE, SIDE))).reshape(SIDE, SIDE) / 255
    assert gain_over_a_constant(seen, truth) > 10


SPLIT = {"descent": "split", "batch": 1000}


@pytest.mark.parametrize("more", [{}, SPLIT], ids=["direct", "split"])
def test_a_phantom_of_a_few_points_behind_20_views_is_learned(more, tmp_path):
    truth = stars(np.random.default_rng(1))
    np.save(tmp_path / "points.npy", truth.astype(np.float32))
    scan = pb.read(None, kind="ct", simulate=tmp_path / "points.npy", views=20)
    model = pb.fit(scan, mapping="gaussian:4,m=64", steps=150, width=64, **more)
    assert model.metrics["psnr"] > -10 * np.log10(truth.var()) + 3


@pytest.mark.parametrize("more", [{}, SPLIT], ids=["direct", "split"])
def test_thin_vessels_behind_k_space_are_learned(more, tmp_path):
    side = 24
    z, y, x = np.mgrid[:side, :side, :side]
    truth = (np.hypot(y - 12, x - 8 - z / 4) < 1.5).astype(np.float32)
    np.save(tmp_path / "vessels.npy", truth)
    scan = pb.read(None, kind="mri", simulate=tmp_path / "vessels.npy", fraction=0.4)
    model = pb.fit(scan, mapping="gaussian:3,m=64", steps=150, width=64, **more)
    assert model.metrics["psnr"] > -10 * np.log10(truth.var()) + 3
