"""What holds for every mapping: `@mapping` registers one, and it is found here."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.errors import InputError
from passband.field import make_field
from passband.mappings import MAPPINGS, Encoding, Fourier, FourierFeatures
from passband.model_file import load, save
from passband.words import parse_mapping

OPTIONS = [
    "none:scale=2,shift=-1",
    "octaves:4,units=rad,rotate=zx45",
    "gaussian:10/4,m=32",
    "loguniform:30,m=32,norm=1",
    "laplace:8,m=32,train=ab",
    "multigrid:9,levels=3,features=2",
]


def _dims(word: str) -> int:
    """The first number of coordinates that a mapping is for."""
    for d in (2, 1, 3):
        try:
            parse_mapping(word).draw(jax.random.key(0), d)
        except InputError:
            continue
        return d
    raise AssertionError(f"{word} is for no number of coordinates")


EXAMPLES = [cls.example for cls in MAPPINGS.values()]
WORDS = {word: _dims(word) for word in (*EXAMPLES, *OPTIONS)}
EVERY = pytest.mark.parametrize(("word", "d"), WORDS.items(), ids=WORDS)
FOURIER = pytest.mark.parametrize(
    ("word", "d"),
    [(w, d) for w, d in WORDS.items() if isinstance(parse_mapping(w), Fourier)],
)


def _points(n, d, seed=0):
    return np.random.default_rng(seed).uniform(-1, 2, (n, d)).astype(np.float32)


def _most_turns(encoding: Encoding) -> float:
    if not isinstance(encoding, FourierFeatures):
        return 0.0
    return float(jnp.abs(encoding.frequencies).max())


def _fourier(word, d) -> FourierFeatures:
    encoding = parse_mapping(word).draw(jax.random.key(0), d)
    assert isinstance(encoding, FourierFeatures)
    return encoding


@pytest.mark.parametrize(("word", "cls"), MAPPINGS.items(), ids=MAPPINGS)
def test_the_example_is_a_word_of_its_class(word, cls):
    mapping = parse_mapping(cls.example)
    assert type(mapping) is cls and str(mapping) == cls.example
    assert cls.word == word


@EVERY
def test_jit_changes_nothing(word, d):
    mapping = parse_mapping(word)
    encoding = mapping.draw(jax.random.key(0), d)
    v = jnp.asarray(_points(1, d)[0])
    jitted = jax.jit(lambda e, v: e(v))(encoding, v)
    # A phase of many turns is rounded more coarsely, and by XLA as it likes.
    atol = 2e-5 * max(1, _most_turns(encoding) / 20)
    np.testing.assert_allclose(jitted, encoding(v), atol=atol)


@EVERY
def test_vmap_is_a_loop(word, d):
    encoding = parse_mapping(word).draw(jax.random.key(0), d)
    points = jnp.asarray(_points(5, d))
    loop = jnp.stack([encoding(v) for v in points])
    np.testing.assert_allclose(jax.vmap(encoding)(points), loop, atol=2e-5)
    assert loop.shape == (5, encoding.features)
    assert encoding.dims == d


@EVERY
def test_a_batch_of_any_rank_is_the_same_program_at_every_point(word, d):
    encoding = parse_mapping(word).draw(jax.random.key(0), d)
    points = _points(24, d)
    want = jax.vmap(encoding)(jnp.asarray(points))
    for lead in ((24,), (4, 6), (2, 3, 4), (24, 1)):
        found = encoding(points.reshape(*lead, d))
        assert found.shape == (*lead, encoding.features)
        np.testing.assert_array_equal(found.reshape(want.shape), want)
    assert encoding(points[:0]).shape == (0, encoding.features)


@EVERY
def test_other_shapes_are_refused_by_name(word, d):
    encoding = parse_mapping(word).draw(jax.random.key(0), d)
    for v in (0.5, np.zeros(d + 1), np.zeros((5, d + 1)), np.zeros((d, 0))):
        message = f"`v` has shape {np.shape(v)}; this encoding takes one point, ({d},)"
        for call in (encoding, eqx.filter_jit(encoding)):
            with pytest.raises(InputError, match=re.escape(message)):
                call(v)


@EVERY
def test_no_gradient_reaches_what_is_not_asked_for(word, d):
    mapping = parse_mapping(word)
    encoding = mapping.draw(jax.random.key(0), d)
    points = jnp.asarray(_points(30, d))
    slopes, by_point = jax.grad(lambda e, v: jnp.sum(e(v) ** 3), (0, 1))(
        encoding, points
    )
    assert np.any(by_point)
    letters = {"frequencies": "b", "amplitudes": "a", "scale": "-", "shift": "-"}
    for name, letter in letters.items():
        if hasattr(slopes, name):
            assert np.any(getattr(slopes, name)) == (letter in mapping.trains), name
    assert encoding.trains == mapping.trains


@FOURIER
def test_inner_product_depends_on_the_difference_only(word, d):
    encoding = _fourier(word, d)
    points = jnp.asarray(_points(40, d))
    u, v = points[:20], points[20:]
    shift = _points(1, d, seed=1)
    gamma = jax.vmap(encoding)
    here = jnp.sum(gamma(u) * gamma(v), axis=1)
    there = jnp.sum(gamma(u + shift) * gamma(v + shift), axis=1)
    a = encoding.amplitudes
    np.testing.assert_allclose(here, there, atol=2e-4 * float(a @ a))


@FOURIER
def test_inner_product_is_the_sum_of_cosines(word, d):
    encoding = _fourier(word, d)
    u, v = _points(2, d)
    a = np.asarray(encoding.amplitudes, np.float64)
    B = np.asarray(encoding.frequencies, np.float64)
    want = np.sum(a**2 * np.cos(2 * np.pi * B @ (u.astype(np.float64) - v)))
    found = encoding(jnp.asarray(u)) @ encoding(jnp.asarray(v))
    np.testing.assert_allclose(found, want, atol=1e-4 * np.sum(a**2))


@FOURIER
def test_phase_error_is_within_the_float32_bound(word, d):
    encoding = _fourier(word, d)
    points = _points(200, d)
    B = np.asarray(encoding.frequencies, np.float64)
    turns = points.astype(np.float64) @ B.T
    a = np.asarray(encoding.amplitudes, np.float64)
    want = np.concatenate(
        [a * np.sin(2 * np.pi * turns), a * np.cos(2 * np.pi * turns)], 1
    )
    # d products, d - 1 sums and a quarter turn, each half an ulp of at most sum |b v|.
    size = np.abs(points.astype(np.float64)) @ np.abs(B).T + 0.25
    bound = a * (2 * np.pi * (d + 1) * size * 2.0**-23 + 4e-7)
    found = np.asarray(jax.vmap(encoding)(jnp.asarray(points)), np.float64)
    assert (np.abs(found - want) <= np.concatenate([bound, bound], 1)).all()


@EVERY
def test_word_round_trip(word, d):
    mapping = parse_mapping(word)
    assert parse_mapping(str(mapping)) == mapping
    assert hash(parse_mapping(str(mapping))) == hash(mapping)


@EVERY
def test_draws_of_two_keys_stack_and_one_key_repeats(word, d):
    mapping = parse_mapping(word)
    one, two = (mapping.draw(jax.random.key(k), d) for k in (0, 1))
    stack = jax.tree.map(lambda *a: jnp.stack(a), one, two)
    v = jnp.asarray(_points(1, d)[0])
    both = jax.vmap(lambda e: e(v))(stack)
    np.testing.assert_allclose(both[0], one(v), atol=2e-5)
    np.testing.assert_allclose(both[1], two(v), atol=2e-5)
    again = mapping.draw(jax.random.key(0), d)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(a, b)


@EVERY
def test_gradients_are_finite(word, d):
    mapping = parse_mapping(word)
    assert mapping.reach() >= 0
    encoding = mapping.draw(jax.random.key(0), d)
    v = jnp.zeros(d)
    assert np.isfinite(jax.jit(jax.jacrev(encoding))(v)).all()
    assert np.isfinite(jax.jit(jax.hessian(lambda v: encoding(v).sum()))(v)).all()


@EVERY
def test_saved_and_loaded_field_is_the_same(word, d, tmp_path):
    field = make_field(word, d=d, out=2, key=jax.random.key(3), width=16, layers=3)
    save(field, tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    points = _points(7, d)
    np.testing.assert_array_equal(loaded.predict(points), field.predict(points))
    assert loaded.trains == field.trains
