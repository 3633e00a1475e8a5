"""Figs. 2 and 7: protocol 2.3 and 12 come back, and the panels are the paper's."""

from pathlib import Path

import numpy as np
import pytest

from passband.paper import fig2, fig7, results
from passband.paper.item import Item, Outcome, Preset
from passband.plot.style import png_bytes


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return {i.id: i.run(Preset.SMOKE, lambda _: None) for i in (fig2.ITEM, fig7.ITEM)}


@pytest.mark.parametrize("id", ["fig2", "fig7"])
def test_every_claim_holds(outcomes: dict[str, Outcome], id: str):
    wrong = [c for c in outcomes[id].claims if c.verdict != "reproduced"]
    assert not wrong


def test_every_number_is_compared(outcomes: dict[str, Outcome]):
    for id, count in (("fig2", 67), ("fig7", 30)):
        numbers = outcomes[id].numbers
        assert len(numbers) == count
        for n in numbers:
            assert n.printed is not None and n.ours is not None and n.comparable
            assert n.ours == pytest.approx(n.printed, rel=0.01)


def test_a_wrong_width_would_be_noticed(
    outcomes: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fig2, "WIDTH", 1023)
    assert fig2.ITEM.run(Preset.SMOKE, lambda _: None).verdict == "differs"


def test_fig2_has_the_papers_panels(outcomes: dict[str, Outcome]):
    figure = fig2.ITEM.draw(outcomes["fig2"])["fig2"]
    plain, basic, space, spectrum = figure.axes
    assert np.asarray(plain.images[0].get_array()).shape == (100, 100)
    assert np.asarray(basic.images[0].get_array()).max() == pytest.approx(194)
    assert len(space.lines) == len(spectrum.lines) == 6
    assert spectrum.get_yscale() == "log" and space.get_yscale() == "linear"
    top = [np.asarray(line.get_ydata())[16] for line in space.lines]
    np.testing.assert_allclose(top, 14, rtol=1e-6)  # x = 0 stands in the middle
    middle = [np.asarray(line.get_ydata())[16] for line in spectrum.lines]
    np.testing.assert_allclose(middle[0], 187.78, rtol=1e-4)


def test_fig7_has_the_papers_panels(outcomes: dict[str, Outcome]):
    figure = fig7.ITEM.draw(outcomes["fig7"])["fig7"]
    assert len(figure.axes) == 2
    for axes in figure.axes:
        assert axes.get_yscale() == "log" and len(axes.lines) == 3
    deepest = np.asarray(figure.axes[1].lines[2].get_ydata())
    assert deepest[64 + 43] == pytest.approx(1.46, abs=0.006)


@pytest.mark.parametrize("item", [fig2.ITEM, fig7.ITEM], ids=lambda i: i.id)
def test_drawn_again_from_disk_it_is_the_same_figure(
    outcomes: dict[str, Outcome], item: Item, tmp_path: Path
):
    result = results.Result(item.id, Preset.SMOKE, outcomes[item.id], {})
    results.save(tmp_path, result)
    first, second = (
        item.draw(results.load(tmp_path, Preset.SMOKE, item.id).outcome)
        for _ in range(2)
    )
    assert png_bytes(first[item.id]) == png_bytes(second[item.id])
    assert (tmp_path / "smoke" / f"{item.id}.npz").stat().st_size < 1_000_000
