"""What was measured of k-space, what of it trained, and what the field leaves."""

from typing import TYPE_CHECKING, Any

import numpy as np

from passband.plot.style import INK, MUTED, axes_at, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN, GAP, TITLE, FOOT = 0.15, 0.15, 0.28, 0.62
WIDTH = 10.0
DECADES = 4.0
NOTHING, TRAINED, HELD = "#FFFFFF", INK, "#D55E00"


@styled
def kspace_figure(
    measured: np.ndarray,
    residual: np.ndarray,
    train: np.ndarray,
    held: np.ndarray | None = None,
) -> "Figure":
    """Magnitudes on one logarithmic scale, and the mask, in the plane of frequency 0.

    Args:
        measured: |k-space|, frequency 0 in the middle; of coils, their root sum square.
        residual: what is left of it, in the same form.
        train: where it was measured and trained on.
        held: where it was measured and held out.
    """
    from matplotlib.colors import ListedColormap

    def plane(a: np.ndarray) -> np.ndarray:
        return a if a.ndim == 2 else a[:, :, a.shape[2] // 2]

    seen = plane(train) if held is None else plane(train) | plane(held)
    rows, columns = seen.shape
    side = (WIDTH - 2 * MARGIN - 2 * GAP) / 3
    high = min(side * rows / columns, 1.6 * side)
    height = TITLE + high + FOOT
    figure = new_figure(WIDTH, height)
    top = float(np.log10(max(plane(measured).max(), np.finfo(np.float32).tiny)))
    kinds = np.where(plane(train), 1, 0)
    if held is not None:
        kinds = np.where(plane(held), 2, kinds)
    scale: dict[str, Any] = {"cmap": "magma", "vmin": top - DECADES, "vmax": top}
    flat: dict[str, Any] = {
        "cmap": ListedColormap([NOTHING, TRAINED, HELD]),
        "vmin": -0.5,
        "vmax": 2.5,
    }
    panels = [
        ("|k-space|, measured", _log(plane(measured), seen, top), scale),
        ("Mask", kinds, flat),
        ("|Residual|, measured − field", _log(plane(residual), seen, top), scale),
    ]
    for k, (title, pixels, options) in enumerate(panels):
        axes = axes_at(figure, MARGIN + k * (side + GAP), TITLE, side, high)
        axes.imshow(pixels, interpolation="nearest", aspect="auto", **options)
        axes.set_title(title)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.grid(False)
        for spine in axes.spines.values():
            spine.set_visible(True)
    _scale(figure, height, top)
    whole = train if held is None else train | held
    note = f"{100 * whole.mean():.3g} % of k-space was measured"
    if held is not None:
        note += (
            f", and {100 * held.sum() / whole.sum():.2g} % of that held out (orange)"
        )
    if train.ndim == 3:
        note += "; the plane through frequency 0"
    figure.text((MARGIN + 3.4) / WIDTH, 0.3 / height, note, fontsize=8, color=MUTED,
                va="center")  # fmt: skip
    return figure


def _log(values: np.ndarray, seen: np.ndarray, top: float) -> np.ndarray:
    """Decades; what was not measured is left blank."""
    low = 10.0 ** (top - DECADES)
    return np.where(seen, np.log10(np.maximum(values, low)), np.nan)


def _scale(figure: "Figure", height: float, top: float) -> None:
    axes = axes_at(figure, MARGIN, height - FOOT + 0.15, 3.0, 0.12)
    axes.imshow(np.linspace(0, 1, 256)[None], aspect="auto", cmap="magma")
    axes.set_yticks([])
    axes.grid(False)
    labels = [f"{10.0 ** (top + d):.2g}" for d in (-DECADES, -DECADES / 2, 0)]
    axes.set_xticks([0, 127.5, 255], labels)
    axes.tick_params(length=0, pad=2)
    first, _, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")
