"""Volumes cut open: three planes through the middle, all in one grey scale."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from passband.plot.style import MUTED, axes_at, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN, GAP, TITLE, FOOT = 0.15, 0.08, 0.28, 0.3
HEIGHT = 2.3
Plane = tuple[np.ndarray, tuple[int, int], str]
"""Pixels, the axes that run down and across, and what a reader calls them."""


@styled
def volume_slices(
    volumes: Mapping[str, np.ndarray],
    *,
    spacing: Sequence[float] | None = None,
    top: float | None = None,
    unit: str = "",
) -> "Figure":
    """One row a volume, one column a plane; an image is one plane.

    Args:
        volumes: real (x, y[, z]) arrays of one shape, by name.
        spacing: size of a voxel along each axis.
        top: what is drawn white; the largest value of the first volume by default.
    """
    first = next(iter(volumes.values()))
    white = float(np.max(first)) if top is None else top
    rows = {name: planes(volume) for name, volume in volumes.items()}
    return draw_planes(rows, spacing or (1.0,) * first.ndim, (0.0, white), unit=unit)


@styled
def draw_planes(
    rows: Mapping[str, Sequence[Plane]],
    spacing: Sequence[float],
    ends: tuple[float, float],
    *,
    unit: str = "",
) -> "Figure":
    """Planes of volumes, a row each.

    Args:
        rows: what `planes` gives, by name.
        spacing: size of a voxel along each axis.
        ends: what is drawn black and white.
    """
    black, white = ends
    columns = next(iter(rows.values()))
    widths = [
        HEIGHT * part.shape[1] * spacing[across] / (part.shape[0] * spacing[down])
        for part, (down, across), _ in columns
    ]
    width = 2 * MARGIN + sum(widths) + GAP * (len(columns) - 1)
    width = max(width, 4.2)
    height = len(rows) * (HEIGHT + TITLE) + FOOT
    figure = new_figure(width, height)
    for row, (name, parts) in enumerate(rows.items()):
        left = MARGIN
        for k, (part, _, title) in enumerate(parts):
            above = TITLE + row * (HEIGHT + TITLE)
            axes = axes_at(figure, left, above, widths[k], HEIGHT)
            axes.imshow(part, cmap="gray", vmin=black, vmax=white or 1.0,
                        aspect="auto", interpolation="nearest")  # fmt: skip
            axes.set_axis_off()
            axes.set_title(name if k == 0 else "", fontsize=9.5)
            axes.text(0.98, 0.02, title, transform=axes.transAxes, color="white",
                      fontsize=7.5, ha="right", va="bottom")  # fmt: skip
            left += widths[k] + GAP
    note = f"black {black:.3g}, white {white:.3g} {unit}".strip()
    figure.text(MARGIN / width, 0.1 / height, note, fontsize=8, color=MUTED)
    return figure


def planes(volume: np.ndarray) -> list[Plane]:
    """Planes through the middle, turned so that the later axis points up: the pixels,
    the axes that run down and across, and what a reader calls them."""
    if volume.ndim == 2:
        return [(volume, (0, 1), "")]
    x, y, z = (n // 2 for n in volume.shape)
    return [
        (volume[x].T[::-1], (2, 1), f"x = {x}"),
        (volume[:, y].T[::-1], (2, 0), f"y = {y}"),
        (volume[:, :, z].T[::-1], (1, 0), f"z = {z}"),
    ]
