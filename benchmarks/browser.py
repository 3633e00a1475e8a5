"""The pages in Chromium without a GPU: the explorer's slider, and points a second.

    python benchmarks/browser.py [--json FILE]

The slider is moved over all sigmas, from its event to the finished picture of 256 x 256
pixels. Points a second are of one worker, by WebAssembly and by plain loops, for
networks of several sizes; JAX evaluates the same ones beside them.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from passband.export.web.network import network_data
from passband.export.web.page import page
from passband.field import make_field

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "browser"))
from devtools import Browser  # noqa: E402

SIZES = ((64, 64, 3), (64, 64, 4), (256, 256, 4))
POINTS = 8192
SLIDER = """(async () => {
  const e = passband.explorer, s = document.getElementById("sigma"), out = [];
  for (let k = 0; k < 65; k++) {
    s.value = k % 13; s.dispatchEvent(new Event("input"));
    await e.engine.settled();
    out.push(e.times[e.times.length - 1]);
    await new Promise((done) => setTimeout(done, 20));
  }
  return out.slice(13);
})()"""
TILES = """(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const engine = new Engine({ model: data.network }, { backend: NAME });
  const backend = await engine.ready, out = [];
  const job = { type: "plane", columns: 256, origin: [0, 0], across: [1 / 256, 0],
    down: [0, 1 / 256], from: 0, to: ROWS };
  for (let k = 0; k < REPEATS; k++) {
    out.push((await engine.ask(engine.workers[0], "model", job)).ms);
  }
  return [backend, out];
})()"""


def slider(browser: Browser) -> dict[str, float]:
    """From the slider to the picture, and until the page is there, in ms."""
    with browser.page() as tab:
        tab.look(1280)
        tab.open((ROOT / "docs" / "explorer.html").as_uri())
        tab.wait("window.passband && passband.explorer.times.length > 0")
        opened = tab.evaluate("performance.now()")
        tab.evaluate("passband.explorer.ready")
        took = sorted(tab.evaluate(SLIDER))
    return {
        "opened": opened,
        "least": took[0],
        "median": statistics.median(took),
        "most": took[-1],
    }


def points(browser: Browser, m: int, width: int, layers: int) -> dict[str, float]:
    """Points a second of one network, of one thread of a page and of JAX on all."""
    field = make_field(
        f"gaussian:5,m={m}", d=2, out=3, key=0, width=width, layers=layers
    )
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.html"
        path.write_text(page("network", [], {"network": network_data(field)}, ()))
        for name, repeats, rows in (("WebAssembly", 60, 32), ("script", 4, 4)):
            with browser.page() as tab:
                tab.open(path.as_uri())
                script = TILES.replace("NAME", f'"{name}"')
                script = script.replace("REPEATS", str(repeats))
                backend, took = tab.evaluate(script.replace("ROWS", str(rows)))
            assert backend == name
            found[name] = 256 * rows / min(took) * 1000
    at = np.random.default_rng(0).random((POINTS, 2), np.float32)
    took = []
    for _ in range(30):
        begun = time.perf_counter()
        field.predict(at)
        took.append(time.perf_counter() - begun)
    found["JAX"] = POINTS / min(took)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    browser = Browser()
    try:
        found = {"slider_ms": slider(browser), "points_a_second": {}}
        for m, width, layers in SIZES:
            name = "-".join(map(str, [2 * m, *[width] * (layers - 1), 3]))
            found["points_a_second"][name] = points(browser, m, width, layers)
    finally:
        browser.close()
    found["machine"] = {"cores": os.cpu_count(), "processor": platform.machine(),
                        "load": os.getloadavg()[0]}  # fmt: skip
    print(json.dumps(found, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
