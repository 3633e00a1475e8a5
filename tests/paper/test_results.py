"""Results on disk: written whole, read back, and refused when damaged."""

import json
from pathlib import Path

import numpy as np
import pytest

from passband.errors import InputError
from passband.paper import results
from passband.paper.item import Number, Outcome, Preset, judge
from passband.paper.results import Result, load, path_of, save
from passband.train.work import Work

OUTCOME = Outcome(
    numbers=(Number("a", 1.5, 1.25, 0.5), Number("b", None, float("nan"), None, False)),
    claims=(judge("it holds", True, "1 < 2"), judge("so does this", False, "3 > 2")),
    arrays={"x": np.linspace(0, 1, 5), "seen": np.array([True, False])},
    settings={"width": np.int64(8), "rates": np.array([0.5, 0.25]), "keys": ("a", "b")},
)
RESULT = Result("fig2", Preset.SMOKE, OUTCOME, {"version": "1", "seconds": 2.5})


def test_a_result_reads_back_as_it_was_written(tmp_path: Path):
    path = save(tmp_path / "deep" / "results", RESULT)
    assert path == tmp_path / "deep" / "results" / "smoke" / "fig2.json"
    back = load(tmp_path / "deep" / "results", Preset.SMOKE, "fig2")
    assert back.outcome.numbers[0] == OUTCOME.numbers[0]
    assert back.outcome.numbers[1] == Number("b", None, None, None, False)
    assert back.outcome.claims == OUTCOME.claims
    assert back.outcome.settings == {
        "width": 8,
        "rates": [0.5, 0.25],
        "keys": ["a", "b"],
    }
    assert back.provenance == RESULT.provenance
    np.testing.assert_allclose(back.outcome.arrays["x"], OUTCOME.arrays["x"])
    assert back.outcome.arrays["x"].dtype == np.float32
    assert back.outcome.arrays["seen"].tolist() == [True, False]
    assert back.outcome.verdict == "differs"


def test_the_json_file_is_what_the_house_says(tmp_path: Path):
    content = json.loads(save(tmp_path, RESULT).read_text())
    assert list(content) == [
        "id", "preset", "verdict", "numbers", "claims", "settings", "provenance",
    ]  # fmt: skip
    assert content["numbers"][0] == {
        "name": "a", "printed": 1.5, "ours": 1.25, "spread": 0.5, "comparable": True,
    }  # fmt: skip
    assert content["claims"][1] == {
        "claim": "so does this", "verdict": "differs", "detail": "3 > 2",
    }  # fmt: skip


def test_nothing_but_the_files_is_left_behind(tmp_path: Path):
    save(tmp_path, RESULT)
    save(tmp_path, RESULT)
    assert sorted(p.name for p in (tmp_path / "smoke").iterdir()) == [
        "fig2.json", "fig2.npz",
    ]  # fmt: skip


def test_numbers_and_claims_need_no_arrays(tmp_path: Path):
    save(tmp_path, RESULT).with_suffix(".npz").unlink()
    back = load(tmp_path, Preset.SMOKE, "fig2", arrays=False)
    assert back.outcome.verdict == "differs" and not back.outcome.arrays
    with pytest.raises(InputError, match=r"fig2.npz` is not there"):
        load(tmp_path, Preset.SMOKE, "fig2")


def test_a_missing_result_names_the_command(tmp_path: Path):
    match = r"fig2.json` is not there; `passband paper run fig2 --preset full` makes it"
    with pytest.raises(InputError, match=match):
        load(tmp_path, Preset.FULL, "fig2")


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_file_cut_short_is_damaged(tmp_path: Path, suffix: str):
    save(tmp_path, RESULT)
    path = path_of(tmp_path, Preset.SMOKE, "fig2", suffix)
    path.write_bytes(path.read_bytes()[:40])
    says = r"fig2\..*` is (damaged|no JSON).* makes it anew"
    with pytest.raises(InputError, match=says):
        load(tmp_path, Preset.SMOKE, "fig2")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "damaged"),
        ("{}", "lacks 'numbers'"),
        ('{"numbers": [{"title": "x"}], "claims": []}', "argument"),
        ('{"numbers": [], "claims": null}', "damaged"),
    ],
)
def test_json_of_another_kind_is_damaged(tmp_path: Path, text: str, reason: str):
    save(tmp_path, RESULT).write_text(text)
    with pytest.raises(InputError, match=reason):
        load(tmp_path, Preset.SMOKE, "fig2")


def test_a_result_of_another_item_is_not_taken_for_this_one(tmp_path: Path):
    path = save(tmp_path, RESULT)
    for suffix in (".json", ".npz"):
        path.with_suffix(suffix).rename(path.with_name("fig3" + suffix))
    with pytest.raises(InputError, match="is of `fig2`, preset smoke"):
        load(tmp_path, Preset.SMOKE, "fig3")


def test_an_array_that_needs_pickle_is_refused(tmp_path: Path):
    path = save(tmp_path, RESULT).with_suffix(".npz")
    np.savez(path, x=np.array([{}]))
    with pytest.raises(InputError, match="is damaged"):
        load(tmp_path, Preset.SMOKE, "fig2")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path):
    (tmp_path / "results").write_text("a file")
    with pytest.raises(InputError, match=r"results/smoke` cannot be made"):
        save(tmp_path / "results", RESULT)


def test_provenance_names_no_folder_of_this_machine():
    found = results.provenance(
        Outcome(settings={"precision": "float64"}),
        commit=results.commit_now(),
        command="passband paper run fig2 --preset smoke",
        device="cpu",
        seconds=1.26,
    )
    assert found["precision"] == "float64" and found["seconds"] == 1.3
    assert "pflop" not in found and "tflops" not in found  # nothing was trained
    assert {"version", "commit", "command", "device", "jax", "date"} <= set(found)
    assert not any("/" in str(value) for value in found.values())


def test_provenance_says_how_much_was_trained_and_how_fast():
    found = results.provenance(
        Outcome(),
        commit=None,
        command="",
        device="gpu",
        seconds=80.0,
        work=Work(4 * 10**15, steps=1000, seconds=40.0),
        phases={"compile": 10.004, "train": 40.0},
    )
    assert (found["pflop"], found["tflops"]) == (4.0, 50.0)
    assert (found["steps"], found["tflops of the steps"]) == (1000, 100.0)
    assert found["phases"] == {"compile": 10.0, "train": 40.0}


def test_a_commit_is_told_in_full_or_not_at_all(monkeypatch: pytest.MonkeyPatch):
    told = results.commit_now.__wrapped__
    monkeypatch.setenv("PASSBAND_COMMIT", "0123abc")
    with pytest.raises(InputError, match=r"`PASSBAND_COMMIT` \(=0123abc\) must be"):
        told()
    monkeypatch.setenv("PASSBAND_COMMIT", "0123456789" * 4)
    assert told() == "0123456789" * 4
    monkeypatch.delenv("PASSBAND_COMMIT")
    assert len(told() or "0" * 40) == 40
