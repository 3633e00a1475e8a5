"""A strip of methods: one crop, one range, the best framed."""

import numpy as np
import pytest

from passband.plot.strip import BEST, SAMPLES, Panel, strip


def rough(rows: int, columns: int, channels: int | None = None) -> np.ndarray:
    """Flat, but for a patch of noise."""
    shape = (rows, columns) if channels is None else (rows, columns, channels)
    picture = np.full(shape, 0.5)
    noise = np.random.default_rng(0).random((40, 40, *shape[2:]))
    picture[-60:-20, 30:70] = noise
    return picture


@pytest.mark.parametrize("channels", [None, 3])
def test_all_show_the_part_with_the_most_detail(channels):
    truth = rough(400, 500, channels)
    figure = strip([Panel("fourier", "30 dB", truth), Panel("siren", "31 dB", truth * 0,
                    best=True)], truth)  # fmt: skip
    assert len(figure.axes) == 3
    shown = [axes.images[0] for axes in figure.axes]
    assert len({tuple(image.get_extent()) for image in shown}) == 1
    left, right, bottom, top = shown[0].get_extent()
    assert left < 70 and right > 30 and top < 380 and bottom > 340
    assert right - left < 130
    colours = [axes.spines["top"].get_edgecolor()[:3] for axes in figure.axes]
    assert colours[0] == colours[1] != colours[2]
    texts = [text.get_text() for text in figure.texts]
    assert "truth" in texts and "siren  (best)" in texts and "31 dB" in texts
    assert BEST in {text.get_color() for text in figure.texts}


def test_values_of_any_range_share_that_of_the_truth():
    truth = 1000 * rough(100, 90) - 300
    figure = strip([Panel("a", "", truth + 5000), Panel("b", "", truth)], truth)
    high, same = (axes.images[0].get_array() for axes in figure.axes[1:])
    assert np.asarray(high).min() == 1.0  # above all that the truth has
    np.testing.assert_array_equal(same, figure.axes[0].images[0].get_array())
    assert any("values from" in text.get_text() for text in figure.texts)


def test_many_methods_stand_in_rows():
    panels = [Panel(str(k), "", np.zeros((30, 60))) for k in range(10)]
    figure = strip(panels, np.zeros((30, 60)))
    boxes = [axes.get_position() for axes in figure.axes]
    assert len({round(box.y0, 3) for box in boxes}) == 2
    assert len({round(box.x0, 3) for box in boxes}) == 6
    assert all(box.x0 >= 0 and box.x1 <= 1 for box in boxes)


def test_of_a_signal_the_liveliest_stretch():
    x = np.arange(2000)
    wave = np.where((x > 900) & (x < 1000), np.sin(x), 0.0)
    figure = strip([Panel("fourier", "1 dB", wave, best=True)], wave)
    (axes,) = figure.axes
    begin, end = axes.get_xlim()
    assert end - begin == SAMPLES - 1 and begin < 905 and end > 995
    assert len(axes.lines) == 2
    short = strip([Panel("a", "", wave[:50])])
    assert short.axes[0].get_xlim() == (0, 49)
    with pytest.raises(ValueError, match="`panels` is empty"):
        strip([])
