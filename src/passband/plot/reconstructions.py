"""Reconstructions side by side in one grey scale, above their errors in another."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot import pixels
from passband.plot.style import (
    MUTED,
    axes_at,
    colour_of,
    label_of,
    new_figure,
    readable,
    styled,
)
from passband.plot.triptych import ERROR_COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN, GAP, TITLE, FOOT = 0.15, 0.1, 0.42, 0.5
WIDEST, PAGE, MOST = 3.4, 10.5, 3
COLUMN = 1.65  # inches that a name and a note take beside the next
LIMIT = 512


@styled
def reconstructions(
    pictures: Mapping[str, ArrayLike],
    truth: ArrayLike | None = None,
    *,
    notes: Mapping[str, str] | None = None,
) -> "Figure":
    """Every picture under its name, with the truth first and |errors| below, if known.

    One scale of grey serves all, from the smallest to the largest value of the truth,
    or of the first picture (without its brightest thousandth); so does one of errors.

    Args:
        pictures: (rows, cols) arrays of one shape by name; mapping words are coloured.
        notes: a line under a name, such as its PSNR.
    """
    from matplotlib.colors import LinearSegmentedColormap

    shown = {name: np.asarray(p, np.float32) for name, p in pictures.items()}
    if not shown or any(p.ndim != 2 for p in shown.values()):
        raise ValueError("`pictures` must hold (rows, cols) arrays, at least one")
    errors: dict[str, np.ndarray] = {}
    if truth is not None:
        known = np.asarray(truth, np.float32)
        errors = {name: np.abs(p - known) for name, p in shown.items()}
        low, high = float(known.min()), float(known.max())
        shown = {"Truth": known, **shown}
    else:
        first = next(iter(shown.values()))
        low, high = float(first.min()), float(np.percentile(first, 99.9))
    high = high if high > low else low + 1.0
    worst = np.percentile(np.stack(list(errors.values())), 99) if errors else 1.0
    worst = float(worst) or 1.0

    per_row = min(len(shown), MOST)
    bands = math.ceil(len(shown) / per_row)
    rows, cols = next(iter(shown.values())).shape
    room = (PAGE - 2 * MARGIN - (per_row - 1) * GAP) / per_row
    wide = min(WIDEST, room) * min(1.0, cols / rows)
    tall = wide * rows / cols
    step = TITLE + tall * (2 if errors else 1) + (2 * GAP if errors else 0)
    column = max(wide, min(COLUMN, room))  # tall pictures stand apart
    width = 2 * MARGIN + per_row * column + (per_row - 1) * GAP
    figure = new_figure(max(width, 4.8), bands * step + FOOT)
    colours = LinearSegmentedColormap.from_list("error", ERROR_COLOURS)
    for index, (name, picture) in enumerate(shown.items()):
        band, place = divmod(index, per_row)
        left, top = MARGIN + place * (column + GAP), band * step + TITLE
        _name(figure, name, (notes or {}).get(name, ""), left, top)
        axes = axes_at(figure, left, top, wide, tall)
        small = pixels.shrink(picture[..., None], LIMIT)[..., 0]
        pixels.show(axes, small, pixels.whole(picture[..., None]), cmap="gray",
                    vmin=low, vmax=high)  # fmt: skip
        if name in errors:
            axes = axes_at(figure, left, top + tall + GAP, wide, tall)
            error = pixels.shrink(errors[name][..., None], LIMIT)[..., 0]
            pixels.show(axes, error, pixels.whole(picture[..., None]), cmap=colours,
                        vmin=0, vmax=worst)  # fmt: skip
    text = f"grey from {low:.4g} to {high:.4g}"
    if errors:
        text += f"; under each, |error|, darkest from {worst:.3g} on"
    height = bands * step + FOOT
    figure.text(MARGIN / max(width, 4.8), 0.18 / height, text, fontsize=8, color=MUTED)
    return figure


def _name(figure: "Figure", name: str, note: str, left: float, top: float) -> None:
    """A name, and a note under it, above the picture that begins at `top`."""
    width, height = figure.get_size_inches()
    ink = readable(colour_of(name))
    figure.text(left / width, 1 - (top - (0.2 if note else 0.07)) / height,
                label_of(name), color=ink, fontsize=9.5, fontweight="bold")  # fmt: skip
    if note:
        figure.text(left / width, 1 - (top - 0.06) / height, note, fontsize=8,
                    color=MUTED)  # fmt: skip
