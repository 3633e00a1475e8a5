"""`passband paper`: list, run, all, draw, report, readme, and how they end."""

import dataclasses
import errno
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from passband.cli.main import main
from passband.data.store import known_set
from passband.errors import InputError
from passband.paper import registry, results
from passband.paper.item import (
    Assembled,
    Item,
    Number,
    Outcome,
    Preset,
    Progress,
    judge,
)
from passband.plot.style import new_figure
from passband.train import processes
from passband.train.processes import Processes
from passband.train.work import Work


@dataclasses.dataclass
class Fake(Item):
    """An item that takes no time; `runs` counts."""

    id: str
    holds: bool = True
    missing: str = ""
    runs: int = 0
    section: str = "9, Fig. 9"
    title: str = "A made-up figure"
    needs: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    seeds: int = 0

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        progress("running")
        self.runs += 1
        if self.missing:
            raise InputError(f"data set `{self.missing}` is not there")
        return Outcome(
            numbers=(Number("PSNR", 25.57, 25.5, 0.25), Number("other", None, 1.0)),
            claims=(judge("it is better", self.holds, f"by {self.runs}"),),
            arrays={"x": np.arange(3.0)},
            settings={"sizes": np.arange(2)},
        )

    def draw(self, outcome: Outcome):
        figure = new_figure(1, 1)
        figure.add_axes((0, 0, 1, 1)).plot(outcome.arrays["x"])
        return {self.id: figure}


class Whole(Assembled):
    """An item made of fig8."""

    id = "table9"
    section, title, parts = "9", "A made-up table", ("fig8",)

    def assemble(self, found: Mapping[str, Outcome], preset: Preset) -> Outcome:
        return Outcome(claims=found["fig8"].claims, arrays=found["fig8"].arrays)

    def draw(self, outcome: Outcome):
        return Fake("table9").draw(outcome)


@pytest.fixture
def items(monkeypatch: pytest.MonkeyPatch) -> dict[str, Fake]:
    found = {
        "fig8": Fake("fig8"),
        "fig9": Fake("fig9", holds=False),
        "fig10": Fake("fig10", missing="photos", needs=("photos",)),
    }
    monkeypatch.setattr(registry, "IDS", tuple(found))
    monkeypatch.setattr(registry, "get_item", found.__getitem__)
    return found


@pytest.fixture
def out(tmp_path: Path) -> list[str]:
    return ["--preset", "smoke", "--out", str(tmp_path)]


def test_a_run_leaves_its_files_and_prints_the_claims(items, out, tmp_path, capsys):
    assert main(["paper", "run", "fig8", *out]) == 0
    files = sorted(p.name for p in (tmp_path / "smoke").iterdir())
    assert files == ["fig8.json", "fig8.npz", "fig8.png"]  # no report but of all
    said = capsys.readouterr().out
    assert "fig8  A made-up figure: reproduced (smoke" in said
    assert "pass  it is better  [by 1]" in said
    assert "PSNR        25.57        25.5     0.25" in said
    content = json.loads((tmp_path / "smoke" / "fig8.json").read_text())
    command = content["provenance"]["command"]
    assert command == "passband paper run fig8 --preset smoke"


def test_what_was_trained_is_told_with_its_speed(
    items, out, tmp_path, monkeypatch, capsys
):
    counts = iter([Work(10**15), Work(3 * 10**15)])
    monkeypatch.setattr("passband.paper.stopwatch.work_done", lambda: next(counts))
    assert main(["paper", "run", "fig8", *out]) == 0
    assert "TFLOP/s)" in capsys.readouterr().out.splitlines()[0]
    told = json.loads((tmp_path / "smoke" / "fig8.json").read_text())["provenance"]
    assert told["pflop"] == 2 and told["tflops"] > 1000
    assert main(["paper", "list", *out, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["pflop"] == 2 and rows[1]["pflop"] is None


def test_a_failed_claim_ends_with_1_only_when_checked(items, out, capsys):
    assert main(["paper", "run", "fig9", *out]) == 0
    assert "FAIL  it is better" in capsys.readouterr().out
    assert main(["paper", "run", "fig8", "fig9", "--check", *out]) == 1
    assert "claims fail in fig9" in capsys.readouterr().err


def test_all_goes_on_past_an_item_that_lacks_its_data(items, out, tmp_path, capsys):
    assert main(["paper", "all", "--json", *out]) == 2
    said = json.loads(capsys.readouterr().out)
    assert said["preset"] == "smoke"
    assert [r["id"] for r in said["results"]] == ["fig8", "fig9"]
    assert said["results"][0]["settings"] == {"sizes": [0, 1]}
    assert said["skipped"] == {"fig10": "data set `photos` is not there"}


def test_one_item_that_lacks_its_data_is_one_line(items, out, capsys):
    assert main(["paper", "run", "fig10", *out, "--quiet"]) == 2
    said = capsys.readouterr()
    assert said.err == "passband: data set `photos` is not there\n" and not said.out


def test_resume_runs_only_what_is_missing(items, out, capsys):
    assert main(["paper", "run", "fig8", *out]) == 0
    assert main(["paper", "run", "fig8", "fig9", "--resume", *out]) == 0
    assert (items["fig8"].runs, items["fig9"].runs) == (1, 1)
    said = capsys.readouterr()
    assert "fig8: already there" in said.err and "[by 1]" in said.out


def test_draw_needs_no_run(items, out, tmp_path):
    assert main(["paper", "run", "fig8", *out]) == 0
    picture = tmp_path / "smoke" / "fig8.png"
    first = picture.read_bytes()
    picture.unlink()
    assert main(["paper", "draw", "fig8", *out]) == 0
    assert picture.read_bytes() == first and items["fig8"].runs == 1


def test_draw_without_a_result_says_how_to_get_one(items, out, capsys):
    assert main(["paper", "draw", "fig8", *out]) == 2
    assert (
        "`passband paper run fig8 --preset smoke` makes it" in capsys.readouterr().err
    )


def test_list_tells_each_items_verdict(items, out, capsys):
    main(["paper", "run", "fig9", *out, "--quiet"])
    assert main(["paper", "list", *out, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    verdicts = {row["id"]: row["verdict"] for row in rows}
    assert verdicts == {"fig8": None, "fig9": "differs", "fig10": None}
    assert {"section", "title", "needs", "notes", "preset", "date"} <= set(rows[0])
    assert rows[1]["measured"] == ["smoke"] and rows[1]["seconds"]["smoke"] < 5
    assert rows[1]["date"] and rows[0]["date"] is None
    assert rows[2]["needs"] == rows[2]["missing"] == ["photos"]
    assert main(["paper", "list", *out]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    # Seconds of smoke, small and full; those that no run has measured are marked.
    assert lines[1] == "fig8 9, Fig. 9 ~4 ~60 ~21 not run A made-up figure"
    assert lines[2].startswith("fig9 9, Fig. 9 0 ~60 ~67 differs 20")
    assert lines[3].endswith("not run A made-up figure (photos: photos not here)")


def test_companions_are_listed_and_run_when_asked_for(items, out, monkeypatch, capsys):
    monkeypatch.setattr(registry, "COMPANIONS", ("fig8",))
    monkeypatch.setattr(registry, "IDS", ("fig9",))
    for more, ids in (([], ["fig9"]), (["--companions"], ["fig9", "fig8"])):
        assert main(["paper", "list", "--json", *more, *out]) == 0
        assert [row["id"] for row in json.loads(capsys.readouterr().out)] == ids
    assert main(["paper", "all", "--companions", "--quiet", *out]) == 0
    assert items["fig8"].runs == items["fig9"].runs == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "draw ID..., judge ID..., report or readme, not nothing"),
        (["plot"], "not `plot`"),
        (["run"], "`passband paper run` needs an ID"),
        (["all", "fig8"], "`passband paper all` takes no ID, but got `fig8`"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], message: str, capsys):
    assert main(["paper", *words]) == 2
    assert message in capsys.readouterr().err


def test_an_unknown_item_runs_nothing(capsys, tmp_path: Path):
    assert main(["paper", "run", "fig2", "fig99", "--out", str(tmp_path)]) == 2
    assert "item `fig99` is unknown" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_is_put_together_runs_last_and_names_its_parts(
    items, out, tmp_path, monkeypatch, capsys
):
    found: dict[str, Item] = {"table9": Whole(), **items}
    monkeypatch.setattr(registry, "get_item", found.__getitem__)
    assert main(["paper", "run", "table9", *out]) == 2
    said = capsys.readouterr().err
    assert "fig8.json` is not there; `passband paper run fig8 --preset smoke`" in said
    assert main(["paper", "run", "table9", "fig8", *out]) == 0
    said = capsys.readouterr().out
    assert 0 <= said.index("fig8  A made-up") < said.index("table9  A made-up")
    content = json.loads((tmp_path / "smoke" / "table9.json").read_text())
    assert list(content["provenance"]["parts"]) == ["fig8"]
    # Its part may have changed: it is put together again.
    assert main(["paper", "run", "table9", "--resume", *out]) == 0
    assert "already there" not in capsys.readouterr().err


def test_resume_runs_again_what_is_damaged(items, out, tmp_path, capsys):
    assert main(["paper", "run", "fig8", *out]) == 0
    path = tmp_path / "smoke" / "fig8.npz"
    path.write_bytes(path.read_bytes()[:40])
    assert main(["paper", "run", "fig8", "--resume", *out]) == 0
    assert items["fig8"].runs == 2
    said = capsys.readouterr().err
    assert "fig8.npz` is damaged" in said and "it runs again" in said


def test_resume_runs_again_what_has_other_data(items, out, tmp_path, capsys):
    items["fig8"].needs = ("natural",)
    assert main(["paper", "run", "fig8", *out]) == 0
    path = tmp_path / "smoke" / "fig8.json"
    content = json.loads(path.read_text())
    for told, runs in (
        (results.fingerprints(["natural"]), 1),
        ({}, 1),  # results of older versions do not tell
        ({"natural": "0" * 64}, 2),
    ):
        content["provenance"]["data"] = told
        path.write_text(json.dumps(content))
        assert main(["paper", "run", "fig8", "--resume", *out]) == 0
        assert items["fig8"].runs == runs
    assert "was run on another `natural`" in capsys.readouterr().err


def test_a_data_set_is_checked_before_a_full_run(items, tmp_path, monkeypatch, capsys):
    items["fig8"].needs = ("natural",)
    monkeypatch.setenv("PASSBAND_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["paper", "run", "fig8", "--preset", "full", "--out", str(tmp_path)]
    assert main(words) == 2
    assert "data set `natural` is not on this machine" in capsys.readouterr().err
    for file in known_set("natural").files:
        path = tmp_path / "data" / "natural" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert main(words) == 2
    assert "is corrupted: it has 0 bytes" in capsys.readouterr().err
    assert items["fig8"].runs == 0
    monkeypatch.setattr("passband.paper.runs.check", lambda name: None)
    assert main(words) == 0
    content = json.loads((tmp_path / "full" / "fig8.json").read_text())
    assert content["provenance"]["data"] == results.fingerprints(["natural"])


def test_all_stops_at_a_full_disk_and_keeps_what_is_finished(
    items, out, tmp_path, monkeypatch, capsys
):
    items.pop("fig10")
    items["fig11"] = Fake("fig11")
    monkeypatch.setattr(registry, "IDS", tuple(items))
    write, written = np.savez_compressed, []

    def full_later(*given, **arrays):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(write(*given, **arrays))

    monkeypatch.setattr(np, "savez_compressed", full_later)
    assert main(["paper", "all", "--quiet", *out]) == 2
    said = capsys.readouterr().err
    assert "fig9.npz` cannot be written: No space left on the disk at `" in said
    assert "; 1 items are finished and kept" in said
    assert (
        f"`passband paper all --preset smoke --resume --out {tmp_path}` goes on" in said
    )
    assert items["fig11"].runs == 0  # nothing more is computed for a full disk
    monkeypatch.undo()
    monkeypatch.setattr(registry, "IDS", tuple(items))
    monkeypatch.setattr(registry, "get_item", items.__getitem__)
    assert main(["paper", "all", "--resume", *out]) == 0
    assert [items[id].runs for id in ("fig8", "fig9", "fig11")] == [1, 2, 1]


def test_all_goes_on_past_an_item_that_breaks(items, out, monkeypatch, capsys):
    def broken(preset: Preset, progress: Progress) -> Outcome:
        raise RuntimeError("out of memory")

    items["fig8"].run = broken
    assert main(["paper", "all", "--json", *out]) == 1
    said = capsys.readouterr()
    content = json.loads(said.out)
    assert content["skipped"]["fig8"] == "RuntimeError: out of memory"
    assert [r["id"] for r in content["results"]] == ["fig9"]
    assert "Traceback" in said.err and "fig8 failed; the others go on" in said.err


def test_an_interrupted_all_says_how_to_go_on(items, out, capsys):
    def interrupted(preset: Preset, progress: Progress) -> Outcome:
        raise KeyboardInterrupt

    items["fig9"].run = interrupted
    assert main(["paper", "all", *out]) == 130
    said = capsys.readouterr().err
    assert "stopped; 1 items are finished and kept; `passband paper all --p" in said


def test_all_ends_with_a_page_about_all(items, out, tmp_path, capsys):
    assert main(["paper", "all", *out]) == 2
    page = (tmp_path / "smoke" / "report.html").read_text()
    assert page.count("<section") == 3 and "1 of 3" in page
    noted = json.loads((tmp_path / "smoke" / "all.json").read_text())["commands"]
    assert len(noted) == 1 and noted[0]["ran"] == ["fig8", "fig9"]
    spent = [json.loads((tmp_path / "smoke" / f"{id}.json").read_text())["provenance"]
             for id in noted[0]["ran"]]  # fmt: skip
    assert noted[0]["seconds"] >= sum(p["seconds"] for p in spent) - 0.1
    assert f"{noted[0]['seconds']:.0f} s" in page and "Start to report" in page
    assert all(
        sum(p["phases"].values()) == pytest.approx(p["seconds"], abs=0.1) for p in spent
    )
    main(["paper", "all", "--resume", *out])
    noted = json.loads((tmp_path / "smoke" / "all.json").read_text())["commands"]
    assert [command["kept"] for command in noted] == [[], ["fig8", "fig9"]]
    assert main(["paper", "report", "--json", *out]) == 0
    path = tmp_path / "smoke" / "report.html"
    said = capsys.readouterr().out.splitlines()[-1]
    assert json.loads(said) == {"report": str(path)}


def test_judge_works_out_claims_from_what_is_stored(items, out, tmp_path, capsys):
    assert main(["paper", "run", "fig9", *out]) == 0
    path = tmp_path / "smoke" / "fig9.json"
    before = json.loads(path.read_text())
    assert main(["paper", "judge", "fig9", *out]) == 2
    assert "`fig9` cannot be judged from what is stored" in capsys.readouterr().err
    items["fig9"].judged = lambda outcome, preset: [
        judge("they are three", len(outcome.arrays["x"]) == 3, "3"),
        judge("no claim of the paper", False, "", aside=True),
    ]
    assert main(["paper", "judge", "fig9", *out]) == 0
    said, after = capsys.readouterr().out, json.loads(path.read_text())
    assert "pass  they are three" in said and "(no)  no claim of the paper" in said
    assert (before["verdict"], after["verdict"]) == ("differs", "reproduced")
    assert after["numbers"] == before["numbers"] and items["fig9"].runs == 1
    assert after["provenance"].pop("judged anew")["version"]
    assert after["provenance"] == before["provenance"]


def test_seeds_run_an_item_with_other_keys(items, out, tmp_path, monkeypatch, capsys):
    found = {**items, "fig8-seeds": Fake("fig8-seeds", seeds=3)}
    items["fig8"].companions = ("fig8-seeds",)
    monkeypatch.setattr(registry, "get_item", found.__getitem__)
    assert main(["paper", "run", "fig8", "--seeds", "5", *out]) == 0
    content = json.loads((tmp_path / "smoke" / "fig8-seeds.json").read_text())
    command = "passband paper run fig8-seeds --preset smoke --seeds 5"
    assert content["provenance"]["command"] == command
    assert found["fig8-seeds"].seeds == 3  # of this run alone
    (tmp_path / "smoke" / "fig8-seeds.json").unlink()
    assert main(command.split()[1:] + out[2:]) == 0  # as it is written down
    again = json.loads((tmp_path / "smoke" / "fig8-seeds.json").read_text())
    assert again["provenance"]["command"] == command


def test_seeds_of_items_without_any_are_refused(tmp_path: Path, capsys):
    words = ["paper", "run", "fig2", "--seeds", "4", "--out", str(tmp_path)]
    assert main(words) == 2
    assert "`--seeds`: none of these has other keys to run; table3" in (
        capsys.readouterr().err
    )


def test_readme_is_written_or_checked(items, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["paper", "readme"]) == 2
    assert "`README.md` cannot be read" in capsys.readouterr().err
    from passband.paper.readme_table import BEGIN, END

    Path("README.md").write_text(f"# It\n{BEGIN}\n{END}\n")
    assert main(["paper", "readme", "--check"]) == 1
    assert main(["paper", "readme"]) == 0
    assert main(["paper", "readme", "--check"]) == 0
    assert "**0 of 3 tables and figures" in Path("README.md").read_text()


class Turn(Processes):
    """One of several processes, which take turns here and agree by a list."""

    agreed_on: ClassVar[list[dict[str, Any]]] = []

    def agreed(self, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if not self.agreed_on:
            self.agreed_on.append(make())
        return self.agreed_on[0]


@pytest.fixture
def share(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run a command as one of some processes."""

    def run(index: int, count: int, *words: str) -> int:
        turn = Turn(index, count)
        monkeypatch.setattr(processes, "distributed", lambda *address: turn)
        return main([*words, "--distributed", "--lost-after", "0.2"])

    Turn.agreed_on.clear()
    return run


def test_processes_share_items_and_process_0_has_all(
    items, out, tmp_path, monkeypatch, capsys, share
):
    found: dict[str, Item] = {"table9": Whole(), **items}
    monkeypatch.setattr(registry, "get_item", found.__getitem__)
    monkeypatch.setattr(registry, "IDS", tuple(found))
    words = ["paper", "all", "--json", *out]
    assert share(1, 2, *words) == 0  # process 0 speaks of what it left out
    assert capsys.readouterr().out == ""
    ran = [id for id, item in items.items() if item.runs]
    assert 0 < len(ran) < 3
    assert share(0, 2, *words) == 2
    said = capsys.readouterr()
    assert [items[id].runs for id in items] == [1, 1, 1]
    content = json.loads(said.out)
    assert [r["id"] for r in content["results"]] == ["fig8", "fig9", "table9"]
    assert content["skipped"] == {"fig10": "data set `photos` is not there"}
    [noted] = json.loads((tmp_path / "smoke" / "all.json").read_text())["commands"]
    assert sorted(noted["ran"]) == ["fig8", "fig9", "table9"]
    assert noted["processes"] == 2 and noted["command"].endswith(" --distributed")
    page = (tmp_path / "smoke" / "report.html").read_text()
    assert page.count("<section") == 4 and "by 2 processes" in page
    assert not (tmp_path / "smoke" / "processes").exists()


def test_a_process_that_is_lost_costs_its_share(items, out, tmp_path, capsys, share):
    items.pop("fig10")
    words = ["paper", "run", "fig8", "fig9", *out]
    assert share(0, 2, *words) == 3
    said = capsys.readouterr().err
    [mine] = [id for id, item in items.items() if item.runs]
    [lost] = items.keys() - {mine}
    assert f"{lost} was left out: its process was lost" in said and "--resume" in said
    Turn.agreed_on.clear()
    assert main([*words, "--resume"]) == 0
    assert items[mine].runs == items[lost].runs == 1
    assert not (tmp_path / "smoke" / "processes").exists()
