"""The state of one run, and the one step that advances it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int, PyTree, Scalar

from ..field import Field
from ..mappings import AnyKey
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
    moments = optimiser.init(eqx.filter(field, field.trainable()))
    return State(field, moments, jnp.int32(0), key, rate, jnp.int32(-1))


def advance(
    task: Task, state: State, optimiser: optax.GradientTransformation
) -> tuple[State, Scalar]:
    """One step of gradient descent.

    A run whose loss or gradient is not finite stays at its last finite state from then
    on, by a select, so that its neighbours in a population are not touched. The batch
    key comes from the step's number: a resumed run draws what it would have drawn.
    """
    params, fixed = eqx.partition(state.field, state.field.trainable())

    def loss_of(params):
        key = jax.random.fold_in(state.key, state.step)
        return task.loss(eqx.combine(params, fixed), key, state.step)

    loss, grads = jax.value_and_grad(loss_of)(params)
    flat = jnp.concatenate([g.ravel() for g in jax.tree.leaves(grads)])
    square = jnp.vdot(flat, flat)
    alive = (state.stopped < 0) & jnp.isfinite(loss) & jnp.isfinite(square)
    updates, moments = optimiser.update(grads, state.moments, params)
    scale = state.rate(state.step)
    moved = jax.tree.map(lambda p, u: p + scale * u, params, updates)

    def keep(new, old):
        return jnp.where(alive, new, old)

    return (
        State(
            eqx.combine(jax.tree.map(keep, moved, params), fixed),
            jax.tree.map(keep, moments, state.moments),
            jnp.where(alive, state.step + 1, state.step),
            state.key,
            state.rate,
            jnp.where(alive | (state.stopped >= 0), state.stopped, state.step),
        ),
        loss,
    )
