"""Work that processes share: how it is dealt, who is done, who is lost."""

import itertools
import json
import math
import os
import random
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from passband.cli.main import main
from passband.data.images import write_image
from passband.paper.runs import Runs
from passband.train.processes import Processes
from passband.train.shares import Share, dealt, new_run

# Both commands in one process each: it joins the other once.
BOTH = """
import sys
import passband.train.processes as processes

join, joined = processes.distributed, []

def once(*address):
    if not joined:
        joined.append(join(*address))
    return joined[0]

processes.distributed = once
from passband.cli.main import main
from passband.paper.runs import Runs

Runs._drawn = lambda self, item: []  # drawing takes longer than what is drawn
own, *words = sys.argv[1:]
at = words.index("then")
sys.exit(max(main([*part, *own.split()]) for part in (words[:at], words[at + 1 :])))
"""
TUNE = ["tune", "image", "in", "--guess", "--fresh", "--quiet"]
PAPER = ["paper", "run", "fig2", "fig7", "--preset", "smoke", "--quiet"]


def test_two_processes_leave_what_one_leaves(tmp_path, monkeypatch):
    """Items of the paper to the byte; choices but for the seconds they took."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("in").mkdir()
    rng = np.random.default_rng(0)
    for k in range(3):
        write_image(f"in/{k}.png", 255 * rng.random((10, 12, 3)))
    Path("in/broken.png").write_bytes(b"no picture")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    env = os.environ | {"PYTHONWARNINGS": "ignore", "JAX_PLATFORMS": "cpu"}
    both = [*PAPER, "--out", "two", "then", *TUNE, "--out", "two"]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", BOTH, f"--distributed --coordinator {address} "
             f"--processes 2 --process {k}", *both], env=env,
        )
        for k in (1, 0)
    ]  # fmt: skip
    monkeypatch.setattr(Runs, "_drawn", lambda self, item: [])
    assert main([*PAPER, "--out", "one"]) == 0
    assert main([*TUNE, "--out", "one"]) == 3  # one of the pictures is none
    assert [p.wait(120) for p in running] == [0, 3]
    made = sorted(p.name for p in Path("one/smoke").iterdir())
    assert made == sorted(p.name for p in Path("two/smoke").iterdir())
    assert made == ["fig2.json", "fig2.npz", "fig7.json", "fig7.npz"]
    for name in made:
        one, two = (Path(of, "smoke", name).read_bytes() for of in ("one", "two"))
        if name.endswith(".json"):
            one, two = ({**json.loads(b), "provenance": 0} for b in (one, two))
        assert one == two, name
    choices = {of: [json.loads(line) | {"seconds": 0}
                    for line in Path(of, "choices.jsonl").read_text().splitlines()]
               for of in ("one", "two")}  # fmt: skip
    assert choices["one"] == choices["two"] and len(choices["one"]) == 4
    assert [row["name"] for row in choices["one"]] == ["0", "1", "2", "broken"]
    assert sum("error" in row for row in choices["one"]) == 1
    shares = [Path(f"two/part-00{k}/choices.jsonl").read_text() for k in (0, 1)]
    assert [text.count("\n") for text in shares] == [2, 2]


def best(costs: list[float], count: int) -> float:
    """The longest share of the best sharing, by trying all."""
    ways = itertools.product(range(count), repeat=len(costs))
    return min(
        max(math.fsum(c for c, at in zip(costs, way, strict=True) if at == k)
            for k in range(count))
        for way in ways
    )  # fmt: skip


@pytest.mark.parametrize("count", [2, 3])
def test_shares_are_as_even_as_graham_says(count: int):
    """Longest first is within 4/3 - 1/(3 m) of the best sharing (Graham 1969)."""
    draws = random.Random(count)
    for _ in range(8):
        costs = [draws.expovariate(1.0) for _ in range(7)]
        shares = dealt(costs, count)
        assert sorted(k for share in shares for k in share) == list(range(7))
        longest = max(math.fsum(costs[k] for k in share) for share in shares)
        assert longest <= (4 / 3 - 1 / (3 * count)) * best(costs, count) + 1e-12
    # Graham's own worst case: 5 5 4 4 3 3 3 on 3 processes takes 11, the best 9.
    assert max(sum((5, 5, 4, 4, 3, 3, 3)[k] for k in s)
               for s in dealt((5, 5, 4, 4, 3, 3, 3), 3)) == 11  # fmt: skip


def test_pieces_that_cost_nothing_are_spread():
    assert sorted(map(len, dealt([0.0] * 7, 3))) == [2, 2, 3]


def test_who_is_done_is_heard_and_who_was_lost_counts_as_far_as_it_came(tmp_path):
    for old in ("part-001", "part-002"):  # of a run before, still beating then
        (tmp_path / old).mkdir()
        (tmp_path / old / "alive").touch()
    run = new_run(tmp_path)
    assert not list(tmp_path.glob("part-*/alive"))
    told: list[str] = []
    with Share(tmp_path, Processes(1, 3), run, 0.3) as first:
        first.done({"did": [1]})
    with Share(tmp_path, Processes(2, 3), run, 0.3) as second:
        second.so_far({"did": [2]})
    with Share(tmp_path, Processes(0, 3), run, 0.3) as mine:
        mine.done({"did": []})
        said, lost = mine.wait(told.append)
    assert lost == ["part-002"] and told
    assert [one["did"] for one in said] == [[], [1], [2]]
    # What an earlier run said is not taken for this one's.
    with Share(tmp_path, Processes(0, 2), new_run(tmp_path), 0.1) as again:
        said, lost = again.wait(told.append)
    assert (said, lost) == ([], ["part-001"])


# The choices of several inputs.


@pytest.fixture
def pictures(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("in").mkdir()
    y, x = np.mgrid[:8, :9]
    for k in range(3):
        waves = 128 + 100 * np.sin((k + 1) * x + y)
        write_image(f"in/{k}.png", np.stack([waves] * 3, axis=-1))
    return tmp_path


GUESS = ["tune", "image", "--guess", "--out", "there"]


def told(capsys) -> dict:
    return json.loads(capsys.readouterr().out)


def test_a_choice_among_several_is_the_choice_of_the_file_alone(pictures, capsys):
    assert main([*GUESS, "in", "--json", "--quiet"]) == 0
    found = told(capsys)
    assert found["chosen"] == found["inputs"] == 3 and found["missing"] == 0
    sigmas = [row["sigma"] for row in found["choices"]]
    assert found["sigma"]["least"] == min(sigmas)
    for k, sigma in enumerate(sigmas):
        alone = ["tune", "image", f"in/{k}.png", "--guess", "--out", f"alone-{k}"]
        assert main([*alone, "--json", "--quiet"]) == 0
        assert told(capsys)["sigma"] == sigma
    Path("names.txt").write_text("in/2.png\n# not this\nin/0.png\n")
    words = ["tune", "image", "--list", "names.txt", "--guess"]
    assert main([*words, "--quiet", "--json"]) == 0
    listed = told(capsys)
    assert listed["out"] == "runs/names-tune"
    assert [row["sigma"] for row in listed["choices"]] == [sigmas[2], sigmas[0]]
    assert main([*words, "--out", "shown"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["file", "sigma", "guess"] and "half costs" in head
    assert [line.split()[0] for line in lines] == ["2", "0", "choices"]


def test_choices_go_on_where_they_ended(pictures, capsys):
    assert main([*GUESS, "in/0.png", "in/1.png", "in/9.png", "--quiet", "--json"]) == 3
    found = told(capsys)
    assert (found["chosen"], found["failed"]) == (2, 1)
    assert "9.png" in found["choices"][2]["error"]
    part = Path("there/part-000/choices.jsonl")
    lines = part.read_text().splitlines(keepends=True)
    part.write_text(lines[0] + lines[1][:20])  # killed while it wrote
    Path("in/9.png").write_bytes(Path("in/2.png").read_bytes())
    assert main([*GUESS, "--resume"]) == 0  # of what it began with
    assert "1 choices are there; 2 are left here" in capsys.readouterr().err
    rows = [json.loads(t) for t in Path("there/choices.jsonl").read_text().splitlines()]
    assert [row["name"] for row in rows] == ["0", "1", "9"]
    assert part.read_text().splitlines(keepends=True)[0] == lines[0]
    assert main([*GUESS, "in", "--quiet"]) == 2
    assert "`there` exists; `--resume` goes on with it" in capsys.readouterr().err
    assert main([*GUESS, "in", "--resume", "--seed", "4"]) == 2
    assert (
        "`--seed` (=4) disagrees with `there`, which has 0" in capsys.readouterr().err
    )
    assert main([*GUESS, "in", "--overwrite", "--quiet"]) == 0


def test_what_goes_with_several_inputs_or_items_alone_is_refused(pictures, capsys):
    for words, said in (
        ((*GUESS, "in/0.png", "--distributed"), "`--distributed` goes with several"),
        ((*GUESS, "in/0.png", "--resume"), "`--resume` goes with several inputs"),
        (("paper", "list", "--process", "1"), "`--process` goes with run and all"),
        ((*GUESS, "in", "--coordinator", "localhost:1"), "go together"),
    ):
        assert main([*words]) == 2
        assert said in capsys.readouterr().err
