"""Normal maps in a grid: a shape a row, the mesh and then each mapping across."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import (
    MUTED,
    axes_at,
    colour_of,
    label_of,
    new_figure,
    readable,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150  # of `png_bytes`: a pixel of a panel is one of the picture, or 2 x 2
LEAST, GAP, MARGIN = 1.1, 0.08, 0.16
TITLES, CAPTION = 0.32, 0.3


@styled
def normal_maps(
    panels: Sequence[ArrayLike],
    scores: Sequence[ArrayLike],
    *,
    shapes: Sequence[str],
    mappings: Sequence[str],
    mesh_bytes: Sequence[int],
    model_bytes: int,
) -> "Figure":
    """A row a shape: the mesh's normals, then each network's, with its IoU below.

    Args:
        panels: for each shape (1 + mappings, rows, cols, 3) uint8 on white.
        scores: for each shape the boundary IoU of every mapping.
    """
    columns = 1 + len(mappings)
    pictures = [_cut(np.asarray(p)) for p in panels]
    inch = DPI / math.ceil(LEAST * DPI / pictures[0].shape[2])
    panel = pictures[0].shape[2] / inch
    heights = [p.shape[1] / inch for p in pictures]
    width = 2 * MARGIN + columns * panel + (columns - 1) * GAP
    height = TITLES + sum(heights) + CAPTION * len(panels) + MARGIN
    figure = new_figure(width, height)

    def write(text: str, column: int, down: float, **options) -> None:
        middle = MARGIN + column * (panel + GAP) + panel / 2
        figure.text(middle / width, 1 - down / height, text, ha="center", **options)

    for column, word in enumerate(("Mesh", *mappings)):
        colour = readable(colour_of(word))
        bold = {"fontweight": "bold", "color": colour, "fontsize": 9.5}
        write(label_of(word), column, TITLES - 0.12, **bold)
    top = TITLES
    for i, name in enumerate(shapes):
        for column, picture in enumerate(pictures[i]):
            left = MARGIN + column * (panel + GAP)
            axes = axes_at(figure, left, top, panel, heights[i])
            axes.imshow(picture, interpolation="nearest")
            axes.set_axis_off()
        top += heights[i]
        mesh = f"{name.capitalize()} {_megabytes(mesh_bytes[i])}"
        write(mesh, 0, top + 0.15, fontsize=8)
        values = np.asarray(scores[i], float)
        for column, value in enumerate(values, 1):
            best = {"fontweight": "bold"} if value == values.max() else {}
            write(f"IoU {value:.3f}", column, top + 0.15, fontsize=8, **best)
        top += CAPTION
    note = f"IoU near the surface; each network {_megabytes(model_bytes)}"
    figure.text(1 - MARGIN / width, MARGIN / 2 / height, note, ha="right", va="center",
                fontsize=8, color=MUTED)  # fmt: skip
    return figure


def _cut(panels: np.ndarray) -> np.ndarray:
    """A row's panels without the white above and below all of them."""
    drawn = np.flatnonzero((panels < 255).any(axis=(0, 2, 3)))
    if not len(drawn):
        return panels
    pad = panels.shape[1] // 32
    return panels[:, max(0, drawn[0] - pad) : drawn[-1] + 1 + pad]


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.2g} MB" if count < 1e7 else f"{count / 1e6:.0f} MB"
