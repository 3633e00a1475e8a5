"""Choosing the scale of a mapping for data of any kind."""

import dataclasses

from ..auto import Auto
from ..data.store import kept_folder
from ..tuning.choice import Choice
from ..tuning.choose import choose
from ..tuning.ladder import rung_at
from ..tuning.sweep import Plan, rungs_to
from .defaults import on_cpu
from .kind import SILENT, Kind, Listener, TrialSize
from .options import TrainOptions
from .prior import with_usual_prior


def choose_for(
    kind: Kind,
    asked: TrainOptions,
    auto: Auto,
    *,
    steps: int | None = None,
    batch: int | None = None,
    kernel: bool = False,
    train: bool = True,
    fresh: bool = False,
    insist: bool = False,
    listener: Listener = SILENT,
) -> Choice:
    """The scale for data that were read; the same question is asked once.

    Args:
        asked: of the training that the scale is for.
        steps: of the longest trial, at most; None leaves it to the device.
        batch: points a step of the trials; None likewise.
        kernel: predict the curve by the kernel too.
        train: try scales; without it the choice is the first guess.
        fresh: choose again, though the same was chosen before.
        insist: try scales even where trials are known to mislead.
    """
    listener.progress("choosing a scale", often=False)
    most = kind.cpu_trials if on_cpu() else kind.gpu_trials
    size = TrialSize(
        min(most.steps, steps or most.steps), min(most.points, batch or most.points)
    )
    problem = with_usual_prior(kind, asked, kind.trials(asked, size))
    mislead = kind.trials_mislead if on_cpu() and train and not insist else None
    choice = choose(
        problem,
        auto,
        _plan(kind, asked, auto, size, problem.guess),
        kernel=kernel,
        train=train and mislead is None,
        seed=asked.seed,
        cache=kept_folder("tune"),
        warn=listener.warn,
        fresh=fresh,
        progress=lambda text: listener.progress(f"choosing a scale: {text}"),
    )
    if mislead is not None and choice.conclusive:
        notes = [*choice.notes, mislead]
        choice = dataclasses.replace(choice, conclusive=False, notes=notes)
    return choice


def _plan(
    kind: Kind, asked: TrainOptions, auto: Auto, size: TrialSize, guess: float
) -> Plan:
    """The trials of a fit: its network and recipe, as many steps as there is time."""
    shorter = dataclasses.replace(asked, steps=size.steps)
    training = kind.training(shorter, rung_at(auto, guess).mapping)
    rungs = rungs_to(size.steps)
    return Plan(
        rungs=rungs,
        lr=training.lr,
        schedule=training.schedule,
        optimiser=training.optimiser,
        activation=training.activation,
        leak=training.leak,
        layers=training.layers,
        width=training.width,
        precision=training.precision,
        # A CPU does one network after another as fast as all of them side by side.
        slots=2 if on_cpu() else None,
    )
