"""A new activation is one row: it trains, is saved and exported, meets the theory."""

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest

from passband.activations import ACTIVATIONS, Activation
from passband.errors import InputError
from passband.export.onnx import onnx_bytes
from passband.field import make_field
from passband.mappings import FourierFeatures
from passband.model_file import load, save
from passband.tasks.regression import regression_task
from passband.theory import composed_ntk, empirical_ntk
from passband.train.driver import Config, train

ROWS = [
    Activation(
        name="softplus",
        forward=jax.nn.softplus,
        onnx=lambda node, x: node("Softplus", x),
        pullback=lambda h, g: g * -jnp.expm1(-h),
    ),
    Activation(
        name="swish",
        forward=jax.nn.silu,
        onnx=lambda node, x: node("Mul", x, node("Sigmoid", x)),
    ),
]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_is_all_it_takes(row, precision, tmp_path, monkeypatch):
    monkeypatch.setitem(ACTIVATIONS, row.name, row)
    x = np.arange(64, dtype=np.float32)[:, None] / 64
    task = regression_task(x, np.sin(12 * x))
    field = make_field(
        "gaussian:2,m=16", d=1, out=1, key=jax.random.key(0), layers=3, width=16,
        output="identity", activation=row.name,
    )  # fmt: skip
    config = Config(steps=200, lr=1e-2, precision=precision)
    (field,), _ = train([task], [field], config, keys=[jax.random.key(0)])
    assert field.mlp.activation == row.name
    want = np.asarray(task.values)
    assert np.abs(field.predict(x) - want).mean() < 0.1 * np.abs(want).mean()

    save(field, tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.predict(x), field.predict(x))

    assert isinstance(loaded.encoding, FourierFeatures)
    data = onnx_bytes(
        weights=[np.asarray(W) for W in loaded.mlp.weights],
        biases=[np.asarray(b) for b in loaded.mlp.biases],
        frequencies=np.asarray(loaded.encoding.frequencies),
        activation=loaded.mlp.activation,
    )
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (values,) = session.run(["values"], {"coords": x})
    np.testing.assert_allclose(np.asarray(values), field.predict(x), atol=2e-5)

    assert np.isfinite(empirical_ntk(loaded, x[:3])).all()
    with pytest.raises(InputError, match=f"`{row.name}` has no closed-form kernel"):
        composed_ntk(loaded.encoding, x[:3], layers=3, width=16, activation=row.name)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_without_the_row_the_word_is_unknown(row):
    with pytest.raises(InputError, match=f"activation `{row.name}` is unknown; .*relu"):
        make_field("none", d=1, out=1, key=jax.random.key(0), activation=row.name)
