import numpy as np
import pytest

from passband.plot.curves import training_curves
from passband.plot.style import FAMILY_COLOURS


def history(final=25.0, count=40, rate=0.02):
    step = np.arange(1, count + 1) * 25
    psnr = final - 15 * np.exp(-step / 200)
    return {
        "step": step.tolist(),
        "seconds": (step * rate).tolist(),
        "loss": (0.5 * 10 ** (-psnr / 10)).tolist(),
        "psnr": psnr.tolist(),
    }


def test_each_quantity_is_drawn_against_steps_and_the_seconds_are_told():
    run = history()
    figure = training_curves(run, mapping="gaussian:10")
    for axes, name in zip(figure.axes, ("loss", "psnr"), strict=True):
        (line,) = axes.get_lines()
        np.testing.assert_allclose(np.asarray(line.get_xdata(), float), run["step"])
        np.testing.assert_allclose(np.asarray(line.get_ydata(), float), run[name])
        assert axes.get_yscale() == ("log" if name == "loss" else "linear")
        assert line.get_color() == FAMILY_COLOURS["gaussian"]
        assert axes.get_xlabel() == "Steps (20 s in all)"


@pytest.mark.parametrize(
    ("seen", "held"),
    [("psnr", "psnr_test"), ("psnr", "psnr_val"), ("error_train", "error_test")],
)
def test_what_was_held_out_has_a_line_of_its_own(seen, held, assert_all_in_view):
    run = history()
    run |= {seen: run["psnr"], held: [value - 1.5 for value in run["psnr"]]}
    figure = training_curves(run, mapping="none")
    lines = {line.get_label(): line for line in figure.axes[-1].get_lines()}
    assert set(lines) == {"trained", "held out"}
    drawn = np.asarray(lines["held out"].get_ydata(), float)
    np.testing.assert_allclose(drawn, run[held])
    assert lines["held out"].get_linestyle() != lines["trained"].get_linestyle()
    assert_all_in_view(figure)


def test_what_was_not_measured_is_skipped():
    run = history(count=6)
    run["psnr"] = [None, 12.0, None, float("nan"), 15.0, float("inf")]
    line = training_curves(run).axes[1].get_lines()[0]
    assert np.asarray(line.get_ydata()).tolist() == [12.0, 15.0]
    assert np.asarray(line.get_xdata()).tolist() == [50, 125]


def test_a_quantity_without_values_is_left_out():
    figure = training_curves({"step": [1, 2], "loss": [0.3, 0.2]})
    assert len(figure.axes) == 1


@pytest.mark.parametrize(
    "run",
    [
        {"step": [], "seconds": [], "loss": [], "psnr": []},
        {"step": [1], "seconds": [0.0], "loss": [0.3], "psnr": [5.0]},
        {"step": [1, 2], "seconds": [1, 2], "loss": [0.0, 0.0], "psnr": [None, None]},
        {"step": [1, 2], "loss": [float("nan"), float("inf")]},
    ],
)
def test_poor_histories_are_drawn(run, assert_all_in_view):
    assert_all_in_view(training_curves(run))


def test_long_histories_are_thinned():
    count = 50_000
    run = {"step": range(count), "loss": np.linspace(1, 0.1, count).tolist()}
    (line,) = training_curves(run).axes[0].get_lines()
    assert len(np.asarray(line.get_xdata())) < 5000


def test_columns_must_be_equally_long():
    with pytest.raises(ValueError, match="`loss` has 1 entries and `step` 2"):
        training_curves({"step": [1, 2], "loss": [0.1]})
