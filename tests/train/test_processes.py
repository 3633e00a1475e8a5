"""Several processes: their shares, their devices, one that is lost."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

import passband as pb
from passband.cli.main import main
from passband.data.images import write_image
from passband.train.processes import (
    Heartbeat,
    Processes,
    _check_cluster,
    local_devices,
    wait_for,
)

PROCESS = """
import os, sys
from passband.kinds import many

write = many.write_stack

def lost(*arguments):
    write(*arguments)
    os.kill(os.getpid(), 9)

if sys.argv[1] == "2":
    many.write_stack = lost
from passband.cli.main import main
sys.exit(main(sys.argv[2:]))
"""
SMALL = ["--mapping", "gaussian:2,m=8", "--width", "8", "--layers", "2",
         "--steps", "6", "--stack", "2", "--quiet"]  # fmt: skip


def test_four_processes_of_two_devices_one_of_them_lost(tmp_path, monkeypatch):
    """The fields of a set are those of one process to the bit, whoever made them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("in").mkdir()
    rng = np.random.default_rng(0)
    for k in range(16):
        write_image(f"in/{k:02d}.png", rng.random((4, 5, 3)))
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    fit = ["fit", "image", "in", *SMALL]
    env = os.environ | {"JAX_NUM_CPU_DEVICES": "2", "PYTHONWARNINGS": "ignore"}
    running = []
    for k in (1, 2, 3, 0):
        own = ["--coordinator", address, "--processes", "4", "--process", str(k)]
        words = [*fit, "--out", "four", "--distributed", *own, "--lost-after", "8"]
        running.append(
            subprocess.Popen([sys.executable, "-c", PROCESS, str(k), *words], env=env)
        )
    monkeypatch.setattr("passband.kinds.many_set.pictures_of", lambda *a: {})
    assert main([*fit, "--out", "one"]) == 0
    status = dict(zip((1, 2, 3, 0), [p.wait(120) for p in running], strict=True))
    assert status == {0: 3, 1: 0, 2: -9, 3: 0}  # the lost one's share is missing
    assert len(pb.load_many("four")) == 16 - 2
    assert not Path("four/part-002/done.json").exists()
    assert main([*fit, "--out", "four", "--resume"]) == 0
    one, four = pb.load_many("one"), pb.load_many("four")
    assert one.names == four.names and len(one) == 16
    for name in one.names:
        pairs = zip(
            jax.tree.leaves(one[name].field),
            jax.tree.leaves(four[name].field),
            strict=True,
        )
        for a, b in pairs:
            np.testing.assert_array_equal(a, b)


def test_shares_are_all_of_the_work_and_no_piece_twice():
    shares = [Processes(k, 3).share(range(8)) for k in range(3)]
    assert sorted(k for share in shares for k in share) == list(range(8))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, None),
        ({"SLURM_LOCALID": "0", "SLURM_TASKS_PER_NODE": "1"}, None),
        # One process a node has all of its GPUs.
        ({"CUDA_VISIBLE_DEVICES": "0,1,2,3", "SLURM_LOCALID": "0",
          "SLURM_TASKS_PER_NODE": "1(x2)"}, [0, 1, 2, 3]),
        # Slurm shows each its own GPU alone: there is no third.
        ({"CUDA_VISIBLE_DEVICES": "3", "SLURM_LOCALID": "3",
          "SLURM_TASKS_PER_NODE": "4(x2)"}, [0]),
        # Or all of them: each takes its share.
        ({"CUDA_VISIBLE_DEVICES": "0,1,2,3", "SLURM_LOCALID": "3",
          "SLURM_TASKS_PER_NODE": "4"}, [3]),
        ({"CUDA_VISIBLE_DEVICES": "0,1,2,3", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
          "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, [2, 3]),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "JAX_LOCAL_DEVICE_IDS": "1"}, None),
    ],
)  # fmt: skip
def test_a_process_takes_its_own_gpus(env, expected):
    assert local_devices(env) == expected


def test_what_a_cluster_does_not_say_is_one_line():
    with pytest.raises(pb.InputError, match="3 processes of this node share 2 GPUs"):
        local_devices({"CUDA_VISIBLE_DEVICES": "0,1", "SLURM_LOCALID": "0",
                       "SLURM_TASKS_PER_NODE": "3"})  # fmt: skip
    with pytest.raises(pb.InputError, match="start it by `srun`"):
        _check_cluster({"SLURM_JOB_ID": "7", "SLURM_NTASKS": "2"})
    _check_cluster({})
    with pytest.raises(pb.InputError, match="go together"):
        pb.distributed("localhost:1")


def test_who_falls_silent_is_not_waited_for(tmp_path):
    for name in ("mine", "silent", "late"):
        (tmp_path / name).mkdir()
    mine = Heartbeat(tmp_path / "mine", 0.05)
    (tmp_path / "silent" / "alive").touch()
    late = Heartbeat(tmp_path / "late", 0.05)
    begun = time.monotonic()
    lost = wait_for(
        [tmp_path / "silent", tmp_path / "late"],
        lambda part: part.name == "late" and time.monotonic() - begun > 0.6,
        mine.path,
        0.5,
        lambda text: None,
    )
    assert lost == [tmp_path / "silent"]
    mine.stop()
    late.stop()
