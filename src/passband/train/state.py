"""The state of one run, and the one step that advances it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from ..field import Field
from ..mappings import AnyKey
from ..members import Members, members_of
from ..tasks.task import Task
from .schedules import Schedule


class State(eqx.Module):
    """Everything a run needs to go on, and nothing else."""

    field: Field
    moments: PyTree
    step: Int[Array, "*runs"]
    key: PyTree
    rate: Schedule
    stopped: Int[Array, "*runs"]
    """The step whose loss or gradient was not finite; -1 while all is well."""


def init_state(
    field: Field,
    optimiser: optax.GradientTransformation,
    rate: Schedule,
    key: AnyKey,
) -> State:
    """A run before its first step."""
    moments = init_moments(field, optimiser)
    return State(field, moments, jnp.int32(0), key, rate, jnp.int32(-1))


def init_moments(field: Field, optimiser: optax.GradientTransformation) -> PyTree:
    """What an optimiser remembers at the start; of members, each for itself."""
    if isinstance(field, Members):
        return jax.vmap(lambda one: init_moments(one, optimiser))(field.networks)
    return optimiser.init(eqx.filter(field, field.trainable()))


def advance(
    task: Task,
    state: State,
    optimiser: optax.GradientTransformation,
    number: Int[Array, ""],
    axis: str | None = None,
) -> tuple[State, Float[Array, "*members"]]:
    """One step of gradient descent.

    A run whose loss or gradient is not finite stays at its last finite state from then
    on, by a select, so that its neighbours in a population are not touched (`telling`
    says by what it is noticed; no number that is not finite is taken in any case). The
    batch key comes from the step's number: a resumed run draws what it would have
    drawn.

    Members take the step side by side, on the same batch, each by its own loss and its
    own gradient; if one of them is not finite, all stay.

    Args:
        number: the step's, which is `state.step` while all is well; a counter that
            waits for no gradient, so that a GPU need not either to draw a batch.
        axis: of a mesh whose devices share the batch: each draws its own part, and all
            take the mean of their losses and gradients.
    """
    field = state.field
    if many := isinstance(field, Members):
        field = field.networks
    params, fixed = eqx.partition(field, field.trainable())
    key = jax.random.fold_in(state.key, number)
    if axis is not None:
        key = jax.random.fold_in(key, jax.lax.axis_index(axis))
    scale = state.rate(number)

    def step(params, fixed, moments):
        def loss_of(params):
            return task.loss(eqx.combine(params, fixed), key, number)

        loss, grads = jax.value_and_grad(loss_of)(params)
        if axis is not None:
            loss, grads = jax.lax.pmean((loss, grads), axis)
        square = sum(jnp.vdot(g, g) for g in telling(grads))
        finite = jnp.isfinite(loss) & jnp.isfinite(square)
        updates, moments = optimiser.update(grads, moments, params)
        moved = jax.tree.map(lambda p, u: p + scale * u, params, updates)
        return moved, moments, loss, finite

    take = jax.vmap(step) if many else step
    moved, moments, loss, finite = take(params, fixed, state.moments)
    alive = (state.stopped < 0) & jnp.all(finite)

    def keep(new, old):
        if jnp.issubdtype(new.dtype, jnp.inexact):
            return jnp.where(alive & jnp.isfinite(new), new, old)
        return jnp.where(alive, new, old)

    stepped = eqx.combine(jax.tree.map(keep, moved, params), fixed)
    return (
        State(
            members_of(stepped) if many else stepped,
            jax.tree.map(keep, moments, state.moments),
            jnp.where(alive, state.step + 1, state.step),
            state.key,
            state.rate,
            jnp.where(alive | (state.stopped >= 0), state.stopped, state.step),
        ),
        loss,
    )


def telling(grads: Field) -> list[Array]:
    """The parts of a gradient that tell whether all of it is finite.

    A layer's weight gradient is the product of its inputs and of what reaches its sums,
    and its bias gradient is the sum of the latter: if that is finite and the loss is,
    so is the product. On a GPU the first layer's weight gradient is the last number of
    a step, and a norm of it would be two kernels that the next step waits for.
    """
    others = eqx.tree_at(lambda field: field.mlp.weights, grads, ())
    return jax.tree.leaves(others)
