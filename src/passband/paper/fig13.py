"""Fig. 13: Fig. 4's networks with their training errors beside their test errors."""

from typing import TYPE_CHECKING

import numpy as np

from . import published
from .fig4 import ALPHAS, SETTINGS, as_dots, networks, scatter_of, settings_of
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 1 / 3
"""The share of the scales that counts as wide."""
ROUNDINGS = 10.0
"""Near machine precision: so many roundings of a float32 of 0.5, the signals' peak."""


class Fig13(Item):
    """Train and test error against the RMS frequency."""

    id = "fig13"
    section = "appendix, Fig. 13"
    title = "Underfitting and overfitting: train and test error of Fig. 4's networks"
    notes = ("One run with Fig. 4: `passband paper run fig4 fig13` trains only once.",)

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        found = networks(setting, progress)
        judged = preset is not Preset.SMOKE  # whose 50 steps fit nothing exactly
        return Outcome(
            numbers=_numbers(found, comparable=preset is Preset.FULL),
            claims=_claims(found, judged=judged),
            arrays=found,
            settings=settings_of(setting),
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        train = as_dots(outcome.arrays["train"])
        return {self.id: scatter_of(outcome.arrays, train=train)}


ITEM = Fig13()


def precision() -> float:
    """The square of `ROUNDINGS` half units in the last place of a float32 of 0.5."""
    return float(ROUNDINGS * 0.5 * np.finfo(np.float32).eps / 2) ** 2


def _wide(values: np.ndarray) -> np.ndarray:
    """The networks of the widest scales, for each alpha."""
    count = max(1, round(WIDE * values.shape[2]))
    return values[:, :, -count:].reshape(len(ALPHAS), -1)


def _narrow(values: np.ndarray) -> np.ndarray:
    return values[:, :, :1].reshape(len(ALPHAS), -1)


def _numbers(found: dict[str, np.ndarray], *, comparable: bool) -> tuple[Number, ...]:
    printed = published.FIG13["all", "train"].value
    train, test = (np.median(_wide(found[name]), axis=1) for name in ("train", "test"))
    numbers = []
    for i, alpha in enumerate(ALPHAS):
        name = f"alpha {alpha:g}, widest third, median"
        numbers.append(
            Number(f"{name} train", printed, float(train[i]), None, comparable)
        )
        numbers.append(Number(f"{name} test", None, float(test[i]), None, False))
    return tuple(numbers)


def _claims(found: dict[str, np.ndarray], *, judged: bool) -> tuple[Claim, ...]:
    train = np.median(_wide(found["train"]), axis=1)
    rise = np.median(_wide(found["test"]), axis=1) / (
        np.median(found["test"], axis=(1, 3)).min(axis=1)
    )
    ratio = np.median(_narrow(found["test"]) / _narrow(found["train"]), axis=1)
    limit = precision()
    return (
        judge(
            "where the frequencies are wide, test error rises while train error is "
            "near machine precision",
            bool(np.all(train <= limit) and np.all(rise > 1)) if judged else None,
            f"median of the widest third of the scales, train (at most {limit:.1e} "
            "asked) and test over its lowest: "
            + "; ".join(
                f"alpha {a:g}: {t:.1e}, {r:.1f} times"
                for a, t, r in zip(ALPHAS, train, rise, strict=True)
            ),
        ),
        judge(
            "where they are narrow, train and test error are similar",
            bool(np.all(ratio < 2)) if judged else None,
            "median of test over train error at the narrowest scale, below 2 asked: "
            + "; ".join(
                f"alpha {a:g}: {r:.2f}" for a, r in zip(ALPHAS, ratio, strict=True)
            ),
        ),
    )
