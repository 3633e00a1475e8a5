"""Many inputs: stacks and shards, failures as rows, resume, names, memory."""

import json
import os
import weakref
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

import passband as pb
from passband.cli.main import main
from passband.data.images import write_image
from passband.domain import grid_coords
from passband.kinds import many
from passband.kinds.kind import Kind
from passband.kinds.many_inputs import Source, sources_of, unique
from passband.kinds.many_options import ManyOptions
from passband.kinds.many_set import fit_set
from passband.kinds.options import PointsOptions
from passband.kinds.points import PointsKind, points_kind
from passband.kinds.signal import SignalKind
from passband.shard_file import Shard
from passband.tasks.stack_scores import stack_scores

SMALL = ["--mapping", "gaussian:2,m=8", "--width", "8", "--layers", "2",
         "--steps", "12", "--quiet"]  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("passband.kinds.many_set.pictures_of", lambda *a: {})
    return tmp_path


def pictures(folder: Path, count: int, shape=(6, 8, 3)) -> None:
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for k in range(count):
        write_image(folder / f"p{k:02d}.png", rng.random(shape))


def index(folder: str) -> dict[str, dict]:
    lines = Path(folder, "index.jsonl").read_text().splitlines()
    return {row["name"]: row for row in map(json.loads, lines)}


def test_broken_files_are_rows_and_all_others_are_fitted(here, capsys):
    pictures(here / "in", 20)
    (here / "in" / "p03.png").write_bytes(b"not a picture")
    (here / "in" / "notes.txt").write_text("no input at all")
    np.save(here / "in" / "hole.npy", np.full((6, 8), np.nan))
    assert main(["fit", "image", "in", "--out", "set", *SMALL, "--json"]) == 3
    result = json.loads(capsys.readouterr().out)
    assert (result["fields"], result["failed"], result["missing"]) == (19, 2, 0)
    assert set(result["failures"]) == {"p03", "hole"}
    rows = index("set")
    assert len(rows) == 21 and "NaN" in rows["hole"]["error"]
    models = pb.load_many("set")
    assert models.names == [f"p{k:02d}" for k in range(20) if k != 3]
    assert set(models.failures) == {"p03", "hole"}
    # What the index says of a field is what it renders to, by scikit-image.
    truth = np.asarray(pb.read("in/p07.png").image.values)  # pyright: ignore[reportAttributeAccessIssue]
    seen = models["p07"].render()
    level = peak_signal_noise_ratio(truth.astype(float), seen, data_range=255)
    assert models["p07"].metrics["psnr"] == pytest.approx(level, abs=1e-3)
    with pytest.raises(pb.InputError, match="could not be fitted"):
        models["p03"]
    page = Path("set/summary.html").read_text()
    assert "p03" in page and "http://" not in page and "https://" not in page


def test_one_b_and_one_beginning_for_all_or_one_for_each(here):
    pictures(here / "in", 3)
    assert main(["fit", "image", "in", "--out", "one", *SMALL, "--lr", "1e-5"]) == 0
    shared = pb.load_many("one").stacked()
    assert shared["encoding.frequencies"].shape == (8, 2)
    weights = shared["layer.0.weight"]
    assert weights.shape == (3, 16, 8)
    assert 0 < np.abs(weights[0] - weights[2]).max() < 1e-3
    own = ["--own-mappings", "--lr", "1e-5"]
    assert main(["fit", "image", "in", "--out", "own", *SMALL, *own]) == 0
    each = pb.load_many("own").stacked()
    assert each["encoding.frequencies"].shape == (3, 8, 2)
    assert np.abs(each["layer.0.weight"][0] - each["layer.0.weight"][2]).max() > 0.01


def test_killed_after_a_stack_resume_does_the_others_to_the_same_bits(
    here, monkeypatch
):
    pictures(here / "in", 10)
    words = ["fit", "image", "in", *SMALL, "--stack", "4"]
    assert main([*words, "--out", "whole"]) == 0
    write, written = many.write_stack, []

    def killed(*args):
        if written:
            raise KeyboardInterrupt
        written.append(write(*args))

    monkeypatch.setattr(many, "write_stack", killed)
    assert main([*words, "--out", "parts"]) == 130
    assert len(pb.load_many("parts")) == 4  # without an index
    monkeypatch.setattr(many, "write_stack", lambda *a: written.append(write(*a)))
    assert main([*words, "--out", "parts"]) == 2  # it exists
    again = ["fit", "image", "--out", "parts", "--resume", "--stack", "4", "--quiet"]
    assert main(again) == 0
    assert len(written) == 1 + 2  # of three stacks, one was there
    one, two = pb.load_many("whole"), pb.load_many("parts")
    assert sorted(one.names) == sorted(two.names) and len(one) == 10
    for name in one.names:
        for a, b in zip(one[name].field.mlp.weights, two[name].field.mlp.weights,
                        strict=True):  # fmt: skip
            np.testing.assert_array_equal(a, b)
    with pytest.raises(pb.InputError, match="disagrees"):
        pb.fit_many("in", out="parts", resume=True, width=16)


def test_shapes_are_stacks_of_their_own_and_a_nan_costs_one_row(here):
    x = np.linspace(0, 1, 20)
    waves = [(x[: 20 - 4 * (k % 2)], np.sin((k + 1) * x[: 20 - 4 * (k % 2)]))
             for k in range(6)]  # fmt: skip
    waves[4] = (x, np.array([*range(19), np.inf]))
    waves.append((x, 1e30 * np.sin(x)))
    models = pb.fit_many(waves, out="set", mapping="gaussian:1,m=8", width=8, steps=12,
                         layers=2, stack=2)  # fmt: skip
    assert models.names == ["0", "1", "2", "3", "5", "6"]
    assert "infinite" in models.failures["4"]
    shards = sorted(Path("set").rglob("0*.safetensors"))
    assert [len(Shard.open(path)) for path in shards] == [2, 2, 1, 1]
    assert models["6"](x).max() > 1e28  # in its own units


def test_pictures_of_several_sizes_are_one_stack_and_what_fits_alone_give(here):
    rng = np.random.default_rng(0)
    sizes = [(9, 13), (13, 9), (11, 11), (10, 12)]
    items = [rng.random((*size, 3)) for size in sizes]
    for k, item in enumerate(items):
        write_image(Path(f"p{k}.png"), item)
    paths = [f"p{k}.png" for k in range(4)]
    same = {"mapping": "gaussian:2,m=8", "width": 8, "layers": 2, "steps": 12}
    models = pb.fit_many(paths, out="set", batch=32, own_mappings=True, **same)
    assert models.failures == {}
    [shard] = Path("set").rglob("0*.safetensors")
    assert len(Shard.open(shard)) == 4
    for k, (path, (h, w)) in enumerate(zip(paths, sizes, strict=True)):
        alone = pb.fit(path, batch=32, seed=k, **same)
        assert models[k].metrics == pytest.approx(alone.metrics, rel=1e-3)
        coords = rng.uniform(0, (w - 1, h - 1), (9, 2))
        np.testing.assert_allclose(models[k](coords), alone(coords), atol=0.5)
    pairs = pb.fit_many(paths, out="pairs", batch=32, members=2, **same)
    assert pairs.failures == {} and pairs[3].members == 2
    assert len(list(Path("pairs").rglob("0*.safetensors"))) == 1


def test_a_step_has_as_many_pixels_for_all_pictures_of_a_set(here, monkeypatch):
    monkeypatch.setattr("passband.kinds.image_stacks.AMONG_MANY", ())
    pictures(here / "in", 3, (40, 60, 3))
    write_image(here / "in" / "large.png", np.zeros((50, 70, 3)))
    monkeypatch.setattr("passband.kinds.image.points_in_time", lambda n, *_: n // 2)
    assert main(["fit", "image", "in", "--out", "set", *SMALL]) == 0
    assert json.loads(Path("set/config.json").read_text())["batch"] == 1200


def test_a_run_that_blows_up_is_named(here):
    x = np.linspace(0, 1, 20)
    models = pb.fit_many([(x, np.sin(x))] * 2, out="set", mapping="gaussian:1,m=8",
                         width=8, steps=12, layers=2, lr=1e25)  # fmt: skip
    assert len(models) == 0 and "finite" in models.failures["0"]


def test_one_field_leaves_the_set_as_a_model_of_its_own(here, capsys):
    pictures(here / "in", 2)
    words = ["fit", "image", "in/p00.png", "in/p01.png", "--out", "set", *SMALL]
    assert main(words) == 0
    export = ["export", "set", "--one", "p01", "--out", "m.safetensors", "--quiet"]
    assert main(export) == 0
    assert main(export) == 2  # it exists
    found = load_file("m.safetensors")
    np.testing.assert_array_equal(
        found["layer.0.weight"], pb.load_many("set").stacked()["layer.0.weight"][1]
    )
    coords = np.array([[0.5, 2.0], [7, 5]])
    np.testing.assert_array_equal(
        pb.load("m.safetensors")(coords), pb.load_many("set")["p01"](coords)
    )
    render = ["render", "set", "--all", "--out", "r/{name}.png", "--quiet"]
    assert main(render) == 0 and sorted(os.listdir("r")) == ["p00.png", "p01.png"]
    capsys.readouterr()
    assert main(["info", "set", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fields"] == 2
    assert main(["render", "set", "--all", "--out", "r.png"]) == 2


def test_inputs_in_memory_are_a_few_stacks_however_many_there_are(here):
    alive: weakref.WeakSet[Kind] = weakref.WeakSet()
    most = 0

    def load(path, asked) -> Kind:
        nonlocal most
        x = np.linspace(0, 1, 9)
        found = points_kind(x, np.sin(x), asked)
        alive.add(found)
        most = max(most, len(alive))
        return found

    sources = [Source(str(k), None, load, k) for k in range(60)]
    asked = PointsOptions(mapping="gaussian:1,m=4", width=4, layers=2, steps=3)
    few = ManyOptions(stack=4)
    fit_set(PointsKind, sources, asked, {"mapping", "width"}, here / "set", many=few)
    assert len(pb.load_many("set")) == 60
    # Read ahead, waiting for a stack, in training, and two and one being written.
    assert most <= 4 + 4 + 4 + 3 * 4 + 4


def test_stacked_metrics_are_those_of_scikit_image():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 255, (3, 9, 12, 3)).astype(np.uint8)
    pixels[2] //= 16  # dark, and nearly flat
    low, high = np.zeros(3, np.float32), np.full(3, 255, np.float32)
    draw = [pb.make_field("gaussian:1,m=8", d=2, out=3, key=k, width=8, start=level)
            for k, level in enumerate((0.5, 0.4, 0.03))]  # fmt: skip
    field = jax.tree.map(lambda *leaves: np.stack(leaves), *draw)
    levels, alike = stack_scores(field, pixels, low, high)
    for k in range(3):
        truth = pixels[k].astype(np.float64) / 255
        seen = draw[k].predict(grid_coords(np.arange(108), (9, 12))).reshape(9, 12, 3)
        level = peak_signal_noise_ratio(truth, seen, data_range=1)
        assert levels[k] == pytest.approx(level, abs=1e-4)
        found = structural_similarity(truth, seen, data_range=1, channel_axis=-1)
        assert alike[k] == pytest.approx(found, abs=1e-4)


def test_names_of_a_list_are_its_files_and_never_equal(here):
    for name in ("a/x.wav", "b/x.wav", "b/y.wav"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    Path("b/list.txt").write_text("# remark\n\ny.wav\n../a/x.wav\nx.wav\n")
    found = sources_of(SignalKind, [], list_file="b/list.txt")
    assert [s.name for s in found] == ["y", "b/../a/x.wav", "b/x.wav"]
    inside = sources_of(SignalKind, ["."], pattern="*/x.wav")
    assert [s.name for s in inside] == ["a/x", "b/x"]
    assert unique(["x", "x"], ["p", "p"]) == ["p", "p#2"]
    with pytest.raises(pb.InputError, match="holds nothing"):
        sources_of(SignalKind, ["a"], suffixes=(".csv",))


def test_members_are_stacked_too(here):
    x = np.linspace(0, 1, 9)
    models = pb.fit_many(
        [(x, np.sin(x)), (x, np.cos(x))], out="set", members=2, steps=6,
        mapping="gaussian:1,m=4", width=4, layers=2,
    )  # fmt: skip
    assert models[1].members == 2 and models[1].spread(x).max() > 0
    assert models.stacked()["layer.0.weight"].shape == (2, 2, 8, 4)
    assert models.stacked()["encoding.frequencies"].shape == (2, 4, 1)


def test_what_is_for_one_input_is_refused_for_several(here, capsys):
    pictures(here / "in", 2)
    assert main(["fit", "image", "in", "--minutes", "1"]) == 2
    assert "`--minutes` goes with one input" in capsys.readouterr().err
    assert main(["fit", "image", "in/p00.png", "--own-mappings"]) == 2
    assert "`--own-mappings` goes with several" in capsys.readouterr().err
    assert main(["fit", "image", "--resume", "--out", "nothing"]) == 2


@pytest.mark.parametrize("cut", [0, 7, 60, -1])
def test_a_damaged_shard_is_one_line_and_its_inputs_are_fitted_again(here, cut):
    pictures(here / "in", 2)
    assert main(["fit", "image", "in", "--out", "set", *SMALL]) == 0
    path = Path("set/part-000/00000.safetensors")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(pb.InputError, match="00000"):
        Shard.open(path)
    with pytest.raises(pb.InputError, match="00000"):
        pb.load_many("set")[0]
    assert main(["fit", "image", "in", "--out", "set", *SMALL, "--resume"]) == 0
    assert len(pb.load_many("set")) == 2
