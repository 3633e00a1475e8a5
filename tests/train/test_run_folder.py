"""The run folder: nothing of the user's is touched, nothing of the run is lost."""

import json
import os
import shutil
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.errors import InputError
from passband.field import make_field
from passband.train.driver import Config, start
from passband.train.run_folder import RunFolder
from passband.train.run_lock import RunLock
from passband.train.state import State

CONFIG = {"passband": "0", "task": "image", "file": "/x.png", "sha256": "0", "steps": 9}


def state_at(step: int) -> State:
    first, second = jax.random.split(jax.random.key(0))
    field = make_field("none", d=2, out=1, key=first, layers=1)
    state = start(field, Config(), key=second)
    return eqx.tree_at(lambda s: s.step, state, jnp.int32(step))


def log(folder: RunFolder, *steps: int) -> None:
    for step in steps:
        folder.log({"step": step, "seconds": step / 10, "loss": 1 / step})


def steps_in(folder: RunFolder) -> list[int]:
    lines = (folder.path / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


def test_a_new_folder_and_the_same_opened(tmp_path):
    folder = RunFolder.create(tmp_path / "runs" / "a", CONFIG)
    assert RunFolder.open(folder.path).config == CONFIG
    folder.configure(CONFIG | {"steps": 20})
    assert RunFolder.open(folder.path).config["steps"] == 20


def test_the_folder_of_a_simulated_run_is_known_again(tmp_path):
    config = CONFIG | {"file": None, "simulate": "phantom.png"}
    folder = RunFolder.create(tmp_path / "a", config)
    assert RunFolder.open(folder.path).config == config
    RunFolder.create(folder.path, config, overwrite=True)


def test_an_empty_folder_may_be_used(tmp_path):
    RunFolder.create(tmp_path, CONFIG).release()
    assert [p.name for p in tmp_path.iterdir()] == ["config.json"]


def test_folders_of_others_and_earlier_runs_are_refused(tmp_path):
    (tmp_path / "mine").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(InputError, match="holds files that are not a run's"):
            RunFolder.create(tmp_path, CONFIG, overwrite=overwrite)
    with pytest.raises(InputError, match="is a file, or below one"):
        RunFolder.create(tmp_path / "mine", CONFIG)
    with pytest.raises(InputError, match=r"has no config\.json; there is no run"):
        RunFolder.open(tmp_path)
    with pytest.raises(InputError, match=r"has no config\.json; there is no run"):
        RunFolder.open(tmp_path / "none")
    run = RunFolder.create(tmp_path / "run", CONFIG)
    with pytest.raises(InputError, match="`resume` goes on with it, `overwrite`"):
        RunFolder.create(run.path, CONFIG)


def test_overwriting_clears_the_run_and_nothing_else(tmp_path):
    old = RunFolder.create(tmp_path, CONFIG)
    log(old, 1, 2)
    old.checkpoint(state_at(2), 0.2)
    ours = ("model.safetensors", ".model.0123abcd.safetensors", "result.json")
    theirs = ("notes.txt", ".notes.0123abcd.txt", "checkpoint/mine.txt")
    for name in (*ours, *theirs):
        (tmp_path / name).write_text("x")
    new = RunFolder.create(tmp_path, CONFIG | {"steps": 3}, overwrite=True)
    left = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert left == {"config.json", ".lock", *theirs}
    assert new.history() == {}


def test_a_folder_left_by_a_kill_at_its_first_write_is_empty(tmp_path):
    (tmp_path / ".config.0123abcd.json").write_text('{"pass')
    RunFolder.create(tmp_path, CONFIG).release()
    assert [p.name for p in tmp_path.iterdir()] == ["config.json"]


def test_restoring_drops_what_the_checkpoint_does_not_hold(tmp_path):
    folder = RunFolder.create(tmp_path, CONFIG)
    log(folder, 1, 2)
    folder.checkpoint(state_at(2), 0.2)
    log(folder, 3, 4)
    part = folder.checkpoint_path.parent / ".state.0123abcd.safetensors"
    part.write_bytes(b"half")
    with open(tmp_path / "metrics.jsonl", "a") as stream:
        stream.write('{"step": 5, "sec')  # killed while writing
    state, seconds = RunFolder.open(tmp_path).restore(state_at(0))
    assert (int(state.step), seconds) == (2, 0.2)
    assert steps_in(folder) == [1, 2]
    assert not part.exists()
    log(folder, 3)
    assert steps_in(folder) == [1, 2, 3]
    assert folder.history()["loss"] == pytest.approx([1, 1 / 2, 1 / 3])


def test_restoring_without_a_checkpoint_starts_over(tmp_path):
    folder = RunFolder.create(tmp_path, CONFIG)
    log(folder, 1, 2)
    state, seconds = folder.restore(state_at(0))
    assert (int(state.step), seconds) == (0, 0.0)
    assert steps_in(folder) == []


def test_losses_that_are_not_finite_stay_readable(tmp_path):
    folder = RunFolder.create(tmp_path, CONFIG)
    folder.log({"step": 1, "psnr": float("inf")})
    assert "null" in (tmp_path / "metrics.jsonl").read_text()
    assert np.isnan(folder.history()["psnr"][0])


@pytest.mark.parametrize(
    "line",
    ["3", "[]", "{}", '{"step": "one"}', "\x00\xff", "", "[" * 100_000,
     '{"step": 2, "loss": "x"}'],
    ids=range(8),
)  # fmt: skip
def test_a_line_that_is_no_metrics_costs_that_line(tmp_path, line):
    folder = RunFolder.create(tmp_path, CONFIG)
    log(folder, 1)
    with open(tmp_path / "metrics.jsonl", "ab") as stream:
        stream.write(line.encode("latin1") + b"\n")
    log(folder, 3)
    assert folder.history()["step"] == [1, 3]


def test_steps_that_are_there_twice_are_kept_once_and_in_order(tmp_path):
    folder = RunFolder.create(tmp_path, CONFIG)
    log(folder, 1, 3, 2, 3, 1)
    folder.checkpoint(state_at(3), 0.2)
    folder.restore(state_at(0))
    assert steps_in(folder) == [1, 2, 3]


LOCKING = (
    "import os, signal, sys, pathlib\n"
    "from passband.train.run_lock import RunLock\n"
    "lock = RunLock(pathlib.Path(sys.argv[1]))\n"
)


def test_a_second_process_is_told_who_owns_the_folder(tmp_path):
    folder = RunFolder.create(tmp_path, CONFIG)
    words = [sys.executable, "-c", LOCKING, str(tmp_path)]
    ran = subprocess.run(words, capture_output=True, text=True)
    assert f"is in use by process {os.getpid()} on " in ran.stderr
    folder.release()
    assert not (tmp_path / ".lock").exists()
    assert subprocess.run(words).returncode == 0


def test_a_lock_ends_with_its_owner_however_that_ends(tmp_path):
    killed = LOCKING + "os.kill(os.getpid(), signal.SIGKILL)\n"
    subprocess.run([sys.executable, "-c", killed, str(tmp_path)])
    assert (tmp_path / ".lock").exists()
    assert RunLock(tmp_path).works


def test_a_folder_removed_under_a_run_does_not_come_back_by_halves(tmp_path):
    folder = RunFolder.create(tmp_path / "run", CONFIG)
    shutil.rmtree(folder.path)
    with pytest.raises(InputError, match="was removed while its fit was running"):
        log(folder, 1)
    with pytest.raises(InputError, match="was removed while its fit was running"):
        folder.checkpoint(state_at(1), 0.1)
    assert not folder.path.exists()


def test_metrics_that_cannot_be_written(tmp_path):
    folder = RunFolder.create(tmp_path, CONFIG)
    (tmp_path / "metrics.jsonl").mkdir()
    with pytest.raises(InputError, match=r"metrics\.jsonl` cannot be written"):
        log(folder, 1)
