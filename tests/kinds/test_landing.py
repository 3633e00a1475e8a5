"""A run that is out of time lands: its rate falls to 0, and it can still be resumed."""

import numpy as np
import pytest

import passband as pb

SMALL = {"mapping": "gaussian:2,m=16", "width": 16, "layers": 3, "progress": False}


@pytest.fixture(scope="module")
def wave():
    x = np.linspace(0, 1, 400)
    return x, np.sin(9 * x) * np.exp(x)


def test_out_of_time_it_is_better_than_where_its_rate_was_high(wave):
    stopped = pb.fit(*wave, **SMALL, steps=100_000, lr=5e-3, on_log=_once())
    landed = pb.fit(*wave, **SMALL, steps=100_000, lr=5e-3, minutes=1e-9)
    assert landed.metrics["psnr"] > stopped.metrics["psnr"]


def test_what_it_is_resumed_from_has_not_landed(wave, tmp_path):
    whole = pb.fit(*wave, **SMALL, steps=75)
    pb.fit(*wave, **SMALL, steps=75, minutes=1e-9, out=tmp_path / "run")
    again = pb.fit(*wave, **SMALL, steps=75, out=tmp_path / "run", resume=True)
    for a, b in zip(whole.field.mlp.weights, again.field.mlp.weights, strict=True):
        np.testing.assert_array_equal(a, b)


def _once():
    """Ends a training at its first entry."""
    return lambda entry: True
