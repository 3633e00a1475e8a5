"""Table 7 and Fig. 19: rows, sizes, and a small run of every line."""

import jax
import numpy as np
import pytest

from passband.mappings import FourierFeatures
from passband.paper import fig19, table7, table7_rotated, table7_seeds, table7_sweep
from passband.paper.item import Preset
from passband.paper.nerf_runs import SETTINGS, turn_zx45
from passband.words import parse_mapping


@pytest.fixture(scope="module")
def outcome():
    return table7.ITEM.run(Preset.SMOKE, lambda text: None)


def test_full_is_the_papers_size():
    full = SETTINGS[Preset.FULL]
    assert [full.word(row) for row in table7.ROWS] == [
        "none",
        "basic:units=rad",
        "octaves:9,units=rad,rotate=zx45",
        "positional:8,units=rad,m=256,rotate=zx45",
        "gaussian:26,units=rad,m=256",
        "octaves:9,units=rad",
        "positional:8,units=rad,m=256",
    ]
    rates = [full.rate_of(row) for row in table7.ROWS]
    assert rates == [1e-2, 5e-3, 5e-4, 5e-4, 5e-4, 5e-4, 5e-4]
    assert (full.rays, full.samples, full.width, full.stops[-1]) == (
        1024, 128, 256, 50_000,
    )  # fmt: skip


def test_turning_the_frequencies_is_turning_the_scene_back():
    """What `rotate=zx45` does to B, in the words of `turn_zx45`."""
    plain, turned = (
        parse_mapping(f"positional:3,m=12{more}").draw(jax.random.key(0), 3)
        for more in ("", ",rotate=zx45")
    )
    assert isinstance(plain, FourierFeatures) and isinstance(turned, FourierFeatures)
    wanted = plain.frequencies @ turn_zx45().T
    np.testing.assert_allclose(turned.frequencies, wanted, atol=1e-6)


def test_every_printed_number_stands_beside_ours(outcome):
    printed = {n.name: n.printed for n in outcome.numbers if n.printed is not None}
    assert printed == {
        "none": 22.41, "basic": 23.16, "octaves:rotated": 24.81,
        "positional:rotated": 25.28, "gaussian": 25.48, "octaves": 25.60,
        "positional": 26.27, "none, validation": 22.231, "basic, validation": 22.882,
        "octaves:rotated, validation": 24.879,
        "positional:rotated, validation": 25.317, "gaussian, validation": 25.340,
        "octaves, validation": 25.560, "positional, validation": 26.087,
    }  # fmt: skip
    assert all(np.isfinite(n.ours) for n in outcome.numbers)
    assert "gaussian, 20 steps" in {n.name for n in outcome.numbers}
    assert outcome.verdict == "not comparable"


def test_training_goes_on_from_stop_to_stop(outcome):
    early, late = outcome.arrays["basic"].mean(axis=1)
    assert 5 < early < late


def test_the_table_draws_a_line_for_each_row(outcome):
    [axes] = table7.ITEM.draw(outcome)["table7"].axes
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels[::-1] == ["No mapping", "Basic", "Octaves rotated",
                            "Positional rotated", "Gaussian", "Octaves",
                            "Positional"]  # fmt: skip


def test_the_figure_shows_the_tables_networks(outcome):
    found = fig19.ITEM.run(Preset.SMOKE, lambda text: None)
    [one] = [n for n in found.numbers if n.name == "gaussian, view 1"]
    assert one.ours == pytest.approx(outcome.arrays["gaussian"][-1][1], abs=1e-4)
    figure = fig19.ITEM.draw(found)["fig19"]
    titles = [axes.get_title(loc="left") for axes in figure.axes[:5]]
    assert titles == list(fig19.TITLES) and len(figure.axes) == 10


def test_companions_judge_what_they_found():
    count = len(table7.ROWS)
    alive = np.ones((count, 5))
    alive[0, 3] = 0.0
    arrays = {"spread": alive, "psnr": np.full((count, 5), 20.0)}
    shares = table7_seeds._numbers(arrays, Preset.FULL)
    assert (shares[0].name, shares[0].ours) == ("none, share that lives", 0.8)
    [claim] = table7_seeds._claims(arrays, Preset.FULL)
    assert claim.verdict == "reproduced"
    arrays["psnr"][4, 4] = 13.0  # it renders something, and not the scene
    assert table7_seeds._numbers(arrays, Preset.FULL)[4].ours == 0.8
    arrays["spread"][4] = 0.0
    [claim] = table7_seeds._claims(arrays, Preset.FULL)
    assert claim.verdict == "differs"
    assert len(table7_seeds._numbers(arrays, Preset.FULL)) == 2 * count - 1
    scales = table7_sweep.SCALES[Preset.FULL]
    arrays = {f"{f} scales": np.array(scales[f]) for f in scales}
    arrays |= {f"{f} psnr": -np.abs(np.array(scales[f]) - 8)[:, None] for f in scales}
    verdicts = [c.verdict for c in table7_sweep._claims(arrays, Preset.FULL)]
    assert verdicts == ["differs", "differs", "reproduced", "reproduced"]
    arrays = {row: np.array([20.0]) for row in table7_rotated.ROWS}
    verdicts = [c.verdict for c in table7_rotated._claims(arrays, Preset.FULL)]
    assert verdicts == ["reproduced", "differs", "differs"]
