"""Table 3: its rows, the paper's settings, and a small run of every line."""

import numpy as np
import pytest

from passband.paper.image_study import SETS
from passband.paper.item import Preset
from passband.paper.registry import get_item

ITEM = get_item("table3")


@pytest.fixture(scope="module")
def outcome():
    return ITEM.run(Preset.SMOKE, lambda text: None)


def test_every_printed_number_stands_beside_ours(outcome):
    printed = {number.name: number.printed for number in outcome.numbers}
    assert printed == {
        "none natural": 19.32, "basic natural": 21.71, "positional natural": 24.95,
        "gaussian natural": 25.57, "none text": 18.40, "basic text": 20.48,
        "positional text": 27.57, "gaussian text": 30.47,
    }  # fmt: skip
    assert all(np.isfinite(number.ours) for number in outcome.numbers)
    assert not any(number.comparable for number in outcome.numbers)


def test_fourier_features_win_even_here(outcome):
    assert outcome.verdict == "reproduced"
    assert [c.verdict for c in outcome.claims].count("reproduced") == len(SETS)


def test_it_draws_a_panel_for_each_set(outcome):
    figure = ITEM.draw(outcome)["table3"]
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["Natural", "Text"]


# Here, since their networks have the shapes of the run above: nothing compiles again.
@pytest.mark.parametrize(
    ("id", "numbers", "panels"), [("table3-seeds", 8 * 4, 2), ("fig15", 8, 10)]
)
def test_its_kin_run(id: str, numbers: int, panels: int, outcome):
    item = get_item(id)
    found = item.run(Preset.SMOKE, lambda text: None)
    assert len(found.numbers) == numbers
    assert len(item.draw(found)[id].axes) == panels
    if id == "fig15":  # the same two pictures, one by one
        ours = {tuple(n.name.split(" 0, ")): n.ours for n in found.numbers}
        for number in outcome.numbers:
            row, name = number.name.split()
            assert ours[name, row] == pytest.approx(number.ours, abs=1e-3)
