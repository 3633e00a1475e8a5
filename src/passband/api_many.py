"""`pb.fit_many`: many signals at once, in memory or into a folder."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import jax

from .api_data import data_of, kind_of_file, known
from .errors import InputError
from .field import Field
from .kinds.fit import choose_mapping, model_facts, result_of
from .kinds.kind import Kind
from .kinds.many_inputs import Source, source_of, sources_of, unique
from .kinds.many_options import NAMES as MANY
from .kinds.many_options import ManyOptions
from .kinds.many_set import fit_set
from .kinds.options import TrainOptions
from .kinds.points import points_kind
from .kinds.prior import choose_prior
from .kinds.session import Sat
from .kinds.table import row_of
from .mappings import Mapping
from .model import Model
from .model_set import ModelSet, load_many
from .options import make_options
from .progress import Progress
from .train.driver import Config, start, train
from .train.optimisers import optimiser as optimiser_of
from .train.processes import here
from .train.schedules import schedule as schedule_of


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
            kinds.append(data_of(*pair, name, given, {}, None, None, None, listener))
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
    given = {k: v for k, v in known(options).items() if v is not None}
    asked = make_options(row_of(name).options, given)
    fit_set(
        cls, sources, asked, set(given), out, many=many, resume=resume,
        overwrite=overwrite, listener=listener, processes=here(),
    )  # fmt: skip
    return load_many(out)


def _kind_of_item(item: Any) -> str:
    if isinstance(item, Kind):
        return item.name
    return "points" if isinstance(item, tuple) else kind_of_file(item)


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
