"""A run that is killed and resumed ends with the bits of one that never stopped."""

import json
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file

from passband.cli.main import main

STEPS, EVERY = 4000, 25
FIT = ["--steps", str(STEPS), "--layers", "2", "--width", "32", "--batch", "256",
       "--mapping", "gaussian:4,m=16", "--save-every", "0", "--quiet"]  # fmt: skip


@pytest.fixture
def photo(tmp_path):
    y, x = np.mgrid[0:20, 0:30] / 30
    wave = 127.5 * (1 + np.stack([np.sin(9 * x), np.cos(7 * y), x * y], axis=-1))
    Image.fromarray(wave.astype(np.uint8)).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


def lines(path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def spawn(*words: object) -> subprocess.Popen:
    command = [sys.executable, "-m", "passband", *map(str, words)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for(run, metrics, count: int) -> None:
    """Until that many lines of metrics are there; a run that ended is a failure."""
    while lines(metrics) < count:
        assert run.poll() is None, run.communicate()
        time.sleep(0.002)


def steps_in(folder) -> list[int]:
    text = (folder / "metrics.jsonl").read_text()
    return [json.loads(line)["step"] for line in text.splitlines()]


def test_killed_at_three_moments(photo, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert main(["fit", "image", str(photo), *FIT, "--out", str(whole)]) == 0
    moment = random.Random(7)
    words: list[object] = ["fit", "image", photo, *FIT, "--out", killed]
    stood = []
    for _ in range(3):
        ahead = lines(killed / "metrics.jsonl") + moment.randint(1, 8)
        with spawn(*words) as run:
            wait_for(run, killed / "metrics.jsonl", ahead)
            time.sleep(moment.random() * 0.02)
            run.send_signal(signal.SIGKILL)
        assert run.returncode == -signal.SIGKILL
        stood.append(lines(killed / "metrics.jsonl") * EVERY)
        words = [*words, "--resume"]
    assert 0 < stood[0] < stood[1] < stood[2] < STEPS
    assert main(["fit", "image", "--resume", "--out", str(killed), "--quiet"]) == 0
    assert steps_in(killed) == steps_in(whole) == list(range(EVERY, STEPS + 1, EVERY))
    for name in ("model.safetensors", "checkpoint/state.safetensors"):
        want, found = load_file(whole / name), load_file(killed / name)
        assert want.keys() == found.keys()
        for key, tensor in want.items():
            np.testing.assert_array_equal(found[key], tensor)
