"""What every `passband fit` does: configure, train, survive, finish."""

import abc
import dataclasses
import hashlib
import signal
import time
from pathlib import Path
from typing import Any

import jax

from ..errors import InputError
from ..field import Field, make_field
from ..mappings import Basic, Mapping, NoMapping, Random, nyquist_warning
from ..model_file import save
from ..ops.mlp import Precision
from ..tasks.task import Task
from ..train.loop import Config, Diverged, run, start
from ..train.memory import check_fits, parse_bytes
from ..train.run_folder import RunFolder
from ..train.state import State
from ..words import parse_mapping
from .console import Console, duration
from .device import device_name
from .fit_options import FREE, FitOptions

# An evaluation costs 0.4 of a training step: this many steps of one point, evaluations
# counted in, take 2 CPU cores about two minutes.
_CPU_POINTS = 9_000_000
_GPU_BATCH = 2**18


class FitJob(abc.ABC):
    """What differs from task to task."""

    name: str

    @abc.abstractmethod
    def read(self, path: Path) -> None: ...

    @abc.abstractmethod
    def task(self, options: Any, batch: int | None) -> Task: ...

    @abc.abstractmethod
    def field_options(self) -> dict[str, Any]:
        """Input and output channels, and the output activation."""

    @abc.abstractmethod
    def points(self, options: Any) -> tuple[int, int]:
        """How many points there are to train on, and to evaluate at the end."""

    @abc.abstractmethod
    def nyquist(self, options: Any) -> float: ...

    @abc.abstractmethod
    def finish(self, task: Any, field: Field, folder: RunFolder, result: dict,
               history: dict) -> dict[str, Any]:  # fmt: skip
        """Metrics, preview and report; gives what the model file should say."""

    def default_mapping(self) -> str:
        """Where the options name none."""
        return "gaussian:10"

    def rate(self, mapping: Mapping) -> float:
        """The paper's learning rate (protocol 1.5, Natural)."""
        return 1e-2 if isinstance(mapping, NoMapping | Basic) else 1e-3


def fit(job: FitJob, options: FitOptions, given: set[str]) -> int:
    """Fit a file and leave a run folder."""
    console = Console(json=options.json, quiet=options.quiet)
    folder = None
    if options.resume:
        if options.overwrite:
            raise InputError("`--resume` and `--overwrite` exclude each other")
        folder = RunFolder.open(_out(options))
        options = _merge(options, given, folder.config, job.name)
    if options.file is None:
        raise InputError(f"FILE is missing; see `passband fit {job.name} --help`")
    path = Path(options.file)
    job.read(path)
    mapping = parse_mapping(options.mapping or job.default_mapping())
    if message := nyquist_warning(mapping, job.nyquist(options)):
        console.warn(message)
    config = _config(job, options, mapping, path)
    if folder is not None and folder.config["sha256"] != config["sha256"]:
        raise InputError(f"`{path}` has changed since the run was started")
    batch, platform = config["batch"], jax.default_backend()
    task = job.task(options, batch)
    keys = jax.random.split(jax.random.key(options.seed))
    field = make_field(
        mapping,
        key=keys[0],
        layers=options.layers,
        width=options.width,
        **job.field_options(),
    )
    precision = Precision.resolve(options.precision, platform)
    room = None if options.max_memory is None else parse_bytes(options.max_memory)
    check_fits(field.with_precision(precision), task.step_points, room)
    training = Config(
        steps=options.steps,
        rate=config["lr"],
        precision=options.precision,
        minutes=options.minutes,
    )
    state, seconds = start(field, training, key=keys[1]), 0.0
    if folder is None:
        folder = RunFolder.create(_out(options), config, overwrite=options.overwrite)
    else:
        state, seconds = folder.restore(state)
        folder.write_json("config.json", config)
        console.say(f"going on from step {int(state.step)} of {options.steps}")
    field, seconds = _train(
        job, task, training, state, seconds, folder, console, str(mapping), keys[1]
    )
    history = folder.history()
    result = {
        "task": job.name,
        "mapping": str(mapping),
        "sigma": mapping.scale if isinstance(mapping, Random) else None,
        "steps": int(history["step"][-1]),
        "seconds": round(seconds, 3),
        "device": device_name(),
        "precision": precision.value,
        "metrics": {},
        "run": str(folder.path),
        "model": str(folder.path / "model.safetensors"),
    }
    about = job.finish(task, field, folder, result, history)
    save(
        field,
        folder.path / "model.safetensors",
        task=job.name,
        mapping=str(mapping),
        metrics=result["metrics"],
        steps=result["steps"],
        **about,
    )
    folder.write_json("result.json", result)
    console.result(result, _summary(result))
    return 0


def _train(
    job: FitJob,
    task: Task,
    training: Config,
    state: State,
    seconds: float,
    folder: RunFolder,
    console: Console,
    word: str,
    key: jax.Array,
) -> tuple[Field, float]:
    interrupts: list[int] = []
    begun, first = time.perf_counter() - seconds, int(state.step)
    points = task.step_points

    def on_chunk(state: State, entry: dict[str, float]) -> None:
        folder.log(entry)
        step = int(entry["step"])
        folder.checkpoint(state, entry["seconds"], now=step == training.steps)
        spent = entry["seconds"] - seconds
        speed = (step - first) / max(spent, 1e-9)
        level = f"  psnr {entry['psnr']:.2f} dB" if "psnr" in entry else ""
        console.progress(
            f"step {step}/{training.steps}  loss {entry['loss']:.3g}{level}  "
            f"{_short(speed * points)} points/s  "
            f"{duration((training.steps - step) / speed)} left"
        )
        if interrupts:
            folder.checkpoint(state, entry["seconds"], now=True)
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, lambda *_: _note(interrupts, previous))
    try:
        field, _ = run(
            task, state.field, training, key=key, state=state, seconds=seconds,
            on_chunk=on_chunk, name=word,
        )  # fmt: skip
    except KeyboardInterrupt:
        console.say(
            f"stopped; the run is saved: `passband fit {job.name} --resume "
            f"--out {folder.path}` goes on"
        )
        raise
    except Diverged as error:
        folder.checkpoint(error.state, time.perf_counter() - begun, now=True)
        raise Diverged(error.step, f"{word}, in {folder.path}", error.state) from None
    finally:
        signal.signal(signal.SIGINT, previous)
    return field, time.perf_counter() - begun


def _note(interrupts: list[int], previous: Any) -> None:
    """The first Ctrl-C waits for the end of the chunk; the second does not."""
    if interrupts:
        signal.signal(signal.SIGINT, previous)
        raise KeyboardInterrupt
    interrupts.append(1)


def _merge(
    options: FitOptions, given: set[str], config: dict[str, Any], task: str
) -> FitOptions:
    """The options of a run that is taken up again; new ones must not disagree."""
    if config.get("task") != task:
        raise InputError(f"the run is of task `{config.get('task')}`, not `{task}`")
    changes: dict[str, Any] = {}
    for f in dataclasses.fields(options):
        if f.name in FREE or f.name not in config:
            continue
        mine, theirs = getattr(options, f.name), config[f.name]
        if f.name in given and mine != theirs:
            if f.name == "file" and str(Path(mine).resolve()) == theirs:
                continue
            if f.name == "steps" and mine > theirs:
                continue
            more = "; it may only grow" if f.name == "steps" else ""
            raise InputError(
                f"`--{f.name.replace('_', '-')}` (={mine}) disagrees with the run, "
                f"which has {theirs}{more}"
            )
        changes[f.name] = theirs
    return dataclasses.replace(options, **changes)


def _config(
    job: FitJob, options: FitOptions, mapping: Mapping, path: Path
) -> dict[str, Any]:
    """Everything needed to run it again, with nothing left to be chosen."""
    config: dict[str, Any] = {"task": job.name}
    for f in dataclasses.fields(options):
        if f.name not in FREE:
            config[f.name] = getattr(options, f.name)
    train, evaluate = job.points(options)
    config["file"] = str(path.resolve())
    config["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    config["mapping"] = str(mapping)
    config["lr"] = job.rate(mapping) if options.lr is None else options.lr
    if options.batch is not None and options.batch < 1:
        raise InputError(f"`--batch` (={options.batch}) must be at least 1")
    Config(steps=options.steps, rate=config["lr"])
    if options.batch is None:
        left = _CPU_POINTS - 0.4 * evaluate
        on_cpu = jax.default_backend() == "cpu"
        batch = max(512, int(left / options.steps)) if on_cpu else _GPU_BATCH
        config["batch"] = min(train, batch)
    else:
        config["batch"] = min(train, options.batch)
    return config


def _out(options: FitOptions) -> Path:
    if options.out is not None:
        return Path(options.out)
    if options.file is None:
        raise InputError("`--resume` needs FILE or `--out DIR` to find the run")
    name = f"{Path(options.file).stem}-{options.mapping or 'default'}"
    return Path("runs") / "".join(c if c.isalnum() or c in ".-_" else "-" for c in name)


def _summary(result: dict[str, Any]) -> str:
    metrics = ", ".join(
        f"{name} {value:.4f}" if name == "ssim" else f"{name} {value:.2f} dB"
        for name, value in result["metrics"].items()
    )
    return (
        f"{result['mapping']}: {metrics}; {result['steps']} steps in "
        f"{duration(result['seconds'])} on {result['device']}\n"
        f"model   {result['model']}\nreport  {result['run']}/report.html"
    )


def _short(value: float) -> str:
    for unit in ("", "k", "M"):
        if value < 1000:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}G"
