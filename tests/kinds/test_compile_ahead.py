"""What trains a fit is compiled while trials look for its scale."""

import threading
import time

import jax
import numpy as np
import pytest

import passband as pb
from passband.kinds import fit as fits
from passband.train import programs
from passband.train.driver import chunk

POINTS = pb.grid((24, 24)).reshape(-1, 2), np.random.default_rng(0).random((576, 1))
QUICK = {"steps": 30, "width": 16, "layers": 3, "recipe": "modern"}


@pytest.fixture
def made(monkeypatch) -> list[str]:
    """The threads that made a fit's programs."""
    found, lower = [], programs._lower

    def recorded(call):
        if call.function is chunk:
            found.append(threading.current_thread().name)
        return lower(call)

    choose = fits.choose_for

    def begun(*given, **named):  # trials of so little may end before it has begun
        while not programs._PROGRAMS and "passband-programs" in {
            thread.name for thread in threading.enumerate()
        }:
            time.sleep(0.01)
        return choose(*given, **named)

    monkeypatch.setattr(fits, "choose_for", begun)
    monkeypatch.setattr(programs, "_PROGRAMS", {})
    monkeypatch.setattr(programs, "_lower", recorded)
    return found


@pytest.mark.parametrize("mapping", ["gaussian:auto,m=16", "positional:auto,m=16"])
def test_the_program_that_is_made_ahead_is_the_one_that_trains(made, mapping):
    model = pb.fit(*POINTS, mapping=mapping, **QUICK)
    assert made == ["passband-programs"] * 2  # of 25 steps, and of the last 5
    again = pb.fit(*POINTS, mapping=str(model.mapping), **QUICK)
    assert len(made) == 2  # nor did a scale that is given need one
    for x, y in zip(
        jax.tree.leaves(model.field), jax.tree.leaves(again.field), strict=True
    ):
        np.testing.assert_array_equal(x, y)


def test_what_goes_wrong_ahead_is_made_anew(made, monkeypatch):
    lower = programs._lower

    def broken(call):
        if threading.current_thread().name == "passband-programs":
            raise RuntimeError("no memory just now")
        return lower(call)

    monkeypatch.setattr(programs, "_lower", broken)
    model = pb.fit(*POINTS, mapping="gaussian:auto,m=16", **QUICK)
    assert np.isfinite(model.metrics["psnr"])
    assert "passband-programs" not in made and made


def test_a_given_scale_needs_nothing_ahead(monkeypatch):
    begun = []
    monkeypatch.setattr(fits, "compile_ahead", lambda *_: begun.append(1))
    pb.fit(*POINTS, mapping="gaussian:3,m=16", **QUICK)
    assert not begun
