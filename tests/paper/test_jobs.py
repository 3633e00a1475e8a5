"""Items run by several processes of one machine: the same results, and none hidden."""

import json
import time

import numpy as np
import pytest

from passband.cli.main import main
from passband.paper import jobs, registry
from passband.paper.item import Preset
from passband.paper.jobs import run_in_jobs
from passband.paper.runs import LOST, Runs

IDS = ("table2", "fig2", "fig7")
BROKEN = """
import passband.paper.{0} as module
def run(self, preset, progress): raise RuntimeError("no memory")
type(module.ITEM).run = run
from passband.paper.jobs import child; child()
"""


class Heard:
    """What was said."""

    def __init__(self):
        self.lines: list[str] = []

    def say(self, text, **_):
        self.lines.append(text)

    warn = error = progress = say


def runs_of(folder, ids=IDS) -> tuple[Runs, list]:
    told = []
    runs = Runs(Preset.SMOKE, folder, Heard(), go_on="again", whole=True,
                tell=lambda item, _: told.append(item.id))  # fmt: skip
    run_in_jobs(runs, [registry.get_item(id) for id in ids], 2)
    return runs, told


def test_jobs_give_what_one_process_gives(tmp_path, capsys):
    words = ["paper", "run", *IDS, "--preset", "smoke", "--quiet", "--json"]
    found = []
    for name, more in (("one", []), ("two", ["--jobs", "2"])):
        assert main([*words, "--out", str(tmp_path / name), *more]) == 0
        found.append(json.loads(capsys.readouterr().out)["results"])
    one, two = found
    assert [r["id"] for r in one] == [r["id"] for r in two]
    for a, b in zip(one, two, strict=True):
        assert (a["numbers"], a["claims"]) == (b["numbers"], b["claims"])
        assert "jobs" not in a["provenance"] and b["provenance"]["jobs"] == 2
        arrays = [tmp_path / n / "smoke" / f"{a['id']}.npz" for n in ("one", "two")]
        with np.load(arrays[0]) as x, np.load(arrays[1]) as y:
            for name in x:
                np.testing.assert_array_equal(x[name], y[name])
        assert arrays[1].with_suffix(".png").is_file()


def test_items_of_a_lost_process_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "CHILD", "raise SystemExit(9)")
    runs, told = runs_of(tmp_path)
    assert told and set(runs.skipped) == set(IDS) - set(told)
    assert set(runs.skipped.values()) == {LOST} and not runs.broken


def test_an_item_that_fails_in_another_process_is_told_as_here(tmp_path, monkeypatch):
    share = jobs.plan.shares([registry.get_item(i) for i in IDS], tmp_path,
                             Preset.SMOKE, 2)[1]  # fmt: skip
    monkeypatch.setattr(jobs, "CHILD", BROKEN.format(share[0]))
    runs, told = runs_of(tmp_path)
    assert runs.skipped == {share[0]: "RuntimeError: no memory"} and runs.broken
    assert set(told) == set(IDS) - {share[0]}
    assert isinstance(runs.listener, Heard)
    assert any("no memory" in line for line in runs.listener.lines)


def test_a_stop_ends_the_other_processes(tmp_path, monkeypatch):
    made = []

    class Watched(jobs.Child):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self._process)

    def stopped(self, items):
        raise KeyboardInterrupt

    monkeypatch.setattr(jobs, "Child", Watched)
    monkeypatch.setattr(jobs, "CHILD", "import time; time.sleep(60)")
    monkeypatch.setattr(Runs, "run", stopped)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        runs_of(tmp_path)
    assert time.monotonic() - begun < 30
    [process] = made
    assert process.poll() is not None


@pytest.mark.parametrize(
    "words, message",
    [
        (["list", "--jobs", "2"], "`--jobs` goes with run and all, not with list"),
        (["all", "--jobs", "2", "--distributed"], "`--jobs` and `--distributed` excl"),
        (["all", "--jobs", "0"], "`--jobs`"),
    ],
)
def test_what_jobs_do_not_go_with(words, message, capsys):
    assert main(["paper", *words]) == 2
    assert message in capsys.readouterr().err
