"""Table 2: the distributions of frequencies, drawn and held against their densities."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from ..mappings import Fourier, FourierFeatures
from ..plot.style import (
    INK,
    MUTED,
    axes_at,
    colour_of,
    label_of,
    new_figure,
    styled,
)
from ..words import parse_mapping
from .drawing import made_on_cpu
from .fig4 import FAMILIES
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEYS = 32
DRAWS = {Preset.SMOKE: 2_000, Preset.SMALL: 10_000, Preset.FULL: 50_000}
"""Frequencies of each key."""
POSITIONAL, COUNT = 6.0, 256
"""The deterministic row: its scale on Natural pictures, and its frequencies in 1D."""
BINS = 60
LEVEL = 1e-3
"""A right sampler falls below this p-value once in a thousand times."""


class Table2(Item):
    """Four families by Kolmogorov and Smirnov's test, and positional encoding."""

    id = "table2"
    section = "appendix, Table 2"
    title = "The distributions that frequencies are drawn from"
    notes = (
        "The table has no scales: those are Fig. 4's, at multiplier 1.",
        "Positional encoding is 2^(sigma X) - 1 in the code, not 2^(sigma X).",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        count = DRAWS[preset]
        arrays, numbers, claims = {}, [], []
        for place, (family, scale) in enumerate(FAMILIES.items()):
            progress(f"{KEYS} times {count} frequencies of {family}")
            # Keys of its own: the four families turn equal keys into equal uniforms.
            keys = range(place * KEYS, (place + 1) * KEYS)
            drawn = np.stack([sample(family, scale, count, key) for key in keys])
            law = density_of(family, scale)
            p, distance = tested(drawn, law)
            claims.append(
                judge(
                    f"{family}: the frequencies drawn follow its density",
                    p >= LEVEL,
                    f"{KEYS} keys of {count} draws; p-values as even as chance has "
                    f"them, p = {p:.2g}, asked for {LEVEL:g}",
                )
            )
            b = drawn.ravel()
            rms = float(np.sqrt(np.mean(b**2)))
            wanted = float(np.sqrt(law.moment(2)))
            numbers += [
                Number(f"{family}, distance of the cumulatives", None, distance),
                Number(f"{family}, RMS", None, rms),
                Number(f"{family}, RMS by its density", None, wanted),
            ]
            edges = edges_of(family, scale)
            share = np.histogram(b, edges)[0] / b.size / np.diff(edges)
            x = _fine(family, edges)
            arrays |= {
                f"{family}.edges": edges,
                f"{family}.share": share,
                f"{family}.x": x,
                f"{family}.density": law.pdf(x),
            }
        slope, error = falloff(arrays["loguniform.edges"], arrays["loguniform.share"])
        numbers.append(Number("loguniform, power of its falloff", -1.0, slope, error))
        claims.append(_falls(slope, error))
        arrays["positional"] = sample("positional", POSITIONAL, COUNT, 0)
        claims.append(_positional(arrays["positional"]))
        return Outcome(
            numbers=tuple(numbers),
            claims=tuple(claims),
            arrays=arrays,
            settings={
                "draws": count,
                "scales": FAMILIES,
                "positional": f"{POSITIONAL:g}, {COUNT} frequencies",
                "keys": f"PRNGKey(0) to ({len(FAMILIES) * KEYS - 1})",
                "test": "Kolmogorov and Smirnov, key by key against scipy's closed "
                "forms, then of the p-values",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        found = outcome.arrays
        panels = {
            family: tuple(found[f"{family}.{k}"] for k in ("edges", "share", "x",
                                                           "density"))
            for family in FAMILIES
        }  # fmt: skip
        figure = _distributions(
            panels, found["positional"], logarithmic=("loguniform",)
        )
        return {self.id: figure}


ITEM = Table2()


def sample(family: str, scale: float, count: int, key: int) -> np.ndarray:
    """Frequencies of one family in 1D, from the mapping that networks train with."""
    mapping = parse_mapping(f"{family}:{scale:g},m={count}")
    assert isinstance(mapping, Fourier)
    encoding = made_on_cpu(lambda: mapping.draw(jax.random.PRNGKey(key), 1))
    assert isinstance(encoding, FourierFeatures)
    return np.asarray(encoding.frequencies, float)[:, 0]


def density_of(family: str, scale: float) -> Any:
    """scipy's closed form; the log-uniform one is 1 / (x log sigma) on [1, sigma)."""
    from scipy import stats

    if family == "loguniform":
        return stats.loguniform(1.0, scale)
    laws = {"gaussian": stats.norm, "uniform": stats.uniform, "laplace": stats.laplace}
    return laws[family](scale=scale)


def tested(drawn: np.ndarray, law: Any) -> tuple[float, float]:
    """How often chance scatters the keys' p-values more, and the distance of all.

    One key alone would be a lottery: one right sampler in a hundred has p < 0.01.
    """
    from scipy import stats

    of_keys = [_smirnov(b, law.cdf).pvalue for b in drawn]
    even: Any = stats.kstest(of_keys, "uniform")
    return float(even.pvalue), float(_smirnov(drawn.ravel(), law.cdf).statistic)


def _smirnov(b: np.ndarray, cdf: Any) -> Any:
    from scipy import stats

    return stats.kstest(b, cdf, method="asymp")


def edges_of(family: str, scale: float) -> np.ndarray:
    """Bins over all, or nearly all, of a family."""
    if family == "loguniform":
        return np.geomspace(1.0, scale, BINS + 1)
    low, high = density_of(family, scale).ppf([2e-4, 1 - 2e-4])
    if family == "uniform":
        low, high = 0.0, scale
    return np.linspace(low, high, BINS + 1)


def falloff(edges: np.ndarray, share: np.ndarray) -> tuple[float, float]:
    """The power of f that a histogram falls with, and its standard error."""
    middle = np.sqrt(edges[1:] * edges[:-1])
    full = share > 0
    (slope, _), cover = np.polyfit(
        np.log(middle[full]), np.log(share[full]), 1, cov=True
    )
    return float(slope), float(np.sqrt(cover[0, 0]))


def _fine(family: str, edges: np.ndarray) -> np.ndarray:
    space = np.geomspace if family == "loguniform" else np.linspace
    return space(edges[0], edges[-1], 401)


def _falls(slope: float, error: float) -> Claim:
    return judge(
        "log-uniform, positional encoding's random cousin, falls as 1/f",
        abs(slope + 1) <= 4 * error,
        f"power {slope:.4f} +- {error:.4f}",
    )


def _positional(b: np.ndarray) -> Claim:
    wanted = 2.0 ** np.linspace(0, POSITIONAL, COUNT) - 1
    apart = float(np.abs(b - wanted).max())
    return judge(
        "positional encoding is 2^(sigma X) for X in linspace(0, 1), less 1",
        apart <= 1e-5 * wanted[-1],
        f"{COUNT} frequencies from {b[0]:g} to {b[-1]:g}, "
        f"at most {apart:.1g} from the formula",
    )


WIDE, HIGH, LEFT, TOP, BELOW, BETWEEN = 3.5, 1.75, 0.75, 0.42, 0.62, 0.4
Panel = Sequence[ArrayLike]
"""Edges and heights of a histogram, then points and values of the density."""


@styled
def _distributions(
    panels: Mapping[str, Panel],
    positional: ArrayLike,
    *,
    logarithmic: Sequence[str] = (),
) -> "Figure":
    """Two panels a row, one a family; below, the frequencies that are not drawn.

    Args:
        panels: by family; its colour is that of all figures.
        positional: frequencies of the deterministic row, rising.
        logarithmic: families whose axes are logarithmic.
    """
    rows = -(-len(panels) // 2)
    step = TOP + HIGH + BELOW
    figure = new_figure(2 * (LEFT + WIDE) + 0.2 + BETWEEN / 2, rows * step + 1.5)
    for k, (family, (edges, share, x, density)) in enumerate(panels.items()):
        left = LEFT + (k % 2) * (WIDE + LEFT + BETWEEN / 4)
        axes = axes_at(figure, left, TOP + (k // 2) * step, WIDE, HIGH)
        colour = colour_of(family)
        axes.stairs(np.asarray(share), np.asarray(edges), fill=True, color=colour,
                    alpha=0.45, label="drawn")  # fmt: skip
        axes.plot(np.asarray(x), np.asarray(density), color=INK, lw=1.2,
                  label="its density")  # fmt: skip
        if family in logarithmic:
            axes.set_xscale("log")
            axes.set_yscale("log")
        axes.set_title(label_of(family))
        axes.set_xlabel("Frequency $b$ (cycles per unit)", color=INK)
        if k % 2 == 0:
            axes.set_ylabel("Density", color=INK)
        if k == 0:
            axes.legend(loc="upper left")
    b = np.asarray(positional, float)
    axes = axes_at(figure, LEFT, rows * step + TOP, 2 * WIDE + LEFT + BETWEEN / 4, 0.45)
    axes.vlines(b, 0, 1, color=colour_of("positional"), lw=0.8)
    axes.set_xlim(-0.5, b[-1] + 0.5)
    axes.set_yticks([])
    axes.grid(False)
    axes.set_title("Positional encoding, not drawn but laid out")
    axes.set_xlabel("Frequency $b$ (cycles per unit)", color=INK)
    axes.text(1, 1.12, f"{len(b)} frequencies", transform=axes.transAxes, ha="right",
              fontsize=8, color=MUTED)  # fmt: skip
    return figure
