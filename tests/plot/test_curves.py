import numpy as np
import pytest

from passband.plot.curves import _spread, training_curves
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


def test_each_quantity_is_drawn_against_each_clock():
    run = history()
    figure = training_curves({"gaussian:10": run})
    pairs = [
        ("step", "loss"),
        ("seconds", "loss"),
        ("step", "psnr"),
        ("seconds", "psnr"),
    ]
    for axes, (x, y) in zip(figure.axes, pairs, strict=True):
        (line,) = axes.get_lines()
        np.testing.assert_allclose(np.asarray(line.get_xdata(), float), run[x])
        np.testing.assert_allclose(np.asarray(line.get_ydata(), float), run[y])
        assert axes.get_yscale() == ("log" if y == "loss" else "linear")
        assert line.get_color() == FAMILY_COLOURS["gaussian"]
    assert not figure.legends


def test_several_runs_have_a_legend_and_their_last_psnr(assert_all_in_view):
    runs = {
        "none": history(19.34),
        "basic": history(21.7),
        "gaussian:10": history(25.57),
    }
    figure = training_curves(runs)
    assert [t.get_text() for t in figure.legends[0].get_texts()] == list(runs)
    ends = [t.get_text() for t in figure.axes[3].texts]
    assert ends == [f"{runs[name]['psnr'][-1]:.2f}" for name in runs]
    assert_all_in_view(figure)


def test_what_was_not_measured_is_skipped():
    run = history(count=6)
    run["psnr"] = [None, 12.0, None, float("nan"), 15.0, float("inf")]
    figure = training_curves({"none": run})
    line = figure.axes[2].get_lines()[0]
    assert np.asarray(line.get_ydata()).tolist() == [12.0, 15.0]
    assert np.asarray(line.get_xdata()).tolist() == [50, 125]


def test_a_quantity_without_values_is_left_out():
    figure = training_curves({"none": {"step": [1, 2], "loss": [0.3, 0.2]}})
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
    assert_all_in_view(training_curves({"none": run}))


def test_long_histories_are_thinned():
    count = 50_000
    run = {"step": range(count), "loss": np.linspace(1, 0.1, count).tolist()}
    (line,) = training_curves({"none": run}).axes[0].get_lines()
    assert len(np.asarray(line.get_xdata())) < 5000


def test_no_runs_is_an_error():
    with pytest.raises(ValueError, match="`histories` is empty"):
        training_curves({})


def test_columns_must_be_equally_long():
    with pytest.raises(ValueError, match="`loss` has 1 entries and `step` 2"):
        training_curves({"none": {"step": [1, 2], "loss": [0.1]}})


def test_labels_are_spread_about_their_mean():
    placed = _spread([1.0, 1.1, 1.2, 9.0], 1.0)
    np.testing.assert_allclose(placed, [0.1, 1.1, 2.1, 9.0])
    assert _spread([1.0, 5.0], 1.0) == [1.0, 5.0]
