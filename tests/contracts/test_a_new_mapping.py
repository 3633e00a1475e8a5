"""A mapping is one class and nothing else: here is one, taken through everything."""

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest
from jaxtyping import Array, Float

import passband as pb
from passband.errors import InputError
from passband.export.onnx import onnx_bytes
from passband.field import make_field
from passband.mappings import (
    MAPPINGS,
    AnyKey,
    Fourier,
    FourierFeatures,
    mapping,
    nyquist_warning,
)
from passband.plot.style import INK, colour_of, colours_of
from passband.words import parse_mapping


@pytest.fixture(autouse=True)
def Ring():
    @mapping("ring:5")
    class Ring(Fourier):
        """Frequencies of one length, evenly around the circle."""

        radius: float
        turns: int = 1

        def frequencies(self, key: AnyKey, d: int) -> Float[Array, "m d"]:
            del key
            if d != 2:
                raise InputError(f"`ring` is for 2 dimensions, not {d}")
            angle = 2 * np.pi * self.turns * np.arange(self.m) / self.m
            circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
            return jnp.asarray(self.radius * circle, jnp.float32)

        def _reach(self) -> float:
            return self.radius

    yield Ring
    del MAPPINGS["ring"]


def test_its_word_parses_and_prints(Ring):
    assert parse_mapping("ring:5") == Ring(5.0)
    assert str(Ring(2.5, 3, m=16)) == "ring:2.5,m=16,turns=3"
    assert parse_mapping("ring:2.5,m=16,turns=3") == Ring(2.5, 3, m=16)
    for word, message in {
        "ring": "needs its radius, such as `ring:5`",
        "ring:5,turns=x": "must be a whole number",
        "ring:5,spin=1": "has no option `spin`",
        "rnig:5": "did you mean `ring`.*multigrid:256, ring:5",
    }.items():
        with pytest.raises(InputError, match=message):
            parse_mapping(word)


def test_it_draws_and_is_held_against_nyquist():
    encoding = parse_mapping("ring:5,m=8,norm=1").draw(jax.random.key(0), 2)
    assert isinstance(encoding, FourierFeatures)
    lengths = np.linalg.norm(encoding.frequencies, axis=1)
    np.testing.assert_allclose(lengths, 5, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(encoding.amplitudes), 1, rtol=1e-6)
    assert "`ring:5` reaches 5" in str(nyquist_warning(parse_mapping("ring:5"), 4))
    assert nyquist_warning(parse_mapping("ring:5"), 6) is None


def test_it_fits_and_is_saved_and_loaded(tmp_path):
    x = np.random.default_rng(0).random((64, 2))
    y = np.sin(7 * x[:, :1])
    model = pb.fit(x, y, mapping="ring:1,m=8", steps=100, width=16, layers=2)
    assert model.history["loss"][-1] < 0.2 * model.history["loss"][0]
    model.save(tmp_path / "m.safetensors")
    again = pb.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again(x), model(x))


def test_it_runs_as_onnx():
    field = make_field("ring:3,m=8", d=2, out=1, key=jax.random.key(0), width=16)
    assert isinstance(field.encoding, FourierFeatures)
    weights, biases = field.mlp.effective()
    data = onnx_bytes(
        weights=[np.asarray(w) for w in weights],
        biases=[np.asarray(b) for b in biases],
        frequencies=np.asarray(field.encoding.frequencies),
        amplitudes=np.asarray(field.encoding.amplitudes),
        output=field.output,
    )
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).random((9, 2)).astype(np.float32)
    (values,) = session.run(["values"], {"coords": x})
    np.testing.assert_allclose(np.asarray(values), field.predict(x), atol=1e-5)


def test_figures_have_a_colour_for_it():
    assert colour_of("ring:5") == INK
    assert len(set(colours_of(["gaussian:10", "ring:5", "ring:7"]).values())) == 3


def test_no_two_classes_have_one_word():
    with pytest.raises(ValueError, match="`gaussian` is the word of Gaussian already"):

        @mapping("gaussian:3")
        class Other(Fourier):
            pass
