"""From data of any kind to a trained field, with or without a run folder."""

import contextlib
import dataclasses
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

from ..auto import Auto
from ..errors import InputError
from ..export.report import write_report
from ..field import Field
from ..file_gate import allowing, read_json
from ..mappings import Mapping, nyquist_warning
from ..model_file import save
from ..ops.mlp import Precision
from ..tasks.task import Task
from ..train.device import device_name
from ..train.driver import start
from ..train.memory import check_fits
from ..train.optimisers import optimiser
from ..train.run_folder import RunFolder
from ..tuning.choice import Choice
from ..version import __version__
from ..words import parse_mapping
from .choose import choose_for
from .compile_ahead import compile_ahead, config_of
from .defaults import on_cpu
from .drawn import draw_as_one
from .kind import SILENT, Evaluation, Kind, Listener, Training
from .options import InstrumentOptions, TrainOptions
from .phases import Phases
from .prior import Prior, asked_prior, choose_prior
from .provenance import environment, names_file, sizes_of, went_on_with
from .report_parts import figures_of, layers_of, members_facts
from .session import LANDING, Collapse, Sat, falls, land, sit
from .shown import write_picture
from .table import row_of

CHOICE = "choice.json"
"""How the scale of an `auto` mapping was chosen, in the run folder."""
RESTARTS, SLOWER = 3, 3.0
"""How often a run that collapses starts anew, with the next seed, and its rate divided
by what."""
LEAST_SECONDS = 5.0  # for an evaluation, however short the fit was to be
FREE = {"max_memory"}
"""Options that may differ when a run is resumed."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fitted:
    """A trained field and how it came about."""

    kind: Kind
    training: Training
    task: Task
    field: Field
    history: dict[str, list[float]]
    evaluation: Evaluation
    result: dict[str, Any]
    """What `passband fit --json` prints."""
    choice: Choice | None
    config: dict[str, Any]


def read_kind(
    cls: type[Kind],
    options: Any,
    listener: Listener = SILENT,
    phases: Phases | None = None,
) -> Kind:
    """Read data, and pass on what their reader says."""
    if phases is not None:
        phases.begin("read")
    with allowing(options.max_input):
        kind = cls.read(options, listener)
    for warning in kind.warnings:
        listener.warn(warning)
    for note in kind.notes:
        listener.say(f"passband: {note}")
    return kind


def fit(
    kind: Kind,
    asked: TrainOptions,
    *,
    place: Path | None = None,
    resume: RunFolder | None = None,
    overwrite: bool = False,
    minutes: float | None = None,
    save_every: float = 10.0,
    field: Field | None = None,
    on_log: Callable[[dict[str, float]], bool | None] | None = None,
    listener: Listener = SILENT,
    phases: Phases | None = None,
    command: str | None = None,
) -> Fitted:
    """Train a field for data that were read.

    A run that collapses begins anew, up to three times, with the next seed and a third
    of the rate.

    Args:
        place: a run folder for configuration, metrics, checkpoints, model and report;
            None leaves nothing on the disk.
        resume: go on with the run in this folder, which is at `place`.
        overwrite: start anew in a run folder that exists.
        minutes: train no longer than this in this sitting, and evaluate no longer than
            a quarter of it more (five seconds, if that is longer).
        save_every: seconds between checkpoints.
        field: where to begin, of a model; drawn anew by default.
        on_log: sees every entry of the history; returning True ends the training.
        phases: what was spent before, to which the seconds of this are added.
        command: as it was typed, for the record.
    """
    phases = phases or Phases()
    phases.begin("choose")
    if place is not None and resume is None:
        RunFolder.check(place, overwrite=overwrite)
    asked_prior(kind, asked)  # what cannot be is refused before anything is chosen
    mapping, choice = choose_mapping(kind, asked, listener, ahead=True)
    before = None if resume is None else resume.config
    prior = choose_prior(kind, asked, mapping, listener, config=before)
    restarts = 0
    while True:
        training = kind.training(asked, mapping)
        training = dataclasses.replace(training, restarts=restarts, prior=prior.word)
        try:
            with contextlib.ExitStack() as owned:
                if resume is not None:
                    owned.callback(resume.release)
                return _fit(
                    kind, asked, training, choice, prior, place, resume, overwrite,
                    minutes, save_every, field, on_log, listener, owned, phases,
                    command,
                )  # fmt: skip
        except Collapse as error:
            what = f"run `{mapping}` collapsed by step {error.step}: {error}"
            if restarts == RESTARTS:
                raise Collapse(
                    error.step,
                    f"{what}, at a rate of {training.lr:.3g} as at higher ones; try "
                    "another `seed` or `mapping`",
                ) from None
            restarts += 1
            lr, seed = training.lr / SLOWER, training.seed + 1
            listener.warn(
                f"{what}; starting anew with seed {seed} and a rate of {lr:.3g}"
            )
            asked = dataclasses.replace(asked, lr=lr, seed=seed)
            kind, resume, overwrite = kind.again(asked), None, True


def choose_mapping(
    kind: Kind,
    asked: TrainOptions,
    listener: Listener = SILENT,
    *,
    ahead: bool = False,
) -> tuple[Mapping, Choice | None]:
    """The mapping that was asked for, its scale chosen if that is asked too; meanwhile,
    if it is `ahead` of a fit by itself, what will train that is compiled."""
    word = kind.default_mapping() if asked.mapping is None else asked.mapping
    mapping = parse_mapping(word)
    if not isinstance(mapping, Auto):
        return mapping, None
    # A fit that has no room is refused before a scale is chosen for it.
    training = kind.training(asked, mapping.base)
    task = kind.task(training)
    _check_room(kind, training, task)
    if ahead and not isinstance(asked, InstrumentOptions):  # whose prior is not known
        compile_ahead(kind, training, task)
    # Trials where they were asked for, or earn their time.
    train = asked.mapping is not None or not on_cpu() or kind.trials_by_default
    choice = choose_for(
        kind, asked, mapping, steps=asked.steps, train=train, listener=listener
    )
    listener.say(choice.summary())
    return parse_mapping(choice.mapping), choice


def _fit(
    kind: Kind,
    asked: TrainOptions,
    training: Training,
    choice: Choice | None,
    prior: Prior,
    place: Path | None,
    resume: RunFolder | None,
    overwrite: bool,
    minutes: float | None,
    save_every: float,
    field: Field | None,
    on_log: Callable[[dict[str, float]], bool | None] | None,
    listener: Listener,
    owned: contextlib.ExitStack,
    phases: Phases,
    command: str | None,
) -> Fitted:
    phases.begin("compile")
    task = kind.task(training)
    first = training.restarts == 0  # what is said of the data is said once
    for remark in kind.remarks(task) if first else ():
        listener.say(remark)
    config = _config(kind, asked, training, task) | prior.config
    config |= {} if command is None else {"command": command}
    if choice is not None:
        config["mapping_given"] = choice.given
    elif resume is not None and "mapping_given" in resume.config:
        config["mapping_given"] = resume.config["mapping_given"]
    if resume is not None and resume.config["sha256"] != config["sha256"]:
        files = ", ".join(f"`{p}`" for p in kind.inputs(asked) or [kind.title])
        raise InputError(
            f"{files} has changed since the run in `{place}` was started; "
            "`overwrite` starts anew"
        )
    field_key, key = jax.random.split(jax.random.key(training.seed))
    _check_room(kind, training, task)
    drawn = draw_as_one(training, kind.network(training), field_key)
    if field is not None:
        drawn = _begun(kind.unfinished(field), drawn)
    limit = kind.nyquist()
    too_high = None if limit is None else nyquist_warning(training.mapping, limit)
    if first and too_high:
        listener.warn(too_high)
    train = config_of(training, task)
    config["every"] = train.every
    moves, folder = optimiser(training.optimiser), resume
    begun = Sat(start(drawn, train, key=key, optimiser=moves), 0.0, {})
    if folder is not None:
        state, seconds = folder.restore(begun.state)
        # More steps than it had are a longer schedule, not the end of the old one.
        state = dataclasses.replace(state, rate=begun.state.rate)
        begun = Sat(state, seconds, folder.history())
        told, earlier = went_on_with(folder.config, config["environment"])
        if told is not None:
            listener.warn(told)
        config |= {"earlier": earlier} if earlier else {}
        folder.configure(config)
        listener.say(f"going on from step {int(state.step)} of {training.steps}")
    elif place is not None:
        folder = RunFolder.create(place, config, overwrite=overwrite)
        owned.callback(folder.release)
        if choice is not None:
            folder.write_json(CHOICE, dataclasses.asdict(choice))
    if folder is not None and not folder.lock.works:
        listener.warn(
            f"the file system of `{folder.path}` has no locks; see to it that no other "
            "process fits in this folder"
        )
    since = int(begun.state.step)
    if minutes is not None:
        here = (1 - LANDING) * minutes if falls(begun.state) else minutes
        train = dataclasses.replace(train, minutes=here + begun.seconds / 60)
    phases.begin("train")
    ended = sit(
        kind, task, train, begun, key=key, optimiser=moves,
        name=str(training.mapping), folder=folder, listener=listener,
        save_every=save_every, on_log=on_log,
    )  # fmt: skip
    last = ended.state
    if minutes is not None and falls(last):
        listener.progress("time is up: the rate falls to 0", often=False)
        last = land(task, train, since, ended, key=key, optimiser=moves)
    phases.begin("evaluate")
    listener.progress("evaluating the field, writing the report", often=False)
    exact = last.field.with_precision(Precision.FLOAT32).with_leak(0.0)
    left = None if minutes is None else max(LEAST_SECONDS, 15 * minutes)
    found = kind.evaluate(task, exact, training, listener, seconds=left)
    result = result_of(kind, training, task, ended, found, choice, prior, folder)
    phases.begin("write" if folder is not None else None)
    result["phases"] = phases.seconds
    fitted = Fitted(
        kind, training, task, kind.finished(exact), ended.history, found, result,
        choice, config,
    )  # fmt: skip
    if folder is not None:
        _leave(fitted, folder)
        phases.begin(None)
        result["phases"] = phases.seconds
        folder.write_json("result.json", result)
    return fitted


def _check_room(kind: Kind, training: Training, task: Task) -> None:
    """An error if a step takes more memory than there is."""
    precision = Precision.resolve(training.precision, jax.default_backend())
    network, key = kind.network(training), jax.random.key(0)
    shapes = eqx.filter_eval_shape(training.draw, network, key)
    room = training.max_memory
    check_fits(shapes.with_precision(precision), task.microbatch_points, room)


def _begun(field: Field, drawn: Field) -> Field:
    """A model's field to go on from; it must be of the size that was asked for."""
    shapes = [[x.shape for x in jax.tree.leaves(f)] for f in (field, drawn)]
    if shapes[0] != shapes[1] or field.output != drawn.output:
        raise InputError(
            "`model` has another network than was asked for; leave out `mapping`, "
            "`layers`, `width`, `activation` and `members`"
        )
    return field.with_leak(drawn.leak)


def _config(
    kind: Kind, asked: TrainOptions, training: Training, task: Task
) -> dict[str, Any]:
    """Everything needed to run it again, with nothing left to be chosen."""
    config: dict[str, Any] = {"passband": __version__, "task": kind.name}
    for f in dataclasses.fields(row_of(kind.name).options):
        if f.name not in FREE:
            source = training if hasattr(training, f.name) else asked
            config[f.name] = _plain(getattr(source, f.name))
    config["mapping"] = str(training.mapping)
    for f in dataclasses.fields(row_of(kind.name).options):
        if names_file(config.get(f.name), f.metadata):
            config[f.name] = os.path.realpath(config[f.name])
    config["sha256"], config["inputs"] = kind.hashes(asked)
    config["environment"] = environment(training.precision)
    return config


def _plain(value: Any) -> Any:
    """An option as JSON has it; an optimiser of one's own has no name."""
    return value if isinstance(value, str | int | float | None) else "one's own"


def result_of(
    kind: Kind,
    training: Training,
    task: Task,
    ended: Sat,
    found: Evaluation,
    choice: Choice | None,
    prior: Prior,
    folder: RunFolder | None,
) -> dict[str, Any]:
    """What `passband fit --json` prints."""
    result: dict[str, Any] = {
        "task": kind.name,
        "mapping": str(training.mapping),
        "sigma": training.sigma,
        "recipe": training.recipe,
        "steps": int(ended.state.step),
        "step_points": task.step_points,
        "seconds": round(ended.seconds, 3),
        "device": device_name(),
        "precision": ended.state.field.precision.value,
        "metrics": found.metrics,
    } | prior.result
    files = kind.inputs(kind.options) if kind.sha256 is None else []
    result |= sizes_of(ended.state.field, files)
    if folder is not None:
        result["run"] = str(folder.path)
        result["model"] = str(folder.path / "model.safetensors")
        kept = folder.path / CHOICE
        if choice is None and "mapping_given" in folder.config and kept.is_file():
            with contextlib.suppress(InputError):  # damaged, it is left out
                result["tuned"] = read_json(kept)
    if choice is not None:
        result["tuned"] = dataclasses.asdict(choice)
    if found.baselines:
        result["baselines"] = found.baselines
    return result | members_facts(training.members, found) | found.more


def model_facts(result: dict[str, Any], found: Evaluation) -> dict[str, Any]:
    """What the model file says of a fit."""
    names = ("task", "mapping", "metrics", "steps")
    return {name: result[name] for name in names} | found.about


def _leave(fitted: Fitted, folder: RunFolder) -> None:
    """Preview, report and model in the run folder."""
    with ThreadPoolExecutor(1) as pool:  # zlib works beside Python
        preview = fitted.evaluation.preview()
        packed = pool.submit(write_picture, folder.path / "preview.png", preview)
        write_report(
            folder.path / "report.html",
            title=fitted.kind.title,
            config=folder.config,
            result=fitted.result,
            figures=figures_of(fitted.evaluation, fitted.result["mapping"]),
            history=fitted.history,
            layers=layers_of(fitted.evaluation, fitted.result["mapping"]),
            render_example=fitted.kind.render_example,
        )
        packed.result()
    save(
        fitted.field,
        folder.path / "model.safetensors",
        **model_facts(fitted.result, fitted.evaluation),
    )
