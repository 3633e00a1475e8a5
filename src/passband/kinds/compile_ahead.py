"""A fit's training as a program, made while trials still look for a scale."""

import equinox as eqx
import jax
import numpy as np

from ..tasks.task import Task
from ..train.driver import Config, calls_of, start
from ..train.optimisers import optimiser
from ..train.programs import Call, make_ahead
from ..train.schedules import schedule
from .defaults import entry_steps
from .kind import Kind, Training


def config_of(training: Training, task: Task) -> Config:
    """How the driver trains it, and how often it tells of it."""
    points = task.step_points * training.members
    return Config(
        steps=training.steps,
        lr=schedule(training.schedule, training.lr, training.steps),
        every=entry_steps(points, task.steps_a_look),
        precision=training.precision,
    )


def compile_ahead(kind: Kind, training: Training, task: Task) -> None:
    """Begin to make the programs of this training, beside what follows.

    They are the same whatever the scale of the mapping is: B and the rate are numbers
    that go in.
    """

    def calls() -> list[Call]:
        shapes = eqx.filter_eval_shape(
            training.draw, kind.network(training), jax.random.key(0)
        )
        like = jax.tree.map(
            lambda x: jax.device_put(np.zeros(x.shape, x.dtype)), shapes
        )
        config, moves = config_of(training, task), optimiser(training.optimiser)
        state = start(like, config, key=jax.random.key(0), optimiser=moves)
        return calls_of(task, state, config, moves)

    make_ahead(calls)
