"""A picture file: PNG, JPEG, TIFF, NPY."""

import dataclasses
import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..data.images import Image, read_image
from ..domain import grid_coords
from ..field import Field, predict_stack
from ..members import mean_and_spread
from ..plot.spectrum import spectrum_figure
from ..plot.triptych import triptych
from ..reconstruct.interpolation import KERNELS, enlarged_by, scattered, spline
from ..reconstruct.jpeg import jpeg_within
from ..tasks.image import ImageTask, image_task, render, split_pixels
from ..tasks.metrics import psnr_stack, ssim_stack
from ..tuning.grid import grid_problem
from ..tuning.problem import Problem
from .defaults import cut_to_size, modern, paper_lr, points_in_time, resolve, start_at
from .in_stacks import InStacks, Judged
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

MOST_BESIDE = 1_000_000  # pixels of a picture that classical methods are tried on
WATCHED = 4096
"""Held-out pixels that are looked at while a fit trains."""

AMONG_MANY = ((64**2, 64, 200, 5e-3), (256**2, 128, 300, 3e-3))
"""Pixels up to which so many channels, steps and such a rate of Muon are enough for a
picture among many; docs/many.md has what they reach."""
TOGETHER = 2**18
"""Pixels up to which pictures of a stack are judged together."""
LEAST_SIDE = 8  # rows and columns that are always evaluated: metrics need some


@dataclasses.dataclass(frozen=True, eq=False)
class ImageKind(Kind, InStacks):
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
        return cls(options, image.name, image)

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
        start = start_at((values.mean(dtype=np.float64) - low) / (high - low))
        return Network(2, values.shape[2], "sigmoid", start)

    def task(self, training: Training) -> ImageTask:
        holdout, seed = self.options.holdout, self.options.seed
        return image_task(self.image, holdout=holdout, batch=training.batch, seed=seed)

    def nyquist(self) -> float:
        longest = max(self.image.values.shape[:2])
        return longest / (4 if self.options.holdout == "quarter" else 2)

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        values, known = self.image.normalised(), None
        step, holdout = 1 / max(values.shape[:2]), self.options.holdout
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
        self, task: ImageTask, field: Field, entry: Any, history: History
    ) -> Health:
        del entry, history
        if task.test is None or not self.beside:  # comparisons are timed
            return Health()
        every = -(-len(task.test) // WATCHED)
        some = eqx.tree_at(lambda t: t.test, task, task.test[::every])
        return Health({"psnr_test": some.held_out_psnr(field)})

    def evaluate(
        self,
        task: ImageTask,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        h, w, _ = self.image.values.shape
        most = MOST_PIXELS
        if seconds is not None:  # the other half is for metrics and figures
            most = min(most, points_in(seconds / 2, field))
        k, more = stride(h * w, most, min(h, w)), {}
        if k > 1:
            task = thinned(task, k)
            more["evaluated"] = f"one row and one column in {k}"
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
            about=self._about(),
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
            shown=lambda: Shown(_colours(prediction), _colours(truth), made.pictures),
        )

    def _about(self) -> dict[str, Any]:
        low, high = self.image.low, self.image.high
        bits = {1: 8, 2: 16}.get(self.image.values.dtype.itemsize, 32)
        shape = list(self.image.values.shape)
        return {"shape": shape, "low": low, "high": high, "bits": bits}

    def among_many(self, asked: ImageOptions, given: Collection[str]) -> ImageOptions:
        h, w, _ = self.image.values.shape
        size = next((row for row in AMONG_MANY if h * w <= row[0]), None)
        if size is None or "width" in given or not modern(asked):
            return asked
        _, width, steps, lr = size
        usual = {"width": width, "steps": steps, "lr": lr}
        usual["mapping"] = f"{self.default_mapping()},m={width}"
        if "steps" in given or "optimiser" in given:
            usual["lr"] = asked.lr or (lr if "optimiser" not in given else None)
        return dataclasses.replace(
            asked, **{k: v for k, v in usual.items() if k not in given}
        )

    @classmethod
    def judge_stack(
        cls,
        kinds: Sequence["ImageKind"],
        tasks: Sequence[ImageTask],
        field: Field,
    ) -> Callable[[], list[Judged]] | None:
        h, w, _ = tasks[0].pixels.shape
        if tasks[0].train is not None or h * w > TOGETHER or field.members > 1:
            return None
        seen = predict_stack(field, grid_coords(np.arange(h * w), (h, w)))

        def judged() -> list[Judged]:
            truth = np.stack([task.truth() for task in tasks])
            shown = seen.reshape(truth.shape)
            levels, alike = psnr_stack(shown, truth), ssim_stack(shown, truth)
            return [
                Judged({"psnr": p, "psnr_train": p, "ssim": s}, kind._about())
                for kind, p, s in zip(kinds, levels, alike, strict=True)
            ]

        return judged

    def classical(self, room: int) -> dict[str, Make]:
        """Interpolation of the pixels held out; where none are, a JPEG as small as the
        network."""
        holdout, seed = self.options.holdout, self.options.seed
        task = image_task(self.image, holdout=holdout, seed=seed)
        truth = task.truth()
        h, w, c = truth.shape

        def judged(seen: np.ndarray, bytes: int | None = None) -> Reconstruction:
            seen = np.clip(seen, 0, 1).astype(np.float32)
            shown = Shown(_colours(seen), _colours(truth))
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


def _colours(picture: np.ndarray) -> np.ndarray:
    """Grey, or three colours: what a figure shows of any picture."""
    return picture[..., 0] if picture.shape[2] < 3 else picture[..., :3]


def stride(pixels: int, most: int | None = None, side: int | None = None) -> int:
    """1, or the odd step at which a large picture is evaluated: an odd one meets the
    trained and the held-out pixels of the paper's split alike.

    Of a shorter `side` a few rows are left whatever the step.
    """
    k, most = 1, MOST_PIXELS if most is None else most
    while pixels > most * k * k and (side is None or side // (k + 2) >= LEAST_SIDE):
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
