"""The curve by which a scale was chosen."""

import numpy as np
from matplotlib.colors import to_hex

from passband.plot.sigma_curve import choice_figure, sigma_curve
from passband.plot.style import colour_of

SCALES = 10 * 1.5 ** (np.arange(6) - 2.5)
LEVELS = 25 - np.log(SCALES / 8) ** 2
CHOICE = {
    "mapping": "gaussian:8/2", "scale": 8.0, "nyquist": 64.0, "held": "rays",
    "scales": [*SCALES, *SCALES], "axes": [None] * 6 + [[1.0, 0.25]] * 6,
    "predicted": None,
    "curves": [{"steps": 40, "mean": [*(LEVELS - 5), *LEVELS[:5], None],
                "spread": [0.1] * 11 + [None]}],
}  # fmt: skip


def test_lines_are_at_their_numbers_and_a_scale_that_fell_out_has_none():
    late = np.where(np.arange(6) < 3, LEVELS + 1, np.nan)
    figure = sigma_curve(
        SCALES[::-1], [(400, LEVELS[::-1], 0 * LEVELS), (800, late[::-1], 0 * LEVELS)],
        word="gaussian:8", chosen=8.0, predicted=LEVELS[::-1] - 9, nyquist=20.0,
    )  # fmt: skip
    [axes] = figure.axes
    first, second, kernel, chosen, nyquist = axes.get_lines()
    np.testing.assert_allclose(
        np.asarray(first.get_xydata()), np.stack([SCALES, LEVELS], 1)
    )
    assert np.size(second.get_xdata()) == 3
    # Its order counts, so it is moved to where the first curve is.
    np.testing.assert_allclose(np.asarray(kernel.get_ydata()), LEVELS)
    assert np.asarray(chosen.get_xdata()).tolist() == [8.0, 8.0]
    assert np.asarray(nyquist.get_xdata()).tolist() == [20.0, 20.0]
    assert to_hex(first.get_color()).lower() == colour_of("gaussian").lower()


def test_a_choice_with_a_scale_an_axis_shows_those_and_names_nyquist_beyond():
    figure = choice_figure(CHOICE)
    [axes] = figure.axes
    np.testing.assert_allclose(np.asarray(axes.get_lines()[0].get_ydata()), LEVELS[:5])
    assert any("Nyquist 64" in text.get_text() for text in axes.texts)
    assert "rays" in axes.get_ylabel()
