"""Sizes in words, and a run that does not fit."""

import dataclasses

import jax
import pytest

from passband.errors import InputError
from passband.field import make_field
from passband.ops import fused
from passband.ops.mlp import Precision
from passband.train.memory import (
    bytes_of_point,
    bytes_of_run,
    check_fits,
    human,
    parse_bytes,
)

FIELD = make_field("gaussian:10", d=2, out=3, key=jax.random.key(0))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1GiB", 2**30),
        ("500MB", 500_000_000),
        ("2e9", 2_000_000_000),
        ("1.5 KiB", 1536),
    ],
)
def test_sizes_in_words(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "lots", "-1GiB", "0", "1XB", "nan", "inf"])
def test_wrong_sizes_are_refused(text):
    with pytest.raises(InputError, match="such as 1GiB"):
        parse_bytes(text)


def test_a_run_that_does_not_fit_says_which_batch_would():
    with pytest.raises(InputError, match=r"needs .* GiB but 1 GiB may be used") as info:
        check_fits(FIELD, 1_000_000, 2**30)
    batch = int(str(info.value).split("`batch` of ")[1].split()[0])
    assert bytes_of_run(FIELD, batch) <= 2**30 < bytes_of_run(FIELD, batch + 1)
    assert check_fits(FIELD, 1000, 2**30) == bytes_of_run(FIELD, 1000)


def test_a_fused_step_keeps_less_of_a_point(monkeypatch):
    # 96^3 points of this network took 2770 MB by XLA's account on an H200, 65536 of
    # the picture's 218 MiB.
    half = Precision.BFLOAT16
    volume = make_field("gaussian:5", d=3, out=1, key=jax.random.key(0))
    plain = bytes_of_point(FIELD.with_precision(half), 65536)
    monkeypatch.setattr(fused, "hopper", lambda: True)
    assert bytes_of_point(FIELD.with_precision(half), 65536) < 0.75 * plain
    assert bytes_of_point(FIELD.with_precision(half), 1000) == plain
    planned = bytes_of_run(volume.with_precision(half), 96**3)
    assert planned == pytest.approx(2.77e9, rel=0.03)
    planned = bytes_of_run(FIELD.with_precision(half), 65536)
    assert planned == pytest.approx(218 * 2**20, rel=0.07)


def test_slopes_that_an_output_does_not_tell_are_kept_beside_it(monkeypatch):
    # By XLA's account on a CPU a bfloat16 step of sines kept 1520 bytes a point more.
    monkeypatch.setattr(fused, "hopper", lambda: True)
    waves = dataclasses.replace(
        FIELD, mlp=dataclasses.replace(FIELD.mlp, activation="sine")
    )
    for precision, item in ((Precision.FLOAT32, 4), (Precision.BFLOAT16, 2)):
        relu, sine = (
            bytes_of_point(field.with_precision(precision), 1000)
            for field in (FIELD, waves)
        )
        assert sine - relu == item * 3 * 256
    # No fused step is planned for where none is taken.
    half = waves.with_precision(Precision.BFLOAT16)
    assert bytes_of_point(half, 65536) == bytes_of_point(half, 1000)


def test_a_network_that_does_not_fit_is_told_apart():
    with pytest.raises(InputError, match="1 KiB may be used; take a smaller network"):
        check_fits(FIELD, 1000, 1024)


def test_bytes_for_people():
    assert human(512) == "512 B"
    assert human(3 * 2**30) == "3 GiB"
