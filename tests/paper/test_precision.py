"""What products cost: who can round how, and what is judged of it."""

import numpy as np
import pytest

from passband.paper import precision, registry
from passband.paper.item import Preset


def found(**psnr: float) -> precision.Found:
    """All scores alike, but for a volume's."""
    volume: dict[str, float] = dict.fromkeys(precision.PRECISIONS, 32.88)
    return {
        "uniform IoU": dict.fromkeys(precision.PRECISIONS, 0.99),
        "boundary IoU": dict.fromkeys(precision.PRECISIONS, 0.98),
        "PSNR (dB)": volume | psnr,
    }


def test_a_cpu_has_no_tf32():
    assert precision.able("cpu") == ["bfloat16", "float32"]
    assert precision.able("gpu") == list(precision.PRECISIONS)


def test_it_is_told_beside_both_tables():
    for id in ("table4", "table6"):
        assert "precision" in registry.get_item(id).companions


@pytest.mark.parametrize(
    ("psnr", "failing"),
    [
        ({"bfloat16": 32.53, "tf32": 32.888}, ["PSNR (dB): bfloat16"]),
        ({"bfloat16": 32.79, "tf32": 32.7}, ["PSNR (dB): tf32"]),
        ({"bfloat16": 33.5}, []),  # what gains costs nothing
    ],
)
def test_what_costs_too_much_is_named(psnr: dict[str, float], failing: list[str]):
    claims = precision._claims(found(**psnr), Preset.FULL)
    assert len(claims) == 2 * len(precision.ALLOWED)
    differing = [c.claim for c in claims if c.verdict == "differs"]
    assert [c.partition(" products")[0] for c in differing] == failing


def test_other_sizes_and_what_was_not_run_are_not_judged():
    claims = precision._claims(found(bfloat16=20.0), Preset.SMALL)
    assert {c.verdict for c in claims} == {"not comparable"}
    scores = found()
    for of in scores.values():
        of.pop("tf32", None)
    claims = precision._claims(scores, Preset.FULL)
    assert [c.verdict for c in claims] == ["reproduced"] * 3 + ["not comparable"] * 3


def test_a_shape_in_bfloat16_beside_float32():
    outcome = precision.ITEM.run(Preset.SMOKE, lambda text: None)
    numbers = {n.name: n.ours for n in outcome.numbers}
    half, exact = (numbers[f"uniform IoU, {p}"] for p in ("bfloat16", "float32"))
    assert half != exact and half == pytest.approx(exact, abs=0.02)
    assert np.isnan(outcome.arrays["boundary IoU"]).tolist() == [False, True, False]
    assert outcome.arrays["shape"][2] > 0
    panels = precision.ITEM.draw(outcome)["precision"].axes
    titles = [axes.get_title(loc="left") for axes in panels]
    assert titles == ["Uniform IoU", "Boundary IoU", "Seconds of training"]
