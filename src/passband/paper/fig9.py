"""Fig. 9: the scale of isotropic frequencies matters in 2D too, their family less.

The 2D version of Figs. 4 and 13, on the image task.
"""

import dataclasses
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ..plot.scatter import error_scatter
from .common_curve import rms_frequency
from .image_study import STEPS, Trained, load_pictures, train_runs
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .training import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAMILIES = ("gaussian", "uniform", "loguniform", "laplace")
SHARE = 0.5
"""The most that families may differ by at one scale, over what scales differ by."""
ENDS = 1.1
"""How many times the lowest test error the narrowest and the widest must have."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are those of Table 3, on four pictures."""

    images: int = 4
    side: int = 512
    lowest: float = 1.0
    highest: float = 64.0
    scales: int = 7
    """RMS frequencies along an axis, from lowest to highest in equal ratios."""
    m: int = 256
    width: int = 256
    rate: float = 1e-3
    steps: int = STEPS
    precision: str = "auto"

    def targets(self) -> np.ndarray:
        return np.geomspace(self.lowest, self.highest, self.scales)


SETTINGS = {
    Preset.SMOKE: Setting(
        images=1, side=32, lowest=0.5, highest=8, scales=3, m=16, width=32, steps=300
    ),
    Preset.SMALL: Setting(
        images=2, side=64, lowest=0.5, highest=16, scales=6, m=64, width=64, steps=400
    ),
    Preset.FULL: Setting(),
}


class Fig9(Item):
    """Train and test error against the RMS frequency, four isotropic families."""

    id = "fig9"
    section = "appendix A.4, Fig. 9"
    title = "In 2D too the scale matters more than the shape of the distribution"
    needs = ("natural",)
    notes = (
        "No code of this figure was published, and the text names neither scales nor "
        "the families' 2D versions: here a family gives the length of b, its direction "
        "is uniform (the Gaussian is the usual one), and each family's scale is the "
        "one whose expected RMS frequency along an axis is 1, 2, 4 ... 64.",
        "All else is as in Table 3: the test pixels are [1::2, 1::2].",
        "The text says that 2D shows the pattern of 1D: train and test error similar "
        "where the frequencies are narrow, far apart where they are wide.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        full = preset is Preset.FULL
        words = [
            f"{family}:{scale_of(family, rms)!r},m={setting.m}"
            for family in FAMILIES
            for rms in setting.targets()
        ]
        pictures = load_pictures("natural", setting.images, setting.side, full=full)
        runs = [
            Run(signal=k, word=word, lr=setting.rate)
            for word in words
            for k in range(setting.images)
        ]

        def train_in(precision: str, runs: list[Run]) -> Trained:
            return train_runs(pictures, runs, steps=setting.steps, width=setting.width,
                              precision=precision, progress=progress)  # fmt: skip

        trained = train_in(setting.precision, runs)
        checked = {}
        if trained.precision == "bfloat16":
            # Would its rounding show in the train errors of overfitted pictures?
            first = range(0, setting.scales * setting.images, setting.images)
            exact = train_in("tf32", [runs[i] for i in first])
            for name in ("train", "test"):
                here, there = getattr(trained, name)[list(first)], getattr(exact, name)
                checked[f"{name} PSNR, TF32 less bfloat16, gaussian, picture 0"] = [
                    round(float(x), 2) for x in there - here
                ]
        shape = len(FAMILIES), setting.scales, setting.images
        rms = np.reshape([rms_frequency(f) for f in trained.fields], shape)[..., 0]
        test, train = (
            10 ** (-np.reshape(psnr, shape) / 10)
            for psnr in (trained.test, trained.train)
        )
        return Outcome(
            numbers=_numbers(rms, test, train),
            claims=_claims(rms, test, train, preset),
            arrays={"rms": rms, "test": test, "train": train},
            settings={
                **dataclasses.asdict(setting),
                "precision": trained.precision,
                **checked,
                "targets": setting.targets(),
                "keys": "2020: PRNGKey(10) for B and weights of every picture",
                "data": "Natural, test_data" if full else "packaged photographs",
                "spread": "standard deviation over pictures",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        rms = outcome.arrays["rms"]
        test, train = (over_pictures(outcome.arrays[n]) for n in ("test", "train"))
        widths, families = on_one_axis(rms, test)
        middle = np.stack([widths, families.mean(axis=0)])
        middle[1] = 10 ** middle[1]
        figure = error_scatter(
            np.stack([rms, rms]),
            np.stack([test, test]),
            train=np.stack([np.full_like(train, np.nan), train]),
            families=FAMILIES,
            titles=["(a) Test error, 2D image task", "(b) Train and test error"],
            curves=np.stack([middle, middle]),
        )
        return {self.id: figure}

    def judged(self, outcome: Outcome, preset: Preset) -> tuple[Claim, ...]:
        found = outcome.arrays
        return _claims(found["rms"], found["test"], found["train"], preset)


ITEM = Fig9()


def scale_of(family: str, rms: float) -> float:
    r"""The scale at which a family's b has that expected RMS along each of two axes.

    The length of b has mean square $2 rms^2$: $s^2/3$ uniform, $2 s^2$ Laplace,
    $(s^2 - 1)/(2 \ln s)$ log-uniform.
    """
    if family == "uniform":
        return math.sqrt(6) * float(rms)
    if family != "loguniform":
        return float(rms)
    low, high = -100.0, 100.0  # of ln s, in which the mean square rises
    for _ in range(100):
        log = 0.5 * (low + high) or 1e-9
        if math.expm1(2 * log) / (2 * log) < 2 * rms**2:
            low = log
        else:
            high = log
    return math.exp(low)


def over_pictures(errors: np.ndarray) -> np.ndarray:
    """The geometric mean over pictures, which is what a mean of PSNRs is."""
    return 10 ** np.mean(np.log10(errors), axis=-1)


def on_one_axis(rms: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Widths that all families span, and each family's log10(error) at these.

    Finite draws miss the RMS they were asked for: lines between a family's (families,
    scales) points, on logarithmic axes, bring the families to the same widths.
    """
    x, y = np.log2(rms), np.log10(errors)
    grid = np.linspace(x[:, 0].max(), x[:, -1].min(), 101)
    lines = [np.interp(grid, *line) for line in zip(x, y, strict=True)]
    return 2**grid, np.stack(lines)


def _numbers(
    rms: np.ndarray, test: np.ndarray, train: np.ndarray
) -> tuple[Number, ...]:
    """The paper prints none of these."""
    numbers = []
    for i, family in enumerate(FAMILIES):
        best = int(np.argmin(over_pictures(test)[i]))
        rows = {
            "lowest test PSNR": test[i, best],
            "train PSNR there": train[i, best],
            "train PSNR at the widest": train[i, -1],
        }
        numbers.append(
            Number(f"{family}: best RMS", None, float(rms[i, best]), None, False)
        )
        for row, errors in rows.items():
            psnr = -10 * np.log10(errors)
            mean, spread = float(psnr.mean()), float(psnr.std())
            numbers.append(Number(f"{family}: {row}", None, mean, spread, False))
    return tuple(numbers)


def _claims(
    rms: np.ndarray, test: np.ndarray, train: np.ndarray, preset: Preset
) -> tuple[Claim, ...]:
    curves, learned = over_pictures(test), over_pictures(train)
    _, lines = on_one_axis(rms, curves)
    by_family = float(np.sqrt(np.mean(lines.var(axis=0))))
    by_scale = float(np.sqrt(np.mean(lines.var(axis=1))))
    best = np.argmin(curves, axis=1)
    each = np.arange(len(FAMILIES))
    ends = curves[:, [0, -1]] / curves.min(axis=1, keepdims=True)
    parts = curves / learned
    falls = [
        bool((np.diff(x[: k + 1]) < 0).all())
        for x, k in zip(learned, best, strict=True)
    ]
    enough = preset is not Preset.SMOKE
    return (
        judge(
            "the family matters less than the scale",
            by_family <= SHARE * by_scale,
            f"test errors of the families at one RMS differ by {by_family:.3f} "
            f"decades, along the curve of one family by {by_scale:.3f} (standard "
            f"deviations; at most {SHARE:g} of it asked)",
        ),
        judge(
            "every family is best at about the same RMS frequency",
            int(np.ptp(best)) <= 1 if enough else None,
            _by_family(f"{width:.3g}" for width in rms[each, best])
            + "; at most one step of the sweep apart asked",
        ),
        judge(
            "too narrow underfits and too wide overfits, in every family",
            bool((ends > ENDS).all()) if enough else None,
            "narrowest and widest over the lowest test error: "
            + _by_family(f"{left:.3g} and {right:.3g} times" for left, right in ends),
        ),
        judge(
            "where too narrow, train and test error are similar, and the wider, the "
            "further they part",
            bool((parts[:, 0] < 2).all() and (np.diff(parts) > 0).all())
            if enough
            else None,
            "test over train error from the narrowest (below 2 asked) to the widest: "
            + _by_family(" ".join(f"{x:.3g}" for x in row) for row in parts),
        ),
        judge(
            "train error falls up to the best RMS, and is lower still at the widest",
            all(falls) and bool((learned[:, -1] < learned[each, best]).all())
            if enough
            else None,
            "train PSNR from the narrowest to the widest: "
            + _by_family(
                " ".join(f"{psnr:.1f}" for psnr in row)
                for row in -10 * np.log10(learned)
            )
            + "; hangs on which of two scales with equal test errors is the best",
            aside=True,
        ),
    )


def _by_family(texts: Iterable[str]) -> str:
    return "; ".join(f"{f} {text}" for f, text in zip(FAMILIES, texts, strict=True))
