"""Fig. 11: plane waves at every angle, and what an axis-aligned mapping makes of them.

A network of one hidden layer learns cos(2 pi (a x + b y)) from a quarter of its pixels.
"""

import dataclasses
import math
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from ..data.sinusoids import ANGLES, RADII, Sinusoid, sinusoids
from ..domain import grid_coords
from ..ops.mlp import Precision
from ..plot.panels import band_figure
from ..plot.style import styled
from ..tasks.image import split_pixels
from ..tasks.metrics import psnr
from ..tasks.regression import RegressionTask
from ..train import driver
from ..train.driver import Config
from . import published
from .drawing import drawn
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .readings import SMALLER, compared

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = {"positional": "positional:5", "gaussian": "gaussian:10"}
RUNS = 4
FLAT_DB, BIAS, WITHIN = 1.5, 2.0, 0.5
"""In dB: the most from best to worst angle for flat, the least from the axes to the
diagonals for not, and how near to a reading of the plot."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are the paper's (protocol 10)."""

    angles: int = ANGLES
    radii: tuple[float, ...] = RADII
    runs: int = RUNS
    side: int = 512
    m: int = 256
    width: int = 256
    rate: float = 1e-3
    steps: int = 476
    """The last logged step is index 475 of 500 (protocol 0.9)."""
    batch: int | None = None
    """Pixels a step; None is all that are learned."""
    precision: str = "auto"


# Adam moves a network's output by about rate x width: that product stays the paper's.
SETTINGS = {
    Preset.SMOKE: Setting(
        angles=5, radii=(5.0,), runs=1, side=128, m=64, width=64, rate=4e-3,
        steps=150, batch=256,
    ),
    Preset.SMALL: Setting(
        angles=9, radii=(5.0, 15.0), runs=2, side=192, m=128, width=64, rate=4e-3,
        batch=768,
    ),
    Preset.FULL: Setting(),
}  # fmt: skip


class Fig11(Item):
    """PSNR against the angle of the wave, for both mappings."""

    id = "fig11"
    section = "appendix A.5, Fig. 11"
    title = "Positional encoding favours the axes, Gaussian features no direction"
    notes = (
        "There are 17 angles from 0 to pi, both included (the paper says 16), and "
        "cycles are rounded to whole numbers.",
        "The network has a tanh at its end and learns values in [-1, 1] for 500 "
        "steps, not the image task's sigmoid and 2000; step index 475 is read.",
        "The pixels tested are all of them, the learned quarter too; the PSNR's peak "
        "is 1 although the range is 2.",
        "The printed values are readings of the plot.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        full = preset is Preset.FULL
        scores = {name: train(word, setting, progress) for name, word in WORDS.items()}
        angles = np.linspace(0, math.pi, setting.angles)
        numbers = _numbers(angles, scores, comparable=full)
        return Outcome(
            numbers=numbers,
            claims=(*_claims(angles, scores, preset), _near(numbers)),
            arrays={"angles": angles, **scores},
            settings={
                **dataclasses.asdict(setting),
                "precision": Precision.resolve(
                    setting.precision, jax.default_backend()
                ).value,
                "mappings": list(WORDS.values()),
                "layers": 2,
                "keys": "2020: split(PRNGKey(10), 4) for B and weights",
                "spread": "standard deviation over runs of the mean over radii",
            },
        )

    @styled
    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        """PSNR against the angle, flat where no direction is favoured."""
        figure = band_figure(
            outcome.arrays["angles"],
            {name: outcome.arrays[name].mean(axis=1) for name in WORDS},
            xlabel="Angle of the wave",
            ylabel="PSNR (dB)",
            marker="o",
            markersize=4,
        )
        [axes] = figure.axes
        axes.set_xlim(-0.03, math.pi + 0.03)  # a whole dot at either end
        axes.set_xticks(
            np.linspace(0, math.pi, 5),
            ["0", r"$\pi/4$", r"$\pi/2$", r"$3\pi/4$", r"$\pi$"],
        )
        return {self.id: figure}


ITEM = Fig11()


def train(word: str, setting: Setting, progress: Progress) -> np.ndarray:
    """PSNR of all pixels, (angles, radii, runs); the waves of a radius train together.

    Each pixel of [::2, ::2] is learned, in the wave's own units.
    """
    side = setting.side
    every = np.asarray(grid_coords(jnp.arange(side * side), (side, side)))
    learned, _ = split_pixels((side, side), "quarter", 0)
    assert learned is not None
    coords, low, high = jnp.asarray(every[learned]), jnp.float32(0), jnp.float32(1)
    with jax.threefry_partitionable(False):
        # A split's keys depend on their number: always the paper's 4.
        keys = list(jax.random.split(jax.random.PRNGKey(10), RUNS))[: setting.runs]
    fields = [
        drawn(
            f"{word},m={setting.m}",
            d=2,
            out=1,
            key=key,
            layers=2,
            width=setting.width,
            output="tanh",
        )
        for key in keys
    ]
    config = Config(setting.steps, setting.rate, setting.steps, setting.precision)
    shape = setting.angles, len(keys)
    scores = np.empty((setting.angles, len(setting.radii), len(keys)))
    for r, radius in enumerate(setting.radii):
        progress(f"{word}, {radius:g} cycles: {shape[0]} angles x {shape[1]} networks")
        waves = [
            _pixels(wave, side)
            for wave in sinusoids(angles=setting.angles, radii=(radius,))
        ]
        tasks = [
            RegressionTask(coords, jnp.asarray(y[learned]), low, high, setting.batch)
            for y in waves
        ]
        trained, _ = driver.train(
            [task for task in tasks for _ in keys],
            fields * len(waves),
            config,
            keys=keys * len(waves),
        )
        targets = [y for y in waves for _ in keys]
        scores[:, r] = np.reshape(
            [
                psnr(field.predict(every), y, data_range=1.0)
                for field, y in zip(trained, targets, strict=True)
            ],
            shape,
        )
    return scores


def _pixels(wave: Sinusoid, side: int) -> np.ndarray:
    return wave.image(side).reshape(-1, 1)


def _places(angles: np.ndarray) -> dict[str, np.ndarray]:
    """Which angles are on an axis, a sixteenth of a half turn beside, and between."""
    off = np.abs(angles / math.pi - np.round(2 * angles / math.pi) / 2)
    return {
        "axes": np.isclose(off, 0),
        "beside": np.isclose(off, 1 / 16),
        "diagonal": np.isclose(off, 1 / 4),
    }


def _numbers(
    angles: np.ndarray, scores: dict[str, np.ndarray], *, comparable: bool
) -> tuple[Number, ...]:
    places = _places(angles)
    numbers = []
    for (name, column), printed in published.FIG11.items():
        runs = scores[name].mean(axis=1)
        curve = runs.mean(axis=1)
        ends = {"lowest": curve == curve.min(), "highest": curve == curve.max()}
        where = (places | ends)[column]
        each = runs[where].mean(axis=0) if np.any(where) else None  # of every run
        numbers.append(
            Number(
                f"{name}, {column}",
                printed.value,
                None if each is None else float(each.mean()),
                None if each is None else float(each.std()),
                comparable and each is not None,
            )
        )
    return tuple(numbers)


def _claims(
    angles: np.ndarray, scores: dict[str, np.ndarray], preset: Preset
) -> tuple[Claim, ...]:
    places = _places(angles)
    curves = {name: values.mean(axis=(1, 2)) for name, values in scores.items()}
    axes = {name: float(c[places["axes"]].mean()) for name, c in curves.items()}
    diagonal = {name: float(c[places["diagonal"]].mean()) for name, c in curves.items()}
    width = float(np.ptp(curves["gaussian"]))
    drop = axes["positional"] - diagonal["positional"]
    # One wave and one draw of B say nothing of an average.
    few = preset is Preset.SMOKE
    return (
        judge(
            "Gaussian features do about as well at every angle",
            None if few else width <= FLAT_DB,
            f"{width:.2f} dB from the best to the worst angle, at most {FLAT_DB:g} "
            "asked",
        ),
        judge(
            "positional encoding does better on the axes than off them",
            drop >= BIAS,
            f"{axes['positional']:.2f} dB on the axes, {diagonal['positional']:.2f} "
            f"dB on the diagonals; at least {BIAS:g} dB less asked",
        ),
        judge(
            "on the axes positional encoding leads, on the diagonals Gaussian features",
            axes["positional"] > axes["gaussian"]
            and diagonal["positional"] < diagonal["gaussian"]
            if preset is Preset.FULL
            else None,
            f"on the axes {axes['positional']:.2f} and {axes['gaussian']:.2f} dB, on "
            f"the diagonals {diagonal['positional']:.2f} and "
            f"{diagonal['gaussian']:.2f} dB",
        ),
    )


def _near(numbers: tuple[Number, ...]) -> Claim:
    apart = {n.name: n.ours - n.printed for n in compared(numbers)}
    return judge(
        f"what was read off the plot is ours to {WITHIN:g} dB",
        all(abs(a) <= WITHIN for a in apart.values()) if apart else None,
        "; ".join(f"{name} {a:+.2f} dB" for name, a in apart.items()) or SMALLER,
    )
