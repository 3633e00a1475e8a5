import numpy as np
import pytest

from passband.plot.pixels import detailed_box
from passband.plot.style import png_bytes
from passband.plot.triptych import triptych


def images(figure):
    return [np.asarray(axes.get_images()[0].get_array()) for axes in figure.axes]


def test_it_shows_target_prediction_and_error_whole_and_magnified(astronaut, blurred):
    guess = blurred(astronaut)
    figure = triptych(astronaut, guess)
    target, target_zoom, prediction, prediction_zoom, error, error_zoom, bar = images(
        figure
    )
    row, col, height, width = detailed_box(astronaut) or (0, 0, 0, 0)
    part = slice(row, row + height), slice(col, col + width)
    np.testing.assert_allclose(target, astronaut, atol=1e-6)
    np.testing.assert_allclose(target_zoom, astronaut[part], atol=1e-6)
    np.testing.assert_allclose(prediction, guess, atol=1e-6)
    np.testing.assert_allclose(prediction_zoom, guess[part], atol=1e-6)
    expected = np.abs(guess - astronaut).mean(axis=2)
    np.testing.assert_allclose(error, expected, atol=1e-6)
    np.testing.assert_allclose(error_zoom, expected[part], atol=1e-6)
    assert bar.shape[0] == 1


def test_the_scale_of_the_error_is_stated(astronaut, blurred):
    guess = blurred(astronaut)
    figure = triptych(astronaut, guess)
    error = np.abs(guess - astronaut).mean(axis=2)
    note = figure.texts[0].get_text()
    assert f"mean {error.mean():.3g}, largest {error.max():.3g}" in note
    ticks = [label.get_text() for label in figure.axes[-1].get_xticklabels()]
    assert ticks[0] == "0"
    assert ticks[-1] == f"{np.percentile(error.astype(np.float32), 99.5):.3g}"


def test_big_pictures_are_averaged_but_the_zoom_is_not():
    picture = np.random.default_rng(0).random((900, 1700))
    figure = triptych(picture, picture * 0.9)
    whole, zoom, *_ = images(figure)
    assert max(whole.shape) == 1600
    assert abs(whole.mean() - picture.mean()) < 1e-3
    assert np.isin(zoom[:, :, 0].astype(np.float32), picture.astype(np.float32)).all()


@pytest.mark.parametrize(
    "shape",
    [
        (8, 8),
        (1, 1, 3),
        (1, 300),
        (300, 1, 3),
        (40, 900, 3),
        (900, 40, 4),
        (120, 150, 1),
        (90, 60, 2),
        (70, 130, 4),
    ],
)
def test_any_shape_is_drawn_with_all_its_words(shape, assert_all_in_view):
    rng = np.random.default_rng(1)
    target, prediction = rng.random((2, *shape))
    figure = triptych(target, prediction)
    assert_all_in_view(figure)
    assert max(figure.get_size_inches()) < 12


def test_panels_do_not_overlap(astronaut, blurred):
    for part in (astronaut, astronaut[:90], astronaut[:, :90]):
        figure = triptych(part, blurred(part))
        boxes = [axes.get_position() for axes in figure.axes]
        for index, one in enumerate(boxes):
            assert not any(one.overlaps(other) for other in boxes[index + 1 :])


def test_a_stretched_strip_says_so(astronaut):
    strip = astronaut[:4]
    assert "stretched" in triptych(strip, strip).texts[0].get_text()
    assert "stretched" not in triptych(astronaut, astronaut).texts[0].get_text()


def test_equal_pictures_and_flat_ones_are_drawn():
    flat = np.full((60, 60), 0.5)
    figure = triptych(flat, flat)
    assert "largest 0;" in figure.texts[0].get_text()
    assert png_bytes(figure, dpi=30).startswith(b"\x89PNG")


def test_a_prediction_that_is_not_a_number_is_drawn():
    target = np.random.default_rng(2).random((80, 80))
    prediction = target.copy()
    prediction[10:20] = np.nan
    figure = triptych(target, prediction)
    assert "largest 0;" in figure.texts[0].get_text()
    assert png_bytes(figure, dpi=30).startswith(b"\x89PNG")


def test_a_given_zoom_is_used(astronaut):
    figure = triptych(astronaut, astronaut, zoom=(10, 20, 30, 40))
    np.testing.assert_allclose(images(figure)[1], astronaut[10:40, 20:60], atol=1e-6)


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"`prediction` has shape \(4, 1, 1\)"):
        triptych(np.zeros((4, 4)), np.zeros((4, 1)))
