"""The library in one line each: `read`, `fit`, `fit_many`, `tune`, `compare`."""

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, overload

import jax
import numpy as np
import optax

from .auto import Auto
from .errors import InputError
from .field import Field
from .file_gate import allowing, npy_header
from .kinds.choose import choose_for
from .kinds.compare import compare as compare_kind
from .kinds.comparison import Comparison
from .kinds.fit import choose_mapping, model_facts, result_of
from .kinds.fit import fit as fit_kind
from .kinds.kind import Kind
from .kinds.many_inputs import Source, source_of, sources_of, unique
from .kinds.many_options import NAMES as MANY
from .kinds.many_options import ManyOptions
from .kinds.many_set import fit_set
from .kinds.options import PointsOptions, TrainOptions
from .kinds.points import Box, points_kind
from .kinds.prior import choose_prior
from .kinds.resume import resumed_options
from .kinds.session import Sat
from .kinds.table import KINDS, row_of
from .mappings import Mapping
from .model import Model
from .model_set import ModelSet, load_many
from .options import make_options
from .progress import Progress
from .train.driver import Config, start, train
from .train.optimisers import optimiser as optimiser_of
from .train.processes import here
from .train.run_folder import RunFolder
from .train.schedules import schedule as schedule_of
from .tuning.choice import Choice
from .words import parse_mapping

OnLog = Callable[[dict[str, float]], bool | None]
SUFFIXES = {
    ".png": "image", ".jpg": "image", ".jpeg": "image", ".tif": "image",
    ".tiff": "image", ".wav": "signal", ".csv": "signal", ".ply": "shape",
    ".obj": "shape", ".stl": "shape", ".npz": "shape", ".dcm": "image",
    ".cfl": "mri", ".mrd": "mri", ".gif": "video", ".mp4": "video", ".mov": "video",
}  # fmt: skip
OTHER_WORDS = {
    "optimizer": "optimiser", "learning_rate": "lr", "rate": "lr", "key": "seed",
    "random_state": "seed", "epochs": "steps", "iterations": "steps",
    "n_steps": "steps", "batch_size": "batch", "sigma": "mapping", "scale": "mapping",
    "verbose": "progress", "callback": "on_log", "on_chunk": "on_log",
    "validation_data": "validation", "hidden": "width", "depth": "layers",
}  # fmt: skip
"""What other libraries call our arguments."""


def read(path: Any, kind: str | None = None, **options: Any) -> Kind:
    """Data of a file, or of several, as `pb.fit` takes them.

    Args:
        path: a picture (PNG, JPEG, TIFF, DICOM, NPY), a signal (WAV, CSV, NPY), a mesh
            (PLY, OBJ, STL, NPZ), a sinogram or k-space in the formats of `passband fit
            ct` and `mri`, the folder of a scene, a video, a volume (NIfTI, NPY, TIFF).
            None where an option names the file (`simulate`).
        kind: image, signal, shape, ct, mri, nerf, video or volume; by the file's
            name where it tells.
        options: those of the kind, as `passband fit KIND --help` lists them:
            `angles="0:180:20"`, `holdout="quarter"`, `simulate="slice.png"`, ...

    Example:
        >>> import numpy as np, passband as pb
        >>> np.save("slope.npy", np.linspace(0, 1, 64).reshape(8, 8))
        >>> pb.read("slope.npy").name
        'image'
    """
    name = _kind_of_file(path) if kind is None else kind
    row = row_of(name)
    if name not in KINDS:
        raise InputError(f"`kind` (={name}) has no files; give arrays to `pb.fit`")
    given = {
        k: str(v) if isinstance(v, Path) else v
        for k, v in options.items()
        if v is not None
    }
    if path is not None:
        given["file"] = str(path)
    asked = make_options(row.options, _known(given))
    with allowing(asked.max_input):
        return row.load().read(asked)


def fit(
    data: Any,
    values: Any = None,
    *,
    kind: str | None = None,
    mapping: str | Mapping | None = None,
    steps: int | None = None,
    recipe: str | None = None,
    lr: float | None = None,
    optimiser: str | optax.GradientTransformation | None = None,
    schedule: str | None = None,
    activation: str | None = None,
    batch: int | None = None,
    layers: int | None = None,
    width: int | None = None,
    members: int | None = None,
    seed: int | None = None,
    precision: str | None = None,
    minutes: float | None = None,
    validation: tuple[Any, Any] | None = None,
    on_log: OnLog | None = None,
    model: Model | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> Model:
    """Fit a field to data of any kind, and give a model in their units.

    Args:
        data: a path, something that `pb.read` gave, or (n, d) coordinates: in any unit,
            anywhere, scattered or gridded; (n,) is one coordinate.
        values: (n, c) or (n,) at these coordinates.
        kind: of a path, where its name does not tell.
        mapping: one word, or a mapping: "none", "positional:6", "gaussian:10" (10
            cycles along the longest side of the data). By default "gaussian:auto":
            sigma is chosen from the data.
        steps: of training; by default what the kind and the device ask for.
        recipe: how it trains where nothing else is asked: "modern" (the default: Muon
            with a rate that falls to 0 along a cosine) or "paper" (2020: Adam).
        lr: learning rate; by default the recipe's for this kind and mapping.
        optimiser: "muon", "muon4", "adam", "sgd", "adamw", or any of optax, such as
            `optax.adam(1e-3)`, which has its own rate: `lr` is then left out.
        schedule: "constant", "cosine" or "decay".
        activation: of the hidden layers: "relu" (the default), "sine", "finer",
            "gauss" or "wire"; with a scale, "sine:60".
        batch: points a step.
        layers: dense layers, the output layer counted.
        width: channels of a hidden layer.
        members: networks that are trained side by side, each with its own B and
            weights, on the same batches; the model is their mean, and `model.spread`
            says how far they differ. 1 by default.
        seed: of B, the weights, the batches and what is held out; 0 by default.
        precision: of matrix products: "float32" (the default on a CPU), "tf32" or
            "bfloat16" (the default on a GPU).
        minutes: train no longer than this.
        validation: (coords, values) that are not trained on; `history["psnr_val"]`.
        on_log: called with every entry of the history, a dictionary with `step`,
            `seconds`, `loss` and what the kind adds, every 25 steps or so. Returning
            True ends the training there.
        model: an earlier model to go on from; its network and mapping are kept.
        out: a run folder for checkpoints, metrics, model and report.
        resume: go on with the run in that folder.
        overwrite: start anew in a run folder that exists.
        progress: show a line of progress; by default where somebody may be looking, at
            a terminal or in a notebook.
        options: those of the kind (`angles`, `holdout`, ...) with a path.

    Example:
        >>> import numpy as np, passband as pb
        >>> x = np.random.default_rng(0).uniform(0, 1, (300, 2))
        >>> y = np.sin(6 * x[:, 0]) * np.cos(5 * x[:, 1])
        >>> model = pb.fit(x, y, mapping="gaussian:0.6", steps=400, width=64)
        >>> model([[0.5, 0.5]]).shape
        (1, 1)
    """
    lr, schedule = _rate_of(optimiser, lr, schedule)
    asked = {
        "mapping": None if mapping is None else str(mapping), "steps": steps,
        "recipe": recipe, "lr": lr,
        "optimiser": optimiser, "schedule": schedule, "activation": activation,
        "batch": batch, "layers": layers, "width": width, "members": members,
        "seed": seed, "precision": precision,
    }  # fmt: skip
    given = {k: v for k, v in asked.items() if v is not None}
    listener = Progress(progress)
    start_from = None if model is None else model.field
    if model is not None:
        given = _as_before(model, given)
    folder = None
    if resume:
        if out is None:
            raise InputError("`resume` needs `out`, the folder of the run")
        folder = RunFolder.open(Path(out))
    found = _data(
        data, values, kind, given, options, validation, model, folder, listener
    )
    for warning in found.warnings:
        listener.warn(warning)
    fitted = fit_kind(
        found,
        found.options,
        place=None if out is None else Path(out),
        resume=folder,
        overwrite=overwrite,
        minutes=minutes,
        field=start_from,
        on_log=on_log,
        listener=listener,
    )
    listener.clear()
    return _model(fitted)


@overload
def fit_many(
    data: Sequence[Any],
    *,
    mapping: str | Mapping | None = None,
    seed: int = 0,
    out: None = None,
    progress: bool | None = None,
    **options: Any,
) -> list[Model]: ...
@overload
def fit_many(
    data: str | Path | Sequence[Any],
    *,
    mapping: str | Mapping | None = None,
    seed: int = 0,
    out: str | Path,
    progress: bool | None = None,
    **options: Any,
) -> ModelSet: ...
def fit_many(
    data: str | Path | Sequence[Any],
    *,
    mapping: str | Mapping | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    progress: bool | None = None,
    **options: Any,
) -> list[Model] | ModelSet:
    """Fit many signals; those of one shape train as one program.

    Args:
        data: a list of what `pb.fit` takes: paths, what `pb.read` gave, or pairs
            (coords, values); with `out` also a folder.
        mapping: one for all. Where a scale is to be chosen, the first signal of each
            kind chooses it for the others; with `out`, a sample of three.
        seed: of the first network; the others follow it. With `out` all have the same
            B and the same first weights, unless `own_mappings` is asked for.
        out: a folder for a set of fields, which may be larger than the memory: data
            are read, trained and written stack by stack, and what cannot be fitted is a
            row of its index. The set is returned, as `pb.load_many` gives it.
        progress: show a line of progress.
        options: further arguments of `pb.fit`: `steps`, `lr`, `width`, `kind`, ...;
            with `out` also `resume`, `overwrite`, and `stack`, `own_mappings`, `auto`,
            `pattern` of `passband fit`.

    Example:
        >>> import numpy as np, passband as pb
        >>> x = np.linspace(0, 1, 64)
        >>> signals = [(x, 100 + np.sin(k * x)) for k in (3, 5, 7)]
        >>> models = pb.fit_many(signals, mapping="gaussian:1", steps=200, width=32)
        >>> [round(float(m([0.5])[0, 0])) for m in models]
        [101, 101, 100]
    """
    if isinstance(data, Sequence) and len(data) == 0:
        raise InputError("`data` is empty; give one signal or more")
    listener = Progress(progress)
    if out is not None:
        if mapping is not None:
            options["mapping"] = str(mapping)
        found = _fit_set(data, Path(out), options | {"seed": seed}, listener)
        listener.clear()
        return found
    if isinstance(data, str | Path):
        raise InputError(f"`data` (={data}) is one path; with `out` it may be a folder")
    kinds: list[Kind] = []
    for k, item in enumerate(data):
        pair = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
        given: dict[str, Any] = dict(options) | {"seed": seed + k}
        if mapping is not None:
            given["mapping"] = str(mapping)
        name = given.pop("kind", None)
        try:
            kinds.append(_data(*pair, name, given, {}, None, None, None, listener))
        except InputError as error:
            raise InputError(f"`data[{k}]`: {error}") from error
    mappings: dict[str, Any] = {}
    runs = []
    for kind in kinds:
        if kind.name not in mappings:
            word, choice = choose_mapping(kind, kind.options, listener)
            prior = choose_prior(kind, kind.options, word, listener)
            mappings[kind.name] = word, choice, prior
        word, choice, prior = mappings[kind.name]
        training = kind.training(kind.options, word)
        training = dataclasses.replace(training, prior=prior.word)
        task = kind.task(training)
        first, key = jax.random.split(jax.random.key(training.seed))
        field = training.draw(kind.network(training), first)
        runs.append((kind, (choice, prior), training, task, field, key))
    trained = _train_many(runs, listener)
    models = []
    for (kind, (choice, prior), training, task, _, key), (done, history) in zip(
        runs, trained, strict=True
    ):
        evaluation = kind.evaluate(task, done, training)
        state = start(done, Config(steps=1), key=key)
        ended = Sat(state, history["seconds"][-1], history)
        result = result_of(kind, training, task, ended, evaluation, choice, prior, None)
        result["steps"] = int(history["step"][-1])
        facts = model_facts(result, evaluation)
        models.append(
            Model(
                kind.finished(done), facts, evaluation.metrics, history, result,
                choice, evaluation, {"title": kind.title},
            )
        )  # fmt: skip
    listener.clear()
    return models


def _fit_set(
    data: Any, out: Path, options: dict[str, Any], listener: Progress
) -> ModelSet:
    """Fit data into a folder."""
    kind = options.pop("kind", None)
    resume, overwrite = options.pop("resume", False), options.pop("overwrite", False)
    own = {name: options.pop(name) for name in MANY & options.keys()}
    many = make_options(ManyOptions, own)
    if isinstance(data, str | Path):
        name = kind or "image"
        cls, suffixes = row_of(name).load(), row_of(name).suffixes
        sources = sources_of(
            cls, [str(data)], suffixes=suffixes, pattern=many.pattern,
        )  # fmt: skip
    else:
        name = kind or _kind_of_item(data[0])
        cls = row_of(name).load()
        sources = [_source(k, item, cls) for k, item in enumerate(data)]
        longer = [source.path or source.name for source in sources]
        names = unique([source.name for source in sources], longer)
        sources = [
            dataclasses.replace(source, name=own)
            for source, own in zip(sources, names, strict=True)
        ]
    given = {k: v for k, v in _known(options).items() if v is not None}
    asked = make_options(row_of(name).options, given)
    fit_set(
        cls, sources, asked, set(given), out, many=many, resume=resume,
        overwrite=overwrite, listener=listener, processes=here(),
    )  # fmt: skip
    return load_many(out)


def _kind_of_item(item: Any) -> str:
    if isinstance(item, Kind):
        return item.name
    return "points" if isinstance(item, tuple) else _kind_of_file(item)


def _source(place: int, item: Any, cls: type[Kind]) -> Source:
    """An entry of a list as an input of a set."""
    if isinstance(item, str | Path):
        return dataclasses.replace(source_of(cls, str(item)), place=place)

    def load(path: None, asked: Any) -> Kind:
        if isinstance(item, Kind):  # read with its own options, trained with the set's
            names = {f.name for f in dataclasses.fields(TrainOptions)} - {"file"}
            new = {name: getattr(asked, name) for name in names}
            return dataclasses.replace(
                item, options=dataclasses.replace(item.options, **new)
            )
        if not (isinstance(item, tuple) and len(item) == 2):
            raise InputError(f"`data[{place}]` is no path, no kind and no pair")
        return points_kind(*item, asked)

    return Source(str(place), None, load, place)


def tune(
    data: Any,
    values: Any = None,
    *,
    kind: str | None = None,
    mapping: str = "gaussian:auto",
    trials: bool = True,
    kernel: bool = False,
    fresh: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> Choice:
    """The scale at which fields predict best what they have not seen.

    Args:
        data: as `pb.fit` takes it.
        values: at the coordinates, where `data` is these.
        kind: of a path, where its name does not tell.
        mapping: the family to choose a scale of, such as "positional:auto".
        trials: train with several scales; without it the choice is a first guess.
        kernel: predict the curve by the kernel too, without training.
        fresh: choose again, though the same was chosen before.
        progress: show a line of progress.
        options: further arguments of `pb.fit`: `width`, `layers`, `seed`, ...; a scale
            is tried with one network, however many `members` the fit is to have.

    Example:
        >>> import numpy as np, passband as pb
        >>> x = np.linspace(0, 1, 128)
        >>> choice = pb.tune(x, np.sin(20 * x), trials=False)
        >>> choice.mapping.startswith("gaussian:")
        True
    """
    auto = parse_mapping(mapping)
    if not isinstance(auto, Auto):
        raise InputError(
            f"`mapping` (={mapping}) leaves no scale to choose; name a family, such as "
            "gaussian:auto or positional:auto"
        )
    listener = Progress(progress)
    steps, batch = options.pop("steps", None), options.pop("batch", None)
    found = _data(data, values, kind, options, {}, None, None, None, listener)
    choice = choose_for(
        found, found.options, auto, steps=steps, batch=batch, kernel=kernel,
        train=trials, fresh=fresh, insist=steps is not None, listener=listener,
    )  # fmt: skip
    listener.clear()
    return choice


def compare(
    data: Any,
    values: Any = None,
    *,
    kind: str | None = None,
    methods: str | Sequence[str] | None = None,
    equal: str = "steps",
    progress: bool | None = None,
    **options: Any,
) -> Comparison:
    """Ours beside the methods of others, on the same data: one table, one strip.

    Every network has its scale and its rate chosen by short trials on data held out, as
    sigma is for ours; docs/compare.md has the rules.

    Args:
        data: as `pb.fit` takes it.
        values: at the coordinates, where `data` is these.
        kind: of a path, where its name does not tell.
        methods: such as ["fourier", "siren", "bicubic"], or one text with commas;
            left out, all that there are for these data. Ours is always there.
        equal: what the others get as much of as ours: "steps", "seconds" or
            "parameters".
        progress: show a line of progress.
        options: further arguments of `pb.fit`: `steps`, `width`, `seed`, ...

    Example:
        >>> import numpy as np, passband as pb
        >>> x = np.linspace(0, 1, 64)
        >>> found = pb.compare(x, np.sin(40 * x), methods="relu", steps=40, width=16)
        >>> [row.name for row in found.rows], found.metric
        (['fourier', 'relu'], 'psnr')
        >>> found.best.name in ("fourier", "relu")
        True
    """
    listener = Progress(progress)
    found = _data(data, values, kind, options, {}, None, None, None, listener)
    names = methods if isinstance(methods, str | None) else ",".join(methods)
    compared = compare_kind(
        found, found.options, methods=names, equal=equal, listener=listener
    )
    listener.clear()
    return compared


def _data(
    data: Any,
    values: Any,
    kind: str | None,
    given: dict[str, Any],
    options: dict[str, Any],
    validation: tuple[Any, Any] | None,
    model: Model | None,
    folder: RunFolder | None,
    listener: Progress,
) -> Kind:
    """What was given, as a kind with its options."""
    everything = _known(given | options)
    if values is not None:
        asked = make_options(PointsOptions, everything)
        if folder is not None:
            asked = resumed_options(asked, set(everything), folder.config, "points")
        box = None
        if model is not None and model.kind == "points":
            box = Box(np.asarray(model.about["origin"]), model.about["longest"])
        return points_kind(data, values, asked, validation=validation, box=box)
    if validation is not None:
        raise InputError(
            "`validation` goes with coordinates and values; files have `holdout`"
        )
    if isinstance(data, Kind):
        new = {k: v for k, v in everything.items() if k != "file"}
        make_options(row_of(data.name).options, new)  # checked
        return dataclasses.replace(
            data, options=dataclasses.replace(data.options, **new)
        )
    if not isinstance(data, str | Path | None):
        raise InputError(
            f"`data` is a {type(data).__name__}; give a path, what `pb.read` gave, or "
            "coordinates together with `values`"
        )
    name = _kind_of_file(data) if kind is None else kind
    row = row_of(name)
    if data is not None:
        everything["file"] = str(data)
    asked = make_options(row.options, everything)
    if folder is not None:
        asked = resumed_options(asked, set(everything), folder.config, name)
    with allowing(asked.max_input):
        return row.load().read(asked, listener)


def _known(given: dict[str, Any]) -> dict[str, Any]:
    """The options, unless one is another library's word for ours."""
    for name in given:
        if name in OTHER_WORDS:
            raise InputError(f"`{name}` is called `{OTHER_WORDS[name]}` here")
    return given


def _kind_of_file(path: Any) -> str:
    """The kind that a file's name, or an array's shape, tells."""
    names = ", ".join(KINDS)
    if path is None:
        raise InputError(f"`kind` is missing; there are {names}")
    place = Path(path)
    if os.path.isdir(place) or place.suffix.lower() == ".json":
        return "nerf"
    if place.name.lower().endswith((".nii", ".nii.gz")):
        return "volume"
    if place.suffix.lower() in SUFFIXES:
        return SUFFIXES[place.suffix.lower()]
    if place.suffix.lower() == ".npy" and os.path.isfile(place):
        shape, dtype = npy_header(place)
        if len(shape) == 1 and dtype.kind in "buif":
            return "signal"
        pictures = len(shape) == 2 or (len(shape) == 3 and shape[2] <= 4)
        if pictures and dtype.kind in "buif":
            return "image"
    raise InputError(f"what `{path}` holds cannot be told; say `kind`: {names}")


def _rate_of(
    optimiser: Any, lr: float | None, schedule: str | None
) -> tuple[float | None, str | None]:
    """An optimiser of optax has its own rate: ours is then 1 throughout."""
    if optimiser is None or isinstance(optimiser, str):
        return lr, schedule
    if lr is not None or schedule is not None:
        raise InputError(
            "`lr` and `schedule` go with the name of an optimiser; one of optax has "
            "its own: `optimiser=optax.adam(1e-3)`"
        )
    return 1.0, "constant"


def _as_before(model: Model, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a fit that goes on from a model: its network is kept."""
    field = model.field
    own = {
        "mapping": model.mapping, "layers": len(field.mlp.weights),
        "activation": field.mlp.activation, "members": field.members,
    }  # fmt: skip
    if len(field.mlp.weights) > 1:
        own["width"] = int(field.mlp.weights[0].shape[-1])
    return given | own


def _model(fitted: Any) -> Model:
    return Model(
        fitted.field,
        model_facts(fitted.result, fitted.evaluation),
        fitted.evaluation.metrics,
        fitted.history,
        fitted.result,
        fitted.choice,
        fitted.evaluation,
        fitted.config | {"title": fitted.kind.title},
    )


def _train_many(
    runs: Sequence[tuple], listener: Progress
) -> list[tuple[Field, dict[str, list[float]]]]:
    """Fields and histories of runs; those that share their recipe train together."""
    groups: dict[Any, list[int]] = {}
    for i, (_, _, training, *_) in enumerate(runs):
        moves = training.optimiser
        key = (training.steps, training.precision, training.schedule,
               moves if isinstance(moves, str) else id(moves))  # fmt: skip
        groups.setdefault(key, []).append(i)
    found: dict[int, tuple[Field, dict[str, list[float]]]] = {}
    for places in groups.values():
        _, _, trainings, tasks, fields, keys = zip(
            *(runs[i] for i in places), strict=True
        )
        first = trainings[0]
        config = Config(
            steps=first.steps, every=min(25, first.steps), precision=first.precision
        )
        lrs = [schedule_of(t.schedule, t.lr, t.steps) for t in trainings]
        done, histories = train(
            tasks, fields, config, keys=keys, lrs=lrs,
            optimiser=optimiser_of(first.optimiser),
            on_stack=lambda done: listener.progress(f"{done} signals trained"),
        )  # fmt: skip
        for i, field, history in zip(places, done, histories, strict=True):
            found[i] = field.with_leak(0.0), history
    return [found[i] for i in range(len(runs))]
