"""The library in one line each: `read`, `fit`, `fit_many`, `tune`, `compare`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import optax

from .api_data import data_of
from .api_data import read as read
from .api_many import fit_many as fit_many
from .auto import Auto
from .errors import InputError
from .kinds.choose import choose_for
from .kinds.compare import compare as compare_kind
from .kinds.comparison import Comparison
from .kinds.fit import fit as fit_kind
from .kinds.fit import model_facts
from .mappings import Mapping
from .model import Model
from .progress import Progress
from .train.run_folder import RunFolder
from .tuning.choice import Choice
from .words import parse_mapping

OnLog = Callable[[dict[str, float]], bool | None]


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
    found = data_of(
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
    found = data_of(data, values, kind, options, {}, None, None, None, listener)
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
    found = data_of(data, values, kind, options, {}, None, None, None, listener)
    names = methods if isinstance(methods, str | None) else ",".join(methods)
    compared = compare_kind(
        found, found.options, methods=names, equal=equal, listener=listener
    )
    listener.clear()
    return compared


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
