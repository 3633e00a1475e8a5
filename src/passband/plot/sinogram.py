"""A sinogram, that of the field, and what is left between them."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import MUTED, axes_at, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN, GAP, TITLE, FOOT = 0.62, 0.14, 0.35, 0.85
PANEL, HIGH = 2.9, 2.5


@styled
def sinogram_figure(
    measured: ArrayLike,
    seen: ArrayLike,
    angles: ArrayLike,
    held: ArrayLike | None = None,
) -> "Figure":
    """Measured and predicted line integrals in one grey scale, and their difference.

    Arrays are (views, bins). Views that were held out as a whole are marked on the
    right; other held-out rays are dotted on the residual.

    Args:
        angles: of the views, in degrees.
        held: which rays were not trained on.
    """
    data, model = np.asarray(measured, float), np.asarray(seen, float)
    if data.ndim != 2 or data.shape != model.shape:
        raise ValueError(
            f"`measured` {data.shape} and `seen` {model.shape} must be (views, bins), "
            "both"
        )
    residual = model - data
    top = float(np.percentile(np.abs(residual), 99.5)) or 1.0
    views, bins = data.shape
    figure = new_figure(MARGIN + 3 * PANEL + 2 * GAP + 0.2, TITLE + HIGH + FOOT)
    grey = {"cmap": "gray", "vmin": float(data.min()), "vmax": float(data.max())}
    signed = {"cmap": "RdBu_r", "vmin": -top, "vmax": top}
    panels = (("Sinogram", data, grey), ("Of the field", model, grey),
              ("Residual", residual, signed))  # fmt: skip
    for k, (title, values, scale) in enumerate(panels):
        left = MARGIN + k * (PANEL + GAP)
        axes = axes_at(figure, left, TITLE, PANEL, HIGH)
        image = axes.imshow(values, aspect="auto", interpolation="nearest", **scale)
        axes.set_title(title, loc="left")
        axes.grid(False)
        axes.set_xlabel("Bin")
        marks = np.unique(np.linspace(0, views - 1, min(views, 6)).round().astype(int))
        axes.set_yticks(marks)
        axes.set_yticklabels([f"{np.asarray(angles)[m]:.4g}°" for m in marks]
                             if k == 0 else [])  # fmt: skip
        if k == 0:
            axes.set_ylabel("View")
        if k:
            bar = axes_at(figure, left + 1.2, TITLE + HIGH + 0.55, PANEL - 1.2, 0.1)
            figure.colorbar(image, cax=bar, orientation="horizontal")
            bar.tick_params(length=0, labelsize=7)
            bar.grid(False)
    if held is not None and np.any(held):
        gone = np.asarray(held, bool)
        whole = np.flatnonzero(gone.all(axis=1))
        axes = figure.axes[-2]  # the residual, its colour bar being the last
        if len(whole):
            axes.plot(np.full(len(whole), bins + 0.01 * bins), whole, "<", color="#222",
                      markersize=5, clip_on=False)  # fmt: skip
        else:
            rows, columns = np.nonzero(gone)
            axes.plot(columns, rows, ".", color="#222", markersize=1.5, alpha=0.6)
        note = f"{gone.mean():.1%} of the rays were held out " + (
            "as whole views, marked by triangles" if len(whole) else "(dots)"
        )
        axes.set_xlim(-0.5, bins - 0.5)
        width, height = figure.get_size_inches()
        figure.text(MARGIN / width, 0.14 / height, note, fontsize=8, color=MUTED)
    return figure
