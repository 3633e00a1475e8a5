"""Measurements in memory, through any linear operator of one's own."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from ..atomic_write import write_bytes
from ..data.images import to_user
from ..data.volumes import write_volume
from ..domain import extent_of, scaled_sides
from ..errors import InputError
from ..field import Field
from ..forward.linear import LinearForward, Masked
from ..forward.operator import linear, refined
from ..members import mean_and_spread
from ..ops.mlp import Precision
from ..options import make_options
from ..plot.reconstructions import reconstructions
from ..plot.signal import signal_figure
from ..plot.style import png_bytes
from ..plot.volume_slices import volume_slices
from ..reconstruct.baselines import baselines
from ..reconstruct.least_squares import least_squares
from ..tasks.linear import LinearTask, check_measured, held_out, linear_task
from ..tasks.metrics import psnr, ssim
from ..tasks.mri import render
from ..tasks.splitting import norm_of
from ..train.memory import budget, microbatch_voxels
from ..tuning.measurements import linear_problem
from ..tuning.problem import Problem
from .defaults import (
    CPU_POINTS,
    network_share,
    on_cpu,
    out_of_patience,
    paper_lr,
    resolve,
    score_line,
    start_at,
)
from .descent import Split, at_an_end, by_sides, split_remark, with_descent
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
from .measured_range import affordable, digest_of, ends_of, rough_of, truth_of
from .model_facts import check_room, range_of, refuse, shape_of, suffix_of
from .options import MeasuredOptions, TrainOptions
from .prior import with_prior
from .shown import Shown, middle_plane, three_axes
from .views import measured_view

SPLIT = Split(pull=2e-3, pictures=40, iterations=50, ratio=2.0, most=25)  # CT's
BASELINE_SECONDS, BASELINE_STEPS = 5.0, 300  # of each baseline


def measured(
    A: Any,
    y: Any,
    shape: int | Sequence[int] | None = None,
    *,
    adjoint: Callable[[Any], Any] | None = None,
    low: float | None = 0.0,
    high: float | None = None,
    mask: Any = None,
    truth: Any = None,
    title: str = "measurements",
    dtype: DTypeLike = np.float32,
    check: bool = True,
    **options: Any,
) -> "MeasuredKind":
    """Measurements y = A x (and noise), ready to be fitted: x is a field on a grid.

    Sample k along an axis is at k / (longest side), as in a picture.

    Args:
        A: what measures; anything that `forward.linear` takes, or an instrument.
        y: what was measured, of A's output shape; complex if A's results are.
        shape: of the grid of x, where `A` does not tell.
        adjoint: of a function `A` (`forward.linear`).
        low: the smallest value of x, in the user's units; None has it estimated.
        high: the largest one; half as much again as other methods find if not given.
        mask: True for the measurements that were taken; all by default.
        truth: x itself, if it is known, to compare with.
        title: what the report is headed by.
        dtype: of the values that a host function is given.
        check: whether an adjoint is tested.
        options: of the training: `mapping`, `steps`, `lr`, `holdout`, ...

    Example:
        >>> import numpy as np
        >>> from passband.kinds.fit import fit
        >>> from passband.kinds.measured import measured
        >>> x = np.sin(np.arange(24) / 4) + 1
        >>> A = np.random.default_rng(0).normal(size=(20, 24))
        >>> data = measured(A, A @ x, mapping="gaussian:2", steps=300, width=64)
        >>> fitted = fit(data, data.options)
        >>> fitted.evaluation.metrics["error_train"] < 0.1
        True
    """
    forward = linear(A, shape, adjoint=adjoint, dtype=dtype, check=check)
    found = np.asarray(y)
    if found.dtype.kind not in "buifc":
        raise InputError(f"`y` holds {found.dtype}; measurements are numbers")
    found = found.astype(np.complex64 if np.iscomplexobj(found) else np.float32)
    there = None if mask is None else np.asarray(mask)
    known = check_measured(forward, found, there)
    found = np.where(known, found, 0)
    if truth is not None:
        truth = truth_of(truth, forward.input_shape)
    for name, end in (("low", low), ("high", high)):
        if end is not None and not math.isfinite(end):
            raise InputError(f"`{name}` (={end}) must be finite")
    rough = rough_of(forward, found, known, low)
    sharp = least_squares(
        Masked(forward, jnp.asarray(known)),
        jnp.asarray(found),
        *map(jnp.asarray, held_out(known, 0.05, 0)),
        iterations=min(30, affordable(forward, 2.0, 30)),
    ).values
    low, high = ends_of(np.stack([rough, sharp]), low, high)
    return MeasuredKind(
        make_options(MeasuredOptions, options), title, forward, found, known, low, high,
        rough, truth, sha256=digest_of(found, known, low, high, forward.input_shape),
    )  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class MeasuredKind(Kind):
    """What an operator measured of a field."""

    name = "measured"
    view = staticmethod(measured_view)
    cpu_trials, gpu_trials = TrialSize(400, 64**2), TrialSize(640, 160**2)

    options: MeasuredOptions
    forward: LinearForward
    measurements: np.ndarray
    known: np.ndarray
    """Which measurements were taken."""
    low: float
    high: float
    """The values at the field's 0 and 1."""
    rough: np.ndarray
    """A first picture, in the user's units."""
    truth: np.ndarray | None

    @classmethod
    def source(cls, options: MeasuredOptions) -> Path:
        raise InputError("measurements in memory have no `file`; see `measured`")

    @classmethod
    def inputs(cls, options: MeasuredOptions) -> list[Path]:
        return []

    @classmethod
    def read(
        cls, options: MeasuredOptions, listener: Listener = SILENT
    ) -> "MeasuredKind":
        del listener
        raise InputError("measurements in memory have no `file`; see `measured`")

    def again(self, options: MeasuredOptions) -> "MeasuredKind":
        return dataclasses.replace(self, options=options)

    @property
    def sides(self) -> tuple[int, ...]:
        return self.forward.input_shape

    def values(self, field: Field) -> np.ndarray:
        """A field on the grid of the operator, in the user's units."""
        return self._user(render(field, self.sides, extent_of(self.sides))[..., 0])

    def default_mapping(self) -> str:
        return "gaussian:auto"

    def training(self, asked: TrainOptions, mapping: Any) -> Training:
        # Many steps on a coarse grid serve better than few on a fine one, as in CT.
        steps, points = asked.steps or 1000, math.prod(self.sides)
        batch, lr = points, paper_lr(mapping)
        if on_cpu():
            batch = min(points, max(4096, int((CPU_POINTS - 0.4 * points) / steps)))
            lr = 3e-3
        found = resolve(asked, mapping, steps=steps, batch=batch, lr=lr)
        how = getattr(asked, "descent", None) or "direct"  # a picture costs 50 A's
        return dataclasses.replace(found, descent=how)

    def network(self, training: Training | None = None) -> Network:
        return Network(len(self.sides), 1, "sigmoid", self._mean)

    @functools.cached_property
    def _mean(self) -> float:
        """Of the values, as a share of their range: the one that the measurements of
        a constant fit best, where a constant is seen at all."""
        ones = np.asarray(self.forward(jnp.ones(self.sides)))[self.known]
        power = float(np.sum(np.abs(ones) ** 2))
        if not power > 0:
            return 0.5
        mean = np.vdot(ones, self.measurements[self.known]).real / power
        return start_at((mean - self.low) / (self.high - self.low))

    def task(self, training: Training) -> LinearTask:
        whole = training.descent == "split"
        sides = self.sides if whole else coarser(self.sides, training.batch)
        given = self.network(training), jax.random.key(0)
        precision = Precision.resolve(training.precision, jax.default_backend())
        shapes = eqx.filter_eval_shape(training.draw, *given).with_precision(precision)
        room, count = training.max_memory or budget(), math.prod(sides)
        fits = microbatch_voxels(shapes, count, 1, room)
        task = with_prior(self._task(sides, None if fits >= count else fits), training)
        return with_descent(task, training, SPLIT, lambda: self._norm(sides))

    @functools.lru_cache(maxsize=4)  # noqa: B019  an instrument is made once for a fit
    def _task(self, sides: tuple[int, ...], at_once: int | None = None) -> LinearTask:
        return linear_task(
            refined(self.forward, sides),
            self.measurements,
            low=self.low,
            high=self.high,
            mask=self.known,
            holdout=self.options.holdout,
            seed=self.options.seed,
            extent=extent_of(self.sides),
            at_once=at_once,
        )

    @functools.lru_cache(maxsize=4)  # noqa: B019
    def _norm(self, sides: tuple[int, ...]) -> float:
        return norm_of(self._task(sides).quadratic())

    def remarks(self, task: LinearTask) -> tuple[str, ...]:
        grid, full = task.forward.input_shape, self.sides
        if task.splitting is not None:
            return (split_remark(task, full, full),)
        if grid == full:
            return ()
        return (
            f"trains on a grid of {by_sides(grid)} for {by_sides(full)}; "
            f"`batch={math.prod(full)}` takes all of it",
        )

    def nyquist(self) -> float:
        return max(self.sides) / 2

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        task = self._task(coarser(self.sides, size.points))
        return linear_problem(
            task, self.rough, start=self._mean, share=network_share(), seed=asked.seed
        )

    def health(
        self, task: LinearTask, field: Field, entry: Any, history: History
    ) -> Health:
        collapse = at_an_end(task, field, entry, history)
        if task.test_mask is None or collapse:
            return Health(collapse=collapse)
        found = task.metrics(field)
        errors = [*history.get("error_test", []), found["error_test"]]
        return Health(found, out_of_patience(self.options.patience, errors))

    def evaluate(
        self,
        task: LinearTask,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        whole = self._task(self.sides)
        ours, apart = mean_and_spread(
            field, lambda f: render(f, self.sides, extent_of(self.sides))[..., 0]
        )
        metrics = self._scores(whole, ours)
        listener.progress("the baselines", often=False)
        limit = min(BASELINE_SECONDS, math.inf if seconds is None else seconds)
        steps = affordable(self.forward, limit, BASELINE_STEPS)
        others = baselines(whole, steps=steps) if self.beside else {}
        scores = {name: self._scores(whole, x) for name, x in others.items()}
        word = str(training.mapping)
        shown = {name: self._user(x) for name, x in {word: ours, **others}.items()}
        notes = {k: score_line(v) for k, v in {word: metrics, **scores}.items()}
        return Evaluation(
            metrics=metrics,
            about={"shape": [*self.sides, 1], "low": self.low, "high": self.high},
            preview=lambda: self._preview(ours, word),
            figures=lambda: self._figures(shown, notes),
            baselines=scores,
            more={}
            if task.forward.input_shape == self.sides
            else {"grid": list(task.forward.input_shape)},
            spread=spread_of(apart, self.high - self.low, self._user(ours), self.truth),
            shown=lambda: self._shown(shown),
        )

    def _shown(self, made: dict[str, np.ndarray]) -> Shown:
        """A plane of each, ours first; samples as they are."""
        plane = (lambda x: x) if len(self.sides) == 1 else middle_plane
        ours, *others = ((name, plane(x)) for name, x in made.items())
        truth = None if self.truth is None else plane(self.truth)
        return Shown(ours[1], truth, dict(others))

    def _user(self, values: np.ndarray) -> np.ndarray:
        return to_user(values, self.low, self.high)

    def _scores(self, task: LinearTask, values: np.ndarray) -> dict[str, float]:
        found: dict[str, float] = {}
        if self.truth is not None:
            low, span = float(self.truth.min()), float(np.ptp(self.truth)) or 1.0
            shown = np.clip(self._user(values), low, low + span)
            found["psnr"] = psnr(shown, self.truth, data_range=span)
            if shown.ndim == 2 and min(shown.shape) >= 7:
                found["ssim"] = ssim(shown, self.truth, data_range=span)
        return found | task.errors(values)

    def _preview(self, ours: np.ndarray, word: str) -> Any:
        if ours.ndim == 2:
            return ours[..., None]
        if ours.ndim == 1:
            beside = self.rough if self.truth is None else self.truth
            return signal_figure(
                beside[:, None], self._user(ours)[:, None], mapping=word
            )
        return volume_slices({"Field": self._user(three_axes(ours))})

    def _figures(
        self, shown: dict[str, np.ndarray], notes: dict[str, str]
    ) -> dict[str, Any]:
        if len(self.sides) == 1:
            word, ours = next(iter(shown.items()))
            beside = self.rough if self.truth is None else self.truth
            return {
                "Signal": signal_figure(beside[:, None], ours[:, None], mapping=word)
            }
        truth = None if self.truth is None else middle_plane(self.truth)
        pictures = {name: middle_plane(x) for name, x in shown.items()}
        return {"Reconstructions": reconstructions(pictures, truth, notes=notes)}

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        del listener
        refuse(options, ("size", "crop", "bits"), "is for pictures; use `resolution`")
        d = field.encoding.dims
        *sides, _ = shape_of(field, about, d)
        low, high = range_of(about)
        new = scaled_sides(sides, options.resolution)
        check_room(math.prod(new))

        def values() -> np.ndarray:
            found = render(field, new, extent_of(tuple(sides)))[..., 0]
            return to_user(found, low, high)

        def write(out: Path) -> dict[str, Any]:
            known = (".npy", ".png") if d > 1 else (".npy",)
            suffix, found = suffix_of(out, known), values()
            if suffix == ".npy":
                write_volume(out, found, None)
            else:
                shown = three_axes(found) - min(low, 0.0)
                write_bytes(out, png_bytes(volume_slices({"Field": shown})))
            return {"shape": list(found.shape)}

        return Rendered(values, write)

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        d = field.encoding.dims
        *sides, _ = shape_of(field, about, d)
        words = "number of the sample" if d == 1 else "column, row and further indices"
        return Units(np.zeros(d), np.full(d, 1 / max(sides)), np.zeros(d), words)


def coarser(sides: tuple[int, ...], points: int) -> tuple[int, ...]:
    """Sides of about the same shape with at most so many points, each 2 or more."""
    count = math.prod(sides)
    if points >= count:
        return sides
    scale = (points / count) ** (1 / len(sides))
    return tuple(min(n, max(2, int(n * scale + 1e-9))) for n in sides)
