"""Pictures in rows and columns, with a line of text under each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from passband.plot import pixels
from passband.plot.style import INK, axes_at, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANEL, GAP, MARGIN, TITLE, CAPTION = 1.9, 0.08, 0.12, 0.28, 0.24


@styled
def picture_grid(
    pictures: Sequence[Sequence[ArrayLike]],
    *,
    titles: Sequence[str],
    captions: Sequence[Sequence[str]],
    best: Sequence[int | None] | None = None,
) -> "Figure":
    """A panel for each picture, its pixels as they are.

    Args:
        pictures: rows of as many pictures as there are `titles`, all of one shape.
        captions: the text under each picture; an empty one leaves none.
        best: the place in each row whose caption is in bold.
    """
    rows, columns = len(pictures), len(titles)
    if any(len(row) != columns for row in (*pictures, *captions)):
        raise ValueError(f"every row needs a picture for each of {columns} `titles`")
    first = pixels.as_picture(pictures[0][0])
    high = PANEL * first.shape[0] / first.shape[1]
    width = 2 * MARGIN + columns * PANEL + (columns - 1) * GAP
    step = high + CAPTION + GAP
    figure = new_figure(width, TITLE + rows * step + 0.02)
    for i, (row, texts) in enumerate(zip(pictures, captions, strict=True)):
        for j, (picture, text) in enumerate(zip(row, texts, strict=True)):
            left = MARGIN + j * (PANEL + GAP)
            axes = axes_at(figure, left, TITLE + i * step, PANEL, high)
            panel = pixels.as_picture(picture)
            pixels.show(
                axes,
                pixels.as_rgb(panel),
                pixels.whole(panel),
                interpolation="nearest",
            )
            if i == 0:
                axes.set_title(titles[j])
            bold = best is not None and best[i] == j
            axes.text(0.5, -0.02, text, transform=axes.transAxes, ha="center", va="top",
                      fontsize=8.5, color=INK, clip_on=False,
                      fontweight="bold" if bold else "normal")  # fmt: skip
    return figure
