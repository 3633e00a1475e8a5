"""All 26 items: the plan, what is put together from others, the page, the readme."""

import dataclasses
import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from passband.errors import InputError
from passband.export.paper_report import Entry, Row, embedded, write_page
from passband.kinds.listener import Silent
from passband.paper import beside, fig1, plan, registry, results, table1, table2, whole
from passband.paper.captions import CAPTIONS, REASONS
from passband.paper.item import Assembled, Number, Outcome, Preset
from passband.paper.readme_table import BEGIN, END, updated
from passband.paper.report import write_paper_report
from passband.paper.runs import Runs
from passband.paper.study import ROWS

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"


def test_there_are_26_items_in_the_papers_order():
    tables = [f"table{k}" for k in range(1, 8)]
    assert [*tables, *(f"fig{k}" for k in range(1, 20))] == list(registry.IDS)


def test_the_plan_has_every_item_once_and_pairs_side_by_side():
    assert sorted(plan.ORDER) == sorted(registry.IDS) == sorted(plan.estimates())
    place = {id: k for k, id in enumerate(plan.ORDER)}
    # Of these the second finds the first one's networks in memory.
    pairs = [("fig3", "fig12"), ("fig4", "fig13"), ("table3", "fig15"),
             ("table4", "fig16"), ("table5", "fig17"), ("table6", "fig18"),
             ("table7", "fig19")]  # fmt: skip
    assert all(place[later] == place[first] + 1 for first, later in pairs)


def test_what_is_put_together_comes_after_its_parts():
    items = plan.in_order(registry.get_item(id) for id in registry.IDS)
    assert [item.id for item in items] == list(plan.ORDER)
    seen: set[str] = set()
    for item in items:
        assert not isinstance(item, Assembled) or set(item.parts) <= seen
        seen.add(item.id)


def test_every_item_says_what_it_shows_in_two_sentences():
    assert sorted(CAPTIONS) == sorted(registry.IDS)
    for id, text in CAPTIONS.items():
        assert len(re.findall(r"\.(?: |$)", text.replace("Fig. ", ""))) == 2, id


def test_costs_are_measured_where_there_is_a_result(tmp_path: Path):
    outcome, told = Outcome(), {"seconds": 12.5}
    results.save(tmp_path, results.Result("fig2", Preset.SMALL, outcome, told))
    found = plan.costs(tmp_path, "fig2")
    assert found[Preset.SMALL] == plan.Cost(12.5, True)
    assert found[Preset.FULL] == plan.Cost(2.0, False)
    assert plan.costs(tmp_path, "table3-sweep")[Preset.FULL].seconds is None


def test_other_keys_can_be_run_of_five_tables():
    assert plan.ids_with_seeds() == [f"table{k}" for k in range(3, 8)]
    items = plan.with_seeds([registry.get_item("table7")], 7)
    asked = {item.id: item.seeds for item in items}
    assert asked == {"table7": 0, "table7-seeds": 7}
    assert registry.get_item("table7-seeds").seeds == 5


# Table 2


def test_table2_finds_the_four_densities():
    outcome = table2.ITEM.run(Preset.SMOKE, lambda _: None)
    assert [c.verdict for c in outcome.claims] == ["reproduced"] * 6
    figure = table2.ITEM.draw(outcome)["table2"]
    assert len(figure.axes) == 5


@pytest.mark.parametrize("family", ["gaussian", "loguniform"])
def test_a_wrong_sampler_would_be_noticed(family: str):
    law = table2.density_of(family, 32.0)
    rng = np.random.default_rng(0)
    right = law.rvs((table2.KEYS, 2000), random_state=rng)
    assert table2.tested(right, law)[0] > table2.LEVEL
    assert table2.tested(1.05 * right, law)[0] < table2.LEVEL
    other = table2.density_of("laplace", 32.0)
    assert table2.tested(right, other)[0] < 1e-9


def test_a_falloff_that_is_not_one_over_f_would_be_noticed():
    edges = np.geomspace(1, 80, 61)
    middle = np.sqrt(edges[1:] * edges[:-1])
    slope, error = table2.falloff(edges, 1 / middle**1.1)
    assert slope == pytest.approx(-1.1) and table2._falls(slope, error).verdict == (
        "differs"
    )


# Table 1


def as_printed(**moved: float) -> dict[str, Outcome]:
    """The five tables with the paper's own numbers, some of them moved."""
    numbers: dict[str, list[Number]] = {id: [] for id in table1.ITEM.parts}
    for part, name, printed, place in table1.COLUMNS.values():
        for row in ROWS:
            called = table1.row_name(row, part)
            value = printed[called, place].value
            ours = value + moved.get(f"{row}_{place}", 0.0)
            numbers[part].append(Number(name.format(called), value, ours, 0.5))
    return {part: Outcome(numbers=tuple(rows)) for part, rows in numbers.items()}


def table1_claims(preset: Preset = Preset.FULL, **moved: float) -> dict[str, str]:
    outcome = table1.ITEM.assemble(as_printed(**moved), preset)
    return {c.claim.partition(":")[0]: c.verdict for c in outcome.claims}


def test_table1_is_the_papers():
    outcome = table1.ITEM.assemble(as_printed(), Preset.FULL)
    assert outcome.verdict == "reproduced" and len(outcome.numbers) == 28
    printed = {n.name: n.printed for n in outcome.numbers}
    assert printed["positional, 3D NeRF"] == 25.28  # the rotated one
    assert printed["gaussian, 3D shape"] == 0.973
    assert all(n.ours == n.printed for n in outcome.numbers)


def test_table1_asks_for_order_and_digits():
    digits = "PSNR is within 0.3 dB of the printed one, where it can be compared"
    swapped = table1_claims(gaussian_natural=-1.0)
    assert swapped["2D image, Natural"] == "differs" == swapped[digits]
    assert swapped["2D image, Text"] == "reproduced"
    near = table1_claims(gaussian_natural=0.25, gaussian_boundary=0.02)
    assert set(near.values()) == {"reproduced"}


def test_small_runs_are_held_to_the_gain_alone():
    verdicts = list(table1_claims(Preset.SMALL, gaussian_natural=-1.0).values())
    assert verdicts[:7] == ["not comparable"] * 7 and verdicts[7] == "reproduced"
    assert "differs" in table1_claims(Preset.SMALL, gaussian_natural=-9.0).values()


def test_a_row_that_was_not_run_is_an_empty_cell():
    found = as_printed()
    found["table6"] = Outcome(numbers=found["table6"].numbers[2:])
    outcome = table1.ITEM.assemble(found, Preset.SMOKE)
    cells = {n.name: n for n in outcome.numbers}
    assert cells["none, 3D MRI, ATLAS"].ours is None
    assert not cells["none, 3D MRI, ATLAS"].comparable
    figure = table1.ITEM.draw(outcome)["table1"]
    texts = [text.get_text() for text in figure.texts]
    assert texts.count("–") == 2 and "34.51" in texts


# Fig. 1


def test_fig1_shows_the_panels_of_the_four_figures():
    found = {
        id: results.load(RESULTS, Preset.SMALL, id).outcome for id in fig1.ITEM.parts
    }
    outcome = fig1.ITEM.assemble(found, Preset.SMALL)
    assert outcome.verdict == "reproduced" and len(outcome.numbers) == 8
    first = {n.name: n.ours for n in found["fig15"].numbers}
    ours = {n.name: n.ours for n in outcome.numbers}
    assert ours["image, none (dB)"] == pytest.approx(first["natural 0, none"], abs=1e-4)
    figure = fig1.ITEM.draw(outcome)["fig1"]
    assert len(figure.axes) == 1 + 2 * 4
    without = dict(found["fig18"].arrays)
    del without["none"]
    found["fig18"] = Outcome(arrays=without)
    smoke = fig1.ITEM.assemble(found, Preset.SMOKE)
    assert len(smoke.numbers) == 6 and smoke.verdict == "not comparable"
    assert len(fig1.ITEM.draw(smoke)["fig1"].axes) == 1 + 2 * 3


# What is committed


@pytest.mark.parametrize("preset", [Preset.SMALL, Preset.FULL])
def test_committed_results_can_be_read(preset: Preset):
    paths = sorted((RESULTS / preset.value).glob("*.json"))
    assert paths
    for path in paths:
        if path.stem == whole.NAME:
            assert whole.load(RESULTS, preset) is not None
            continue
        registry.get_item(path.stem)
        results.load(RESULTS, preset, path.stem)
        assert path.with_suffix(".png").is_file()


JUDGED = [id for id in (*registry.IDS, *registry.COMPANIONS)
          if (RESULTS / "full" / f"{id}.json").is_file()]  # fmt: skip


@pytest.mark.parametrize("id", JUDGED)
def test_what_is_stored_gives_the_verdict_that_is_stored(id: str):
    """`passband paper judge ID --preset full` makes them agree."""
    stored = results.load(RESULTS, Preset.FULL, id)
    claims = registry.get_item(id).judged(stored.outcome, Preset.FULL)
    if claims is not None:  # details may differ in a last digit: arrays are float32
        told, now = (
            [(c.claim, c.verdict, c.aside) for c in of]
            for of in (stored.outcome.claims, claims)
        )
        assert now == told


def test_a_verdict_worked_out_anew_says_so_and_leaves_the_numbers(tmp_path: Path):
    stored = results.load(RESULTS, Preset.FULL, "table6")
    arrays = {
        k: v + (k == "scores.none") * 20 for k, v in stored.outcome.arrays.items()
    }
    moved = dataclasses.replace(stored.outcome, arrays=arrays)
    claims = registry.get_item("table6").judged(moved, Preset.FULL)
    assert claims is not None and claims[0].verdict == "differs"
    path = results.save(tmp_path, stored)
    bytes_before = path.with_suffix(".npz").read_bytes()
    anew = results.judged_anew(stored, claims)
    results.save_claims(tmp_path, anew)
    assert path.with_suffix(".npz").read_bytes() == bytes_before
    back = json.loads(path.read_text())
    was = json.loads((RESULTS / "full" / "table6.json").read_text())
    assert back["verdict"] == "differs" and back["numbers"] == was["numbers"]
    told = back["provenance"].pop("judged anew")
    assert set(told) == {"version", "commit", "date"}
    was["provenance"].pop("judged anew", None)
    assert back["provenance"] == was["provenance"]


def test_the_free_grid_is_no_row_of_table_6_and_does_not_decide():
    stored = results.load(RESULTS, Preset.FULL, "table6").outcome
    aside = [c for c in stored.claims if c.aside]
    assert stored.verdict == "reproduced" and len(aside) == 2
    assert "free grid" in aside[1].claim and aside[1].verdict == "differs"
    counted = dataclasses.replace(aside[1], aside=False)
    assert dataclasses.replace(stored, claims=(counted,)).verdict == "differs"


def test_what_differs_in_full_has_its_reason():
    for id in registry.IDS:
        if results.exists(RESULTS, Preset.FULL, id):
            found = results.load(RESULTS, Preset.FULL, id, arrays=False)
            assert (found.outcome.verdict == "differs") <= (id in REASONS), id


def test_the_readme_agrees_with_the_results():
    """`passband paper readme` makes it agree."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert updated(readme, RESULTS) == readme


def test_every_number_of_the_readme_is_a_click_from_command_and_commit():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = set(re.findall(r"\]\(((?!https?:)[^)#]+)\)", readme))
    assert all((ROOT / link).exists() for link in links)
    full = [Path(link) for link in links if link.startswith("results/full/")]
    for path in full:
        if path.suffix == ".json" and path.stem != whole.NAME:
            told = json.loads((ROOT / path).read_text())["provenance"]
            assert told["command"].startswith(f"passband paper run {path.stem} ")
            assert re.fullmatch("[0-9a-f]{6,40}", told["commit"]), path
    assert {path.stem for path in full} >= {f"table{k}" for k in (1, 3, 4, 5, 6, 7)}
    # Of a benchmark's numbers, the command and the commit stand on its own page.
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    benchmarks = [Path(link).name for link in links if "benchmarks/results" in link]
    assert len(benchmarks) == 9
    for name in benchmarks:
        assert re.search(
            rf"\[{name}\]\(results/{name}\) \| `.*` \| `[0-9a-f]{{40}}`", page
        )


def test_what_stands_beside_the_tables_is_what_was_measured(monkeypatch):
    """`python benchmarks/paper_beside.py` makes them agree."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    made = importlib.import_module("paper_beside").packaged()
    assert made == json.loads((ROOT / "src/passband/paper/beside.json").read_text())
    rows = json.loads((ROOT / made["modern"]["from"]).read_text())
    measured = {(r["task"], r["value"]) for r in rows if r["recipe"] == "modern"}
    for row in beside.modern().values():
        assert row.value in {value for _, value in measured}
    assert list(beside.modern()) == list(table1.COLUMNS)


def test_modern_stands_beside_each_table_and_apart(tmp_path: Path):
    told = {id: beside.modern_line(id) for id in registry.IDS}
    assert [id for id in told if told[id]] == [f"table{k}" for k in (1, 3, 4, 5, 6, 7)]
    for line in filter(None, told.values()):
        assert line.startswith("Apart from the reproduction")
    assert "2D CT, Shepp 32.60" in told["table5"] and "Lego" not in told["table5"]


def test_the_wall_clock_is_of_the_commands_that_made_the_results(tmp_path: Path):
    def noted(seconds: float, kept: list[str]) -> whole.Whole:
        one = whole.Command(
            "passband paper all", "c", "d", "cpu", seconds, ["fig2"], kept
        )
        whole.note(tmp_path, Preset.SMALL, one)
        found = whole.load(tmp_path, Preset.SMALL)
        assert found is not None
        return found

    assert whole.load(tmp_path, Preset.SMALL) is None
    assert noted(50.0, []).seconds == 50.0
    taken_up = noted(20.0, ["fig3"])
    assert (taken_up.seconds, taken_up.told) == (70.0, " in 2 commands")
    assert noted(60.0, []).seconds == 60.0  # nothing was kept: it stands alone
    results.path_of(tmp_path, Preset.SMALL, whole.NAME).write_text("{")
    assert whole.load(tmp_path, Preset.SMALL) is None


def test_the_wall_clock_names_the_command_with_its_companions(tmp_path: Path):
    class Quiet(Silent):
        def error(self, text: str) -> None: ...

    runs = Runs(Preset.SMALL, tmp_path, Quiet(), go_on="", tell=lambda *_: None)
    for ran, words in ((["fig2"], ""), (["fig2", "table3-seeds"], " --companions")):
        runs.ran = ran
        runs.note(0.0)
        found = whole.load(tmp_path, Preset.SMALL)
        assert found is not None
        [command] = found.commands
        assert command.command == f"passband paper all --preset small{words}"


@pytest.mark.parametrize(("moves", "decides"), [(0.1, False), (0.2, True)])
def test_table3_is_held_to_what_rounding_moves_where_that_is_more(
    moves: float, decides: bool, monkeypatch: pytest.MonkeyPatch
):
    item = registry.get_item("table3")
    stored = results.load(RESULTS, Preset.FULL, "table3").outcome
    arrays = {**stored.arrays, "natural.gaussian": np.full(16, 25.57 + 0.18)}
    told = {"rounding moves a mean of 16 by": moves}
    monkeypatch.setattr(
        beside, "rounding", lambda row, column: told if row == "gaussian" else None
    )
    found = item.judged(dataclasses.replace(stored, arrays=arrays), Preset.FULL)
    assert found is not None
    asked, rounding = [c for c in found if c.claim.startswith("natural, gaussian")]
    assert (asked.verdict, asked.aside) == ("differs", decides)
    assert rounding.aside is not decides
    assert rounding.verdict == ("reproduced" if decides else "differs")


def test_the_readmes_table_follows_the_results(tmp_path: Path):
    readme = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    number = Number("none natural", 19.32, 19.239)
    outcome = Outcome(numbers=(number,))
    results.save(tmp_path, results.Result("table3", Preset.FULL, outcome, {}))
    text = updated(readme, tmp_path)
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    assert "| none | 19.24 (19.32) | – (18.40) |" in text and "old" not in text
    assert "not comparable: [table3](results/full/table3.json); not run yet: t" in text
    assert updated(text, tmp_path) == text
    with pytest.raises(InputError, match="needs the lines"):
        updated("no marks", tmp_path)


# The page


def test_the_page_stands_alone_and_says_all(tmp_path: Path):
    entry = Entry(
        "fig4", "Width <matters>", "5.2", "differs", "One. Two.", why="Because.",
        claims=[("differs", "a < b", "1 > 0"), ("reproduced", "c", "2")],
        rows=[Row("PSNR", 25.57, 25.5, 0.25, True), Row("x", 3.0, None, None, False),
              Row("ours alone", None, 1.0, None, True)],
        asides=[("differs", "free grid", "3 < 4")],
        notes=("A note.",), settings={"width": 256},
        origin={"seconds": 61.0, "commit": "0123456789abcdef", "device": "cpu",
                "pflop": 17.5, "tflops": 286.9, "data": {"natural": "f" * 64},
                "phases": {"compile": 5.25, "train": 40.0}},
        beside="Today's recipe.", source="fig4.json",
    )  # fmt: skip
    other = Entry("table2", "Draws", "B", "not run")
    write_page(tmp_path / "report.html", [other, entry], "full", wall="70 s")
    page = (tmp_path / "report.html").read_text()
    assert not re.search(
        r"""src=["'](?!data:)|href=["'](?!#|fig4.json)|url\(|<script|@import""", page
    )
    assert "default-src 'none'" in page
    assert "0 of 2" in page and page.count("<li class=") == 2 + 3
    anchors = re.findall('<(?:section|details) id="(.*?)"', page)
    assert anchors == ["table2", "fig4"]
    index = page[page.index("<nav") : page.index("</nav>")]
    assert re.findall('href="#(.*?)"', index) == anchors
    assert all(page.count(f'href="#{name}"') == 2 for name in anchors)
    for text in ("Fig. 4", "Width &lt;matters&gt;", "One. Two.", "Because.", "−0.07",
                 "In italics: not comparable", "A note.", "Judged apart", "1 min 1 s",
                 "commit 0123456789abcdef", 'href="fig4.json"', "Today&#x27;s recipe.",
                 "of it compile 5.25 s, train 40 s", "Start to report", "70 s",
                 "17.5 PFLOP of training", "287 TFLOP/s",
                 "natural ffffffffffff", "1 of 2 claims"):  # fmt: skip
        assert text in page, text


def test_wide_pictures_are_made_smaller(tmp_path: Path):
    from PIL import Image

    noise = np.random.default_rng(0).integers(0, 255, (100, 2000, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "wide.png")
    small = embedded(tmp_path / "wide.png")
    (tmp_path / "small.png").write_bytes(small)
    with Image.open(tmp_path / "small.png") as image:
        assert image.size == (1600, 80)
    assert embedded(tmp_path / "small.png") == small


def test_the_page_of_full_runs(tmp_path: Path):
    (tmp_path / "full").mkdir()
    for name in ("fig2.json", "fig2.png", "table3.json", "table3-seeds.json"):
        (tmp_path / "full" / name).symlink_to(RESULTS / "full" / name)
    (tmp_path / "full" / "fig7.json").write_text("{")
    page = write_paper_report(tmp_path, Preset.FULL).read_text()
    assert page.count("<section") == 26 and page.count("<img") == 1
    assert "fig7.json` is no JSON" in page and "How far a seed moves Table 3" in page
    content = json.loads((RESULTS / "full" / "table3.json").read_text())
    told = REASONS["table3"].replace("'", "&#x27;") in page
    assert told == (content["verdict"] == "differs")
    content = json.loads((RESULTS / "full" / "fig2.json").read_text())
    for claim in content["claims"]:
        assert claim["claim"].replace("<", "&lt;").replace("'", "&#x27;") in page


def test_a_page_without_results_names_the_command(tmp_path: Path):
    with pytest.raises(InputError, match="`passband paper all --preset small` makes"):
        write_paper_report(tmp_path, Preset.SMALL)


def test_shares_of_the_full_items_are_even_and_keep_networks_together():
    """By the seconds that are stored; no item is split, so none ends before the longest
    with what shows its networks."""
    items = [registry.get_item(id) for id in plan.ORDER]
    items = [item for item in items if not isinstance(item, Assembled)]
    spent = {i.id: plan.costs(RESULTS, i.id)[Preset.FULL].seconds or 0 for i in items}
    with_shown = [spent[first] + spent[later] for later, first in plan.SHOWS.items()]
    longest = max(*spent.values(), *with_shown)
    for count in (2, 4, 8):
        shares = plan.shares(items, RESULTS, Preset.FULL, count)
        assert sorted(id for share in shares for id in share) == sorted(spent)
        for share in shares:
            assert share == [id for id in plan.ORDER if id in share]
            for later, first in plan.SHOWS.items():
                assert (later in share) == (first in share)
        loads = [sum(spent[id] for id in share) for share in shares]
        assert max(loads) <= max(1.1 * sum(loads) / count, longest)
    # What is there costs nothing: what is left is dealt out as if it were all.
    left = {"table3", "table7"}
    kept = spent.keys() - left
    shares = plan.shares(items, RESULTS, Preset.FULL, 2, kept=kept)
    assert [len(left & {*share}) for share in shares] == [1, 1]
