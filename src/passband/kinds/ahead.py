"""Imports that only the end of a fit needs, beside what a device does meanwhile."""

import importlib
import threading

DRAWING = ("figure", "style", "backends.backend_agg", "backends.backend_svg")


def import_ahead() -> None:
    """Import matplotlib and SSIM in a thread of its own."""
    threading.Thread(target=_work, daemon=True, name="passband-imports").start()


def _work() -> None:
    for name in DRAWING:
        importlib.import_module(f"matplotlib.{name}")
    # scikit-image imports a name when it is asked for, and SciPy's filters with this.
    _ = importlib.import_module("skimage.metrics").structural_similarity
