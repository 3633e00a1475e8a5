"""Table 5, Fig. 17 and their companions: the paper's settings, and small runs."""

import numpy as np
import pytest

from passband.paper import fig17, plan
from passband.paper.ct_study import OTHERS, SETS, STUDY, CTSizes, projector
from passband.paper.item import Preset
from passband.paper.registry import get_item
from passband.paper.study import ROWS

TABLE, SWEEP = get_item("table5"), get_item("table5-sweep")


@pytest.fixture(scope="module")
def outcomes():
    """Of the table and the figure, whose networks are the same."""
    return [item.run(Preset.SMOKE, lambda text: None) for item in (TABLE, fig17.ITEM)]


def test_the_test_phantoms_follow_those_of_the_sweep():
    sizes = CTSizes(count=2, side=64)
    sweep, test = STUDY.load("shepp", sizes, sweep=True), STUDY.load("shepp", sizes)
    # Protocol 6 has the means at 512; 64 pixels are near them.
    np.testing.assert_allclose(sweep.mean(axis=(1, 2)), [0.1457, 0.1261], rtol=0.05)
    np.testing.assert_allclose(test.mean(axis=(1, 2)), [0.1698, 0.0673], rtol=0.05)


def test_all_tasks_hold_one_projector():
    assert projector(32, 5) is projector(32, 5)
    assert projector(32, 5).output_shape == (5, 32)


def test_every_printed_number_stands_beside_ours(outcomes):
    table, figure = outcomes
    printed = {n.name: n.printed for n in table.numbers if n.printed is not None}
    assert printed == {
        "none shepp": 16.75, "basic shepp": 23.31, "positional shepp": 26.89,
        "gaussian shepp": 28.33, "free grid shepp": 24.99, "none atlas": 15.44,
        "basic atlas": 16.95, "positional atlas": 19.55, "gaussian atlas": 19.88,
    }  # fmt: skip
    assert len(table.numbers) == len(SETS) * (len(ROWS) + len(OTHERS))
    assert all(np.isfinite(n.ours) for n in (*table.numbers, *figure.numbers))
    assert not any(n.comparable for n in table.numbers)


def test_they_draw_from_their_arrays(outcomes):
    table, figure = outcomes
    panels = TABLE.draw(table)["table5"].axes
    assert [axes.get_title(loc="left") for axes in panels] == ["Shepp", "Atlas"]
    pictures = fig17.ITEM.draw(figure)["fig17"].axes
    assert len(pictures) == len(SETS) * (1 + len(ROWS) + len(OTHERS))
    assert pictures[4].get_title(loc="left") == "Gaussian"


def test_the_companions_run_and_draw(outcomes):  # whose programs they find compiled
    sweep = SWEEP.run(Preset.SMOKE, lambda text: None)
    best = {n.name: n.printed for n in sweep.numbers if "best" in n.name}
    assert best == {
        "shepp gaussian, best scale": 4.0, "shepp positional, best scale": 3.0,
    }  # fmt: skip
    assert len(SWEEP.draw(sweep)["table5-sweep"].axes) == 2
    [_, item] = plan.with_seeds([TABLE], 2)
    seeds = item.run(Preset.SMOKE, lambda text: None)
    assert seeds.arrays["means"].shape == (2, len(ROWS))
    assert seeds.arrays["keys"].tolist() == [11, 12]
    assert np.ptp(seeds.arrays["means"], axis=0).min() > 0  # two seeds, two means
    assert item.draw(seeds)["table5-seeds"].axes
