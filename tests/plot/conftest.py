import numpy as np
import pytest
import skimage.data
from scipy.ndimage import gaussian_filter


@pytest.fixture(scope="session")
def astronaut():
    return skimage.data.astronaut() / 255


@pytest.fixture
def blurred():
    """A stand-in for a prediction: the picture without its high frequencies."""

    def blur(picture, sigma=2.0):
        picture = np.asarray(picture, float)
        return gaussian_filter(picture, (sigma, sigma) + (0,) * (picture.ndim - 2))

    return blur


@pytest.fixture
def assert_all_in_view():
    """Check that every word and line that a figure draws is on its paper."""

    def check(figure):
        figure.canvas.draw()
        drawn, paper = figure.get_tightbbox(), figure.get_size_inches()
        assert drawn.x0 >= -0.01
        assert drawn.y0 >= -0.01
        assert drawn.x1 <= paper[0] + 0.01
        assert drawn.y1 <= paper[1] + 0.01

    return check
