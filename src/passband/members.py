"""Members: several networks of the same data as one field, and how far they differ."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from .field import Field
from .mappings import AnyKey


class Members(Field):
    """Networks of one shape, each with its own B and weights; a query is their mean.

    Its arrays are those of a field with a leading axis, one entry for each member. The
    mean is of the outputs, behind the output activation.
    """

    @property
    def members(self) -> int:
        return self.mlp.biases[-1].shape[-2]

    @property
    def networks(self) -> Field:
        """All of them as one field with a leading axis: what `vmap` takes."""
        return Field(self.encoding, self.mlp, self.output, self.precision, self.leak)

    def each(self) -> list[Field]:
        """The members, one by one."""
        networks = self.networks
        return [
            jax.tree.map(lambda leaf, k=k: leaf[k], networks)
            for k in range(self.members)
        ]

    def __call__(self, v: Any) -> Float[Array, " c"]:
        """The value of one point, (d,) -> (c,)."""
        return jnp.mean(jax.vmap(lambda field: field(v))(self.networks), axis=0)

    def batch(self, coords: Any, *, still: bool = False) -> Float[Array, "n c"]:
        """All points at once, (n, d) -> (n, c), one member after the other."""
        del still  # what it says is of training, where members are side by side
        seen = jax.lax.map(lambda field: field.batch(coords), self.networks)
        return jnp.mean(seen, axis=0)

    def logits(self, coords: Any, *, still: bool = False) -> Float[Array, "n c"]:
        """What gives the mean when the output activation is applied to it."""
        del still
        seen = jax.lax.map(lambda field: field.logits(coords), self.networks)
        return MEANS[self.output](seen)


def _log_odds(z: Float[Array, "k n c"]) -> Float[Array, "n c"]:
    """Log-odds of the mean of sigmoid(z), finite for any finite z."""
    ends = (logsumexp(jax.nn.log_sigmoid(side), axis=0) for side in (z, -z))
    return jnp.subtract(*ends)


MEANS: dict[str, Callable[[Array], Array]] = {
    "identity": lambda z: jnp.mean(z, axis=0),
    "sigmoid": _log_odds,
    "tanh": lambda z: _log_odds(2 * z) / 2,  # tanh(z) = 2 sigmoid(2 z) - 1
}


def members_of(networks: Field) -> Members:
    """The members whose `networks` these are."""
    return Members(
        networks.encoding, networks.mlp, networks.output, networks.precision,
        networks.leak,
    )  # fmt: skip


def stacked(fields: Sequence[Field]) -> Members:
    """Fields of one shape as the members of one."""
    return members_of(jax.tree.map(lambda *leaves: jnp.stack(leaves), *fields))


def draw_members(draw: Callable[[AnyKey], Field], key: AnyKey, count: int) -> Field:
    """A field, or several as one, the first of which is the field that is alone."""
    if count == 1:
        return draw(key)
    return stacked([draw(key), *(draw(jax.random.fold_in(key, k))
                                 for k in range(1, count))])  # fmt: skip


def mean_and_spread(
    field: Field, evaluate: Callable[[Field], np.ndarray]
) -> tuple[np.ndarray, np.ndarray | None]:
    """What a field gives; of members the mean, and the standard deviation over them.

    Args:
        evaluate: from a single network to its values.
    """
    if not isinstance(field, Members):
        return evaluate(field), None
    first, *others = field.each()
    mean = np.array(evaluate(first))
    square = np.zeros(mean.shape, np.abs(mean[:0]).dtype)
    for count, member in enumerate(others, start=2):  # Welford's: one pass, no loss
        seen = np.asarray(evaluate(member))
        off = seen - mean
        mean += off / count
        square += np.real(off * np.conj(seen - mean))
    return mean, np.sqrt(square / field.members)
