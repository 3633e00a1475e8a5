"""Sizes in words, and a run that does not fit."""

import jax
import pytest

from passband.errors import InputError
from passband.field import make_field
from passband.train.memory import bytes_of_run, check_fits, human, parse_bytes

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
    batch = int(str(info.value).split("`--batch` of ")[1].split()[0])
    assert bytes_of_run(FIELD, batch) <= 2**30 < bytes_of_run(FIELD, batch + 1)
    assert check_fits(FIELD, 1000, 2**30) == bytes_of_run(FIELD, 1000)


def test_a_network_that_does_not_fit_is_told_apart():
    with pytest.raises(InputError, match="1 KiB may be used; take a smaller network"):
        check_fits(FIELD, 1000, 1024)


def test_bytes_for_people():
    assert human(512) == "512 B"
    assert human(3 * 2**30) == "3 GiB"
