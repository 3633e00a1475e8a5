import math

import numpy as np
import pytest

from passband.data.sinusoids import Sinusoid, sinusoids
from passband.errors import InputError


def test_there_are_68_waves_at_whole_frequencies():
    waves = list(sinusoids())
    assert len(waves) == 68
    assert {w.radius for w in waves} == {5.0, 10.0, 15.0, 20.0}
    np.testing.assert_allclose(
        [w.angle for w in waves[::4]], np.linspace(0, np.pi, 17), rtol=1e-15
    )
    for wave in waves:
        # Rounding moves a frequency by half a cycle along each axis at most.
        assert abs(wave.a - wave.radius * math.sin(wave.angle)) <= 0.5
        assert abs(wave.b - wave.radius * math.cos(wave.angle)) <= 0.5


def test_a_wave_is_two_bins_of_the_fft():
    for wave in list(sinusoids())[::7]:
        spectrum = np.fft.fft2(wave.image(64)[..., 0]) / 64**2
        peaks = {(wave.b % 64, wave.a % 64), (-wave.b % 64, -wave.a % 64)}
        found = {tuple(int(i) for i in at) for at in np.argwhere(abs(spectrum) > 0.1)}
        assert found == peaks
        np.testing.assert_allclose(abs(spectrum).sum(), 1.0, atol=1e-4)


def test_the_first_axis_is_rows():
    image = Sinusoid(angle=0.0, radius=5.0, a=0, b=5).image(512)
    assert image.shape == (512, 512, 1)
    y = np.arange(512) / 512
    for column in (0, 300):
        np.testing.assert_allclose(
            image[:, column, 0], np.cos(2 * np.pi * 5 * y), atol=1e-6
        )


def test_sizes_that_alias_are_refused():
    with pytest.raises(InputError, match=r"`size` \(=40\)"):
        Sinusoid(0.0, 20.0, 0, 20).image(40)
    with pytest.raises(InputError, match=r"`angles` \(=1\)"):
        next(sinusoids(angles=1))
