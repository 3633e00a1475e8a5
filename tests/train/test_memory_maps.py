"""A process that trains networks of ever new shapes keeps within its maps of memory."""

import mmap
import sys

import jax
import jax.numpy as jnp
import pytest

from passband.train import memory_maps, programs
from passband.train.memory_maps import few_left, maps_held
from passband.train.programs import program

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells"
)


def _sum(first, rest):
    return jnp.sin(first) @ rest.T + len(rest)


def _call(n: int):
    x = jnp.ones((n, n))
    return program(_sum, x, x)


def test_maps_are_counted_as_the_system_does():
    before = maps_held()
    apart = [mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE]  # or they are joined
    held = [mmap.mmap(-1, 8192, prot=apart[k % 2]) for k in range(100)]
    assert 90 <= maps_held() - before <= 110
    for one in held:
        one.close()


def test_programs_are_given_back_where_few_maps_are_left(monkeypatch):
    monkeypatch.setattr(programs, "_PROGRAMS", {})
    old = [_call(n) for n in range(11, 16)]
    held = maps_held()
    assert not few_left()
    limit = held / int(memory_maps.MOST.read_text())
    monkeypatch.setattr(memory_maps, "FULL", 0.99 * limit)
    assert few_left()
    del old
    kept = _call(11)  # nothing is compiled, so nothing is given back
    assert len(programs._PROGRAMS) == 5
    _call(16)
    assert list(programs._PROGRAMS) == [next(reversed(programs._PROGRAMS))]
    assert maps_held() < held
    x = jnp.ones((11, 11))
    assert kept(x, [x + 1]).shape == (11, 11)  # who has one, keeps it


def test_a_system_that_does_not_tell_has_maps_enough(monkeypatch, tmp_path):
    monkeypatch.setattr(memory_maps, "MOST", tmp_path / "none")
    assert not few_left()


def test_jax_makes_anew_what_was_given_back():
    double = jax.jit(lambda x: 2 * x)
    assert double(3.0) == 6
    programs.forget()
    assert double(3.0) == 6
