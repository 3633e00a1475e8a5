"""`passband render` of a shape whose surface is known, and of any model as ONNX."""

import json
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest
import trimesh

from passband.cli.main import main
from passband.data.images import read_image
from passband.data.meshes import make_mesh
from passband.field import MLP, Field, make_field
from passband.kinds import shape as shape_kind
from passband.mappings import Identity
from passband.model_file import load_with_info, save

CENTER, SCALE = np.array([4.0e6, -250.0, 30.0]), 20.0
ABOUT = {"task": "shape", "mapping": "none", "center": CENTER.tolist(), "scale": SCALE,
         "box": [[0.1] * 3, [0.9] * 3]}  # fmt: skip


def _rounded_box() -> Field:
    """0.1 minus the L1 distance from the cube [0.3, 0.7]^3, by ReLUs, as logits."""
    eye = np.eye(3)
    weights = np.concatenate([eye, -eye], axis=1)
    biases = np.array([-0.7] * 3 + [0.3] * 3)
    layers = (weights, np.full((6, 1), -1.0)), (biases, np.array([0.1]))
    weights, biases = (tuple(jnp.float32(x) for x in part) for part in layers)
    network = MLP(weights, biases)
    return Field(Identity(jnp.ones(3), jnp.zeros(3)), network, "sigmoid")


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(_rounded_box(), "model.safetensors", **ABOUT)
    return "model.safetensors"


def _beyond(points):
    """L1 distance from the inner cube, less that of the surface, in the unit cube."""
    unit = 0.5 * ((points - CENTER) / SCALE + 1)
    return np.abs(unit - np.clip(unit, 0.3, 0.7)).sum(axis=1) - 0.1


@pytest.mark.parametrize("suffix", [".ply", ".obj", ".stl"])
def test_a_mesh_comes_back_where_it_stood(model, suffix, capsys):
    words = ["render", model, "--out", f"mesh{suffix}", "--resolution", "40", "--json"]
    assert main(words) == 0
    content = json.loads(capsys.readouterr().out)
    mesh = trimesh.load_mesh(f"mesh{suffix}", process=suffix == ".stl")
    assert content["shape"] == [len(mesh.faces), 3]
    assert "chamfer" not in content  # nothing is known of a mesh to measure against
    points, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    # STL stores float32: half a unit at 4,000,000.
    cell = 0.8 / 40
    rounding = 0.3 / (2 * SCALE) if suffix == ".stl" else 0
    assert np.abs(_beyond(points)).max() < cell / 2 + rounding
    if suffix == ".ply":
        # A cube with its edges and corners cut: closed, outward, of known volume.
        assert make_mesh(points, faces).edges.closed
        side, cut = 0.4, 0.1
        volume = side**3 + 6 * side**2 * cut + 12 * side * cut**2 / 2 + 8 * cut**3 / 6
        assert mesh.volume == pytest.approx(volume * (2 * SCALE) ** 3, rel=0.01)
        normals = np.asarray(mesh.vertex_normals)
        outward = np.einsum("ij,ij->i", normals, points - CENTER)
        assert (outward > 0).all()


def test_chamfer_is_to_the_mesh_that_is_given_or_was_fitted(
    model, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(shape_kind, "SAMPLES", 5000)
    words = ["render", model, "--resolution", "40", "--json", "--overwrite", "--out"]
    assert main([*words, "mesh.ply"]) == 0
    mesh = trimesh.load_mesh("mesh.ply")
    vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    away = np.array([0.0, 0.0, 0.5])
    np.savez("moved.npz", vertices=vertices + away, faces=faces)
    capsys.readouterr()
    assert main([*words, "again.ply", "--reference", "moved.npz"]) == 0
    given = json.loads(capsys.readouterr().out)
    # Only faces across z are 0.5 away; along the others the surface slides.
    assert 0.05 < given["chamfer"] < 0.3
    fitted = make_mesh(vertices + away, faces)
    save(_rounded_box(), model, **ABOUT, digest=fitted.digest)
    config = {"file": str(tmp_path / "moved.npz")}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert main([*words, "again.ply"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["chamfer"] == pytest.approx(given["chamfer"])
    np.savez("moved.npz", vertices=vertices, faces=faces)  # another mesh by now
    assert main([*words, "again.ply"]) == 0
    assert "chamfer" not in json.loads(capsys.readouterr().out)


def test_normals_face_the_camera_and_turn_with_it(model):
    words = ["render", model, "--resolution", "32", "--elevation", "0", "--quiet"]
    for azimuth, name in ((0, "z.png"), (90, "x.png")):
        assert main([*words, "--azimuth", str(azimuth), "--out", name]) == 0
    along_z, along_x = (read_image(n).values for n in ("z.png", "x.png"))
    assert along_z.shape == (32, 32, 3)
    np.testing.assert_array_equal(along_z[0, 0], [255] * 3)  # beside it: white
    # Looking down an axis the middle of the picture is a face across that axis.
    np.testing.assert_allclose(along_z[16, 16], [128, 128, 255], atol=2)
    assert along_x[16, 16, 0] in (0, 255)


def test_wrong_options_and_models_are_one_line(model, fails):
    assert "must end in .ply, .obj, .stl, .png" in fails(
        "render", model, "--out", "a.x"
    )
    words = ("render", model, "--out", "a.ply")
    assert "`--crop` is for pictures" in fails(*words, "--crop", "0,0,1,1")
    assert "`none.ply` does not exist" in fails(*words, "--reference", "none.ply")
    empty = eqx.tree_at(lambda f: f.mlp.biases[-1], _rounded_box(), jnp.full(1, -9.0))
    save(empty, "empty.safetensors", **ABOUT)
    for name in ("a.png", "a.ply"):
        assert "no surface" in fails("render", "empty.safetensors", "--out", name)
    for name, value in (("box", [[0, 0, 0]]), ("scale", -1.0), ("center", "here")):
        save(_rounded_box(), "odd.safetensors", **{**ABOUT, name: value})
        assert f"`{name}`" in fails("render", "odd.safetensors", "--out", "a.ply")
    words = ("render", model, "--out", "a.onnx", "--resolution", "8")
    assert "means nothing to an ONNX model" in fails(*words)


def _run_onnx(path, coords):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (values,) = session.run(["values"], {"coords": coords})
    return np.asarray(values), session.get_modelmeta().custom_metadata_map


@pytest.mark.parametrize(
    ("word", "about", "spread"),
    [
        ("gaussian:10", {"task": "image", "shape": [30, 40, 3], "low": 0.0,
                         "high": 255.0}, [40, 30]),
        ("none", {"task": "signal", "shape": [200, 3], "low": -2.0, "high": 3.0},
         [200]),
        ("gaussian:12,norm=1", ABOUT, None),
        ("none:scale=2,shift=-1", ABOUT, None),
        ("positional:4", {"task": "other"}, [1, 1]),
    ],
)  # fmt: skip
def test_onnx_says_what_the_field_says_in_the_units_of_the_file(
    word, about, spread, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    c = 1 if about is ABOUT else 3
    d = 3 if spread is None else len(spread)
    save(
        make_field(word, d=d, out=c, key=jax.random.key(0), layers=3, width=32),
        "model.safetensors",
        **about,
    )
    assert main(["render", "model.safetensors", "--out", "model.onnx", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["shape"] == [d, c]
    unit = np.random.default_rng(0).random((500, d))
    if spread is None:
        coords = ((2 * unit - 1) * SCALE + CENTER).astype(np.float32)
        unit = 0.5 * ((coords.astype(np.float64) - CENTER) / SCALE + 1)
    else:
        coords = (unit * spread).astype(np.float32)
        unit = coords / max(spread)
    field, _ = load_with_info("model.safetensors")
    low, high = about.get("low", 0.0), about.get("high", 1.0)
    expected = low + (high - low) * field.predict(unit)
    values, metadata = _run_onnx("model.onnx", coords)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-4 * (high - low))
    assert metadata["coords"] == printed["coords"]


def test_the_pages_onnx_example_runs(model, capsys):
    assert main(["render", model, "--out", "model.onnx", "--quiet"]) == 0
    page = Path(__file__).parents[2] / "docs" / "shapes.md"
    code = next(
        part.split("```")[0]
        for part in page.read_text().split("```python\n")
        if part.startswith("import numpy")
    )
    exec(code, {})
    assert capsys.readouterr().out.startswith("False {")
