"""Fig. 1: four tasks without and with Fourier features, from their own figures."""

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..plot.panels import name_below, write_at
from ..plot.style import INK, MUTED, RULE, axes_at, colour_of, new_figure, styled
from .fig15 import ROWS as IMAGE_ROWS
from .fig16 import decoded
from .item import Assembled, Number, Outcome, Preset, judge
from .packed_pictures import packed, unpacked
from .study import ROWS as SHAPE_ROWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAIR = ("none", "gaussian")
PAIR_TITLES = (
    "No Fourier features\n$\\gamma(v) = v$",
    "With Fourier features\n$\\gamma(v) = \\mathrm{FF}(v)$",
)
WIDE = 256
"""Pixels of a panel, at most."""


class Pair(NamedTuple):
    """A task's two pictures and their scores, no mapping first."""

    pictures: list[np.ndarray]
    scores: list[float]


class Fig1(Assembled):
    """A picture, a shape, a slice and a view, each as two networks have it."""

    id = "fig1"
    section = "1, Fig. 1"
    title = "Four tasks without and with Fourier features"
    parts = ("fig15", "fig16", "fig18", "fig19")
    notes = (
        "Put together from the panels of Figs. 15, 16, 18 and 19; the diagram is ours.",
        "The head is not of ATLAS, which is restricted.",
    )

    def assemble(self, found: Mapping[str, Outcome], preset: Preset) -> Outcome:
        arrays: dict[str, np.ndarray] = {}
        numbers, ahead = [], {}
        for name, (part, _, unit, taken) in TASKS.items():
            pair = taken(found[part].arrays)
            if pair is None:  # a smoke run leaves rows out
                continue
            for row, picture, score in zip(PAIR, *pair, strict=True):
                arrays[f"{name}.{row}"] = packed(_panel(picture))
                numbers.append(Number(f"{name}, {row} ({unit})", None, score))
            arrays[f"{name}.scores"] = np.asarray(pair.scores)
            ahead[name] = pair.scores[1] - pair.scores[0]
        return Outcome(
            numbers=tuple(numbers),
            claims=(
                judge(
                    "every task is nearer to the truth with Fourier features",
                    min(ahead.values()) > 0 if preset is not Preset.SMOKE else None,
                    ", ".join(
                        f"{name} +{gain:.3g} {TASKS[name][2]}"
                        for name, gain in ahead.items()
                    ),
                ),
            ),
            arrays=arrays,
            settings={"parts": self.parts, "mappings": PAIR},
        )

    @styled
    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        """The network, then a column for each task: without features over with them."""
        found, side = outcome.arrays, 1.75
        names = [name for name in TASKS if f"{name}.scores" in found]
        step = side + 0.3
        figure = new_figure(
            2.8 + len(names) * (side + 0.1) + 0.1, 0.5 + 2 * step + 0.08
        )
        _draw_network(axes_at(figure, 0.1, 0.4, 2.2, 2 * step))
        for i, row in enumerate(PAIR):
            top = 0.5 + i * step
            write_at(figure, 2.56, top + side / 2, PAIR_TITLES[i], rotation=90,
                     ha="center", fontsize=8.5, color=colour_of(row))  # fmt: skip
            for k, name in enumerate(names):
                _, head, unit, _ = TASKS[name]
                axes = axes_at(figure, 2.8 + k * (side + 0.1), top, side, side)
                axes.imshow(unpacked(found[f"{name}.{row}"]), interpolation="nearest")
                axes.set_axis_off()
                if i == 0:
                    axes.set_title(f"({'bcde'[k]}) {head}", fontsize=8.5)
                places = 3 if unit == "IoU" else 2
                score = f"{found[f'{name}.scores'][i]:.{places}f} {unit}"
                name_below(axes, score, 0.03, va="top", fontsize=8.5, clip_on=False,
                           fontweight="bold" if i else "normal")  # fmt: skip
        return {self.id: figure}


def _image(arrays: Mapping[str, np.ndarray]) -> Pair | None:
    name = str(arrays["names"][0])
    pictures = [unpacked(arrays[f"{name}.{row}"]) for row in PAIR]
    return Pair(pictures, [_at(arrays["psnr"][0], IMAGE_ROWS, row) for row in PAIR])


def _shape(arrays: Mapping[str, np.ndarray]) -> Pair | None:
    key = next(key for key in arrays if key.startswith("panels."))
    seen = decoded(arrays[key])[1:].astype(np.uint8)  # the first is the mesh itself
    pictures = [seen[SHAPE_ROWS.index(row)] for row in PAIR]
    scores = arrays[key.replace("panels.", "iou.")]
    return Pair(pictures, [_at(scores, SHAPE_ROWS, row) for row in PAIR])


def _volume(arrays: Mapping[str, np.ndarray]) -> Pair | None:
    if "none" not in arrays:
        return None
    rows = [key for key in arrays if key not in ("truth", "psnr")]
    pictures = [_grey(arrays[row][0], arrays["truth"][0].max()) for row in PAIR]
    return Pair(pictures, [_at(arrays["psnr"], rows, row) for row in PAIR])


def _view(arrays: Mapping[str, np.ndarray]) -> Pair | None:
    pictures = [unpacked(arrays[f"{row} 0"]) for row in PAIR]
    return Pair(pictures, [float(arrays[f"{row} psnr"][0]) for row in PAIR])


# Task: the figure it is of, its title there, its unit, and how its panels are found.
Taken = Callable[[Mapping[str, np.ndarray]], Pair | None]
TASKS: dict[str, tuple[str, str, str, Taken]] = {
    "image": ("fig15", "Image\n$(x,y) \\to$ RGB", "dB", _image),
    "shape": ("fig16", "3D shape\n$(x,y,z) \\to$ occupancy", "IoU", _shape),
    "MRI": ("fig18", "MRI\n$(x,y,z) \\to$ density", "dB", _volume),
    "view": ("fig19", "Inverse rendering\n$(x,y,z) \\to$ RGB, density", "dB", _view),
}
ITEM = Fig1()


def _draw_network(axes: "Axes") -> None:
    """A coordinate goes in at the top, a colour comes out at the bottom."""
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 20)
    axes.set_axis_off()
    axes.set_title("(a) Coordinate network", fontsize=8.5)
    axes.text(5, 18.7, "$v = (x, y)$", ha="center", va="center", fontsize=10)
    axes.text(5, 14.9, "$\\gamma(v)$", ha="center", va="center", fontsize=11,
              bbox={"boxstyle": "round,pad=0.5", "facecolor": "#FBE9DD",
                    "edgecolor": colour_of("gaussian")})  # fmt: skip
    layers = [(12.0, 3), (9.2, 5), (6.4, 5), (3.6, 3)]
    for (y, count), (below, more) in itertools.pairwise(layers):
        for x in _spread(count):
            for to in _spread(more):
                axes.plot([x, to], [y, below], color=RULE, lw=0.7, zorder=1)
    inks = ("#C8503C", "#3F8F5B", "#3B62A8")
    for k, (y, count) in enumerate(layers):
        colours = inks if k == len(layers) - 1 else [INK] * count
        axes.scatter(_spread(count), [y] * count, s=42, c=list(colours), zorder=2)
    axes.text(5, 1.6, "$(r, g, b)$", ha="center", va="center", fontsize=10)
    for start, end in ((18.0, 16.3), (13.6, 12.6), (3.0, 2.3)):
        axes.annotate("", (5, end), (5, start),
                      arrowprops={"arrowstyle": "->", "color": MUTED})  # fmt: skip


def _spread(count: int) -> np.ndarray:
    """Places of a layer's units, side by side about the middle."""
    return 5 + 1.6 * (np.arange(count) - (count - 1) / 2)


def _at(scores: np.ndarray, rows: "list[str] | tuple[str, ...]", row: str) -> float:
    return float(scores[list(rows).index(row)])


def _grey(plane: np.ndarray, peak: np.integer) -> np.ndarray:
    """A slice as bright as its truth goes, in three channels."""
    bright = np.clip(plane * (255.0 / max(int(peak), 1)), 0, 255)
    return np.repeat(np.round(bright).astype(np.uint8)[..., None], 3, axis=-1)


def _panel(picture: np.ndarray) -> np.ndarray:
    """The middle square, each pixel shown as it is: few are repeated, not smoothed."""
    side = min(picture.shape[:2])
    top, left = ((n - side) // 2 for n in picture.shape[:2])
    square = picture[top : top + side, left : left + side]
    if side > WIDE:
        factor = -(-side // WIDE)
        part = square[: side // factor * factor, : side // factor * factor]
        shape = (len(part) // factor, factor, len(part) // factor, factor, 3)
        return np.round(part.reshape(shape).mean(axis=(1, 3))).astype(np.uint8)
    return np.ascontiguousarray(square)
