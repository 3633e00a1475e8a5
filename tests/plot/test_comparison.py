import numpy as np
import pytest

from passband.plot.comparison import demo_figure
from passband.plot.pixels import detailed_box


def texts(figure):
    return [text.get_text() for text in figure.texts]


def test_the_demo_says_what_differs_and_by_how_much(
    astronaut, blurred, assert_all_in_view
):
    figure = demo_figure(
        astronaut,
        {
            "none": (blurred(astronaut, 10), 19.44),
            "gaussian:10": (blurred(astronaut, 1), 28.14),
        },
    )
    words = texts(figure)
    for expected in (
        "Target",
        "Without Fourier features",
        "With Fourier features",
        "none",
        "gaussian:10",
        "19.4 dB",
        "28.1 dB",
        "PSNR, +8.7 dB",
    ):
        assert expected in words
    sizes = {text.get_text(): float(text.get_fontsize()) for text in figure.texts}
    scores = {"19.4 dB", "28.1 dB"}
    biggest = max(size for words, size in sizes.items() if words not in scores)
    assert min(sizes[words] for words in scores) > biggest
    assert_all_in_view(figure)


def test_every_panel_has_the_same_part_magnified(astronaut, blurred):
    guess = blurred(astronaut)
    figure = demo_figure(astronaut, {"none": (guess, 20.0)})
    row, col, height, width = detailed_box(astronaut) or (0, 0, 0, 0)
    zooms = [axes.get_images()[0].get_array() for axes in figure.axes[1::2]]
    for zoom, picture in zip(zooms, (astronaut, guess), strict=True):
        part = picture[row : row + height, col : col + width]
        np.testing.assert_allclose(np.asarray(zoom), part, atol=1e-6)


@pytest.mark.parametrize("corner", [(0, 0), (0, 400), (400, 0), (400, 400)])
def test_the_magnified_part_hides_nothing_of_the_picture(astronaut, corner):
    """As an inset it hid the shuttle and half the face of the demo's picture."""
    box = (*corner, 100, 100)
    figure = demo_figure(astronaut, {"none": (astronaut, 99.0)}, zoom=box)
    for picture, zoom in (figure.axes[:2], figure.axes[2:]):
        assert not picture.get_window_extent().overlaps(zoom.get_window_extent())


@pytest.mark.parametrize(
    "part",
    [np.s_[::64, ::64], np.s_[100:200], np.s_[:, 100:200], np.s_[:, :, 0], np.s_[:3]],
)
def test_any_shape_is_drawn_with_all_its_words(astronaut, part, assert_all_in_view):
    picture = astronaut[part]
    figure = demo_figure(picture, {"none": (picture, 20.0), "basic": (picture, 18.0)})
    assert_all_in_view(figure)
    assert "PSNR, −2.0 dB" in texts(figure)


def test_mistakes_are_named(astronaut):
    with pytest.raises(ValueError, match="`predictions` is empty"):
        demo_figure(astronaut, {})
    with pytest.raises(ValueError, match="`prediction` has shape"):
        demo_figure(astronaut, {"none": (astronaut[:5], 1.0)})
