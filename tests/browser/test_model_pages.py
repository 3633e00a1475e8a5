"""`passband render MODEL --out model.html` in Chromium: the numbers of Python."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devtools import Page

import passband as pb
from passband.cli.main import main
from passband.field import make_field
from passband.model_file import save

CANVAS = """(() => {
  const { width, height } = document.querySelector("canvas");
  const d = document.querySelector("canvas").getContext("2d")
    .getImageData(0, 0, width, height).data;
  let s = ""; for (const b of d) s += String.fromCharCode(b);
  return [height, width, btoa(s)];
})()"""
GREY = {"low": 0.0, "high": 1.0, "metrics": {"psnr": 31.25}, "mapping": "gaussian:4"}
TOLERANCE = 0.01
"""Of full scale."""


def written(folder: Path, field: Any, **about: Any) -> tuple[str, pb.Model]:
    """The address of a model's page, and the model."""
    save(field, folder / "model.safetensors", **GREY | about)
    out = folder / "model.html"
    model = str(folder / "model.safetensors")
    assert main(["render", model, "--out", str(out), "--quiet"]) == 0
    return out.as_uri(), pb.load(model)


def opened(page: Page, address: str) -> None:
    page.open(address)
    page.wait("window.passband && passband.viewer")
    page.evaluate("passband.engine.settled()")


def canvas(page: Page) -> np.ndarray:
    """(rows, columns, 4) of the first canvas, in [0, 1]."""
    rows, columns, data = page.evaluate(CANVAS)
    found = np.frombuffer(base64.b64decode(data), np.uint8)
    return found.reshape(rows, columns, 4) / 255


def draw(
    d: int,
    out: int,
    mapping: str = "gaussian:4,m=24",
    activation: str = "relu",
    output: str = "sigmoid",
    seed: int = 3,
) -> Any:
    return make_field(
        mapping, d=d, out=out, key=seed, width=20, layers=3, output=output,
        activation=activation,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mapping", "activation"),
    [
        ("gaussian:4,m=21", "relu"),
        ("none", "sine:12"),
        ("positional:4", "finer"),
        ("gaussian:2,m=8", "gauss:3"),
        ("multigrid:8,levels=2", "wire:5,3"),
    ],
)
def test_a_picture_between_its_pixels_is_what_render_gives(
    page, tmp_path, mapping, activation
):
    field = draw(2, 3, mapping, activation)
    address, model = written(tmp_path, field, task="image", shape=[40, 50, 3], bits=8)
    opened(page, address)
    whole = canvas(page)
    rows, columns, _ = whole.shape
    # A canvas has whole rows, the last of them perhaps beyond the picture.
    whole, bottom = whole[:-1], 50 * (rows - 1) / columns
    want = model.render(size=(rows - 1, columns), crop=(0, 0, bottom, 50))
    assert np.ptp(want) > 0.05  # there is something to see
    assert np.abs(whole[..., :3] - want).max() < TOLERANCE
    # Ten times closer, off the grid of the pixels.
    page.evaluate("passband.viewer.look({left: 10.25, top: 7.5, zoom: 200})")
    bottom, right = 7.5 + rows / 200, 10.25 + columns / 200
    want = model.render(size=(rows, columns), crop=(7.5, 10.25, bottom, right))
    assert np.abs(canvas(page)[..., :3] - want).max() < TOLERANCE
    text = page.evaluate("document.body.innerText")
    assert "31.25 dB" in text and "bytes" in text and "4 cycles" in text
