"""Direct regression on points of the user's own: (n, d) coordinates to (n, c)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Scalar

from ..domain import check_count
from ..errors import InputError
from ..field import Field
from ..mappings import AnyKey
from .metrics import psnr
from .task import Task, half_mean_square_at, points_at_once


class RegressionTask(Task):
    """Values at points, seen directly; `low` and `high` are the values' own units."""

    coords: Float[Array, "*runs n d"]
    values: Float[Array, "*runs n c"]
    low: Float[Array, "*runs"]
    high: Float[Array, "*runs"]
    batch: int | None = eqx.field(static=True, default=None)

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del step
        coords, values = self.coords, self.values
        if self.batch is not None:
            pick = jax.random.randint(key, (self.batch,), 0, coords.shape[0])
            coords, values = coords[pick], values[pick]
        still = self.batch is None
        return half_mean_square_at(field, coords, values, still=still)

    def predict(self, field: Field) -> np.ndarray:
        return field.predict(self.coords)

    def metrics(
        self, field: Field, prediction: np.ndarray | None = None
    ) -> dict[str, float]:
        """PSNR against the range of the values."""
        seen = self.predict(field) if prediction is None else prediction
        return {"psnr": psnr(seen, np.asarray(self.values), data_range=1.0)}

    @property
    def step_points(self) -> int:
        return self.coords.shape[-2] if self.batch is None else self.batch

    @property
    def microbatch_points(self) -> int:
        return points_at_once(self.step_points)

    def psnr_of_loss(self, loss: np.ndarray) -> np.ndarray:
        return -10 * np.log10(2 * np.maximum(loss, 1e-30))


def regression_task(
    coords: ArrayLike,
    values: ArrayLike,
    *,
    batch: int | None = None,
    low: float | None = None,
    high: float | None = None,
) -> RegressionTask:
    """The task of (n, d) points and (n,) or (n, c) values, scaled to [0, 1] inside."""
    x, y = np.asarray(coords), np.asarray(values)
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        raise InputError("`coords` and `values` must be real, not complex")
    x, y = x.astype(np.float32), y.astype(np.float32)
    x = x[:, None] if x.ndim == 1 else x
    y = y[:, None] if y.ndim == 1 else y
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y) or len(x) == 0:
        raise InputError(
            f"`coords` {np.shape(coords)} and `values` {np.shape(values)} must be "
            "(n, d) and (n, c) with one n"
        )
    check_count(len(x), "`coords`")
    for name, array in (("coords", x), ("values", y)):
        if not np.isfinite(array).all():
            bad = int(np.argwhere(~np.isfinite(array))[0, 0])
            raise InputError(
                f"`{name}` holds a value that is not finite, first at {bad}"
            )
    low = float(y.min()) if low is None else low
    high = float(y.max()) if high is None else high
    if high <= low:
        high = low + 1.0
    return RegressionTask(
        jnp.asarray(x),
        jnp.asarray((y - low) / (high - low)),
        jnp.float32(low),
        jnp.float32(high),
        None if batch is None or batch >= len(x) else batch,
    )
