"""A GPU's memory is taken as it is needed, unless somebody said otherwise."""

import os

import pytest

from passband.cli.device import prepare
from passband.train.gpu_memory import SAID_BY, take_as_needed


@pytest.fixture
def unsaid(monkeypatch):
    for name in SAID_BY:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def said() -> dict[str, str]:
    return {name: os.environ[name] for name in SAID_BY if name in os.environ}


def test_memory_is_taken_as_it_is_needed(unsaid):
    prepare("auto", keep=False)
    assert said() == {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def test_processes_of_one_device_plan_with_a_part_of_it(unsaid):
    take_as_needed(3)
    prepare("auto", keep=False)
    assert said() == {
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.250",
    }


@pytest.mark.parametrize("name", SAID_BY)
def test_what_a_user_says_stays(unsaid, monkeypatch, name):
    monkeypatch.setenv(name, "own")
    take_as_needed(2)
    prepare("auto", keep=False)
    assert said() == {name: "own"}
