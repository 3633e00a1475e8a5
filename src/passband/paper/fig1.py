"""Fig. 1: four tasks without and with Fourier features, from their own figures."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .fig15 import ROWS as IMAGE_ROWS
from .fig16 import decoded
from .item import Assembled, Number, Outcome, Preset, judge
from .packed_pictures import packed, unpacked
from .shape_runs import ROWS as SHAPE_ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAIR = ("none", "gaussian")
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

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.overview import opening_figure

        found = outcome.arrays
        names = [name for name in TASKS if f"{name}.scores" in found]
        without, features = (
            [unpacked(found[f"{name}.{row}"]) for name in names] for row in PAIR
        )
        captions = []
        for name in names:
            unit = TASKS[name][2]
            places = 3 if unit == "IoU" else 2
            one, other = (f"{s:.{places}f} {unit}" for s in found[f"{name}.scores"])
            captions.append((one, other))
        heads = [f"{TASKS[name][1]}" for name in names]
        return {self.id: opening_figure(heads, without, features, captions)}


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
