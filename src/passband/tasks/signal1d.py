"""A 1D signal of the paper's theory studies: few train points, the rest for testing."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Scalar

from ..data.noise import DenseSignals
from ..field import Field
from ..mappings import AnyKey
from .task import Task, half_sum_square


class Signal1D(Task):
    r"""A periodic signal seen at its train points, all of them at every step.

    The loss is half the *sum* of squares, $\frac12 \sum_i (f(x_i) - y_i)^2$, as in the
    paper's three 1D studies; under plain gradient descent, a mean would be n times
    slower (protocol 1.1).
    """

    coords: Float[Array, "*runs n 1"]
    values: Float[Array, "*runs n 1"]
    test_coords: Float[Array, "*runs rest 1"]
    test_values: Float[Array, "*runs rest 1"]
    grid: Float[Array, "*runs cn 1"]
    """Every point of the signal, in order."""

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del key, step
        return half_sum_square(field.batch(self.coords), self.values)

    def predict(self, field: Field) -> np.ndarray:
        """The signal on its own grid, in its own range of [-0.5, 0.5]."""
        return field.predict(self.grid)

    def metrics(self, field: Field) -> dict[str, float]:
        """Mean squared error at the train points and at all others."""
        train = field.predict(self.coords) - np.asarray(self.values)
        test = field.predict(self.test_coords) - np.asarray(self.test_values)
        return {
            "mse_train": float(np.mean(np.square(train, dtype=np.float64))),
            "mse_test": float(np.mean(np.square(test, dtype=np.float64))),
        }

    @property
    def step_points(self) -> int:
        return self.coords.shape[-2]


def signal_tasks(signals: DenseSignals) -> list[Signal1D]:
    """A task for each signal; what they share, a stack of them holds once."""
    points = [jnp.asarray(x[:, None]) for x in (signals.x_train, signals.x_test)]
    grid = jnp.asarray(signals.x[:, None])
    return [
        Signal1D(
            points[0],
            jnp.asarray(train[:, None]),
            points[1],
            jnp.asarray(test[:, None]),
            grid,
        )
        for train, test in zip(signals.y_train, signals.y_test, strict=True)
    ]
