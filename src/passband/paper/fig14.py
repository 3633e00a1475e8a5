"""Fig. 14: how well a bump is learned, against where it sits."""

import dataclasses
import functools
import math
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from ..plot.panels import band_figure, half_turn_ticks
from ..plot.style import styled
from ..tasks.regression import RegressionTask
from ..train import driver
from ..train.driver import Config
from . import published
from .drawing import drawn, drawn_together
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .readings import readings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# On [-pi, pi] one turn per 2 pi is sin x, cos x; none is x itself.
WORDS = {"none": "none", "basic": "basic:units=rad"}
POINTS, BUMP = 256, 0.05
FLAT_DB, FAR = 3.0, 10.0
"""Factors between the best and the worst shift: at most for flat, at least for not."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are the paper's."""

    centres: int = 40
    inits: int = 20
    width: int = 256
    rate: float = 1e-4
    steps: int = 451
    """The loss of step index 450 is read after its update (protocol 0.9)."""


# Adam moves a network's output by about rate x width: that product stays the paper's.
SETTINGS = {
    Preset.SMOKE: Setting(centres=5, inits=1, width=64, rate=4e-4),
    Preset.SMALL: Setting(centres=9, inits=3, width=128, rate=2e-4),
    Preset.FULL: Setting(),
}


class Fig14(Item):
    """A bump at 40 places, learned without a mapping and with one frequency."""

    id = "fig14"
    section = "appendix, stationary kernels"
    title = "A stationary kernel learns a shifted function as well as a centred one"
    notes = (
        "The target has peak 1 (it is no normalised density) and is shifted by whole "
        "samples, round the ends.",
        "The printed errors are those of step index 450, not of the 500th step.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        centres = shifts(setting.centres)
        progress(f"{len(WORDS)} x {setting.centres} centres x {setting.inits} networks")
        errors = dict(
            zip(WORDS, train(list(WORDS.values()), centres, setting), strict=True)
        )
        full = preset is Preset.FULL
        numbers = _numbers(centres, errors, comparable=full)
        return Outcome(
            numbers=numbers,
            claims=(*_claims(centres, errors), readings(numbers)),
            arrays={"centres": centres, **errors},
            settings={
                **dataclasses.asdict(setting),
                "points": POINTS,
                "keys": "2020: split(PRNGKey(10), 20), the same for every centre",
            },
        )

    @styled
    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        """Error against where the bump sits: flat if the kernel is stationary."""
        centres = outcome.arrays["centres"]
        figure = band_figure(
            centres,
            {name: outcome.arrays[name] for name in WORDS},
            xlabel="Centre of the target",
            ylabel="Mean squared error",
            least=0.05,
        )
        [axes] = figure.axes
        axes.set_yscale("log")
        axes.set_xlim(centres.min(), centres.max())
        half_turn_ticks(axes, math.pi)
        return {self.id: figure}


def shifts(count: int) -> np.ndarray:
    """The paper's 40 centres from -pi to pi, or `count` of them, ends included."""
    every = np.linspace(-math.pi, math.pi, 40)
    return every[np.linspace(0, 39, count).round().astype(int)]


def bump(centre: float) -> np.ndarray:
    """exp(-x^2 / (2 0.05^2)) at 256 points of [-pi, pi], rolled to its centre."""
    x = np.linspace(-math.pi, math.pi, POINTS)
    shape = np.exp(-0.5 * (x / BUMP) ** 2)
    return np.roll(shape, int(POINTS * centre / (2 * math.pi)))


def train(words: list[str], centres: np.ndarray, setting: Setting) -> np.ndarray:
    """Mean squared errors, (words, centres, initialisations), of one population."""
    with jax.threefry_partitionable(False):
        # A split's keys depend on their number: always the paper's 20.
        keys = list(jax.random.split(jax.random.PRNGKey(10), 20))[: setting.inits]
    size = {"d": 1, "out": 1, "width": setting.width, "output": "identity"}
    fields = drawn_together(
        [functools.partial(drawn, w, key=key, **size) for w in words for key in keys]
    )
    x = jnp.linspace(-math.pi, math.pi, POINTS)[:, None]
    low, high = jnp.float32(0), jnp.float32(1)
    tasks = []
    for centre in centres:
        y = jnp.asarray(bump(centre)[:, None], jnp.float32)
        tasks += [RegressionTask(x, y, low, high)] * len(keys)
    # A step's loss is that of the weights before it: one more step reads the last.
    config = Config(setting.steps + 1, setting.rate, setting.steps + 1, "float32")
    rows = [fields[k : k + len(keys)] for k in range(0, len(fields), len(keys))]
    _, histories = driver.train(
        tasks * len(words),
        [field for row in rows for _ in centres for field in row],
        config,
        keys=keys * (len(words) * len(centres)),
    )
    halves = np.array([history["loss"][-1] for history in histories])
    return 2 * halves.reshape(len(words), len(centres), len(keys))


def _away(centres: np.ndarray) -> np.ndarray:
    return np.abs(centres) > math.pi / 2


def _numbers(
    centres: np.ndarray, errors: dict[str, np.ndarray], *, comparable: bool
) -> tuple[Number, ...]:
    middle = int(np.argmin(np.abs(centres)))
    ends = np.isclose(np.abs(centres), math.pi)
    picks = {
        ("none", "centre"): errors["none"][middle],
        ("none", "far"): errors["none"][_away(centres)],
        ("basic", "all"): errors["basic"][~ends],
        ("basic", "ends"): errors["basic"][ends],
    }
    return tuple(
        Number(
            f"{row}, {column}",
            published.FIG14[row, column].value,
            float(values.mean()),
            float(values.std()),
            comparable,
        )
        for (row, column), values in picks.items()
    )


def _claims(centres: np.ndarray, errors: dict[str, np.ndarray]) -> tuple[Claim, ...]:
    means = {name: values.mean(axis=1) for name, values in errors.items()}
    ranges = {name: float(m.max() / m.min()) for name, m in means.items()}
    far = _away(centres)
    gain = float(means["none"][far].mean() / means["basic"][far].mean())
    middle = means["none"][np.argmin(np.abs(centres))]
    return (
        judge(
            "with a basic mapping the error is flat in the shift",
            ranges["basic"] <= FLAT_DB,
            f"the worst centre has {ranges['basic']:.2f} times the best, below "
            f"{FLAT_DB:g} asked",
        ),
        judge(
            "without a mapping it is not",
            ranges["none"] >= FAR and bool(middle < means["none"][far].min()),
            f"the worst centre has {ranges['none']:.1f} times the best, above {FAR:g} "
            "asked, and the middle the least",
        ),
        judge(
            "beyond pi/2 the mapped network is the better one",
            gain > 1,
            f"its error is {gain:.1f} times smaller",
        ),
    )


ITEM = Fig14()
