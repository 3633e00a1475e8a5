"""What every `passband fit` does: configure, train, finish."""

import dataclasses
import functools
import json
import shlex
from typing import Any

import equinox as eqx
import jax

from ..auto import Auto
from ..errors import InputError
from ..field import Field, make_field
from ..mappings import Mapping, Random, nyquist_warning
from ..model_file import save
from ..ops.mlp import Precision
from ..tasks.task import Task
from ..train.loop import Config, Diverged, start
from ..train.memory import check_fits, parse_bytes
from ..train.run_folder import RunFolder
from ..train.state import State
from ..words import parse_mapping
from .console import INTERRUPTED, Console, duration
from .device import device_name
from .fit_config import every, resolve, resumed_options, run_path
from .fit_job import Collapse, FitJob
from .fit_options import FitOptions
from .session import train

CHOICE = "choice.json"
"""How the scale of an `auto` mapping was chosen, in the run folder."""
RESTARTS, SLOWER = 3, 3.0
"""How often a run that collapses starts anew, with the next seed, and its rate divided
by what."""


def fit(job: FitJob, options: FitOptions, given: set[str]) -> int:
    """Fit a file and leave a run folder."""
    console = Console(json=options.json, quiet=options.quiet)
    place, folder = run_path(job, options), None
    if options.resume:
        if options.overwrite:
            raise InputError("`--resume` and `--overwrite` exclude each other")
        folder = RunFolder.open(place)
        if options.mapping == folder.config.get("mapping_given"):
            given = given - {"mapping"}  # its scale was chosen when the run began
        options = resumed_options(options, given, folder.config, job.name)
    job.read(options, console)
    word = job.default_mapping() if options.mapping is None else options.mapping
    mapping, choice, asked = parse_mapping(word), None, options
    if isinstance(mapping, Auto):
        from .tune import choice_for  # it imports every task

        choice = choice_for(job, options, mapping, console, steps=options.steps)
        console.say(choice.summary())
        mapping = parse_mapping(choice.mapping)
        options = dataclasses.replace(options, mapping=choice.mapping)
    config = resolve(job, options, mapping)
    if choice is not None:
        config["mapping_given"] = choice.given
    elif folder is not None and "mapping_given" in folder.config:
        config["mapping_given"] = folder.config["mapping_given"]
    if folder is not None and folder.config["sha256"] != config["sha256"]:
        files = ", ".join(f"`{path}`" for path in job.inputs(options))
        raise InputError(
            f"{files} has changed since the run in `{place}` was started; "
            "`--overwrite` starts anew"
        )
    steps = config["steps"]
    task = job.task(options, config["batch"])
    config["every"] = every(task.step_points)
    field_key, key = jax.random.split(jax.random.key(options.seed))
    field = _field(job, options, mapping, field_key, task.microbatch_points)
    limit = job.nyquist(options)
    if limit is not None and (message := nyquist_warning(mapping, limit)):
        console.warn(message)
    training = Config(
        steps=steps,
        rate=job.schedule(config["lr"], steps),
        every=config["every"],
        precision=options.precision,
    )
    state, seconds = start(field, training, key=key), 0.0
    if folder is None:
        folder = RunFolder.create(place, config, overwrite=options.overwrite)
        if choice is not None:
            folder.write_json(CHOICE, dataclasses.asdict(choice))
    else:
        state, seconds = folder.restore(state)
        folder.configure(config)
        console.say(f"going on from step {int(state.step)} of {steps}")
    if options.minutes is not None:
        until = options.minutes + seconds / 60
        training = dataclasses.replace(training, minutes=until)
    try:
        state, seconds = train(
            task,
            training,
            state,
            seconds,
            key=key,
            folder=folder,
            console=console,
            save_every=options.save_every,
            on_log=functools.partial(job.on_log, task, folder=folder),
        )
        console.progress("evaluating the field, writing the report", often=False)
        result = _finish(job, task, mapping, state, seconds, folder)
    except Diverged as error:
        console.error(
            f"passband: the loss of run `{mapping}` stopped being finite at step "
            f"{error.step}; the state before that step is in "
            f"`{folder.checkpoint_path}`; a `--lr` below {config['lr']:g} usually helps"
        )
        return 1
    except Collapse as error:
        lr = config["lr"] / SLOWER
        what = f"run `{mapping}` collapsed by step {error.step}: {error}"
        if job.restarts == RESTARTS:
            console.error(
                f"passband: {what}, at a rate of {config['lr']:.3g} as at higher ones; "
                "try another `--seed` or `--mapping`"
            )
            return 1
        seed = config["seed"] + 1
        console.warn(f"{what}; starting anew with seed {seed} and a rate of {lr:.3g}")
        slower = dataclasses.replace(
            asked, lr=lr, seed=seed, out=str(place), overwrite=True, resume=False
        )
        job.restarts += 1
        return fit(job, slower, given)
    except KeyboardInterrupt:
        console.error(
            f"stopped; `passband fit {job.name} --resume --out "
            f"{shlex.quote(str(place))}` goes on from here"
        )
        return INTERRUPTED
    console.result(result, _summary(result))
    return 0


def _field(
    job: FitJob, options: FitOptions, mapping: Mapping, key: jax.Array, points: int
) -> Field:
    """The field before training; its size is held against the memory first."""

    def draw() -> Field:
        return make_field(
            mapping,
            key=key,
            layers=options.layers,
            width=options.width,
            **job.field_options(),
        )

    precision = Precision.resolve(options.precision, jax.default_backend())
    room = None if options.max_memory is None else parse_bytes(options.max_memory)
    shapes = eqx.filter_eval_shape(draw)
    check_fits(shapes.with_precision(precision), points, room)
    return draw()


def _finish(
    job: FitJob,
    task: Task,
    mapping: Mapping,
    state: State,
    seconds: float,
    folder: RunFolder,
) -> dict[str, Any]:
    """Evaluate the field and leave preview, report, model and result."""
    model = folder.path / "model.safetensors"
    result: dict[str, Any] = {
        "task": job.name,
        "mapping": str(mapping),
        "sigma": mapping.scale if isinstance(mapping, Random) else None,
        "steps": int(state.step),
        "seconds": round(seconds, 3),
        "device": device_name(),
        "precision": state.field.precision.value,
        "metrics": {},
        "run": str(folder.path),
        "model": str(model),
    }
    if "mapping_given" in folder.config and (folder.path / CHOICE).is_file():
        result["tuned"] = json.loads((folder.path / CHOICE).read_text())
    field = state.field.with_precision(Precision.FLOAT32)
    about = job.finish(task, field, folder, result, folder.history())
    facts = {name: result[name] for name in ("task", "mapping", "metrics", "steps")}
    save(field, model, **facts, **about)
    folder.write_json("result.json", result)
    return result


def _summary(result: dict[str, Any]) -> str:
    lines = [
        f"{result['mapping']}: {_scores(result['metrics'])}; {result['steps']} steps "
        f"in {duration(result['seconds'])} on {result['device']}"
    ]
    for name, scores in result.get("baselines", {}).items():
        lines.append(f"  beside it, {name}: {_scores(scores)}")
    if "evaluated" in result:
        lines.append(f"metrics, preview and report are of {result['evaluated']}")
    lines.append(f"model   {result['model']}\nreport  {result['run']}/report.html")
    return "\n".join(lines)


def _scores(metrics: dict[str, float]) -> str:
    """Metrics as people read them: a PSNR in decibels, the others as they are."""
    return ", ".join(
        f"{name} {value:.2f} dB" if name.startswith("psnr") else f"{name} {value:.4g}"
        for name, value in metrics.items()
    )
