"""`passband render MODEL --out model.html` in Chromium: the numbers of Python."""

import base64
import dataclasses
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from devtools import Browser, Page, executable

import passband as pb
from passband.cli.main import main
from passband.encodings import Identity
from passband.export.web.network import network_data
from passband.export.web.page import page as document
from passband.field import MLP, Field, make_field
from passband.members import stacked
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


def pixels(rows: int, columns: int, step: float, third: float) -> np.ndarray:
    """(n, 3): column, row and a third coordinate of every pixel of a canvas."""
    across, down = np.meshgrid(np.arange(columns) * step, np.arange(rows) * step)
    return np.stack([across, down, np.full_like(down, third)], -1).reshape(-1, 3)


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


def test_members_are_averaged_and_every_way_of_evaluating_agrees(browser, tmp_path):
    field = stacked([draw(2, 1, seed=k) for k in (1, 2, 3)])
    address, model = written(tmp_path, field, task="image", shape=[16, 16, 1], bits=8)
    points = np.random.default_rng(0).uniform(0, 16, (50, 2))
    want = model(points)
    flat = (points / 16).ravel().tolist()
    for name in ("script", "WebAssembly"):
        with browser.page() as page:
            opened(page, address)
            found = page.evaluate(
                f"""(() => {{
                const e = new Evaluator(passband.data.network, ["{name}"]);
                return [e.name, [...e.values(Float32Array.from({flat}), 50)]]; }})()"""
            )
        assert found[0] == name
        assert np.abs(np.array(found[1]) - want[:, 0]).max() < 1e-4


def test_a_gpu_made_of_software_gives_the_same_values(tmp_path):
    if executable() is None:
        pytest.skip("no Chromium here")
    field = draw(3, 4, "gaussian:3,m=10", "sine:4", "identity")
    text = document("GPU", [], {"network": network_data(field)}, ())
    (tmp_path / "gl.html").write_text(text)
    points = np.random.default_rng(0).random((40, 3)).astype(np.float32)
    software = Browser("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
    try:
        with software.page() as page:
            page.open((tmp_path / "gl.html").as_uri())
            found = page.evaluate(
                f"""(() => {{
                const data = JSON.parse(document.getElementById("data").textContent);
                const e = new Evaluator(data.network, ["WebGL"], {{software: true}});
                return [e.name,
                  [...e.values(Float32Array.from({points.ravel().tolist()}), 40)]];
                }})()"""
            )
    finally:
        software.close()
    assert found[0] == "WebGL"
    assert np.abs(np.reshape(found[1], (40, 4)) - field.predict(points)).max() < 1e-3


def test_a_video_between_its_frames(page, tmp_path):
    shape = [24, 32, 5, 3]
    address, model = written(tmp_path, draw(3, 3), task="video", shape=shape, bits=8)
    opened(page, address)
    page.evaluate("""(async () => {
      const slider = document.getElementById("time");
      slider.value = "2.5"; slider.dispatchEvent(new Event("input"));
      await passband.engine.settled(); })()""")
    seen = canvas(page)
    rows, columns, _ = seen.shape
    # Where the canvas has its pixels.
    across, down = np.meshgrid(np.arange(columns), np.arange(rows))
    places = [
        across * 32 / columns,
        down * 32 / columns,
        np.full_like(down, 2.5, float),
    ]
    want = model(np.stack(places, -1).reshape(-1, 3)).reshape(rows, columns, 3)
    assert np.abs(seen[..., :3] - want).max() < TOLERANCE
    assert page.evaluate("document.querySelector('output').textContent") == "2.5"


def test_three_planes_of_a_volume(page, tmp_path):
    place = {"spacing": [1.0, 1.0, 2.0], "affine": None, "high": 40.0}
    field = draw(3, 2, output="identity")  # a complex image
    shape = [12, 10, 8, 2]
    address, model = written(tmp_path, field, task="mri", shape=shape, **place)
    opened(page, address)
    page.evaluate("passband.viewer.go({0: 3.5, 1: 4, 2: 6.25})")
    page.evaluate("passband.engine.settled()")
    seen = canvas(page)  # rows along axis 0, columns along axis 1
    rows, columns, _ = seen.shape
    across, down = np.meshgrid(np.arange(columns), np.arange(rows))
    places = [
        across * 10 / columns,
        down * 10 / columns,
        np.full_like(down, 6.25, float),
    ]
    found = model(np.stack(places, -1).reshape(-1, 3)).reshape(rows, columns)
    want = np.clip(np.abs(found) / 40, 0, 1)
    assert np.abs(seen[..., 0] - want).max() < TOLERANCE
    at = np.abs(model(np.array([[4, 3.5, 6.25]]))).item()
    said = page.evaluate("document.getElementById('readout').textContent")
    assert said.startswith("voxel 3.5, 4, 6.25")
    assert float(said.rpartition(" ")[2]) == pytest.approx(at, rel=1e-3)


def test_a_slice_of_ct_is_a_picture(page, tmp_path):
    field = draw(2, 1, output="identity")
    address, model = written(tmp_path, field, task="ct", shape=[30, 30, 1], high=2.5)
    opened(page, address)
    seen = canvas(page)
    n = len(seen)
    want = np.clip(model.render(size=(n, n))[..., 0] / 2.5, 0, 1)
    assert np.abs(seen[..., 0] - want).max() < TOLERANCE


def test_values_at_points_are_seen_over_their_range(page, tmp_path):
    field = draw(2, 1, output="identity")
    place = {"origin": [0.0, 0.0], "longest": 1.0}
    address, model = written(tmp_path, field, task="points", **place)
    opened(page, address)
    seen = canvas(page)
    low, high = page.evaluate("passband.data.view.window")
    n = len(seen)
    at = pixels(n, n, 1 / n, 0.0)[:, :2]
    want = (model(at).reshape(n, n) - low) / (high - low)
    assert np.abs(seen[..., 0] - np.clip(want, 0, 1)).max() < TOLERANCE


def test_a_signal_is_drawn_and_heard(page, tmp_path):
    field = draw(1, 1, "gaussian:20,m=32", output="identity")
    ends = {"low": -1.0, "high": 1.0, "rate": 8000.0}
    address, model = written(tmp_path, field, task="signal", shape=[900, 1], **ends)
    opened(page, address)
    page.wait("!!passband.viewer.shown")
    shown = np.array(page.evaluate("[...passband.viewer.shown]"))
    places = 900 * np.arange(len(shown)) / len(shown)
    assert np.abs(-1 + 2 * shown - model(places)[:, 0]).max() < TOLERANCE
    page.evaluate("document.getElementById('listen').click()")
    page.wait("!!passband.viewer.audio")
    heard = page.evaluate("[...passband.viewer.audio.getChannelData(0)]")
    want = model.render()[:, 0]
    assert np.abs(np.array(heard) - want / max(1, np.abs(want).max())).max() < TOLERANCE


RADIUS = 0.3


def octahedron(target: str) -> Field:
    """|x| + |y| + |z| against a radius, about the middle of the unit cube, written as a
    network of six units; a third root of it is nowhere above the distance."""
    W = np.concatenate([np.eye(3), -np.eye(3)], axis=1)
    b = -0.5 * W.sum(axis=0)
    last = -40.0 if target == "occupancy" else 3**-0.5
    layers = ((W, np.full((6, 1), last)), (b, np.array([-RADIUS * last])))
    weights, biases = (tuple(map(jnp.float32, part)) for part in layers)
    output = "sigmoid" if target == "occupancy" else "identity"
    return Field(Identity(np.ones(3), np.zeros(3)), MLP(weights, biases), output)


@pytest.mark.parametrize("target", ["occupancy", "sdf"])
def test_rays_end_on_the_faces_of_an_octahedron(page, tmp_path, target):
    about = {"center": [0.0] * 3, "scale": 1.0, "box": [[0.1] * 3, [0.9] * 3]}
    field = octahedron(target)
    address, _ = written(tmp_path, field, task="shape", target=target, **about)
    opened(page, address)
    job, flat = page.evaluate("""(() => {
      const { job } = passband.viewer.job(24, 24, false);
      const e = new Evaluator(passband.data.network);
      const s = JOBS.surface(e, { ...job, columns: 24, from: 0, to: 24 });
      return [job, [...s]]; })()""")
    seen = np.reshape(flat, (24, 24, 4))
    hit = seen[..., 0] > 0
    axes, depth = np.reshape(job["axes"], (3, 3)), seen[hit][:, 0]
    down, across = np.nonzero(hit)
    x = (across - job["centre"][0]) / job["focal"]
    y = (job["centre"][1] - down) / job["focal"]
    rays = x[:, None] * axes[0] + y[:, None] * axes[1] - axes[2]
    at = np.asarray(job["position"]) + depth[:, None] * rays - 0.5
    assert np.abs(np.abs(at).sum(axis=1) - RADIUS).max() < 1e-3
    # On the side that is seen, and with the normals of its faces.
    normals = np.sign(at) / 3**0.5
    assert ((rays * normals).sum(axis=1) < 0.05).all()
    off_edges = np.abs(at).min(axis=1) > 0.01
    assert np.abs(seen[hit][:, 1:] - normals)[off_edges].max() < TOLERANCE
    # All rays that come near enough to its middle, and no others.
    down, across = np.indices(hit.shape)
    x = (across - job["centre"][0]) / job["focal"]
    y = (job["centre"][1] - down) / job["focal"]
    rays = x[..., None] * axes[0] + y[..., None] * axes[1] - axes[2]
    far = np.linspace(0, 4, 4000)[:, None, None, None]
    nearest = np.abs(job["position"] + far * rays - 0.5).sum(axis=-1).min(axis=0)
    clear = np.abs(nearest - RADIUS) > 0.01
    assert (hit == (nearest < RADIUS))[clear].all() and hit.sum() > 20
    # And the canvas shows it: turned by the keyboard, it is another picture.
    first = canvas(page)
    assert (first[..., 3] > 0).mean() == pytest.approx(hit.mean(), abs=0.05)
    page.evaluate("document.querySelector('canvas').focus()")
    page.key("ArrowLeft")
    page.evaluate("passband.engine.settled()")
    assert np.abs(canvas(page) - first).max() > 0.05


POSE = [[1.0, 0.0, 0.0, 0.1], [0.0, 0.6, -0.8, -0.4], [0.0, 0.8, 0.6, 2.0]]
SCENE = {
    "size": [24, 32],
    "near": 1.0,
    "far": 3.0,
    "centre": [0.0, 0.2, 0.1],
    "side": 2.0,
    "background": "white",
    "samples": 20,
    "test": [POSE],
    "orbit": {"radius": 2.0, "elevation": 30.0, "centre": [0, 0, 0], "up": [0, 0, 1]},
    "lens": [40.0, 38.0, 15.0, 11.0],
}
AHEAD = {
    "test": [[[1.0, 0.0, 0.0, 0.1], [0.0, 1.0, 0.0, -0.05], [0.0, 0.0, 1.0, 0.2]]],
    "frustum": {"pose": np.eye(3, 4).tolist(), "scale": 1.2},
    "orbit": {"radii": [0.1, 0.1], "depth": 1.5},
}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"lens": [40.0, 38.0, 15.0, 11.0, 0.1, -0.05, 0.01, -0.02]},
        {**AHEAD, "background": "black"},
    ],
    ids=["around", "a bent lens", "forward-facing"],
)
def test_a_scene_is_what_its_cameras_see(page, tmp_path, more):
    members = [draw(3, 4, "gaussian:1,m=12", output="identity", seed=k) for k in (1, 2)]
    field = stacked(members)
    biases = (*field.mlp.biases[:-1], field.mlp.biases[-1] + jnp.array([0, 0, 0, 0.5]))
    field = dataclasses.replace(
        field, mlp=dataclasses.replace(field.mlp, biases=biases)
    )
    address, model = written(tmp_path, field, task="nerf", **SCENE | more)
    opened(page, address)
    seen = page.evaluate("""(() => {
      const { job } = passband.viewer.job(16, 12, false);
      const e = new Evaluator(passband.data.network);
      return [...JOBS.scene(e, { ...job, columns: 16, from: 0, to: 12 })]; })()""")
    want = model.render(views="test", size=(12, 16))[0]
    assert np.ptp(want) > 0.05
    assert np.abs(np.reshape(seen, (12, 16, 3)) - want).max() < TOLERANCE
    first = canvas(page)
    box = page.evaluate(
        "(() => { const b = document.querySelector('canvas').getBoundingClientRect();"
        " return [b.left, b.top]; })()"
    )
    left, top = (float(x) for x in box)
    page.drag((left + 100, top + 80), (left + 160, top + 90))
    page.evaluate("passband.engine.settled()")
    assert np.abs(canvas(page) - first).max() > 0.02
