"""What training needs to know of a task."""

import abc
import os

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree, Scalar

from ..field import Field
from ..mappings import AnyKey
from ..ops.chunked import chunked_sum


class Task(eqx.Module):
    """Data, forward model, loss and metrics of one signal.

    A task is a pytree: what differs between runs is an array, so that tasks of equal
    shape stack and train as one program.
    """

    @abc.abstractmethod
    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        """What one step of training lowers; its batch comes from `key`, or from the
        number of the step where a batch is drawn without replacement."""

    @abc.abstractmethod
    def predict(self, field: Field) -> np.ndarray:
        """The signal as the field has it, on the data's own grid, in [0, 1]."""

    @abc.abstractmethod
    def metrics(self, field: Field) -> dict[str, float]:
        """How good the field is, by name."""

    @property
    @abc.abstractmethod
    def step_points(self) -> int:
        """How many times a step evaluates the field."""

    def ready(self, field: Field, step: Int[Array, ""] | int) -> "Task":
        """The task of the steps from this one on of a run alone, with what it looks up
        in the field before them: by the state, so that a resumed run finds the same."""
        return self.with_found(self.look_up(field, step))

    def look_up(self, field: Field, step: Int[Array, ""] | int) -> PyTree:
        """What is looked up in the field before some steps, by runs of a stack too;
        None is nothing."""
        del field, step
        return None

    def with_found(self, found: PyTree) -> "Task":
        """The task of the steps after that."""
        del found
        return self

    @property
    def steps_a_look(self) -> int:
        """Steps that `ready` is worth, at least."""
        return 1

    @property
    def microbatch_points(self) -> int:
        """Points whose layers a step holds in memory together."""
        return self.step_points

    @property
    def microbatched(self) -> bool:
        """Whether those are fewer than a step has; of a stack of tasks too."""
        return False

    @property
    def shared_batch(self) -> int | None:
        """Points of a step that several devices may share, each drawing its own part;
        None where a step is not drawn, or too small to be worth it."""
        return None

    def share(self, count: int) -> "Task":
        """The task of one of so many devices, with its part of the batch."""
        raise NotImplementedError(f"{type(self).__name__} is not shared")

    def psnr_of_loss(self, loss: np.ndarray) -> np.ndarray | None:
        """The PSNR that a loss stands for, where it stands for one."""
        del loss
        return None


def half_mean_square(
    prediction: Float[Array, "..."], target: Float[Array, "..."]
) -> Scalar:
    """Half the mean squared error, in float32; shapes must be equal."""
    return 0.5 * jnp.mean(_squares(prediction, target))


POINTS_A_CORE = 512
"""Points whose layers stay in the caches of a core: those of 256 units are 0.5 MB."""


def points_at_once(points: int) -> int:
    """Points that a step of regression takes together: on a CPU, few enough that what
    a layer left is still in its caches when the next one, or its gradient, asks."""
    if jax.default_backend() != "cpu":
        return points
    return min(points, POINTS_A_CORE * max(2, os.cpu_count() or 1))


def half_mean_square_at(
    field: Field,
    coords: Float[Array, "n d"],
    values: Float[Array, "n c"],
    *,
    still: bool = False,
) -> Scalar:
    """`half_mean_square` of a field at points, as many at once as are fast.

    Args:
        still: every step has these points (`Field.batch`).
    """

    def rows(field: Field, coords: Array, values: Array) -> Array:
        return jnp.sum(_squares(field.batch(coords), values), axis=-1)

    at_once = points_at_once(len(coords))
    if at_once >= len(coords):
        return half_mean_square(field.batch(coords, still=still), values)
    total = chunked_sum(rows, field, (coords, values), at_once)
    return 0.5 * total / values.size


def half_sum_square(
    prediction: Float[Array, "..."], target: Float[Array, "..."]
) -> Scalar:
    """Half the sum of squared errors, in float32: the 1D studies' loss."""
    return 0.5 * jnp.sum(_squares(prediction, target))


def _squares(prediction: Array, target: Array) -> Array:
    if prediction.shape != target.shape:
        raise ValueError(
            f"`prediction` {prediction.shape} and `target` {target.shape} must have "
            "one shape; a loss does not broadcast"
        )
    error = prediction.astype(jnp.float32) - target.astype(jnp.float32)
    return error * error
