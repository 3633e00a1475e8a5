"""The paper's networks are drawn by the CPU, whatever device trains them."""

import jax
import jax.numpy as jnp
import numpy as np

from passband.field import make_field
from passband.paper import drawing
from passband.paper.drawing import drawn, made_on_cpu


def _leaves_equal(one, other) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def test_a_network_is_the_one_of_2020_whatever_the_device(monkeypatch):
    given = {"d": 2, "out": 3, "key": jax.random.PRNGKey(10), "width": 32}
    here = make_field("gaussian:10,m=16", bits2020=True, **given)
    assert _leaves_equal(drawn("gaussian:10,m=16", **given), here)
    monkeypatch.setattr(drawing.jax, "default_backend", lambda: "gpu")
    there = drawn("gaussian:10,m=16", **given)
    assert _leaves_equal(there, here)
    assert jax.tree.structure(there) == jax.tree.structure(here)


def test_the_cpu_makes_them_and_the_device_gets_them(monkeypatch):
    monkeypatch.setattr(drawing.jax, "default_backend", lambda: "gpu")
    told = []

    def make():
        told.append(jax.config.jax_default_device)  # pyright: ignore
        return jnp.arange(3.0), "word"

    array, word = made_on_cpu(make)
    assert told == [jax.devices("cpu")[0]] and word == "word"
    assert not array.committed  # so that a program moves it where it runs
    assert array.tolist() == [0.0, 1.0, 2.0]


def test_without_a_cpu_the_device_makes_them(monkeypatch):
    monkeypatch.setattr(drawing.jax, "default_backend", lambda: "gpu")

    def none(backend):
        raise RuntimeError(f"no {backend}")

    monkeypatch.setattr(drawing.jax, "local_devices", none)
    assert made_on_cpu(lambda: jnp.ones(2)).tolist() == [1.0, 1.0]
