"""Table 4 and fig. 16: the paper's settings, and a small run of every line."""

import jax.numpy as jnp
import numpy as np
import pytest

from passband.data.meshes import normalise
from passband.data.primitives import sphere
from passband.export.normals import Camera, mesh_normals
from passband.paper import fig16, plan
from passband.paper.item import Preset
from passband.paper.shape_study import (
    PAPER,
    POINTS,
    SMOKE,
    STUDY,
    ShapeStudy,
    labelled,
)
from passband.paper.shape_tables import ITEMS
from passband.paper.study import ROWS, Network
from passband.train.work import counted

TABLE, SEEDS = ITEMS


@pytest.fixture(scope="module")
def table():
    return TABLE.run(Preset.SMOKE, lambda text: None)


@pytest.fixture(scope="module")
def figure(table):
    before = counted()
    outcome = fig16.ITEM.run(Preset.SMOKE, lambda text: None)
    assert counted() == before  # the table's networks served
    return outcome


def test_the_rate_falls_to_a_hundredth():
    rate = STUDY.schedule(STUDY.run("dragon", "gaussian", PAPER), PAPER)
    given = [float(rate(jnp.int32(step))) for step in (0, 5000, 10_000)]
    np.testing.assert_allclose(given, [5e-4, 5e-5, 5e-6], rtol=1e-5)


def test_every_printed_number_stands_beside_ours(table):
    printed = {n.name: n.printed for n in table.numbers if n.printed is not None}
    assert printed == {
        "none uniform": 0.959, "basic uniform": 0.966, "positional uniform": 0.987,
        "gaussian uniform": 0.988, "none boundary": 0.864, "basic boundary": 0.892,
        "positional boundary": 0.960, "gaussian boundary": 0.973,
        "best gaussian scale on pebble": 12, "best positional scale on pebble": 6,
    }  # fmt: skip
    assert all(np.isfinite(n.ours) for n in table.numbers)
    assert not any(n.comparable for n in table.numbers)


def test_fourier_features_win_even_here(table):
    assert table.verdict == "reproduced"


def test_the_mean_leaves_the_validation_shape_out(table):
    (name,) = SMOKE.tests
    numbers = {n.name: n.ours for n in table.numbers}
    for row in ROWS:
        assert numbers[f"{row} boundary"] == numbers[f"{row} boundary, {name}"]


def test_each_row_has_its_own_seconds(table):
    numbers = {n.name: n.ours for n in table.numbers}
    seconds = {r: numbers[f"seconds of one {r} network, stacked"] for r in ROWS}
    assert min(seconds.values()) > 0
    # Two mappings of one size are one stack: what it took is shared among them.
    assert seconds["positional"] == seconds["gaussian"] != seconds["basic"]


def test_a_key_changes_the_network(table):  # by the program of the sweep
    runs = [STUDY.run(SMOKE.validation, "gaussian", SMOKE, key=k) for k in (0, 1)]
    own, other = STUDY.trained(SMOKE.shapes, runs, SMOKE)
    numbers = {n.name: n.ours for n in table.numbers}
    tables = numbers[f"gaussian boundary, {SMOKE.validation}"]
    assert own.score["boundary"] == pytest.approx(tables, abs=1e-3)
    assert other.score["boundary"] != pytest.approx(tables, abs=5e-3)
    assert own.seconds == other.seconds > 0


def test_other_keys_stand_in_their_row_and_column(monkeypatch):
    def told(study, signals, runs, sizes, progress):
        """Networks whose score says what was asked for."""
        del progress
        rank = {study.word(row, "", sizes): k for k, row in enumerate(ROWS)}
        assert {signals[run.signal] for run in runs} == set(sizes.tests)
        scores = [0.1 * rank[run.word] + 0.01 * run.key for run in runs]
        return [
            Network([], {"uniform": s, "boundary": 2 * s}, float(run.key))
            for s, run in zip(scores, runs, strict=True)
        ]

    monkeypatch.setattr(ShapeStudy, "networks", told)
    [_, item] = plan.with_seeds([TABLE], 3)
    found = item.run(Preset.SMOKE, lambda text: None)
    iou = found.arrays["iou"]
    assert iou.shape == (len(POINTS), len(ROWS), 3, len(SMOKE.tests))
    assert found.arrays["keys"].tolist() == [1, 2, 3]
    numbers = {n.name: n.ours for n in found.numbers}
    assert numbers["positional boundary, key 3"] == pytest.approx(2 * 0.23)
    assert numbers["gaussian uniform"] == pytest.approx(0.32)
    assert found.settings["train_seconds"]["basic"] == 2.0
    assert len(item.draw(found)["table4-seeds"].axes) == 2


def test_one_key_that_reverses_the_order_is_a_difference():
    means = {
        "uniform": {row: np.full(2, k / 10) for k, row in enumerate(ROWS)},
        "boundary": {row: np.full(2, k / 5) for k, row in enumerate(ROWS)},
    }
    claims = SEEDS.claims(means, Preset.FULL)
    assert [c.verdict for c in claims] == ["reproduced"] * 4
    # Below positional, and less gain than on uniform points.
    means["boundary"]["gaussian"][0] = 0.25
    claims = SEEDS.claims(means, Preset.FULL)
    verdicts = [c.verdict for c in claims]
    assert verdicts == ["reproduced", "differs", "reproduced", "differs"]
    assert claims[1].detail == "1 of 2 keys; the smallest rise is -0.1500"


def test_every_panel_has_its_score(figure):
    for name in SMOKE.shapes:
        assert figure.arrays[f"panels.{name}"].shape == (1 + len(ROWS), 24, 24, 2)
        assert figure.arrays[f"iou.{name}"].shape == (len(ROWS),)
    angles = figure.settings["angle_errors"]
    assert set(angles) == set(ROWS) and angles["gaussian"] < angles["none"]


def test_mesh_bytes_are_those_of_a_binary_ply(figure):
    from trimesh import Trimesh
    from trimesh.exchange.ply import export_ply

    name = SMOKE.shapes[0]
    mesh = labelled(name, SMOKE).mesh
    plain = Trimesh(mesh.vertices, mesh.faces, process=False)
    data = export_ply(plain, vertex_normal=False)
    header = data.index(b"end_header\n") + len(b"end_header\n")
    assert int(figure.arrays[f"bytes.{name}"]) == len(data) - header


def test_two_numbers_a_pixel_hold_a_normal_map():
    mesh, _ = normalise(sphere(3).mesh)
    camera = Camera(size=32)
    seen = mesh_normals(mesh.vertices, mesh.faces, camera=camera) @ camera.axes()
    hit = np.any(seen, axis=-1)
    picture = fig16.decoded(fig16.encoded(seen))
    assert np.all(picture[~hit] == 255)
    facing = hit & (seen[..., 2] > 0.2)  # at a grazing angle a step of x is one of z
    back = picture[facing] / 127.5 - 1
    assert np.abs(back - seen[facing]).max() < 0.03


def test_angles_between_maps_are_in_degrees():
    up, tilted = np.zeros((2, 1, 3)), np.zeros((2, 1, 3))
    up[0, 0] = [0, 0, 1]
    tilted[:, 0] = [0, np.sin(0.5), np.cos(0.5)]  # the second pixel has no `up`
    assert fig16.angle(tilted, up) == pytest.approx(np.rad2deg(0.5))


def test_buddha_is_seen_from_the_front():
    assert (
        fig16.camera_of("buddha", 8).azimuth - fig16.camera_of("lucy", 8).azimuth == 180
    )


def test_they_draw_a_panel_for_each_cell(table, figure):
    drawn = TABLE.draw(table)["table4"]
    titles = [axes.get_title(loc="left") for axes in drawn.axes]
    assert titles[:2] == ["Uniform points", "Boundary points"]
    assert len(titles) == 3
    panels = fig16.ITEM.draw(figure)["fig16"].axes
    assert len(panels) == 2 * (1 + len(ROWS))
