"""Table 7 and Fig. 19: rows, sizes, and a small run of every line."""

import jax
import numpy as np
import pytest

from passband.mappings import FourierFeatures
from passband.paper import fig19
from passband.paper.item import Preset
from passband.paper.nerf_seeds import all_live, survivors
from passband.paper.nerf_study import ROTATED, ROWS, SWEPT, turn_zx45
from passband.paper.nerf_tables import ITEMS, claims_of_rotated
from passband.words import parse_mapping

TABLE, _, SWEEP, _ = ITEMS


@pytest.fixture(scope="module")
def outcome():
    return TABLE.run(Preset.SMOKE, lambda text: None)


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
    [axes] = TABLE.draw(outcome)["table7"].axes
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
    count = len(ROWS)
    alive = np.ones((count, 5))
    alive[0, 3] = 0.0
    arrays = {"spread": alive, "psnr": np.full((count, 5), 20.0)}
    shares = survivors(arrays, Preset.FULL)
    assert (shares[0].name, shares[0].ours) == ("none, share that lives", 0.8)
    [claim] = all_live(arrays, Preset.FULL)
    assert claim.verdict == "reproduced"
    arrays["psnr"][4, 4] = 13.0  # it renders something, and not the scene
    assert survivors(arrays, Preset.FULL)[4].ours == 0.8
    arrays["spread"][4] = 0.0
    [claim] = all_live(arrays, Preset.FULL)
    assert claim.verdict == "differs"
    assert len(survivors(arrays, Preset.FULL)) == 2 * count - 1
    scales = SWEPT[Preset.FULL]
    arrays = {f"{f} scales": np.array(scales[f]) for f in scales}
    arrays |= {f"{f} psnr": -np.abs(np.array(scales[f]) - 8)[:, None] for f in scales}
    curves = SWEEP.curves(arrays)
    verdicts = [c(x, Preset.FULL).verdict for x in curves for c in SWEEP.judged_by]
    assert verdicts == ["differs", "differs", "reproduced", "reproduced"]
    arrays = {row: np.array([20.0]) for row in ROTATED}
    verdicts = [c.verdict for c in claims_of_rotated(arrays, Preset.FULL)]
    assert verdicts == ["reproduced", "differs", "differs"]
