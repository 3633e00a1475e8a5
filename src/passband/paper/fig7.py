"""Fig. 7: deeper kernels spread a mapping's frequencies further."""

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from .. import theory
from ..mappings import FourierFeatures
from ..plot.panels import half_turn_ticks, name_below
from ..plot.style import FAMILY_COLOURS, axes_at, new_figure, styled
from . import published
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 128
DEPTHS = (4, 8, 16)
FAN_IN = 12
BINS = (0, 1, 10, 43, 64)
# Four constant features (frequency 0) stand between the two that turn.
FREQUENCIES = {"one": (1,), "two": (1, 0, 0, 0, 0, POINTS // 3 + 1)}
CELLS = {"one": published.FIG7_ONE, "two": published.FIG7_TWO}
PANELS = {
    "one": "(a) NTK Fourier spectrum with basic mapping",
    "two": "(b) NTK Fourier spectrum with basic mapping and an additional frequency",
}
COLOURS = [FAMILY_COLOURS[family] for family in ("gaussian", "basic", "uniform")]


class Fig7(Item):
    id = "fig7"
    section = "A.2, Fig. 7"
    title = "Frequency spreading by the kernel's depth"
    notes = (
        "Depth counts hidden layers; the kernel is the `ntk` parameterisation's.",
        "Magnitudes are over k(0, 0.5), the kernel's far value and not its peak.",
        "Panel b has four constant features beside its two frequencies, 1 and 43.",
        "The paper prints no numbers here; ours stand beside protocol 12's.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        """Every preset is the paper's own size."""
        del preset
        progress("kernels")
        spectra = {
            (name, depth): spectrum(name, depth)
            for name in FREQUENCIES
            for depth in DEPTHS
        }
        ours = {
            name: {
                (str(depth), f"bin{k}"): float(spectra[name, depth][k])
                for depth in DEPTHS
                for k in BINS
            }
            for name in FREQUENCIES
        }
        numbers = tuple(
            Number(
                f"{name}, depth {row}, {column}", cell.value, ours[name][row, column]
            )
            for name, cells in CELLS.items()
            for (row, column), cell in cells.items()
        )
        return Outcome(
            numbers=numbers,
            claims=_claims(ours, spectra),
            arrays={f"{name} {depth}": s for (name, depth), s in spectra.items()},
            settings={
                "points": POINTS,
                "fan_in": FAN_IN,
                "parameterization": "ntk",
                "precision": "float64",
            },
        )

    @styled
    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        """Kernel spectra by depth: behind one frequency, and behind two."""
        figure = new_figure(12.0, 3.5)
        for left, (name, title) in zip((0.75, 6.55), PANELS.items(), strict=True):
            axes = axes_at(figure, left, 0.15, 5.2, 2.5)
            for depth, colour in zip(DEPTHS, COLOURS, strict=True):
                power = np.fft.fftshift(outcome.arrays[f"{name} {depth}"])
                at = np.arange(POINTS) - POINTS // 2
                axes.semilogy(at, power, color=colour, label=f"Depth: {depth}")
            half_turn_ticks(axes, POINTS // 2, zero="$0$")
            axes.set_xlabel("Frequency")
            axes.set_ylabel("Magnitude")
            axes.legend(loc="upper right", handlelength=1.4)
            name_below(axes, title, 0.3, fontsize=9)
        return {self.id: figure}


ITEM = Fig7()


def spectrum(name: str, depth: int) -> np.ndarray:
    """|orthonormal DFT| of the kernel against x = 0.5, over its value at x = 0."""
    turns = jnp.asarray(FREQUENCIES[name], jnp.float32)[:, None]
    encoding = FourierFeatures(turns, jnp.ones(len(turns)))
    column = theory.composed_ntk(
        encoding,
        np.arange(POINTS) / POINTS,
        np.array([0.5]),
        layers=depth + 1,
        parameterization="ntk",
        fan_in=FAN_IN,
    )[:, 0]
    return np.abs(np.fft.fft(column, norm="ortho")) / column[0]


def _claims(
    ours: dict[str, dict[tuple[str, str], float]],
    spectra: dict[tuple[str, int], np.ndarray],
) -> tuple[Claim, ...]:
    wrong = [
        f"{name}: {text}"
        for name, cells in CELLS.items()
        for text in published.missed(cells, ours[name])
    ]
    count = sum(len(cells) for cells in CELLS.values())
    far = {name: [_spread(spectra[name, d], name) for d in DEPTHS] for name in CELLS}
    kept = {name: [_kept(spectra[name, d], name) for d in DEPTHS] for name in CELLS}
    return (
        judge(
            f"all {count} reference values come back to the printed digits",
            not wrong,
            "; ".join(wrong) or "all agree",
        ),
        *(
            judge(
                f"deeper kernels spread further ({what})",
                bool(np.all(np.diff(far[name]) > 0)),
                "magnitude more than 8 bins from the mapping's frequencies: "
                + _by_depth(far[name], ".1%"),
            )
            for name, what in (("one", "a"), ("two", "b"))
        ),
        judge(
            "what is spread is taken from the mapping's own frequencies",
            all(bool(np.all(np.diff(k) < 0)) for k in kept.values()),
            "; ".join(
                f"{what}: share at them " + _by_depth(kept[name], ".1%")
                for name, what in (("one", "a"), ("two", "b"))
            ),
        ),
    )


def _by_depth(values: list[float], spec: str) -> str:
    return ", ".join(f"{v:{spec}}" for v in values) + f" at depths {DEPTHS}"


def _distance(name: str) -> np.ndarray:
    """Bins from each bin to the nearest frequency of the mapping, around the circle."""
    bins = np.arange(POINTS)
    own = np.array([k * sign for k in FREQUENCIES[name] for sign in (1, -1)] + [0])
    gap = np.abs(bins[:, None] - own) % POINTS
    return np.minimum(gap, POINTS - gap).min(axis=1)


def _spread(spectrum: np.ndarray, name: str) -> float:
    """The share of the magnitude that is far from the mapping's frequencies."""
    return float(spectrum[_distance(name) > 8].sum() / spectrum.sum())


def _kept(spectrum: np.ndarray, name: str) -> float:
    return float(spectrum[_distance(name) == 0].sum() / spectrum.sum())
