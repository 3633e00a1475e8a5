"""What kinds choose where nothing was asked for, and how they tell a run is ill."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import SupportsFloat

import equinox as eqx
import jax
import numpy as np

from ..mappings import Basic, NoMapping
from ..mappings import Mapping as FeatureMapping
from ..train.memory import parse_bytes
from ..train.optimisers import MUONS
from .kind import History, Network, Training, TrialSize
from .options import TrainOptions
from .recipe import RECIPES

# Measured on 2 CPU cores: 8 million points take a minute and a half to train on, Muon's
# own products included, and the evaluation of one costs 0.4 of that; the rest of three
# minutes is for compiling, trials, metrics, the report, and slower cores.
CPU_POINTS = 8_000_000
PRODUCTS = 262_400
"""Of the network of three hidden layers of 256 that was measured, for a point."""
GPU_BATCH = 2**18
MUON_LR = 1e-3
"""Of the modern recipe; 2e-3 where a kind's own data asked for more."""
# On a GPU all trials of a scale together cost less than two trainings. On a CPU they
# see a part of the data, with networks as much smaller, and end within a minute,
# volumes in two.
CPU_SHARE = 0.25
"""Of the network's weights and frequencies, where a CPU sees a coarser problem."""
MOST_SAMPLES, CPU_MOST_SAMPLES, CPU_LEAST_SAMPLES = 2**18, 2**14, 2**12
"""Samples of a grid that the trials see: on a CPU a quarter, between these two."""
CPU_PASS = 16
"""Steps that a pass over these takes on a CPU, at least."""
CPU_CHUNK = 2**18  # points between two looks at the clock: about 3 s


def resolve(
    asked: TrainOptions,
    mapping: FeatureMapping,
    *,
    steps: int,
    batch: int,
    lr: float,
    muon_lr: float = MUON_LR,
    muon: str = "muon",
    schedule: str = "constant",
    width: int | None = None,
) -> Training:
    """What was asked for, and these values where nothing was.

    Args:
        lr: of all optimisers but Muon, the paper's.
        muon: the Muon of the modern recipe.
        schedule: the paper's.
    """
    recipe = RECIPES[asked.recipe]
    usual = muon if recipe.optimiser == "muon" else recipe.optimiser
    optimiser = asked.optimiser or usual
    room = None if asked.max_memory is None else parse_bytes(asked.max_memory)
    return Training(
        mapping=mapping,
        steps=asked.steps or steps,
        lr=asked.lr or (muon_lr if optimiser in MUONS else lr),
        optimiser=optimiser,
        schedule=asked.schedule or recipe.schedule or schedule,
        activation=asked.activation,
        batch=asked.batch or batch,
        layers=asked.layers,
        width=width or asked.width,
        seed=asked.seed,
        precision=asked.precision,
        max_memory=room,
        recipe=asked.recipe,
        leak=recipe.leak,
        members=asked.members,
    )


def modern(asked: TrainOptions) -> bool:
    """Whether the modern recipe's optimiser is what trains."""
    return (asked.optimiser or RECIPES[asked.recipe].optimiser) in MUONS


def on_cpu() -> bool:
    """Whether JAX computes on a CPU, where time is short."""
    return jax.default_backend() == "cpu"


def paper_lr(mapping: FeatureMapping) -> float:
    """The paper's learning rate (protocol 1.5, Natural)."""
    return 1e-2 if isinstance(mapping, NoMapping | Basic) else 1e-3


def points_in_time(train: int, evaluate: int, steps: int) -> int:
    """Points a step of so many steps, that a fit of `train` points has time for."""
    if not on_cpu():
        return min(train, GPU_BATCH)
    return min(train, max(512, int((CPU_POINTS - 0.4 * evaluate) / steps)))


def cpu_points(
    asked: TrainOptions, mapping: FeatureMapping, network: Network, evaluate: int
) -> int:
    """Points that two cores train on in the time of a fit: the more, the smaller the
    network is.

    Args:
        evaluate: how many the trained field is asked for.
    """
    trained = resolve(asked, mapping, steps=1, batch=1, lr=1.0, muon_lr=1.0)
    drawn = eqx.filter_eval_shape(trained.draw, network, jax.random.key(0))
    products = sum(math.prod(w.shape[-2:]) for w in drawn.mlp.weights)
    return int(max(CPU_POINTS * PRODUCTS / products - 0.4 * evaluate, 1e6))


def cut_to_size(samples: int, size: TrialSize) -> tuple[int, int]:
    """How many samples of a grid the trials see, and how many of them a step."""
    if not on_cpu():
        return MOST_SAMPLES, size.points
    most = int(np.clip(samples // 4, CPU_LEAST_SAMPLES, CPU_MOST_SAMPLES))
    return most, int(np.clip(min(most, samples) // CPU_PASS, 64, size.points))


def network_share() -> float:
    """Of the network's size, behind an instrument."""
    return CPU_SHARE if on_cpu() else 1.0


def start_at(mean: SupportsFloat) -> float:
    """Where a sigmoid begins for data of this mean: at it, but not at an end.

    From 1/2 a page that is nearly white, or a sky that is nearly black, drives it to
    its flat end, and a network may stay there for a thousand steps, or for good.
    """
    return min(max(float(mean), 0.02), 0.98)


def stuck(
    entry: Mapping[str, float], history: History, empty: Callable[[], float]
) -> str | None:
    """What is wrong if the loss of full batches is what it was an entry before, to the
    bit, and as bad as that of a field of 0: the end of a sigmoid holds it there. Of
    members, one that is stuck is enough."""
    name = "loss_worst" if "loss_worst" in entry else "loss"
    past = history.get(name, [])
    if past and entry[name] == past[-1] and past[-1] > 0.5 * empty():
        return "it is at an end of the sigmoid, where no step moves it"
    return None


def out_of_patience(patience: int | None, errors: Sequence[float]) -> bool:
    """Whether the last so many errors are no lower than one before them."""
    if patience is None or len(errors) <= patience:
        return False
    return min(errors[-patience:]) >= min(errors[:-patience])


def score_line(scores: Mapping[str, float]) -> str:
    """The scores that matter most, under a picture."""
    parts = []
    if "psnr" in scores:
        parts.append(f"{scores['psnr']:.2f} dB")
    if "error_test" in scores:
        parts.append(f"held out {scores['error_test']:.1%}")
    return ", ".join(parts)


def entry_steps(points: int, look: int = 1) -> int:
    """Steps between two entries of the history, of so many points each: as many as
    follow a look at the field (`Task.steps_a_look`), or some times as many."""
    most = 25
    if jax.default_backend() == "cpu":
        most = max(1, min(most, CPU_CHUNK // points))
    return look * max(1, most // look)
