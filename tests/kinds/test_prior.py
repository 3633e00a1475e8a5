"""`prior`: its words, and the weight that what is held out chooses."""

import json
from pathlib import Path

import equinox as eqx
import numpy as np
import pytest
from safetensors.numpy import load_file

import passband as pb
from passband.cli.main import main
from passband.errors import InputError
from passband.export.report import write_report
from passband.kinds.ct import CTKind
from passband.kinds.ct_options import CTOptions
from passband.kinds.fit import fit
from passband.kinds.kind import TrialSize
from passband.kinds.prior import Prior, parse_prior, with_usual_prior
from passband.kinds.resume import resumed_options
from passband.tuning.prior import LADDER, _further
from passband.tuning.problem import HeldMeasured

SIDE = 20
SMALL = {"steps": 150, "width": 24, "layers": 3, "mapping": "gaussian:4,m=24",
         "optimiser": "muon", "schedule": "cosine", "lr": 3e-3}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def no_baselines():
    """They have their own tests, and take longer to compile than all of this."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("ct", "measured"):
            patch.setattr(f"passband.kinds.{kind}.baselines", lambda task, **_: {})
        yield


@pytest.fixture(scope="module")
def phantom(tmp_path_factory) -> Path:
    """A picture of few flat parts."""
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE // 2
    flat = 0.6 * (np.hypot(x, y) < 7) + 0.4 * ((abs(x) < 3) & (abs(y - 1) < 3))
    path = tmp_path_factory.mktemp("phantom") / "flat.npy"
    np.save(path, flat.astype(np.float32))
    return path


@pytest.fixture(scope="module")
def chosen(phantom) -> Path:
    """A run whose weight was chosen, with the recipe of today's best optimiser."""
    assert main(["fit", "ct", *words(phantom, "whole"), "--prior", "tv"]) == 0
    return phantom.parent / "whole"


def words(phantom: Path, out: str) -> list[str]:
    given = SMALL | {"simulate": phantom, "views": 8, "noise": 0.02}
    flags = [str(part) for k, v in given.items() for part in (f"--{k}", v)]
    return [*flags, "--out", str(phantom.parent / out), "--quiet"]


@pytest.mark.parametrize("word", ["tv:", "tv:-1", "tv:nan", "tv:some", "ridge", ""])
def test_a_wrong_word_takes_one_line(word):
    with pytest.raises(InputError, match=r"`prior` \(=.*\) must be none, tv, or tv"):
        parse_prior(word)


def test_words_parse_and_print():
    assert parse_prior("none") == Prior() and Prior().word == "none"
    half = parse_prior("tv:5e-1")
    assert half is not None and half.weight == 0.5 and half.word == "tv:0.5"
    third = Prior(1 / 3)
    assert parse_prior(third.word) == third  # to the last bit, or a resumed run differs
    assert parse_prior("tv") is None


def test_a_weight_cannot_be_chosen_by_nothing(phantom):
    options = CTOptions(**SMALL, simulate=str(phantom), holdout=0.0, prior="tv")
    with pytest.raises(InputError, match="`holdout` is 0; hold some out, or give"):
        fit(CTKind.read(options), options)


def test_a_chosen_weight_is_recorded_and_told(chosen):
    config = json.loads((chosen / "config.json").read_text())
    result = json.loads((chosen / "result.json").read_text())
    weight, tried = result["prior"]["weight"], result["prior"]["tried"]
    assert result["prior"]["name"] == "tv" and weight > 0
    assert config["prior"] == f"tv:{weight!r}" and config["prior_given"] == "tv"
    assert tried[f"{weight:g}"] < tried["0"] and len(tried) >= 4
    report = (chosen / "report.html").read_text()
    assert "<h2>Prior</h2>" in report and f"a weight of {weight:g}." in report


def test_a_resumed_run_has_the_same_bits_and_does_not_choose_again(
    phantom, chosen, monkeypatch, capsys
):
    begin = words(phantom, "parts")
    assert main(["fit", "ct", *begin, "--prior", "tv", "--minutes", "1e-9"]) == 0
    lines = (phantom.parent / "parts/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [25]
    monkeypatch.setattr("passband.kinds.prior.choose_weight", None)
    again = ["--out", str(phantom.parent / "parts"), "--resume", "--quiet"]
    assert main(["fit", "ct", *again, "--prior", "tv:0.5"]) == 2
    assert "`--prior` (=tv:0.5) disagrees with the run" in capsys.readouterr().err
    assert main(["fit", "ct", *again, "--prior", "tv"]) == 0
    one = load_file(chosen / "model.safetensors")
    two = load_file(phantom.parent / "parts/model.safetensors")
    for name, tensor in one.items():
        np.testing.assert_array_equal(two[name], tensor)
    results = [
        json.loads((run / "result.json").read_text())["prior"]
        for run in (chosen, phantom.parent / "parts")
    ]
    assert results[0] == results[1]


def test_a_run_from_before_there_were_priors_has_none():
    config = {"task": "ct", "mapping": "gaussian:2", "steps": 25, "lr": 1e-3}
    assert resumed_options(CTOptions(), set(), config, "ct").prior == "none"


def test_weights_are_tried_next_to_the_best():
    first = {0.0, 3e-5, 1e-4, 3e-4}
    assert _further(1e-4, first) == []
    assert _further(3e-4, first) == [1e-3, 3e-3]
    assert _further(3e-5, first) == [1e-5, 3e-6]
    assert _further(3e-3, first | {1e-3, 3e-3}) == [1e-2, 3e-2]
    assert _further(LADDER[-2], set(LADDER[:-1])) == [LADDER[-1]]
    assert _further(0.0, first) == []


def test_a_prior_that_is_no_better_is_left_out_and_that_is_said(tmp_path):
    none = Prior(0.0, {"0": 0.02, "1e-05": 0.03})
    assert none.word == "tv:0.0" and "it is left out" in none.summary()
    path = tmp_path / "report.html"
    write_report(path, title="scan", config={}, result=none.result, figures={})
    assert "no weight of total variation predicts" in path.read_text()


def test_measurements_through_ones_own_operator_take_it_too():
    x = np.repeat([0.2, 1.0, 0.5], 8)
    A = np.random.default_rng(0).normal(size=(12, x.size))
    data = pb.measured(A, A @ x, mapping="gaussian:4,m=16", width=16, layers=2)
    model = pb.fit(data, prior="tv:0.02", steps=10)
    assert model.result["prior"] == {"name": "tv", "weight": 0.02, "tried": {}}
    with pytest.raises(InputError, match=r"`prior` \(=tv:x\) must be none"):
        pb.fit(data, prior="tv:x")


@pytest.mark.parametrize(
    "asked, weight",
    [({}, CTKind.usual_tv), ({"prior": "tv"}, CTKind.usual_tv),
     ({"prior": "tv:0.5"}, 0.5), ({"prior": "none"}, None),
     ({"recipe": "paper"}, None)],
)  # fmt: skip
def test_trials_of_a_scale_have_the_prior_of_the_fit(phantom, asked, weight):
    options = CTOptions(**SMALL, simulate=str(phantom), **asked)
    kind = CTKind.read(options)
    plain = kind.trials(options, TrialSize(8, 16**2))
    found = with_usual_prior(kind, options, plain)
    assert isinstance(plain.held, HeldMeasured) and found.held is not None
    task = plain.held.task if weight is None else plain.held.task.with_prior(weight)
    assert eqx.tree_equal(found.held.task, task)
    assert (found.digest == plain.digest) == (weight is None)
