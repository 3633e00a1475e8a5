import numpy as np
import pytest

from passband.plot.signal import detailed_stretch, signal_figure
from passband.plot.style import FAMILY_COLOURS

T = np.arange(2000) / 2000
CHIRP = np.sin(2 * np.pi * 60 * T**2)


def test_target_prediction_zoom_and_residual_are_drawn(assert_all_in_view):
    guess = 0.9 * CHIRP
    figure = signal_figure(CHIRP, guess, T, mapping="positional:6", xlabel="Seconds")
    whole, zoom, rest = figure.axes
    target, prediction = whole.get_lines()
    np.testing.assert_array_equal(target.get_ydata(), CHIRP)
    np.testing.assert_array_equal(prediction.get_ydata(), guess)
    assert prediction.get_color() == FAMILY_COLOURS["positional"]
    first, count = detailed_stretch(CHIRP[:, None]) or (0, 0)
    np.testing.assert_array_equal(
        zoom.get_lines()[0].get_ydata(), CHIRP[first : first + count]
    )
    np.testing.assert_array_equal(rest.get_lines()[1].get_ydata(), guess - CHIRP)
    assert rest.get_xlabel() == "Seconds"
    assert_all_in_view(figure)


def test_the_stretch_finds_the_fastest_change():
    first, count = detailed_stretch(CHIRP[:, None]) or (0, 0)
    assert count == 100
    assert first > 1700
    click = np.zeros((5000, 1))
    click[1234] = 1
    first, count = detailed_stretch(click) or (0, 0)
    assert first < 1234 < first + count


def test_short_signals_have_no_zoom_and_their_samples_are_dots():
    figure = signal_figure(CHIRP[:20], CHIRP[:20])
    assert len(figure.axes) == 2
    assert figure.axes[0].get_lines()[0].get_marker() == "o"


def test_stereo_is_two_columns(assert_all_in_view):
    both = np.stack([CHIRP, CHIRP**2, CHIRP**3], axis=1)
    figure = signal_figure(both, both)
    titles = [axes.get_title(loc="right") for axes in figure.axes]
    assert [title for title in titles if title] == ["Channel 1 of 3", "Channel 2 of 3"]
    assert_all_in_view(figure)


@pytest.mark.parametrize("count", [1, 2, 81, 300_000])
def test_any_length_is_drawn(count, assert_all_in_view):
    target, prediction = np.random.default_rng(0).normal(size=(2, count))
    figure = signal_figure(target, prediction)
    assert_all_in_view(figure)
    assert all(
        len(np.asarray(line.get_xdata())) < 4000
        for axes in figure.axes
        for line in axes.get_lines()
    )


def test_flat_signals_are_drawn(assert_all_in_view):
    assert_all_in_view(signal_figure(np.ones(200), np.ones(200)))


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"`prediction` has shape \(4, 1\)"):
        signal_figure(np.zeros(5), np.zeros(4))
    with pytest.raises(ValueError, match=r"`x` has shape \(3,\)"):
        signal_figure(np.zeros(5), np.zeros(5), np.zeros(3))
    with pytest.raises(ValueError, match="`target` has shape"):
        signal_figure(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="`zoom`"):
        signal_figure(np.zeros(5), np.zeros(5), zoom=(3, 4))
