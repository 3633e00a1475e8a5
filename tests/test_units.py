"""The neighbours' conventions, each against its own formula."""

import jax.numpy as jnp
import numpy as np

from passband import units
from passband.ops.turns import cos_turns

X = np.linspace(0, 1, 50, dtype=np.float32)
SYMMETRIC = 2 * X - 1


def _cosine(cycles, phase):
    """cos(2 pi cycles x + phase) on our domain."""
    return cos_turns(jnp.asarray(cycles * X + phase / (2 * np.pi), jnp.float32))


def test_nerf_octave_with_and_without_pi():
    with_pi = np.cos(2**3 * np.pi * SYMMETRIC)
    ours = _cosine(units.from_nerf_octave(3), -(2**3) * np.pi)
    np.testing.assert_allclose(ours, with_pi, atol=1e-5)
    without = np.cos(2**3 * SYMMETRIC)
    ours = _cosine(units.from_nerf_octave(3, with_pi=False), -(2**3))
    np.testing.assert_allclose(ours, without, atol=1e-5)


def test_siren_omega():
    theirs = np.cos(30 * 0.7 * SYMMETRIC)
    ours = _cosine(units.from_siren(30, 0.7), -30 * 0.7)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_radians_there_and_back():
    np.testing.assert_allclose(units.from_radians(26), 4.138, atol=5e-4)
    np.testing.assert_allclose(units.to_radians(units.from_radians(26)), 26)
    theirs = np.cos(26 * X)
    np.testing.assert_allclose(_cosine(units.from_radians(26), 0), theirs, atol=1e-5)
