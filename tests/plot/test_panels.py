"""What drawings share: where panels stand, and what a band and a legend show."""

import numpy as np
import pytest

from passband.plot import panels
from passband.plot.style import axes_at, new_figure, style


def test_columns_fill_the_width_between_the_margins():
    wide, lefts = panels.columns(12.0, 3, left=0.75, right=0.15, gap=0.6)
    assert lefts[0] == 0.75
    assert lefts[-1] + wide == pytest.approx(12.0 - 0.15)
    np.testing.assert_allclose(np.diff(lefts), wide + 0.6)


def test_a_centred_spectrum_of_real_values_is_symmetric():
    values = np.random.default_rng(0).normal(size=32)
    centred = panels.centred_spectrum(np.abs(np.fft.fft(values)))
    assert centred.shape == (33,)
    np.testing.assert_allclose(centred, centred[::-1])
    assert centred[16] == pytest.approx(abs(values.sum()))


def test_half_turns_are_at_the_ends_and_halves():
    axes = new_figure(3, 2).add_subplot()
    panels.half_turn_ticks(axes, 64)
    assert axes.get_xticks().tolist() == [-64, -32, 0, 32, 64]
    assert [t.get_text() for t in axes.get_xticklabels()][::2] == [
        r"$-\pi$", "0", r"$\pi$",
    ]  # fmt: skip


@pytest.mark.parametrize(("least", "low"), [(None, -1.0), (0.05, 0.1)])
def test_a_band_is_a_deviation_wide_unless_it_has_no_lower_end(least, low):
    axes = new_figure(3, 2).add_subplot()
    x, mean, spread = np.arange(4.0), np.full(4, 2.0), np.full(4, 3.0)
    panels.band(axes, x, mean, spread, least=least, color="k")
    (path,) = axes.collections[0].get_paths()
    ys = np.asarray(path.vertices)[:, 1]
    assert ys.max() == pytest.approx(5) and ys.min() == pytest.approx(low)


def test_text_in_inches_is_measured_from_the_top_left():
    figure = new_figure(8, 4)
    panels.write_at(figure, 2.0, 1.0, "note")
    assert figure.texts[0].get_position() == pytest.approx((0.25, 0.75))


def test_a_name_stands_below_its_panel_and_inside_the_figure():
    figure = new_figure(4, 3)
    axes = axes_at(figure, 0.5, 0.2, 3.0, 2.0)
    panels.name_below(axes, "(a) Loss", 0.3)
    figure.canvas.draw()
    name, frame = axes.texts[0].get_window_extent(), axes.get_window_extent()
    assert name.y1 < frame.y0 and name.y0 > 0
    assert (name.x0 + name.x1) / 2 == pytest.approx((frame.x0 + frame.x1) / 2, abs=1)


def test_the_legend_above_has_every_name_in_one_line_over_the_panels():
    with style():
        figure = new_figure(8, 3)
        axes = axes_at(figure, 0.75, 0.5, 6.5, 2.0)
        for name in ("Gaussian", "Uniform", "Laplace"):
            axes.plot([0, 1], [0, 1], label=name)
        panels.legend_above(figure, 0.75)
        figure.canvas.draw()
    (legend,) = figure.legends
    boxes = [text.get_window_extent() for text in legend.get_texts()]
    assert [t.get_text() for t in legend.get_texts()] == [
        "Gaussian", "Uniform", "Laplace",
    ]  # fmt: skip
    assert max(b.y0 for b in boxes) - min(b.y0 for b in boxes) < 5
    assert min(b.y0 for b in boxes) > axes.get_window_extent().y1


def test_a_band_figure_shows_the_mean_and_the_deviation_of_the_runs():
    scores = np.array([[1.0, 3.0], [2.0, 6.0], [4.0, 4.0]])
    figure = panels.band_figure(
        [0, 1, 2], {"gaussian:10": scores}, xlabel="Angle", ylabel="PSNR (dB)"
    )
    (axes,) = figure.axes
    (line,) = axes.lines
    np.testing.assert_allclose(np.asarray(line.get_ydata(), float), [2, 4, 4])
    ys = np.asarray(axes.collections[0].get_paths()[0].vertices)[:, 1]
    assert ys.min() == pytest.approx(1) and ys.max() == pytest.approx(6)
    assert (line.get_label(), axes.get_xlabel()) == ("Gaussian", "Angle")
