"""The stacked sweep: every scale and seed a lane of one program, the worst ones halved.

Lanes lie in one stack. A program of fewer seats takes some of them, trains these for a
few steps, and puts them back; when half of the scales have fallen out, the same program
is called half as often, and nothing is compiled anew.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from ..field import Field, make_field
from ..mappings import Mapping
from ..ops.mlp import Precision
from ..train.loop import Config, start, unroll
from ..train.memory import budget, bytes_of_run
from ..train.state import Rate, State, adam, advance
from .problem import Held

Say = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Plan:
    """How long the trials last, and who goes on."""

    rungs: tuple[int, ...] = (400, 800, 1600)
    """Steps at whose end the scales are compared."""
    keep: tuple[int, ...] = (4, 3)
    """Scales that go on after each rung but the last."""
    seeds: int = 2
    rate: float | Rate = 1e-3
    layers: int = 4
    width: int = 256
    precision: str = "auto"
    looks: int = 8
    """Times that the held-out error is taken up to the first rung."""
    seats: int | None = None
    """Lanes that train together; by default as many as the last rung has."""


@dataclasses.dataclass(frozen=True, eq=False)
class Swept:
    """What came of every scale."""

    steps: Int[np.ndarray, " looks"]
    errors: Float[np.ndarray, "looks scales seeds"]
    """Held-out errors; NaN once a scale has fallen out, infinite for a run that blew
    up."""
    rungs: tuple[int, ...]
    lately: int
    """Looks that count at the end of a rung."""
    seconds: float
    compiling: float

    def at(self, rung: int) -> Float[np.ndarray, "scales seeds"]:
        """The errors at the end of a rung: the geometric mean of its last looks, for a
        single one shows the step it was taken after too."""
        ends = [0, *(int(np.searchsorted(self.steps, e)) + 1 for e in self.rungs)]
        end = ends[rung + 1 if rung >= 0 else rung]
        begin = max(ends[ends.index(end) - 1], end - self.lately)
        with np.errstate(divide="ignore"):
            return np.exp(np.log(self.errors[begin:end]).mean(axis=0))

    def last(self) -> Float[np.ndarray, "scales seeds"]:
        """The last error of every scale, whenever it fell out."""
        out = self.errors[0].copy()
        for row in self.errors[1:]:
            out = np.where(np.isnan(row), out, row)
        return out


def sweep(
    held: Held,
    mappings: Sequence[Mapping],
    plan: Plan,
    *,
    d: int,
    out: int,
    output: str,
    seed: int = 0,
    say: Say = lambda text: None,
) -> Swept:
    """Train every mapping with every seed, and drop the worse half on the way.

    Runs of one seed share the base of B, their first weights and their batches, so that
    they differ by the scale alone.
    """
    optimiser = adam()
    config = Config(rate=plan.rate, precision=plan.precision)
    keys = jax.random.split(jax.random.key(seed), plan.seeds)
    first = []
    for mapping in mappings:
        for key in keys:
            field_key, run_key = jax.random.split(key)
            field = make_field(
                mapping, d=d, out=out, key=field_key, output=output,
                layers=plan.layers, width=plan.width,
            )  # fmt: skip
            first.append(start(field, config, key=run_key, optimiser=optimiser))
    room = budget() // bytes_of_run(first[0].field, held.task.points_at_once)
    most = plan.seats or plan.seeds * min([*plan.keep, len(mappings)])
    seats = int(max(1, min(most, room, len(first))))
    states = jax.tree.map(_together, *first)
    length = max(1, plan.rungs[0] // plan.looks)
    begun = time.perf_counter()
    program = _program(held, states, seats, length)
    compiled = time.perf_counter()
    alive = list(range(len(mappings)))
    steps, rows, ends, done = [], [], [], 0
    for k, end in enumerate(plan.rungs):
        lanes = [plan.seeds * s + r for s in alive for r in range(plan.seeds)]
        times = max(1, round((end - done) / length))
        block = np.full((times, len(first)), np.nan)
        for begin in range(0, len(lanes), seats):
            some = lanes[begin : begin + seats]
            # Seats left over take a lane twice: it comes out the same both times.
            chairs = np.resize(some, seats)
            for t in range(times):
                states, error = program(
                    held, states, jnp.asarray(chairs), optimiser, length
                )
                block[t, chairs] = np.asarray(error)
                say(
                    f"{len(alive)} scales, step {done + (t + 1) * length} of "
                    f"{plan.rungs[-1]}, run {min(begin + seats, len(lanes))} of "
                    f"{len(lanes)}"
                )
        steps += [done + (t + 1) * length for t in range(times)]
        done = steps[-1]
        ends.append(done)
        rows += list(block.reshape(times, len(mappings), plan.seeds))
        if k < len(plan.keep):
            late = np.stack(rows[-min(times, max(1, plan.looks // 2)) :])
            alive = survivors(level(late).mean(axis=(0, 2)), alive, plan.keep[k])
    now = time.perf_counter()
    return Swept(
        np.asarray(steps),
        np.stack(rows),
        tuple(ends),
        max(1, plan.looks // 2),
        now - compiled,
        compiled - begun,
    )


def survivors(
    score: Float[np.ndarray, " scales"], alive: list[int], keep: int
) -> list[int]:
    """The best of those alive, the neighbours of the very best among them: a top is
    known by what lies on either side of it."""
    order = sorted(alive, key=lambda i: score[i], reverse=True)
    beside = [i for i in (order[0] - 1, order[0] + 1) if i in alive]
    first = [order[0], *beside]
    return sorted([*first, *(i for i in order if i not in first)][:keep])


def level(error: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Errors in dB, higher is better; a run that blew up is far below all others."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(-10 * np.log10(error), -300, 300)


@eqx.filter_jit(donate="all-except-first")
def _train(
    held: Held,
    states: State,
    seats: Int[Array, " seats"],
    optimiser: optax.GradientTransformation,
    length: int,
) -> tuple[State, Float[Array, " seats"]]:
    """`length` steps of the lanes in `seats`, and their held-out errors after them."""

    def body(carry: State, _: None):
        def one(state: State):
            return advance(held.task, state, optimiser)

        return eqx.filter_vmap(one)(carry)

    taken = jax.tree.map(lambda x: x[seats], states)
    moved, _ = jax.lax.scan(body, taken, length=length, unroll=unroll(held.task))

    def error(state: State) -> Array:
        found = held.error(_exact(state.field))
        good = jnp.isfinite(found) & (state.stopped < 0)
        return jnp.where(good, found, jnp.inf)

    errors = eqx.filter_vmap(error)(moved)
    return jax.tree.map(lambda x, y: x.at[seats].set(y), states, moved), errors


_PROGRAMS: dict[Any, Callable] = {}


def _program(held: Held, states: State, seats: int, length: int) -> Callable:
    """The compiled program; data of one shape share it."""
    leaves, structure = jax.tree.flatten((held, states))
    name = structure, tuple((x.shape, str(x.dtype)) for x in leaves), seats, length
    if name not in _PROGRAMS:
        lowered = _train.lower(held, states, jnp.arange(seats), adam(), length)  # pyright: ignore[reportFunctionMemberAccess]
        _PROGRAMS[name] = lowered.compile()
    return _PROGRAMS[name]


def _exact(field: Field) -> Field:
    return field.with_precision(Precision.FLOAT32)


def _together(*leaves: Array) -> Array:
    if jnp.issubdtype(leaves[0].dtype, jax.dtypes.prng_key):
        return jnp.stack(leaves)
    return jnp.asarray(np.stack([np.asarray(leaf) for leaf in leaves]))
