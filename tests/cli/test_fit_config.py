"""`passband fit --config`: a run made again from what it left."""

import json
import shutil

import pytest

from passband.cli.main import main


@pytest.fixture
def run(here, quick, capsys):
    assert main(["fit", "image", "photo.png", *quick, "--out", "first", "--quiet"]) == 0
    capsys.readouterr()
    return here / "first"


def test_a_run_is_made_again_bit_by_bit(run, here, capsys):
    """Neither the kind nor the file need be typed."""
    for name, where in (("second", "first/config.json"), ("third", "first")):
        assert main(["fit", "--config", where, "--out", name, "--quiet"]) == 0
        weights = (here / name / "checkpoint" / "state.safetensors").read_bytes()
        first = run / "checkpoint" / "state.safetensors"
        assert _tensors(weights) == _tensors(first.read_bytes())
    made = json.loads((here / "second" / "config.json").read_text())
    before = json.loads((run / "config.json").read_text())
    assert made.pop("command") == (
        "passband fit image --config first/config.json --out second --quiet"
    )
    before.pop("command")
    assert made == before


def _tensors(data: bytes) -> bytes:
    """What follows the header of a safetensors file, which has the seconds."""
    return data[8 + int.from_bytes(data[:8], "little") :]


def test_what_is_typed_comes_before_the_config(run, here):
    words = ["fit", "--config=first", "--seed", "7", "--out", "second", "--quiet"]
    assert main(words) == 0
    made = json.loads((here / "second" / "config.json").read_text())
    assert (made["seed"], made["width"], made["mapping"]) == (7, 16, "gaussian:4,m=8")


def test_other_data_are_noticed(run, here, capsys):
    shutil.copy(here / "photo.png", here / "other.png")
    with open(here / "other.png", "ab") as stream:
        stream.write(b"more")
    assert main(["fit", "image", "other.png", "--config", "first", "--out", "b"]) == 0
    assert "the data are not those of `--config`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--config", "nowhere.json"], "`--config` (=nowhere.json) is not there"),
        (["--config", "photo.png"], "is not that of a run, or is damaged"),
        (["signal", "--config", "first"], "is of task `image`, not `signal`"),
        (["--config", "first", "--resume"], "exclude each other"),
        (["--config"], "needs a value"),
    ],
)
def test_mistakes_are_one_line(run, capsys, words, told):
    assert main(["fit", *words, "--out", "x"]) == 2
    err = capsys.readouterr().err
    assert told in err and err.count("\n") == 1
