"""Fig. 13: what its claims ask for."""

import numpy as np
import pytest

from passband.paper import fig4, fig13
from passband.paper.item import Outcome, Preset


def errors(train_when_wide: float, test_when_narrow: float) -> dict[str, np.ndarray]:
    """Nine scales: train error falls from 1e-2, test error has its least at the 5th."""
    train = np.full((3, 4, 9, 2), 1e-5)
    train[:, :, 0], train[:, :, -3:] = 1e-2, train_when_wide
    test = 10.0 ** (np.abs(np.arange(9) - 4) - 5)[None, None, :, None] + 0 * train
    test[:, :, 0] = test_when_narrow
    return {"train": train, "test": test}


def verdicts(found: dict[str, np.ndarray]) -> list[str]:
    return [c.verdict for c in fig13._claims(found, judged=True)]


def test_machine_precision_is_that_of_float32():
    half_unit = np.spacing(np.float32(0.5)) / 2
    assert fig13.precision() == pytest.approx(float(10 * half_unit) ** 2)


def test_exact_fits_and_equal_errors_are_asked_for():
    assert verdicts(errors(1e-15, 1.1e-2)) == ["reproduced", "reproduced"]
    assert verdicts(errors(1e-10, 1.1e-2)) == ["differs", "reproduced"]
    assert verdicts(errors(1e-15, 3e-2)) == ["reproduced", "differs"]


def test_test_error_must_rise():
    found = errors(1e-15, 1.1e-2)
    found["test"][:, :, 4:] = 1e-5
    assert verdicts(found)[0] == "differs"


def test_figs_4_and_13_are_one_run():
    fig4._networks.cache_clear()
    thirteen = fig13.ITEM.run(Preset.SMOKE, lambda _: None)
    four = fig4.ITEM.run(Preset.SMOKE, lambda _: None)
    assert fig4._networks.cache_info().misses == 1
    assert four.arrays["train"] is thirteen.arrays["train"]
    assert thirteen.verdict == "not comparable"  # 50 steps fit nothing exactly


def test_both_errors_are_drawn():
    found = errors(1e-15, 1.1e-2)
    found["rms"] = 2.0 ** np.arange(9)[None, None, :, None] + 0 * found["train"]
    found["dense_test"] = np.full((3, 2), 1e-5)
    (figure,) = fig13.ITEM.draw(Outcome(arrays=found)).values()
    dots = [line for line in figure.axes[0].lines if np.size(line.get_xdata()) == 18]
    assert [line.get_marker() for line in dots] == ["o", "x"] * 4
    figure.canvas.draw()
    drawn, paper = figure.get_tightbbox(), figure.get_size_inches()
    assert drawn.x1 <= paper[0] and drawn.y1 <= paper[1]
