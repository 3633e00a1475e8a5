"""Comparisons: of every kind, at equal steps, seconds and parameters."""

import dataclasses
import json
import shutil
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

from passband.activations import parse_activation
from passband.cli.main import main
from passband.errors import InputError
from passband.kinds.compare import _Comparer, compare
from passband.kinds.comparison import Comparison, Row
from passband.kinds.kind import SILENT, Kind, Training, TrialSize
from passband.kinds.options import ImageOptions, TrainOptions
from passband.kinds.rivals import METHODS, OURS, Method, chosen, methods_for
from passband.kinds.table import KINDS
from passband.kinds.trials import tune_method
from passband.tuning.candidates import Candidate, Trials, held_out_levels
from passband.tuning.points import points_problem
from passband.tuning.problem import Problem
from passband.words import parse_mapping

OLD = Path(__file__).parents[1] / "old_runs"
DATA = {
    "image": {"file": "photo.png", "holdout": "quarter"},
    "signal": {"file": "tone.wav"},
    "shape": {"file": "ball.obj", "labels": "labels.safetensors", "batch": 256},
    "ct": {"simulate": "disc.npy", "views": 8},
    "mri": {"simulate": "volume.npy", "fraction": 0.5},
    "nerf": {"file": "scene", "samples": 8, "batch": 32},
    "video": {"file": "film.gif", "holdout": "odd"},
    "volume": {"file": "volume.npy", "holdout": "odd"},
}
CLASSICAL = {
    "image": "bicubic", "signal": None, "shape": None, "ct": "FBP",
    "mri": "zero-filled", "nerf": "nearest photograph", "video": "mean of neighbours",
    "volume": "mean of neighbours",
}  # fmt: skip
SMALL = {"steps": 16, "width": 8, "layers": 2, "mapping": "gaussian:2,m=8"}


@pytest.fixture(scope="module")
def there(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("compare") / "data"
    shutil.copytree(OLD, place)
    return place


@pytest.fixture(autouse=True)
def here(there, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(there)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def read(name: str) -> Kind:
    row = KINDS[name]
    return row.load().read(row.options(**SMALL | DATA[name]))


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Meshes as coarse as they may be, and no rate but the published one."""
    monkeypatch.setattr("passband.kinds.shape.CPU_GRID", 12)
    monkeypatch.setattr("passband.kinds.shape.CPU_SAMPLES", 200)
    monkeypatch.setattr("passband.kinds.trials.RATES", ())


@pytest.mark.parametrize("name", DATA)
def test_every_kind_is_compared(name, monkeypatch):
    # A method of the shape of ours: its program is there already.
    again = Method("again", "at another scale", {"mapping": "gaussian:3,m=8"})
    monkeypatch.setitem(METHODS, "again", again)
    kind, other = read(name), CLASSICAL[name]
    words = "again" if other is None else f"again,{other}"
    seen = []
    found = compare(
        kind, kind.options, methods=words,
        on_row=lambda so_far: seen.append([row.name for row in so_far.rows]),
    )  # fmt: skip
    names = [row.name for row in found.rows]
    assert seen == [names[: k + 1] for k in range(len(names))]
    assert names == [OURS, *([] if other is None else [other]), "again"]
    for row in found.rows:
        assert np.isfinite(row.metrics[found.metric])
        assert row.picture is not None
        assert found.truth is None or row.picture.shape == found.truth.shape
    assert sum(row.best for row in found.rows) >= 1
    ours, theirs = found.rows[0], found.rows[-1]
    assert ours.steps == theirs.steps == 16 and ours.parameters == theirs.parameters
    assert ours.setting.startswith("gaussian:2") and "gaussian:3" in theirs.setting
    assert ours.metrics != theirs.metrics
    assert found.figure().axes


def test_the_command_tunes_a_rival_and_leaves_a_page(here, capsys):
    words = ["compare", "signal", "tone.wav", "--methods", "relu", "--steps", "16",
             "--width", "8", "--layers", "2", "--mapping", "gaussian:2,m=8",
             "--equal", "parameters", "--out", str(here / "out")]  # fmt: skip
    assert main([*words, "--json", "--quiet"]) == 0
    content = json.loads(capsys.readouterr().out)
    ours, relu = content["rows"]
    assert (ours["name"], relu["name"]) == ("fourier", "relu")
    assert ours["width"] == 8 and ours["parameters"] == 16 * 8 + 8 + 8 * 2 + 2
    assert relu["width"] == 38 and relu["parameters"] == 4 * 38 + 2
    tuned = relu["tuned"]
    assert tuned["steps"] == 16 and relu["setting"] in tuned["levels"]
    published = "none:scale=2,shift=-1 lr 0.005"
    assert list(tuned["levels"]) == [published, f"{published} adam"]
    assert content["best"] in ("fourier", "relu") and content["metric"] == "psnr"
    files = {path.name for path in (here / "out").iterdir()}
    assert files == {"compare.json", "table.md", "strip.png", "compare.html"}
    page = (here / "out" / "compare.html").read_text()
    assert "data:image/png" in page and "none:scale=2,shift=-1 lr 0.005" in page
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "holds a comparison; `--overwrite`" in said


def test_a_command_that_is_stopped_leaves_the_methods_that_were_done(
    here, monkeypatch, capsys
):
    def stop(self, name):
        raise KeyboardInterrupt

    monkeypatch.setattr(_Comparer, "network", stop)
    words = ["compare", "signal", "tone.wav", "--methods", "relu", "--steps", "16",
             "--width", "8", "--layers", "2", "--mapping", "gaussian:2,m=8",
             "--out", str(here / "out")]  # fmt: skip
    assert main(words) == 130
    said = capsys.readouterr().err
    assert said.startswith("fourier: psnr ") or "\nfourier: psnr " in said
    table = (here / "out" / "table.md").read_text()
    assert "| fourier * |" in table and "relu" not in table


def compared(rows: list[Row]) -> Comparison:
    return Comparison.of(
        rows, kind="image", title="photo", equal="steps", device="a machine",
        truth=np.zeros((8, 8)),
    )  # fmt: skip


def picture(level: float) -> np.ndarray:
    return np.full((8, 8), level)


ROWS = [
    Row("fourier", "gaussian:3 lr 0.001", {"psnr_test": 25.0, "ssim": 0.9}, 1234, 5000,
        2.0, 100, picture=picture(0.1)),
    Row("siren", "sine:60 lr 0.0005", {"psnr_test": 27.5, "ssim": 0.8}, 1200, 4800,
        0.5, 100, picture=picture(0.2)),
    Row("wire", "wire:20,10", note="the loss stopped being finite"),
    Row("bicubic", metrics={"psnr_test": 26.0}, picture=picture(0.3)),
]  # fmt: skip


def test_a_rival_that_wins_is_marked():
    found = compared(ROWS)
    assert found.best.name == "siren" and found.metric == "psnr_test"
    assert [row.best for row in found.rows] == [False, True, False, False]
    text = found.table().splitlines()
    assert text[2].startswith("siren *") and "27.50 dB" in text[2]
    assert "*" not in text[1] + text[3] + text[4]
    assert text[-1].endswith("1.50 dB ahead of bicubic")
    assert "| siren * | 27.50 dB |" in found.markdown()
    marked = [row for row in found.to_json()["rows"] if row["best"]]
    assert [row["name"] for row in marked] == ["siren"]
    texts = [text.get_text() for text in found.figure().texts]
    assert "siren  (best)" in texts and "fourier" in texts and "wire" not in texts


def test_of_an_error_the_least_is_the_best():
    rows = [Row("fourier", metrics={"error_test": 0.2, "error_train": 0.1}),
            Row("siren", metrics={"error_test": 0.3, "error_train": 0.0})]  # fmt: skip
    found = compared(rows)
    assert found.best.name == "fourier" and not found.higher
    assert "the least error_test" in found.summary()
    with pytest.raises(InputError, match="have no picture of their own"):
        found.figure()


def test_a_folder_is_not_written_over(here):
    found, place = compared(ROWS), here / "made"
    found.save(place)
    before = (place / "compare.json").read_bytes()
    with pytest.raises(InputError, match="holds a comparison"):
        found.save(place)
    found.save(place, overwrite=True)
    assert (place / "compare.json").read_bytes() == before
    (here / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        found.save(here / "file")


@pytest.fixture
def comparer() -> _Comparer:
    """Ours as if it had been fitted, at a size where widths are fine steps."""
    kind = read("image")
    asked = dataclasses.replace(kind.options, width=48, layers=4)
    one = _Comparer(kind, asked, "parameters", SILENT)
    mapping = parse_mapping("gaussian:2,m=64")
    one.training = kind.training(asked, mapping)
    one.settled = dataclasses.replace(one.asked, mapping=str(mapping))
    draw = eqx.Partial(one.training.draw, kind.network(one.training))
    one.field = eqx.filter_eval_shape(draw, jax.random.key(0))
    one.seconds = 30.0
    return one


def test_equal_parameters_are_within_a_twentieth(comparer):
    target = comparer.field.parameters
    several = [METHODS[name].changes for name in ("siren", "relu")]
    for changes in (*several, {"mapping": "multigrid:40"}, {"mapping": "multigrid:9"}):
        whole = comparer._sized(changes)
        assert whole is not None and set(whole) >= {"width", *changes}
        assert abs(comparer._parameters(whole) - target) < 0.05 * target
    assert comparer._sized({"mapping": "multigrid:400"}) is None


def test_equal_seconds_are_so_many_steps_of_its_own_pace(comparer, monkeypatch):
    history = {"step": [25.0, 50.0, 75.0], "seconds": [9.0, 9.5, 10.0]}

    def trained(tasks, fields, config, *, keys, optimiser, on_log):
        looks = [on_log(None, {"step": 25 * k}) for k in range(1, 5)]
        assert looks == [False, False, False, True]
        return fields, [history]

    monkeypatch.setattr("passband.kinds.compare.train", trained)
    monkeypatch.setattr(Training, "draw", lambda self, network, key: None)
    # Nine seconds of compiling do not count: fifty steps took one.
    assert comparer._steps_in_time(comparer.settled) == 1500


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_the_table_is_a_fit(name):
    row = METHODS[name]
    assert row.name == name and row.summary
    there = {f.name for f in dataclasses.fields(TrainOptions)}
    assert {key for key in row.changes if key != row.needs} <= there
    assert (name in methods_for(TrainOptions)) == (
        row.needs is None or row.needs in there
    )
    several = [row.changes]
    for d, nyquist in ((1, 500.0), (2, 128.0), (3, None)):
        problem = Problem("points", None, 1.0, d, 1, "sigmoid", 3.0, nyquist=nyquist)
        if row.scale is not None:
            several += [row.scale(rung, problem) for rung in range(-4, 5)]
    if row.also is not None:
        several += row.also(several[-1])
    for changes in several:
        parse_mapping(changes.get("mapping", "none"))
        parse_activation(changes.get("activation", "relu"))


def test_names_are_known_before_anything_is_fitted():
    networks, classical = methods_for(ImageOptions), {"FBP": None, "free grid": None}
    assert chosen(None, networks, classical) == (list(networks), list(classical))
    found = chosen("siren, free-grid,fbp,siren", networks, classical)
    assert found == (["fourier", "siren"], ["free grid", "FBP"])
    with pytest.raises(InputError, match="method `sirne` is unknown; did you mean `si"):
        chosen("sirne", networks, classical)
    kind = read("image")
    for options, message in (
        ({"lr": 0.1}, "`lr` is chosen for each method"),
        ({"activation": "sine"}, "`activation` is chosen for each method"),
    ):
        asked = dataclasses.replace(kind.options, **options)
        with pytest.raises(InputError, match=message):
            compare(kind, asked)
    with pytest.raises(InputError, match="must be one of steps, seconds, parameters"):
        compare(kind, kind.options, equal="flops")


@pytest.mark.parametrize(
    ("top", "rate", "moves"),
    [(240.0, 1e-4, "muon"), (7.5, 2.5e-3, "adam"), (30.0, 5e-4, "adam")],
)
def test_a_ladder_is_climbed_to_its_top_and_then_the_rate(
    monkeypatch, top, rate, moves
):
    """Levels as they would be if one omega, rate and optimiser were the best."""
    monkeypatch.setattr("passband.kinds.trials.RATES", (0.2, 5.0))
    trained = []

    def levels(problem, candidates, trials):
        words = [c.activation.partition(":")[2] for c in candidates]
        omegas = np.asarray([float(word or 30) for word in words])
        rates = np.asarray([c.lr for c in candidates])
        names = [trials.optimiser] * len(candidates)
        trained.extend(zip(omegas, rates, names, strict=True))
        off = np.abs(np.log(omegas / top)) + np.abs(np.log(rates / rate))
        return 30 - off - 0.1 * (trials.optimiser != moves)

    monkeypatch.setattr("passband.kinds.trials.held_out_levels", levels)
    kind = read("signal")
    ours = kind.training(kind.options, parse_mapping("gaussian:2,m=8"))
    problem = kind.trials(kind.options, TrialSize(16, 64))
    found = tune_method(kind, kind.options, METHODS["siren"], ours, problem, dict)
    assert found.changes is not None
    assert found.changes["activation"] == f"sine:{top:g}"
    assert found.changes["lr"] == pytest.approx(rate)
    assert found.changes.get("optimiser", "muon") == moves
    assert len(trained) == len(set(trained)) == found.trials <= 14
    by_adam = dataclasses.replace(kind.options, optimiser="adam")
    ours = kind.training(by_adam, parse_mapping("gaussian:2,m=8"))
    trained.clear()
    found = tune_method(kind, by_adam, METHODS["siren"], ours, problem, dict)
    assert found.changes is not None and "optimiser" not in found.changes
    assert {name for *_, name in trained} == {"adam"} and found.trials <= 8


def test_trials_that_say_nothing_leave_what_was_published(monkeypatch):
    """As where every one of them died."""
    monkeypatch.setattr(
        "passband.kinds.trials.held_out_levels",
        lambda problem, candidates, trials: np.full(len(candidates), 12.055),
    )
    kind = read("nerf")
    ours = kind.training(kind.options, parse_mapping("gaussian:2,m=8"))
    problem = kind.trials(kind.options, TrialSize(16, 64))
    found = tune_method(kind, kind.options, METHODS["multigrid"], ours, problem, dict)
    assert found.changes == {"mapping": "multigrid:64", "lr": 1e-2}
    assert found.trials == 6


def test_trials_tell_networks_apart_by_what_was_held_out():
    x = np.arange(64) / 64
    problem = points_problem(x[:, None], np.sin(30 * x)[:, None] / 2 + 0.5)
    sizes = {"activation": "relu", "width": 16}
    few = [Candidate(parse_mapping(f"gaussian:{s},m=16"), lr=lr, **sizes)
           for s, lr in ((3, 1e-2), (60, 1e-2), (3, 1e-7), (3, 1e30))]  # fmt: skip
    trials = Trials(steps=160, layers=2, optimiser="adam", schedule="constant")
    good, high, slow, wild = held_out_levels(problem, few, trials)
    assert good > max(high, slow) + 3
    assert wild < -100
