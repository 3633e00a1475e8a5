import numpy as np
import pytest

from passband.plot.spectrum import passed_up_to, radial_spectrum, spectrum_figure


def plane_wave(rows, cols, across, down=0.0):
    """A cosine of so many cycles per longest side along each axis."""
    longest = max(rows, cols)
    y, x = np.mgrid[:rows, :cols] / longest
    return np.cos(2 * np.pi * (across * x + down * y))


@pytest.mark.parametrize("shape", [(64, 64), (48, 96), (30, 64, 3)])
def test_white_noise_is_flat_at_its_variance(shape):
    rng = np.random.default_rng(0)
    spectra = [radial_spectrum(rng.normal(5.0, 0.3, shape))[1] for _ in range(60)]
    # From 4 on: what is left after the mean is less at the lowest frequencies.
    np.testing.assert_allclose(np.mean(spectra, axis=0)[3:], 0.09, rtol=0.25)
    assert np.mean(spectra, axis=0)[3:].mean() == pytest.approx(0.09, rel=0.02)


@pytest.mark.parametrize(("rows", "cols"), [(96, 96), (40, 120), (120, 40), (97, 64)])
@pytest.mark.parametrize(("across", "down"), [(15, 0), (0, 15), (9, 12)])
def test_a_wave_peaks_at_its_length_in_cycles_per_longest_side(
    rows, cols, across, down
):
    frequency, power = radial_spectrum(plane_wave(rows, cols, across, down))
    # A short side resolves frequencies only to (longest / shortest) cycles.
    width = max(rows, cols) / min(rows, cols)
    assert frequency[np.argmax(power)] == pytest.approx(15, abs=0.5 + width / 2)


def test_the_window_keeps_a_wave_between_bins_from_leaking():
    _, power = radial_spectrum(plane_wave(128, 128, 20.5))
    assert power[40:].max() < 1e-6 * power.max()


def test_frequencies_run_to_nyquist():
    assert radial_spectrum(np.zeros((20, 60)))[0].tolist() == list(range(1, 31))


def test_a_constant_has_no_power():
    _, power = radial_spectrum(np.full((32, 32, 3), 0.7))
    assert power.max() < 1e-25


def test_channels_are_averaged():
    rng = np.random.default_rng(1)
    image = rng.random((32, 32, 3))
    expected = np.mean([radial_spectrum(image[..., c])[1] for c in range(3)], axis=0)
    np.testing.assert_allclose(radial_spectrum(image)[1], expected)


def test_a_power_law_comes_back():
    rng = np.random.default_rng(2)
    size, slope = 256, 2.5
    fy, fx = np.meshgrid(*2 * [np.fft.fftfreq(size) * size], indexing="ij")
    radius = np.maximum(np.hypot(fx, fy), 1)
    noise = np.fft.fft2(rng.normal(size=(size, size)))
    image = np.fft.ifft2(noise * radius ** (-slope / 2)).real
    frequency, power = radial_spectrum(image)
    fit = np.polyfit(np.log(frequency[3:100]), np.log(power[3:100]), 1)
    assert fit[0] == pytest.approx(-slope, abs=0.1)


def test_a_signal_has_a_spectrum_too():
    t = np.arange(500) / 500
    frequency, power = radial_spectrum(np.sin(2 * np.pi * 40 * t), spatial=1)
    assert frequency[np.argmax(power)] == 40
    assert len(frequency) == 250


@pytest.mark.parametrize("shape", [(4,), (4, 4, 4, 4), (0, 4)])
def test_what_has_no_spectrum_is_named(shape):
    with pytest.raises(ValueError, match="`image` has shape"):
        radial_spectrum(np.zeros(shape))


def test_a_low_pass_passes_up_to_its_edge(astronaut):
    grey = astronaut.mean(axis=2)
    radius = np.hypot(*np.meshgrid(*2 * [np.fft.fftfreq(512) * 512]))
    low = np.fft.ifft2(np.fft.fft2(grey) * (radius <= 50)).real
    frequency, power = radial_spectrum(grey)
    _, missed = radial_spectrum(low - grey)
    assert passed_up_to(frequency, power, missed) == pytest.approx(50, abs=1.5)


def test_the_passband_has_both_extremes():
    frequency, power = np.arange(1.0, 5.0), np.ones(4)
    assert passed_up_to(frequency, power, 0 * power) is None
    assert passed_up_to(frequency, power, power) == 0.0
    # A frequency the target holds only by rounding cannot be missed.
    tone = np.array([1.0, 1e-20, 1e-20, 1.0])
    assert passed_up_to(frequency, tone, np.array([0.1, 1e-20, 1e-20, 0.9])) == 3.0


def test_sigma_and_nyquist_are_marked(astronaut, blurred, assert_all_in_view):
    figure = spectrum_figure(astronaut, blurred(astronaut), 256, 10)
    axes = figure.axes[0]
    assert {t.get_text() for t in axes.texts} == {"σ = 10", "Nyquist 256"}
    upright = [line.get_xdata() for line in axes.get_lines()]
    assert {float(np.asarray(x)[0]) for x in upright if len(np.asarray(x)) == 2} == {
        10.0,
        256.0,
    }
    assert_all_in_view(figure)


def test_the_three_lines_are_those_of_target_prediction_and_residual(
    astronaut, blurred
):
    part = astronaut[:40, :40]
    guess = blurred(part, 1.0)
    lines = {
        line.get_label(): np.asarray(line.get_ydata())
        for line in spectrum_figure(part, guess, 20).axes[0].get_lines()
    }
    # The lowest bands hold one ring each, so they are the rings themselves.
    for name, image in (
        ("Target", part),
        ("Prediction", guess),
        ("Residual", guess - part),
    ):
        np.testing.assert_allclose(lines[name][:8], radial_spectrum(image)[1][:8])


@pytest.mark.parametrize("shape", [(8, 8), (1, 1), (2, 90, 3), (90, 2, 4)])
def test_any_picture_has_a_figure(shape, assert_all_in_view):
    target, prediction = np.random.default_rng(3).random((2, *shape))
    figure = spectrum_figure(
        target, prediction, 4, (3.0, 3.5), sigma_name="largest |b|"
    )
    assert_all_in_view(figure)


def test_equal_and_flat_pictures_have_a_figure(astronaut, assert_all_in_view):
    assert_all_in_view(spectrum_figure(astronaut[:32], astronaut[:32], 256))
    assert_all_in_view(spectrum_figure(np.ones((9, 9)), np.ones((9, 9)), 4.5, 1))


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="`prediction` has shape"):
        spectrum_figure(np.zeros((4, 4)), np.zeros((4, 1)), 2)


def test_a_tone_stands_at_its_frequency_in_hertz(assert_all_in_view):
    rate, seconds = 8000, 0.5
    tone = np.sin(2 * np.pi * 1000 * np.arange(int(rate * seconds)) / rate)
    whole = spectrum_figure(
        tone, tone, len(tone) / 2, 40.0, spatial=1, length=(seconds, "Hz")
    )
    part = spectrum_figure(
        tone[:800], tone[:800], len(tone) / 2, 40.0, spatial=1,
        length=(seconds, "Hz"), share=0.2,
    )  # fmt: skip
    for figure in (whole, part):
        [axes] = figure.axes
        line = axes.get_lines()[0]
        peak = np.asarray(line.get_xdata())[np.argmax(line.get_ydata())]
        assert abs(peak / 1000 - 1) < 0.04  # rings are merged into bands of 6 %
        assert axes.get_xlabel() == "Frequency (Hz)"
        assert {"σ = 40 per side", "Nyquist 4000"} == {t.get_text() for t in axes.texts}
        assert_all_in_view(figure)
