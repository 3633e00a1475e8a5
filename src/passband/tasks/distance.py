"""The signed distance task: a point of the unit cube in, its distance to a mesh out."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Scalar

from ..field import Field
from ..labels.distance import DistancePoints
from ..mappings import AnyKey
from .metrics import iou
from .task import Task


@dataclasses.dataclass(frozen=True, eq=False)
class HeldDistances:
    """Points a distance is tested at; no part of a step, so any two are equal."""

    points: DistancePoints

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeldDistances)

    def __hash__(self) -> int:
        return hash(HeldDistances)


class DistanceTask(Task):
    """Fit signed distances, negative inside, by their mean absolute error.

    A field for it has one output, `identity`, in sides of the unit cube.
    """

    points: Float[Array, "*runs n 3"]
    distances: Float[Array, "*runs n"]
    held_out: HeldDistances = eqx.field(static=True)
    batch: int = eqx.field(static=True)

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del step
        pick = jax.random.randint(key, (self.batch,), 0, self.points.shape[0])
        off = field.batch(self.points[pick])[:, 0] - self.distances[pick]
        return jnp.mean(jnp.abs(off.astype(jnp.float32)))

    def predict(self, field: Field) -> np.ndarray:
        """Distances at the test points."""
        return field.predict(self.held_out.points.points)

    def metrics(
        self, field: Field, prediction: np.ndarray | None = None
    ) -> dict[str, float]:
        """Mean absolute errors in sides of the unit cube, and IoU by the sign."""
        seen = self.predict(field) if prediction is None else prediction
        held, found = self.held_out.points, seen[:, 0]
        off = np.abs(found - held.distances)
        inside, truth = found < 0, held.distances < 0
        return {
            "iou_uniform": iou(inside[~held.near], truth[~held.near]),
            "iou_boundary": iou(inside[held.near], truth[held.near]),
            "distance_error": float(off[~held.near].mean()),
            "distance_error_boundary": float(off[held.near].mean()),
        }

    @property
    def step_points(self) -> int:
        return self.batch


def distance_task(
    train: DistancePoints, test: DistancePoints, *, batch: int
) -> DistanceTask:
    """The task of points with distances, tested at others."""
    return DistanceTask(
        jnp.asarray(train.points),
        jnp.asarray(train.distances),
        HeldDistances(test),
        min(batch, len(train.points)),
    )


def offset_surface(field: Field, level: float) -> Callable[[np.ndarray], np.ndarray]:
    """Points (n, 3) to n numbers, 0 where the distance is `level`, positive within."""
    return lambda points: level - field.predict(points)[:, 0]
