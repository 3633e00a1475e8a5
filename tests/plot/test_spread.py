"""The spread of members as a figure."""

import numpy as np
import pytest

from passband.plot.spread import ERROR, SPREAD, spread_figure


@pytest.mark.parametrize("shape", [(20, 30), (4, 40), (40, 4), (50,)])
def test_every_shape_has_its_map_beside_the_error(shape):
    spread = np.random.default_rng(0).random(shape)
    figure = spread_figure(spread, 3 * spread)
    words = [axes.get_title(loc="left") for axes in figure.axes]
    if len(shape) == 1:
        words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]  # pyright: ignore[reportOptionalMemberAccess]
    assert sorted(word.partition(",")[0] for word in words) == sorted([SPREAD, ERROR])
    whole = figure.bbox
    for axes in figure.axes:
        box = axes.get_window_extent()
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1
        assert whole.y0 <= box.y0 and box.y1 <= whole.y1
    assert len(spread_figure(spread).axes) == 1


def test_what_does_not_belong_together_is_refused():
    with pytest.raises(ValueError, match="alike"):
        spread_figure(np.zeros((3, 4)), np.zeros((4, 3)))
    with pytest.raises(ValueError, match="alike"):
        spread_figure(np.zeros((3, 4, 5)))
