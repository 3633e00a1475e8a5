"""The picture's part of `passband fit`."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..data.images import Image, read_image, write_image
from ..export.report import write_report
from ..field import Field
from ..plot.spectrum import spectrum_figure
from ..plot.triptych import triptych
from ..tasks.image import ImageTask, image_task, render, split_pixels
from ..train.run_folder import RunFolder
from .console import Console
from .fit_image import Options
from .fit_job import FitJob, start_at

# Pixels evaluated at the end: more would take 2 CPU cores longer than a minute and a
# half, so that of a larger picture only every third, fifth... row and column is.
MOST_PIXELS = 12_500_000


class ImageJob(FitJob):
    """A picture file, fitted."""

    name = "image"
    image: Image

    def read(self, options: Options, console: Console) -> None:
        del console
        self.image = read_image(self.source(options))

    def task(self, options: Options, batch: int | None) -> ImageTask:
        return image_task(
            self.image, holdout=options.holdout, batch=batch, seed=options.seed
        )

    def field_options(self) -> dict[str, Any]:
        values, low, high = self.image.values, self.image.low, self.image.high
        start = start_at((values.mean(dtype=np.float64) - low) / (high - low))
        return {"d": 2, "out": values.shape[2], "output": "sigmoid", "start": start}

    def points(self, options: Options) -> tuple[int, int]:
        h, w, _ = self.image.values.shape
        train, _ = split_pixels((h, w), options.holdout, options.seed)
        k = stride(h * w)
        return h * w if train is None else len(train), (h // k) * (w // k)

    def nyquist(self, options: Options) -> float:
        longest = max(self.image.values.shape[:2])
        return longest / (4 if options.holdout == "quarter" else 2)

    def finish(
        self,
        task: ImageTask,
        field: Field,
        folder: RunFolder,
        result: dict[str, Any],
        history: dict[str, list[float]],
    ) -> dict[str, Any]:
        h, w, c = self.image.values.shape
        k = stride(h * w)
        if k > 1:
            task = thinned(task, k)
            result["evaluated"] = f"one row and one column in {k}"
        rows, columns, _ = task.pixels.shape
        crop = (0.0, 0.0, float(k * rows), float(k * columns))
        prediction = render(field, (h, w), (rows, columns), crop=crop)
        truth = task.truth()
        result["metrics"] = task.metrics(field, prediction)
        figures = {
            "triptych": triptych(truth, prediction),
            "spectrum": spectrum_figure(
                truth,
                prediction,
                max(rows, columns) / 2,
                result["sigma"],
                mapping=result["mapping"],
            ),
        }
        write_image(folder.path / "preview.png", prediction)
        write_report(
            folder.path / "report.html",
            title=self.image.name,
            config=folder.config,
            result=result,
            figures=figures,
            history=history,
        )
        bits = {1: 8, 2: 16}.get(self.image.values.dtype.itemsize, 32)
        low, high = self.image.low, self.image.high
        return {"shape": [h, w, c], "low": low, "high": high, "bits": bits}


def stride(pixels: int) -> int:
    """1, or the odd step at which a large picture is evaluated: an odd one meets the
    trained and the held-out pixels of the paper's split alike."""
    k = 1
    while pixels > MOST_PIXELS * k * k:
        k += 2
    return k


def thinned(task: ImageTask, k: int) -> ImageTask:
    """The task of every kth row and column, with its trained and held-out pixels."""
    h, w, _ = task.pixels.shape
    kept = (slice(0, h // k * k, k), slice(0, w // k * k, k))

    def among(index: Any) -> Any:
        if index is None:
            return None
        there = np.zeros(h * w, bool)
        there[np.asarray(index)] = True
        return jnp.asarray(np.flatnonzero(there.reshape(h, w)[kept]), jnp.int32)

    return eqx.tree_at(
        lambda t: (t.pixels, t.train, t.test),
        task,
        (task.pixels[kept], among(task.train), among(task.test)),
        is_leaf=lambda x: x is None,
    )
