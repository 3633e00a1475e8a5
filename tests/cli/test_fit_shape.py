"""`passband fit shape`, from a mesh to a run folder."""

import dataclasses
import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from passband.cli.main import main
from passband.data.images import read_image
from passband.data.primitives import sphere
from passband.export.mesh import write_mesh
from passband.kinds import shape as shape_kind
from passband.kinds import shape_labels
from passband.kinds.kind import Silent, TrialSize
from passband.kinds.options import ShapeOptions
from passband.kinds.shape import ShapeKind
from passband.mappings import Gaussian
from passband.model_file import load_with_info
from passband.tasks.shape import ShapeTask
from passband.train.schedules import schedule

CENTERS = np.array([[5000.0, -40.0, 7.0], [5000.0, -40.0, 10.0]])
QUICK = ("--steps", "250", "--batch", "512", "--layers", "3", "--width", "32",
         "--mapping", "gaussian:1,m=16,norm=1", "--quiet")  # fmt: skip


def two_balls(path) -> None:
    """An OBJ file with two parts, 5 km from the origin: balls of radius 1."""
    mesh = sphere(2).mesh
    lines = []
    for part, center in enumerate(CENTERS):
        lines.append(f"o part{part}")
        lines += ["v {:.6f} {:.6f} {:.6f}".format(*v) for v in mesh.vertices + center]
        first = 1 + part * len(mesh.vertices)
        lines += ["f {} {} {}".format(*f) for f in mesh.faces + first]
    path.write_text("\n".join(lines))


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """A pool, a cache and pictures that take a moment."""
    monkeypatch.setattr(shape_labels, "kept_folder", lambda k: tmp_path / "cache" / k)
    monkeypatch.chdir(tmp_path)
    sizes = {"SMALL_POOL": 2**15, "POOL": 2**17, "BLOCK": 2048, "TEST_POINTS": 4096}
    for name, size in sizes.items():
        monkeypatch.setattr(shape_labels, name, size)
    for name, size in {"CPU_GRID": 32, "CPU_SAMPLES": 4000, "SLICE": 64}.items():
        monkeypatch.setattr(shape_kind, name, size)
    two_balls(tmp_path / "balls.obj")
    return tmp_path


def test_a_mesh_of_two_parts_is_fitted_where_it_stands(small, capfd):
    assert main(["fit", "shape", "balls.obj", *QUICK, "--out", "run", "--json"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    result = json.loads(out)
    assert result["task"] == "shape"
    assert list(result["metrics"]) == ["iou_uniform", "iou_boundary", "chamfer"]
    assert result["metrics"]["iou_uniform"] > 0.9
    assert 0 < result["metrics"]["chamfer"] < 0.1  # in the mesh's own units
    run = small / "run"
    assert result["bytes"]["mesh"] == (small / "balls.obj").stat().st_size
    size = (run / "model.safetensors").stat().st_size
    assert 0 <= size - result["bytes"]["model"] < 3000  # the header
    assert read_image(run / "preview.png").values.shape == (512, 512, 3)
    page = (run / "report.html").read_text()
    assert page.count("<img") == 5
    assert "IoU, near the surface" in page
    field, about = load_with_info(run / "model.safetensors")
    # Ball by ball: the points of the user's own space that the field has inside.
    rng = np.random.default_rng(0)
    points = np.array([5000, -40, 8.5]) + rng.uniform(-2.5, 2.5, (4000, 3))
    unit = 0.5 * ((points - about["center"]) / about["scale"] + 1)
    box = np.asarray(about["box"])
    within = ((unit > box[0]) & (unit < box[1])).all(axis=1)
    apart = np.linalg.norm(points[:, None] - CENTERS, axis=2).min(axis=1)
    clear = within & (np.abs(apart - 1) > 0.15)
    inside = field.predict(unit[clear])[:, 0] > 0.5
    assert np.mean(inside == (apart[clear] < 1)) > 0.98


def test_labels_are_made_once_and_can_be_brought_along(small, monkeypatch):
    options = ShapeOptions(file="balls.obj", steps=10, batch=64)
    first = ShapeKind.read(options)
    (cached,) = (small / "cache" / "labels").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr("passband.labels.pool.Labeller", None)  # not asked again
        second = ShapeKind.read(options)
        moved = cached.rename(small / "elsewhere.safetensors")
        third = ShapeKind.read(ShapeOptions(file="balls.obj", labels=str(moved)))
    for kind in (second, third):
        np.testing.assert_array_equal(kind.labels.pool.bits, first.labels.pool.bits)
    assert third.inputs(ShapeOptions(file="balls.obj", labels="x"))[1].name == "x"
    # Two balls fill 2 (4/3 pi) of their box of 2 x 2 x 5, triangles a little less.
    share = np.unpackbits(np.asarray(first.labels.pool.bits)).mean()
    assert share == pytest.approx(8 / 3 * np.pi / 20, rel=0.06)


def test_a_part_of_the_points_lies_near_the_surface(small, fails):
    assert main(["fit", "shape", "balls.obj", *QUICK, "--out", "run"]) == 0
    config = json.loads((small / "run" / "config.json").read_text())
    assert config["near_surface"] == 0.4 and config["batch"] == 512
    result = json.loads((small / "run" / "result.json").read_text())
    assert result["step_points"] == 512
    # As many as the fit draws, in whole blocks.
    assert result["labels"]["near_surface"] == 26 * 2048
    for asked, share in (
        ({"near_surface": 0.25}, 0.25),
        ({"near_surface": 0.0}, 0.0),
        ({"recipe": "paper"}, 0.0),
        ({"recipe": "paper", "near_surface": 0.5}, 0.5),
    ):
        plain = ShapeOptions(file="balls.obj", steps=2, batch=64)
        options = dataclasses.replace(plain, **asked)
        kind = ShapeKind.read(options)
        training = kind.training(options, Gaussian(12.0))
        task = kind.task(training)
        assert isinstance(task, ShapeTask)
        assert training.near_surface == share
        assert (task.batch, task.near_batch) == (64 - 64 * share, 64 * share)
    told = fails("fit", "shape", "balls.obj", "--target", "sdf", "--near-surface", ".3")
    assert "`--near-surface` (=0.3) is for the target occupancy" in told
    assert "near-surface" in fails("fit", "shape", "balls.obj", "--near-surface", "1")
    options = ShapeOptions(file="balls.obj", labels=str(_uniform(small)))
    kind = ShapeKind.read(options)
    for asked in (options, ShapeOptions()):  # a set asks nothing of its own
        assert kind.training(asked, Gaussian(12.0)).near_surface == 0


def _uniform(small) -> Path:
    """The file of labels in the box, of those that the cache has."""
    (found,) = small.glob("cache/labels/*-16x2048-*.safetensors")
    return found


def _task(options: ShapeOptions) -> ShapeTask:
    kind = ShapeKind.read(options)
    task = kind.task(kind.training(options, Gaussian(12.0)))
    assert isinstance(task, ShapeTask)
    return task


def test_labels_near_the_surface_are_made_once_and_when_they_are_drawn(
    small, monkeypatch
):
    heard: list[str] = []

    class Ear(Silent):
        def progress(self, text: str, *, often: bool = True) -> None:
            heard.append(text)

    options = ShapeOptions(file="balls.obj", steps=20, batch=512)
    kind = ShapeKind.read(options, Ear())
    training = kind.training(options, Gaussian(12.0))
    assert training.near_surface == 0.4
    kind.trials(options, TrialSize(10, 64))
    assert not any("near" in text for text in heard)  # neither for trials, nor to read
    assert [file.name for file in small.glob("cache/labels/*near*")] == []
    task = kind.task(training)
    assert isinstance(task, ShapeTask) and task.near is not None
    assert "labelling balls near its surface" in heard
    assert heard[-1].endswith("near its surface  0.0 of 0.0 million points")
    again = kind.task(dataclasses.replace(training, mapping=Gaussian(3.0)))
    assert isinstance(again, ShapeTask) and again.near is task.near
    monkeypatch.setattr("passband.labels.near.Labeller", None)  # not asked again
    found = _task(options).near
    assert found is not None
    np.testing.assert_array_equal(found.bits, task.near.bits)


def test_nothing_is_kept_where_nothing_is_to_be(small, monkeypatch):
    monkeypatch.setattr(shape_labels, "kept_folder", lambda name: None)
    assert _task(ShapeOptions(file="balls.obj", steps=2, batch=64)).near is not None
    assert not (small / "cache").exists()


def test_tune_makes_no_labels_near_the_surface(small, monkeypatch):
    monkeypatch.setattr(shape_labels, "make_near", None)
    words = ("tune", "shape", "balls.obj", "--guess", "--quiet", "--out", "choice")
    assert main([*words]) == 0


def test_what_a_step_cannot_have_is_refused_as_it_was_typed(small, fails, monkeypatch):
    ShapeKind.read(ShapeOptions(file="balls.obj", steps=1, batch=8))
    own = ("--labels", _uniform(small))
    monkeypatch.setattr(shape_labels, "make_near", None)
    monkeypatch.setattr(shape_labels, "make_labels", None)
    fit = ("fit", "shape", "balls.obj", "--mapping", "gaussian:1,m=8,norm=1")
    for words in (("--batch", "8", "--near-surface", "0.9"),
                  ("--batch", "8", "--near-surface", "0.5", *own)):  # fmt: skip
        told = fails(*fit, *words)
        assert f"`--near-surface` (={words[3]}) needs a `--batch` (=8)" in told
        assert "at least 16" in told
    near = ("--near-surface", "0.4", *own)
    for batch in ("100", str(2**20)):
        told = fails(*fit, *near, "--batch", batch)
        assert f"`--batch` (={batch}) must be a multiple of 8 and at most 32768" in told


def test_a_share_that_was_not_asked_for_is_left_out_of_small_steps(small):
    options = ShapeOptions(file="balls.obj", steps=2, batch=8)
    kind = ShapeKind.read(options)
    assert kind.training(options, Gaussian(12.0)).near_surface == 0
    assert (_task(options).batch, _task(options).near) == (8, None)
    fewest = dataclasses.replace(options, batch=16, near_surface=0.9)
    assert (_task(fewest).batch, _task(fewest).near_batch) == (8, 8)


def test_a_step_may_be_more_than_a_block_of_the_labels(small):
    ShapeKind.read(ShapeOptions(file="balls.obj", steps=1, batch=8))
    options = ShapeOptions(
        file="balls.obj", labels=str(_uniform(small)), batch=4096, near_surface=0.4
    )  # of blocks of 2048
    task = _task(options)
    assert (task.batch, task.near_batch) == (2456, 1640)
    points, inside = task.pool.batch(int(task.order[0]), task.batch)
    assert len(np.unique(points, axis=0)) == len(inside) == 2456


def test_a_share_for_distances_is_refused_before_anything_is_made(small, fails):
    told = fails("fit", "shape", "balls.obj", "--target", "sdf", "--near-surface", ".3")
    assert "is for the target occupancy" in told
    assert not (small / "cache").exists()


def test_a_run_that_began_without_such_points_goes_on_without(small, capfd):
    quick = [*QUICK, "--steps", "20", "--near-surface", "0", "--out", "run"]
    assert main(["fit", "shape", "balls.obj", *quick]) == 0
    path = small / "run" / "config.json"
    config = json.loads(path.read_text())
    del config["near_surface"]
    path.write_text(json.dumps(config))
    words = ["fit", "shape", "balls.obj", "--resume", "--out", "run", "--steps", "40"]
    assert main([*words, "--quiet", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["labels"]["near_surface"] == 0


def test_a_small_hole_is_a_warning_with_its_share(small):
    mesh = sphere(3).mesh
    write_mesh("hole.ply", mesh.vertices, mesh.faces[1:])
    (said,) = ShapeKind.read(ShapeOptions(file="hole.ply", steps=1, batch=64)).warnings
    assert "`hole` is open: 3 edges" in said
    assert "% of the points in its box have no clear side" in said


def test_the_papers_settings_on_a_gpu(small, monkeypatch):
    options = ShapeOptions(file="balls.obj", steps=1, batch=64)
    kind = ShapeKind.read(options)
    monkeypatch.setattr(shape_labels, "on_cpu", lambda: False)
    asked = ShapeOptions(file="balls.obj", recipe="paper")
    training = kind.training(asked, Gaussian(12.0))
    found = training.steps, training.layers, training.width, training.lr
    assert found == (10_000, 8, 256, 5e-4)
    assert training.near_surface == 0
    rate = schedule(training.schedule, training.lr, training.steps)
    for step in (0, 5000, 10_000):
        expected = 5e-4 * 0.1 ** (step / 5000)
        assert float(rate(jnp.int32(step))) == pytest.approx(expected, rel=1e-5)
    fewer = kind.training(dataclasses.replace(asked, steps=2000), Gaussian(12.0))
    assert fewer.lr == pytest.approx(2.5e-3)  # as far in fewer steps


def test_the_scale_of_a_longer_fit_is_higher_by_the_cube_root_of_its_points(
    small, monkeypatch
):
    kind = ShapeKind.read(ShapeOptions(file="balls.obj", steps=1, batch=64))
    size = TrialSize(10, 64)

    def above(**asked) -> float:
        return kind.trials(ShapeOptions(**asked), size).above

    assert above(steps=10, batch=64) == 1
    assert above(steps=20, batch=256) == pytest.approx(2)
    assert above(steps=5, batch=64) == 1  # never lower
    assert above(steps=10_000, batch=64) == 3
    assert above() == 3  # 1400 steps of 8192
    monkeypatch.setattr(shape_kind, "on_cpu", lambda: False)
    assert above(steps=20, batch=256) == 1


def test_what_is_no_solid_is_refused_in_one_line(small, fails):
    mesh = sphere(1).mesh
    v, f = mesh.vertices, mesh.faces
    bad = v.copy()
    bad[3] = np.nan
    np.savez("nan.npz", vertices=bad, faces=f)
    np.savez("nofaces.npz", vertices=v, faces=np.zeros((0, 3), int))
    np.savez("flat.npz", vertices=v * [1, 1, 0], faces=f)
    np.savez("open.npz", vertices=v, faces=f[: len(f) // 2])
    np.savez("other.npz", a=v)
    (small / "cloud.ply").write_text(
        "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\n"
        "property float z\nend_header\n0 0 0\n1 1 1\n"
    )
    (small / "empty.obj").write_text("# nothing\n")
    (small / "zero.stl").write_bytes(b"")
    (small / "mesh.txt").write_text("v 0 0 0")
    for name, reason in {
        "nan.npz": "has 1 vertices that are NaN or infinite, the first at index 3",
        "nofaces.npz": "no faces; a point cloud has no inside",
        "flat.npz": "zero volume has no inside",
        "open.npz": "have no clear side (at most 1% is taken)",
        "other.npz": "a mesh needs `vertices` and `faces`",
        "cloud.ply": "point cloud",
        "empty.obj": "is an empty scene",
        "zero.stl": "is empty",
        "mesh.txt": "a mesh is one of .ply, .obj, .stl, .npz",
        "none.ply": "does not exist",
    }.items():
        assert reason in fails("fit", "shape", name)
    assert "multiple of 8" in fails("fit", "shape", "balls.obj", "--batch", "100")
    np.savez("ball.npz", vertices=v, faces=f)
    ShapeKind.read(ShapeOptions(file="balls.obj", steps=1, batch=8))
    (cached,) = (small / "cache" / "labels").iterdir()
    words = ("fit", "shape", "ball.npz", "--labels")
    assert "holds labels of another mesh (`balls`)" in fails(*words, cached)
    assert "`none` does not exist" in fails(*words, "none")
