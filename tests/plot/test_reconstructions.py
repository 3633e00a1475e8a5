"""Pictures beside each other: one scale for all, errors where the truth is known."""

import numpy as np
import pytest

from passband.plot.reconstructions import reconstructions
from passband.plot.sinogram import sinogram_figure


def test_all_share_the_truths_greys_and_one_error_scale():
    truth = np.linspace(0, 7, 48).reshape(6, 8)
    pictures = {"gaussian:4": truth + 1, "FBP": truth - 30}
    figure = reconstructions(pictures, truth, notes={"FBP": "3 dB"})
    scales = [axes.get_images()[0].get_clim() for axes in figure.axes]
    assert scales.count((0.0, 7.0)) == 3
    assert len(scales) == 5 and len(set(scales)) == 2
    words = {text.get_text() for text in figure.texts}
    assert {"Truth", "Gaussian 4", "FBP", "3 dB"} <= words


def test_without_a_truth_there_are_no_errors():
    figure = reconstructions({"a": np.eye(5), "b": 3 * np.eye(5)})
    assert len(figure.axes) == 2
    assert {axes.get_images()[0].get_clim() for axes in figure.axes} == {(0.0, 1.0)}


def test_what_is_no_picture_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        reconstructions({"a": np.ones((2, 2, 3))})


def test_the_residual_is_drawn_about_zero_and_held_out_views_are_marked():
    data = np.arange(60.0).reshape(5, 12)
    held = np.zeros((5, 12), bool)
    held[3] = True
    figure = sinogram_figure(data, data - 1, np.arange(5) * 36, held)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    low, high = panels["Residual"].get_images()[0].get_clim()
    assert low == -high
    [marks] = panels["Residual"].get_lines()
    assert np.asarray(marks.get_ydata()).tolist() == [3]
    assert panels["Sinogram"].get_yticklabels()[0].get_text() == "0°"
    with pytest.raises(ValueError, match=r"must be \(views, bins\)"):
        sinogram_figure(data, data.T, np.arange(5))
