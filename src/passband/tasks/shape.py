"""The shape task: a point of the unit cube in, inside or outside of a mesh out."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Scalar

from ..errors import InputError
from ..field import Field
from ..labels.near import NearPool
from ..labels.pool import LabelledPoints, LabelPool, ShapeLabels, block_order
from ..mappings import AnyKey
from .metrics import iou
from .task import Task

LEAST_SHARED = 16
"""Points of a step of which some can lie near the surface: 8 are a byte of labels."""


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOut:
    """The points a shape is tested at: uniform in its box, and near its surface.

    They are no part of a step, so any two are equal: tasks of different meshes stack,
    share one program, and these arrays stay with the host.
    """

    uniform: LabelledPoints
    boundary: LabelledPoints

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeldOut)

    def __hash__(self) -> int:
        return hash(HeldOut)


class ShapeTask(Task):
    """Fit the occupancy of a mesh from a pool of labelled points (paper, section 6.3).

    A field for it has one output, `sigmoid`, and coordinates in [0, 1]^3: mappings take
    `norm=1`, and no mapping is `none:scale=2,shift=-1` (protocol 8).
    """

    pool: LabelPool
    order: Int[Array, "*runs steps"]
    """Which part of the pool each step trains on: none twice before each was once."""
    held_out: HeldOut = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    """Points a step from the pool."""
    near: NearPool | None = None
    near_batch: int = eqx.field(static=True, default=0)
    """Points a step that lie near the surface."""

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        """Binary cross-entropy of the logits, mean over the step's points."""
        del key  # the points are those of the step's number
        part = self.order[step % self.order.shape[0]]
        points, inside = self.pool.batch(part, self.batch)
        if self.near is not None:
            close, within = self.near.batch(step, self.near_batch)
            points = jnp.concatenate([points, close])
            inside = jnp.concatenate([inside, within])
        return cross_entropy(field.logits(points)[:, 0], inside.astype(jnp.float32))

    def predict(self, field: Field) -> np.ndarray:
        """Probability of inside at the test points, the uniform ones first."""
        sets = (self.held_out.uniform, self.held_out.boundary)
        return np.concatenate([field.predict(points) for points, _ in sets])

    def metrics(
        self, field: Field, prediction: np.ndarray | None = None
    ) -> dict[str, float]:
        """IoU at probability 0.5, of uniform points and of points near the surface."""
        seen = self.predict(field) if prediction is None else prediction
        inside = seen[:, 0] > 0.5
        uniform, boundary = self.held_out.uniform.labels, self.held_out.boundary.labels
        return {
            "iou_uniform": iou(inside[: len(uniform)], uniform),
            "iou_boundary": iou(inside[len(uniform) :], boundary),
        }

    @property
    def step_points(self) -> int:
        return self.batch + self.near_batch


def shape_task(
    labels: ShapeLabels,
    *,
    steps: int,
    seed: int,
    batch: int | None = None,
    near: NearPool | None = None,
    near_surface: float = 0.0,
) -> ShapeTask:
    """The task of a labelled mesh.

    Args:
        steps: how long the order of the pool's parts is; later steps start it again.
        seed: of that order.
        batch: points a step; None takes as many as a block of the pool has.
        near: points near the surface.
        near_surface: the share of a step's points that come from `near`.
    """
    pool = labels.pool
    total = pool.blocks * pool.block
    batch = pool.block if batch is None else batch
    check_batch(batch, labels)
    close = near_points(batch, near_surface)
    if close and (near is None or near.blocks * near.block < close):
        raise InputError(
            f"`near` has fewer than {close} points, those of a step by `near_surface` "
            f"(={near_surface:g}); give a larger pool"
        )
    return ShapeTask(
        pool,
        jnp.asarray(block_order(steps, total // (batch - close), seed=seed)),
        HeldOut(labels.uniform, labels.boundary),
        batch - close,
        near if close else None,
        close,
    )


def check_batch(batch: int, labels: ShapeLabels) -> None:
    """Refuse what is no number of points for a step."""
    most = labels.pool.blocks * labels.pool.block
    if not 0 < batch <= most or batch % 8:
        raise InputError(
            f"`batch` (={batch}) must be a multiple of 8 and at most {most}, the "
            "points that are labelled"
        )


def near_points(batch: int, near_surface: float) -> int:
    """How many points of a step lie near the surface, for a share of them: a multiple
    of 8, and 8 at least of these and of the others."""
    if not near_surface:
        return 0
    if batch < LEAST_SHARED:
        raise InputError(
            f"`near_surface` (={near_surface:g}) needs a `batch` (={batch}) of at "
            f"least {LEAST_SHARED}: 8 points near the surface and 8 others; without "
            "points near the surface it is 0"
        )
    return min(max(8, 8 * round(near_surface * batch / 8)), batch - 8)


def surface_of(field: Field) -> Callable[[np.ndarray], np.ndarray]:
    """Points (n, 3) to n logits, 0 on the surface; unlike probabilities they do not
    level off near it, so that interpolating between two of them finds it."""
    return lambda points: field.predict(points, logits=True)[:, 0]


def cross_entropy(
    logits: Float[Array, " n"], inside: Float[Array, " n"]
) -> Float[Array, ""]:
    """Mean of log(1 + e^z) - z y in float32, finite for any finite logits."""
    z = logits.astype(jnp.float32)
    return jnp.mean(jax.nn.softplus(z) - z * inside)
