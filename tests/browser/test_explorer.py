"""The explorer in Chromium: what it shows is what its numbers say."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devtools import Page

from passband.data.images import Image
from passband.export.web.explorer_page import explorer_page
from passband.kinds.explore import SIDE, Family, explore

DOCS = Path(__file__).parents[2] / "docs" / "explorer.html"
PIXELS = f"""(() => {{
  const d = document.getElementById("picture").getContext("2d")
    .getImageData(0, 0, {SIDE}, {SIDE}).data;
  let s = ""; for (const b of d) s += String.fromCharCode(b);
  return btoa(s);
}})()"""
MOVE = """(async () => {
  const s = document.getElementById("sigma"), e = passband.explorer;
  s.value = PLACE; s.dispatchEvent(new Event("input"));
  await e.engine.settled();
  return e.times[e.times.length - 1];
})()"""
TEXT = "document.getElementById('{}').textContent"


def shown(page: Page) -> np.ndarray:
    """(side, side, 3) in [0, 1]."""
    found = np.frombuffer(base64.b64decode(page.evaluate(PIXELS)), np.uint8)
    return found.reshape(SIDE, SIDE, 4)[..., :3] / 255


def opened(page: Page, address: str) -> None:
    page.open(address)
    page.wait("window.passband && passband.explorer.times.length > 0")
    page.evaluate("passband.explorer.ready")


def evaluated(network: dict[str, Any], v: np.ndarray) -> np.ndarray:
    """A network of the page by NumPy alone, as docs/model-file.md says it."""
    raw = base64.b64decode(network["weights"]["data"])
    numbers, at = np.frombuffer(raw, np.float16).astype(np.float64), 0

    def take(*shape: int) -> np.ndarray:
        nonlocal at
        part = numbers[at : at + int(np.prod(shape))]
        at += part.size
        return part.reshape(shape)

    m = network["spec"]["encoding"]["m"]
    B, a = take(m, 2), take(m)
    turns = 2 * np.pi * v @ B.T
    x = np.hstack([a * np.sin(turns), a * np.cos(turns)])
    layers = network["spec"]["layers"]
    for k, shape in enumerate(layers):
        W, b = take(*shape), take(shape[1])
        x = x @ W + b
        x = np.maximum(x, 0) if k < len(layers) - 1 else 1 / (1 + np.exp(-x))
    return x


def psnr(one: np.ndarray, two: np.ndarray) -> float:
    return float(-10 * np.log10(np.mean((one - two) ** 2)))


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> tuple[str, dict[str, Any]]:
    """The explorer of a picture of one's own, hardly trained."""
    wave = np.sin(np.arange(40)[:, None] / 3) * np.cos(np.arange(50) / 4)
    picture = np.round(127 * (1 + wave)).astype(np.uint8)[..., None]
    families = (Family("gaussian", "Gaussian", "sigma", "cycles", (2.0, 8.0)),)
    found = explore(
        Image(picture, 0.0, 255.0, "own <b>.png"), steps=3, families=families,
        row={"steps": 20, "width": 96},
    )  # fmt: skip
    out = tmp_path_factory.mktemp("explorer") / "own.html"
    out.write_text(explorer_page(found))
    return out.as_uri(), found


def test_a_picture_of_ones_own_is_evaluated_at_every_sigma(page, small):
    address, data = small
    opened(page, address)
    block = np.stack(np.meshgrid(np.arange(40, 72), np.arange(90, 122)), -1) / SIDE
    for place, sigma in enumerate((2, 8)):
        page.evaluate(MOVE.replace("PLACE", str(place)))
        assert page.evaluate(TEXT.format("sigma-value")) == f"{sigma} cycles"
        network = data["networks"][f"gaussian {sigma} 3"]
        assert page.evaluate(TEXT.format("train")) == f"{network['train']:.2f} dB"
        want = evaluated(network, block.reshape(-1, 2)).reshape(32, 32, 1)
        assert np.abs(shown(page)[90:122, 40:72] - want).max() < 0.01
    # A name is text, whatever it holds.
    assert "own <b>.png" in page.evaluate("document.querySelector('h1').textContent")


def test_what_the_kernel_predicts_is_near_what_descent_does(small):
    row = small[1]["row"]
    for found in row["networks"].values():
        measured, predicted = np.array(found["measured"]), np.array(found["predicted"])
        assert measured[:, 0] == pytest.approx(predicted[:, 0], rel=1e-3)
        assert np.abs(measured - predicted).max() < 0.15 * measured.max()


def embedded() -> dict[str, Any]:
    data = re.search(r'id="data">(.*?)</script>', DOCS.read_text())
    assert data is not None
    return json.loads(data[1])


def test_the_explorer_of_the_docs_has_the_scripts_of_now():
    """`python docs/explorer.py` writes it again."""
    assert explorer_page(embedded(), title="What sigma does") == DOCS.read_text()


def test_the_explorer_of_the_docs_is_small_and_its_psnr_is_that_of_what_it_shows(page):
    assert DOCS.stat().st_size < 5e6
    data = embedded()
    target = np.frombuffer(base64.b64decode(data["target"]), np.uint8)
    target = target.reshape(SIDE, SIDE, 3) / 255
    opened(page, DOCS.as_uri())
    curve = {}
    for place in (0, 5, 12):
        page.evaluate(MOVE.replace("PLACE", str(place)))
        seen = shown(page)
        train, test = (
            float(page.evaluate(TEXT.format(name)).split()[0])
            for name in ("train", "test")
        )
        assert psnr(seen[::2, ::2], target[::2, ::2]) == pytest.approx(train, abs=0.1)
        assert psnr(seen[1::2, 1::2], target[1::2, 1::2]) == pytest.approx(
            test, abs=0.1
        )
        curve[place] = train, test
    # Both ends: too low a scale learns neither, too high a one only what it was shown.
    assert curve[0][0] < curve[5][0] - 3 and curve[12][1] < curve[5][1] - 6
    assert curve[12][0] - curve[12][1] > 5
    # Every network is there, and the keyboard moves from one to the next.
    page.evaluate("document.getElementById('sigma').focus()")
    page.key("ArrowLeft")
    page.evaluate("passband.explorer.engine.settled()")
    assert page.evaluate(TEXT.format("sigma-value")) == "45 cycles"
    for family in ("positional", "basic", "none"):
        page.evaluate(f"document.querySelector('input[value={family}]').click()")
        page.evaluate("passband.explorer.engine.settled()")
        said = page.evaluate(TEXT.format("word"))
        assert said.startswith(family)
    for depth in data["layers"]:
        page.evaluate(f"document.querySelector('input[value=\"{depth}\"]').click()")
        page.evaluate("passband.explorer.engine.settled()")
        assert psnr(shown(page)[::2, ::2], target[::2, ::2]) == pytest.approx(
            data["networks"][f"none 1 {depth}"]["train"], abs=0.1
        )


def test_from_the_slider_to_the_picture_takes_60_ms(page):
    opened(page, DOCS.as_uri())
    opens = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert opens < 2000
    # Other tests have the cores too: what one moment has time for, the page can do.
    took = [page.evaluate(MOVE.replace("PLACE", str(k % 13))) for k in range(5)]
    while min(took) > 60 and len(took) < 150:
        took.append(page.evaluate(MOVE.replace("PLACE", str(len(took) % 13))))
    assert min(took) <= 60


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_window(page, width):
    page.look(width)
    opened(page, DOCS.as_uri())
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
    for name in ("curve", "spectra", "cut", "drawn", "signal", "bands"):
        box = f"document.getElementById('{name}').getBoundingClientRect()"
        assert page.evaluate(f"{box}.width") > 100
