"""Grids of trained values: what they are between their points, and that they train."""

import json
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file
from scipy.interpolate import RegularGridInterpolator

import passband as pb
from passband.cli.main import main
from passband.errors import InputError
from passband.field import Field, make_field
from passband.theory import composed_ntk, empirical_ntk
from passband.train.memory import bytes_of_run, check_fits


def drawn(word: str, d: int) -> pb.Grids:
    mapping = pb.parse_mapping(word)
    shapes = eqx.filter_eval_shape(mapping.draw, jax.random.key(0), d)
    assert isinstance(shapes, pb.Grids)
    rng = np.random.default_rng(1)
    levels = (rng.normal(size=level.shape) for level in shapes.levels)
    return pb.Grids(tuple(jnp.asarray(level, jnp.float32) for level in levels), d)


@eqx.filter_jit
def features(encoding, points):
    return encoding(points)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_between_its_points_it_is_what_scipy_interpolates(d):
    encoding = drawn("multigrid:7,levels=2,features=2", d)
    points = np.random.default_rng(0).random((200, d)).astype(np.float32)
    points[:3] = [[0.0], [1.0], [0.5]]
    want = []
    for level in encoding.levels:
        axes = [np.linspace(0, 1, level.shape[0])] * d
        want.append(
            RegularGridInterpolator(axes, np.asarray(level, np.float64))(points)
        )
    np.testing.assert_allclose(features(encoding, points), np.hstack(want), atol=2e-5)


def test_outside_it_is_what_it_is_at_the_border():
    encoding = drawn("multigrid:5,levels=1,features=2", 2)
    outside = np.array([[-1.0, 0.3], [0.4, 7.0], [-2.0, 3.0]])
    there, border = features(encoding, np.stack([outside, np.clip(outside, 0, 1)]))
    np.testing.assert_array_equal(there, border)


@pytest.mark.parametrize(
    ("word", "sides"),
    [
        ("multigrid:256", (8, 16, 32, 64, 128, 256)),
        ("multigrid:100,levels=3", (25, 50, 100)),
        ("multigrid:8,levels=3", (2, 4, 8)),
        ("multigrid:4,levels=5", (2, 2, 3, 3, 4)),
        ("multigrid:9,levels=1", (9,)),
    ],
)
def test_sides_at_most_double_up_to_the_finest(word, sides):
    mapping = pb.parse_mapping(word)
    assert isinstance(mapping, pb.Multigrid) and mapping.sides == sides


def shapes_of(word: str, **options) -> Field:
    """A field that is not drawn."""
    return eqx.filter_eval_shape(lambda: make_field(word, out=1, key=0, **options))


def test_its_values_train_and_nothing_else_of_it():
    field = shapes_of("multigrid:8,levels=2,features=2", d=2, width=8)
    assert all(jax.tree.leaves(field.trainable()))
    table = 2 * (4 * 4 + 8 * 8)
    assert field.parameters == table + 4 * 8 + 8 + 2 * (64 + 8) + 9
    fourier = shapes_of("gaussian:2,m=8", d=2, width=8)
    assert fourier.parameters == 16 * 8 + 8 + 2 * (64 + 8) + 9


def test_a_fit_is_resumed_saved_and_exported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wave = np.sin(np.arange(64)[:, None] / 5) * np.cos(np.arange(48) / 4)
    np.save("wave.npy", wave)
    mapping = "multigrid:16,levels=2,features=2"
    words = ["fit", "image", "wave.npy", "--mapping", mapping, "--width",
             "8", "--layers", "2", "--batch", "64", "--quiet",
             "--lr", "1e-2", "--steps", "50"]  # fmt: skip
    assert main([*words, "--out", "whole"]) == 0
    assert main([*words, "--out", "parts", "--minutes", "1e-9"]) == 0
    assert main(["fit", "image", "--resume", "--out", "parts", "--quiet"]) == 0
    one, two = (load_file(f"{run}/model.safetensors") for run in ("whole", "parts"))
    metrics = json.loads(Path("whole/result.json").read_text())["metrics"]
    assert metrics["psnr"] > 22  # a level plane has 11
    assert np.abs(one["encoding.level.0"]).max() > 0.01  # drawn from +-1e-4
    assert {name: x.shape for name, x in one.items() if "level" in name} == {
        "encoding.level.0": (8, 8, 2), "encoding.level.1": (16, 16, 2),
    }  # fmt: skip
    for name, tensor in one.items():
        np.testing.assert_array_equal(two[name], tensor)
    assert main(["render", "whole", "--out", "model.onnx", "--quiet"]) == 0
    model = pb.load("whole")
    at = np.random.default_rng(0).uniform(-5, 70, (50, 2)).astype(np.float32)
    session = onnxruntime.InferenceSession(
        Path("model.onnx").read_bytes(), providers=["CPUExecutionProvider"]
    )
    (values,) = session.run(["values"], {"coords": at})
    np.testing.assert_allclose(np.asarray(values), model(at), atol=2e-5)
    assert json.loads(Path("whole/config.json").read_text())["mapping"].startswith(
        "mul"
    )


def test_the_theory_has_no_kernel_of_it(capsys):
    assert main(["ntk", "--mapping", "multigrid:16"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "a `multigrid` has no kernel of its own" in said
    field = shapes_of("multigrid:4", d=1, width=8)
    with pytest.raises(InputError, match="no kernel of its own"):
        empirical_ntk(field, np.zeros((2, 1)))
    with pytest.raises(InputError, match="no kernel of its own"):
        composed_ntk(field.encoding, np.zeros((2, 1)), layers=2)


@pytest.mark.parametrize(
    ("word", "d", "message"),
    [
        ("multigrid:1", 2, "`side` \\(=1\\) must be 2 or more"),
        ("multigrid:8,levels=0", 2, "`levels` \\(=0\\) must be 1 or more"),
        ("multigrid:8,features=0", 2, "`features` \\(=0\\) must be 1 or more"),
        ("multigrid:8", 4, "is for 1 to 3 dimensions, not 4"),
        ("multigrid:4096", 3, "has 3.1e\\+11 values in 3 dimensions"),
        ("multigrid", 2, "needs its side, such as `multigrid:256`"),
        ("multigrid:auto", 2, "must be a whole number"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(word, d, message):
    with pytest.raises(InputError, match=message):
        pb.parse_mapping(word).draw(0, d)


def test_the_memory_check_counts_its_values():
    field = shapes_of("multigrid:400,features=8", d=3, width=16)
    assert bytes_of_run(field, 0) > 8 * 4 * 8 * 400**3
    with pytest.raises(InputError, match="take a smaller network"):
        check_fits(field, 1000, 2**32)
