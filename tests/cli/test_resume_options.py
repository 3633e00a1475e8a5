"""What `--resume` takes up and what it refuses; SIGKILL is in tests/train."""

import json
import shutil
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file

from passband.cli.main import main
from passband.kinds.image import ImageKind


@pytest.fixture
def run(here, image_run):
    """A copy of a finished run of 25 steps, and its picture where it was."""
    shutil.copytree(image_run, here / "run")
    return here / "run"


def steps_in(folder) -> list[int]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


def test_larger_steps_go_on_to_the_same_bits(here, quick, capsys, image_run):
    """Of a recipe whose rate does not know the last step."""
    photo, run = str(image_run.parent / "photo.png"), here / "run"
    quick = [*quick, "--recipe", "paper"]
    assert main(["fit", "image", photo, *quick, "--quiet", "--out", "run"]) == 0
    capsys.readouterr()
    assert main(["fit", "image", "--resume", "--out", "run", "--steps", "100"]) == 0
    out, err = capsys.readouterr()
    assert err == "going on from step 25 of 100\n"
    assert "100 steps" in out
    assert steps_in(run) == [25, 50, 75, 100]
    words = ["fit", "image", photo, *quick, "--steps", "100", "--out", "whole"]
    assert main(words) == 0
    whole, resumed = (
        load_file(here / n / "model.safetensors") for n in ("whole", "run")
    )
    for name, tensor in whole.items():
        np.testing.assert_array_equal(resumed[name], tensor)
    assert json.loads((run / "config.json").read_text())["steps"] == 100


def test_a_finished_run_finishes_again(run, capsys):
    before = load_file(run / "model.safetensors")
    (run / "report.html").unlink()
    assert main(["fit", "image", "--resume", "--out", "run"]) == 0
    assert (run / "report.html").exists()
    assert steps_in(run) == [25]
    after = load_file(run / "model.safetensors")
    assert all((after[name] == before[name]).all() for name in before)


def test_the_same_command_with_resume_added_works(run, quick, capsys, image_run):
    """Also where an option is larger than the data, or said in other words."""
    photo = str(image_run.parent / "photo.png")
    words = ["fit", "image", photo, *quick, "--out", "run", "--resume"]
    assert main(words) == 0
    assert main([*words, "--mapping", "gaussian:scale=4.0,m=8"]) == 0
    words = ["fit", "image", photo, "--steps=2", "--layers=1", "--batch=99999"]
    assert main([*words, "--out", "big"]) == 0
    assert main([*words, "--out", "big", "--resume"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--lr 0.5", "`--lr` (=0.5) disagrees with the run, which has 0.002"),
        ("--mapping none", "`--mapping` (=none) disagrees with the run"),
        ("--mapping zzz", "mapping `zzz` is unknown"),
        ("--seed 3", "`--seed` (=3) disagrees"),
        ("--holdout quarter", "`--holdout` (=quarter) disagrees"),
        ("--steps 10", "`--steps` (=10) disagrees with the run, which has 25; it may"),
        ("other.png", "FILE (=other.png) disagrees"),
    ],
)
def test_options_that_disagree_are_refused(run, fails, words, message, picture):
    Image.fromarray(picture[::-1]).save("other.png")
    before = {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    assert message in fails("fit", "image", "--resume", "--out", "run", *words.split())
    assert before == {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}


def test_another_task_is_refused(run, fails):
    said = fails("fit", "signal", "--resume", "--out", "run")
    assert "the run is of task `image`; resume it by `passband fit image`" in said


def test_a_changed_file_is_refused(here, quick, fails, picture):
    assert main(["fit", "image", "photo.png", *quick, "--out", "run", "--quiet"]) == 0
    Image.fromarray(picture[::-1]).save("photo.png")
    said = fails("fit", "image", "--resume", "--out", "run")
    assert "has changed since the run in `run` was started" in said
    (here / "photo.png").unlink()
    assert "does not exist" in fails("fit", "image", "--resume", "--out", "run")


def test_damaged_checkpoints_are_refused(run, fails):
    path = run / "checkpoint" / "state.safetensors"
    whole = path.read_bytes()
    words = ("fit", "image", "--resume", "--out", "run", "--steps", "50")
    for data in (b"", whole[:1000], whole[:-1], b"\xff" * 4000):
        path.write_bytes(data)
        said = fails(*words)
        assert "checkpoint `run/checkpoint/state.safetensors` cannot be read" in said
        assert "`--overwrite` starts anew" in said
    assert steps_in(run) == [25]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", "many"),
        ("steps", -5),
        ("batch", 0),
        ("width", None),
        ("lr", True),
        ("lr", "fast"),
        ("precision", "fp4"),
        ("mapping", 7),
        ("holdout", ["none"]),
    ],
)
def test_damaged_configurations_are_refused(run, fails, name, value):
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | {name: value}))
    said = fails("fit", "image", "--resume", "--out", "run")
    assert f"damaged: it has {value!r} for `--{name}`" in said


def test_a_run_without_a_checkpoint_starts_at_its_beginning(run, capsys):
    before = load_file(run / "model.safetensors")
    shutil.rmtree(run / "checkpoint")
    assert main(["fit", "image", "--resume", "--out", "run"]) == 0
    assert capsys.readouterr().err == "going on from step 0 of 25\n"
    assert steps_in(run) == [25]
    after = load_file(run / "model.safetensors")
    assert all((after[name] == before[name]).all() for name in before)


def test_interrupted_while_it_writes_the_report(here, quick, capsys, monkeypatch):
    """Training is over and saved by then: resuming does what is left."""
    words = ["fit", "image", "photo.png", *quick, "--out", "run", "--quiet"]
    with monkeypatch.context() as patch:
        patch.setattr(ImageKind, "evaluate", Mock(side_effect=KeyboardInterrupt))
        assert main(words) == 130
    said = capsys.readouterr().err
    assert (
        said == "stopped; `passband fit image --resume --out run` goes on from here\n"
    )
    assert not (here / "run" / "model.safetensors").exists()
    assert main(["fit", "image", "--resume", "--out", "run", "--quiet"]) == 0
    assert (here / "run" / "model.safetensors").exists()
    assert steps_in(here / "run") == [25]


def test_minutes_are_those_of_the_sitting(here, quick, capsys):
    words = ["fit", "image", "photo.png", *quick, "--out", "run", "--quiet"]
    brief = ["--steps", "100", "--minutes", "1e-6"]
    assert main([*words, *brief]) == 0
    assert steps_in(here / "run") == [25]
    assert main([*words, *brief, "--resume"]) == 0
    assert steps_in(here / "run") == [25, 50]
    assert main(["fit", "image", "--resume", "--out", "run", "--quiet"]) == 0
    assert steps_in(here / "run") == [25, 50, 75, 100]


def test_a_run_that_diverges_says_so_in_one_line(here, quick, capsys):
    words = ["fit", "image", "photo.png", *quick, "--lr", "1e30", "--out", "run"]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "run `gaussian:4,m=8` stopped being finite at step " in err
    assert "`run/checkpoint/state.safetensors`" in err
    state = load_file(here / "run" / "checkpoint" / "state.safetensors")
    assert all(np.isfinite(tensor).all() for tensor in state.values())
    assert not (here / "run" / "model.safetensors").exists()
    assert main(["fit", "image", "--resume", "--out", "run", "--quiet"]) == 1
    assert capsys.readouterr().err == err
