"""`passband paper`: list, run, all, draw, and how they end."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from passband.cli.main import main
from passband.errors import InputError
from passband.paper import registry
from passband.paper.item import Item, Number, Outcome, Preset, Say, judge
from passband.plot.style import new_figure


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

    def run(self, preset: Preset, say: Say) -> Outcome:
        say("running")
        self.runs += 1
        if self.missing:
            raise InputError(f"data set `{self.missing}` is not there")
        return Outcome(
            numbers=(Number("PSNR", 25.57, 25.5, 0.25), Number("other", None, 1.0)),
            claims=(judge("it is better", self.holds, f"by {self.runs}"),),
            arrays={"x": np.arange(3.0)},
        )

    def draw(self, outcome: Outcome):
        figure = new_figure(1, 1)
        figure.add_axes((0, 0, 1, 1)).plot(outcome.arrays["x"])
        return {self.id: figure}


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
    assert files == ["fig8.json", "fig8.npz", "fig8.png"]
    said = capsys.readouterr().out
    assert "fig8  A made-up figure: reproduced (smoke" in said
    assert "pass  it is better  [by 1]" in said
    assert "PSNR        25.57        25.5     0.25" in said
    content = json.loads((tmp_path / "smoke" / "fig8.json").read_text())
    command = content["provenance"]["command"]
    assert command == "passband paper run fig8 --preset smoke"


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
    assert lines[1] == "fig8 9, Fig. 9 ~5 ~60 ~40 not run A made-up figure"
    assert lines[2].startswith("fig9 9, Fig. 9 0 ~60 ~100 differs 20")
    assert lines[3].endswith("not run A made-up figure (photos: photos not here)")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "all, draw ID..., report or readme, not nothing"),
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
