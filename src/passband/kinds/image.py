"""A picture file: PNG, JPEG, TIFF, NPY."""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..data.images import Image, read_image
from ..errors import InputError
from ..field import Field
from ..members import mean_and_spread
from ..plot.spectrum import spectrum_figure
from ..plot.triptych import triptych
from ..reconstruct.interpolation import KERNELS, enlarged_by, scattered, spline
from ..reconstruct.jpeg import jpeg_within
from ..tasks.image import ImageTask, image_task, render, split_pixels
from ..tasks.pooled_image import PooledImageTask
from ..tasks.streamed import StreamedTask, streamed_task, thinned_picture
from ..train.memory import budget
from ..tuning.grid import grid_problem
from ..tuning.problem import Problem
from .defaults import (
    cut_to_size,
    modern,
    on_cpu,
    paper_lr,
    points_in_time,
    resolve,
    start_at,
)
from .image_stacks import PicturesInStacks, colours
from .kind import (
    SILENT,
    Evaluation,
    Health,
    History,
    Kind,
    Listener,
    Network,
    Rendered,
    Training,
    TrialSize,
    Units,
    spread_of,
)
from .model_facts import shape_of
from .options import ImageOptions, TrainOptions
from .pace import points_in
from .render_picture import render_picture
from .shown import Made, Make, Reconstruction, Shown, made_within
from .views import picture_view

STEPS = 2000
HELD_OUT_STEPS = 500
"""Muon's where other pixels than the trained ones count: four times as many learn these
11 dB better, and the others 0.2 dB worse."""
# Pixels evaluated at the end: more would take 2 CPU cores longer than a minute and a
# half, so that of a larger picture only every third, fifth... row and column is.
MOST_PIXELS = 12_500_000

SPARSE, MIDDLE = 61, 2048
"""Of a picture that stays on the disk: every so manieth row and column tells its mean,
and the middle of this side its scale."""
MOST_BESIDE = 1_000_000  # pixels of a picture that classical methods are tried on
WATCHED = 4096
"""Held-out pixels that are looked at while a fit trains."""

LEAST_SIDE = 8  # rows and columns that are always evaluated: metrics need some


@dataclasses.dataclass(frozen=True, eq=False)
class ImageKind(Kind, PicturesInStacks):
    """A picture; pixel (row, column) sits at (column, row) / (longest side)."""

    name = "image"
    view = staticmethod(picture_view)
    cpu_trials, gpu_trials = TrialSize(1280, 1024), TrialSize(1536, 2**12)
    render_example = "--resolution 2048 --out enlarged.png"

    options: ImageOptions
    image: Image

    @classmethod
    def read(cls, options: ImageOptions, listener: Listener = SILENT) -> "ImageKind":
        del listener
        image = read_image(cls.source(options))
        if isinstance(image.values, np.memmap) and options.holdout != "none":
            raise InputError(
                f"`holdout` (={options.holdout}) is for pictures that fit into memory; "
                f"`{image.name}` stays on the disk"
            )
        return cls(options, image.name, image)

    @property
    def mapped(self) -> bool:
        """Whether the pixels stay on the disk."""
        return isinstance(self.image.values, np.memmap)

    def training(self, asked: TrainOptions, mapping: Any) -> Training:
        h, w, _ = self.image.values.shape
        index, _ = split_pixels((h, w), self.options.holdout, self.options.seed)
        train = h * w if index is None else len(index)
        k = stride(h * w)
        steps = HELD_OUT_STEPS if index is not None and modern(asked) else STEPS
        # Of the default steps, so that fewer take less time with the same batch.
        batch = points_in_time(train, (h // k) * (w // k), steps)
        return resolve(
            asked, mapping, steps=steps, batch=batch, lr=paper_lr(mapping), muon_lr=2e-3
        )

    def network(self, training: Training | None = None) -> Network:
        values, low, high = self.image.values, self.image.low, self.image.high
        if self.mapped:
            values = values[::SPARSE, ::SPARSE]
        start = start_at((values.mean(dtype=np.float64) - low) / (high - low))
        return Network(2, values.shape[2], "sigmoid", start)

    def task(self, training: Training) -> ImageTask | StreamedTask:
        holdout, seed = self.options.holdout, self.options.seed
        # A GPU has the pixels beside it, where they fit.
        if self.mapped and (on_cpu() or 4 * self.image.values.nbytes > budget()):
            return streamed_task(self.image, training.batch)
        return image_task(self.image, holdout=holdout, batch=training.batch, seed=seed)

    def nyquist(self) -> float:
        longest = max(self.image.values.shape[:2])
        return longest / (4 if self.options.holdout == "quarter" else 2)

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        known, image = None, self.image
        step, holdout = 1 / max(image.values.shape[:2]), self.options.holdout
        if self.mapped:
            image = dataclasses.replace(image, values=_middle(image.values))
        values = image.normalised()
        if holdout == "quarter":
            values, step = values[::2, ::2], 2 * step
        elif holdout != "none":
            index, _ = split_pixels(values.shape[:2], holdout, self.options.seed)
            known = np.zeros(values.shape[:2], bool)
            known.flat[slice(None) if index is None else index] = True
        most, batch = cut_to_size(values[..., 0].size, size)
        return grid_problem(
            values, step=step, known=known, most=most, batch=batch, seed=asked.seed,
            start=self.network().start, name="pixels",
        )  # fmt: skip

    def health(
        self,
        task: ImageTask | StreamedTask,
        field: Field,
        entry: Any,
        history: History,
    ) -> Health:
        del entry, history
        if not isinstance(task, ImageTask) or task.test is None:
            return Health()
        if not self.beside:  # comparisons are timed
            return Health()
        every = -(-len(task.test) // WATCHED)
        some = eqx.tree_at(lambda t: t.test, task, task.test[::every])
        return Health({"psnr_test": some.held_out_psnr(field)})

    def evaluate(
        self,
        task: ImageTask | StreamedTask | PooledImageTask,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        if isinstance(task, PooledImageTask):
            task = task.whole()
        h, w, _ = self.image.values.shape
        most = MOST_PIXELS
        if seconds is not None:  # the other half is for metrics and figures
            most = min(most, points_in(seconds / 2, field))
        k, more = stride(h * w, most, min(h, w)), {}
        if k > 1:
            more["evaluated"] = f"one row and one column in {k}"
        streamed = isinstance(task, StreamedTask)
        task = thinned_picture(task, k) if streamed else thinned(task, k)
        rows, columns, _ = task.pixels.shape
        crop = (0.0, 0.0, float(k * rows), float(k * columns))
        prediction, apart = mean_and_spread(
            field, lambda one: render(one, (h, w), (rows, columns), crop=crop)
        )
        truth = task.truth()
        low, high = self.image.low, self.image.high
        unit = high - low
        made = Made()
        if self.beside and k == 1 and h * w <= MOST_BESIDE:
            listener.progress("the baselines", often=False)
            room = sum(leaf.nbytes for leaf in jax.tree.leaves(field))
            made = made_within(self.classical(room), seconds)
            for scores in made.scores.values():
                scores.pop("psnr_train", None)  # interpolation has these as they are
            more |= {"left_out": made.late} if made.late else {}
        return Evaluation(
            metrics=task.metrics(field, prediction),
            about=self.facts(),
            preview=lambda: prediction,
            figures=lambda: {
                "triptych": triptych(truth, prediction),
                "spectrum": spectrum_figure(
                    truth,
                    prediction,
                    self.nyquist(),
                    training.sigma,
                    mapping=str(training.mapping),
                ),
            },
            baselines=made.scores,
            more=more,
            spread=spread_of(
                apart, unit, unit * prediction, unit * truth, channels=True
            ),
            shown=lambda: Shown(colours(prediction), colours(truth), made.pictures),
        )

    def facts(self) -> dict[str, Any]:
        low, high = self.image.low, self.image.high
        bits = {1: 8, 2: 16}.get(self.image.values.dtype.itemsize, 32)
        shape = list(self.image.values.shape)
        return {"shape": shape, "low": low, "high": high, "bits": bits}

    def classical(self, room: int) -> dict[str, Make]:
        """Interpolation of the pixels held out; where none are, a JPEG as small as the
        network."""
        if self.mapped:
            return {}
        holdout, seed = self.options.holdout, self.options.seed
        task = image_task(self.image, holdout=holdout, seed=seed)
        truth = task.truth()
        h, w, c = truth.shape

        def judged(seen: np.ndarray, bytes: int | None = None) -> Reconstruction:
            seen = np.clip(seen, 0, 1).astype(np.float32)
            shown = Shown(colours(seen), colours(truth))
            return Reconstruction(task.scores(seen), shown, bytes)

        def jpeg() -> Reconstruction | None:
            found = jpeg_within(truth, room)
            return None if found is None else judged(found.values, found.bytes)

        if holdout == "none":
            return {"JPEG": jpeg}
        if holdout == "quarter":
            known = truth[::2, ::2]
            by = functools.partial(enlarged_by, known=known, shape=(h, w))
            smooth: dict[str, Make] = {"spline": lambda: judged(spline(known, (h, w)))}
            return {
                name: lambda kernel=kernel: judged(by(kernel))
                for name, kernel in KERNELS.items()
            } | smooth
        index = np.asarray(task.train)
        fill = functools.partial(
            scattered, index, truth.reshape(-1, c)[index], shape=(h, w)
        )
        return {
            "linear": lambda: judged(fill(smooth=False)),
            "cubic": lambda: judged(fill(smooth=True)),
        }

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        return render_picture(field, about, options, listener)

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        h, w, _ = shape_of(field, about, 2)
        return Units(
            np.zeros(2), np.full(2, 1 / max(h, w)), np.zeros(2),
            "column and row of the fitted picture, in pixels",
        )  # fmt: skip


def stride(pixels: int, most: int | None = None, side: int | None = None) -> int:
    """1, or the odd step at which a large picture is evaluated: an odd one meets the
    trained and the held-out pixels of the paper's split alike.

    Of a shorter `side` a few rows are left whatever the step.
    """
    k, most = 1, MOST_PIXELS if most is None else most
    while pixels > most * k * k and (side is None or side // (k + 2) >= LEAST_SIDE):
        k += 2
    return k


def _middle(values: np.ndarray) -> np.ndarray:
    """The middle of a picture that stays on the disk, at full density."""
    cut = [slice((n - min(n, MIDDLE)) // 2, (n + min(n, MIDDLE)) // 2)
           for n in values.shape[:2]]  # fmt: skip
    return np.array(values[tuple(cut)])


def thinned(task: ImageTask, k: int) -> ImageTask:
    """The task of every kth row and column, with its trained and held-out pixels."""
    if k == 1:
        return task
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
