"""Recipes: what each part is worth on each task, and the table of docs/recipe.md.

    python benchmarks/recipe.py --only natural --train --variants FILE --json OUT
                                [--preset small]

A variant is a JSON object: {"name", "optimiser", "lr", "schedule", "steps", "start",
"warm", "members", "keys", "share", "iterations", "prior", "split", "near"}; what it
leaves out is as under `Variant`. Variants of one optimiser and as many steps train as
one population, after each of which OUT is written; with `--seconds N` none begins later
than that.
"""

import argparse
import collections
import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Scalar
from recipe_sets import SETS, Scores, Set

from passband.field import Field, make_field
from passband.kinds.fit import RESTARTS, SLOWER
from passband.paper.item import Preset
from passband.tasks.splitting import norm_of
from passband.train import driver
from passband.train.device import device_name
from passband.train.muon import FEW, FEWER, JORDAN, MORE, muon_of_matrices
from passband.train.optimisers import adam, optimiser, weight_matrices
from passband.train.schedules import schedule
from passband.train.stack import unstack
from passband.version import __version__

ITERATIONS = {
    "5": JORDAN,
    "3": FEW,
    "3-gentle": (
        (8.0934, -23.6205, 17.4462), (3.6366, -2.7219, 0.5365),
        (2.6613, -1.9772, 0.4526),
    ),
    "4": MORE,
    "1": FEWER[:1],
    "2": FEWER,
}  # fmt: skip


class Warm(eqx.Module):
    """Up from 0 over the first steps, then as the schedule has it."""

    rest: Any
    steps: Float[Array, "*runs"]

    def __call__(self, step: Int[Array, ""]) -> Scalar:
        return self.rest(step) * jnp.minimum((step + 1) / self.steps, 1)


@dataclasses.dataclass(frozen=True)
class Variant:
    """A way to train; None is the paper's."""

    name: str
    optimiser: str = "adam"
    lr: float | None = None
    schedule: str | None = None
    steps: float = 1.0
    """Of the paper's; from 2 up, as many."""
    start: bool | float = False
    """Begin at the mean of the data, or at this level."""
    warm: float = 0.0
    """The share of steps over which the rate rises from 0."""
    members: int = 1
    keys: int = 1
    share: float = 10.0
    """Muon's rate of the matrices over `lr`."""
    iterations: str = "3"
    """Of Newton and Schulz; `3 first 2` has two of the first matrix."""
    prior: float = 0.0
    """The weight of total variation."""
    sigma: float = 1.0
    """Times the paper's scale."""

    leak: float = 0.0
    """Of the output, while training."""
    first: int = 0
    """The first key, beside the set's."""
    split: tuple[float, int, int, int] | None = None
    """Behind an instrument: mu, pictures, iterations of each, points a step
    (`passband.tasks.splitting`)."""
    near: float = 0.0
    """The share of a step's points that lie near the surface of a shape."""
    watch: bool = False
    """Look after the networks as a fit does, and begin anew where it would."""

    def moves(self) -> tuple[Any, ...]:
        return self.optimiser, self.share, self.iterations


_OPTIMISERS: dict[Any, optax.GradientTransformation] = {}


def optimiser_of(variant: Variant) -> optax.GradientTransformation:
    if variant.optimiser != "muon":
        return optimiser(variant.optimiser)
    if variant.moves() not in _OPTIMISERS:
        if variant.iterations == "optax":
            matrices = optax.contrib.muon(variant.share)
        else:
            rest, _, first = variant.iterations.partition(" first ")
            few = muon_of_matrices(
                ITERATIONS[rest], first=ITERATIONS[first] if first else None
            )
            matrices = optax.chain(few, optax.scale(variant.share))
        both: Any = {True: matrices, False: adam()}
        _OPTIMISERS[variant.moves()] = optax.partition(both, weight_matrices)
    return _OPTIMISERS[variant.moves()]


def steps_of(data: Set, variant: Variant) -> int:
    return int(variant.steps if variant.steps >= 2 else data.steps * variant.steps)


def rate_of(data: Set, variant: Variant, slower: float = 1.0) -> Any:
    steps, lr = steps_of(data, variant), (variant.lr or data.lr) / slower
    rate = schedule(variant.schedule or data.schedule, lr, steps)
    return Warm(rate, jnp.float32(variant.warm * steps)) if variant.warm else rate


def field_of(data: Set, variant: Variant, signal: int, key: int) -> Field:
    start: float | None = None
    if variant.start is True and data.starts is not None:
        start = float(np.clip(data.starts[signal], 0.02, 0.98))
    elif not isinstance(variant.start, bool):
        start = float(variant.start)
    word = data.word
    if variant.sigma != 1:
        family, rest = word.split(":")
        scale, _, more = rest.partition(",")
        word = f"{family}:{float(scale) * variant.sigma:.4g},{more}"
    return make_field(
        word, key=jax.random.PRNGKey(key), bits2020=True, start=start,
        **data.network,
    ).with_leak(variant.leak)  # fmt: skip


def task_of(data: Set, variant: Variant, signal: int) -> Any:
    task: Any = data.tasks[signal]
    if variant.prior:
        task = task.with_prior(variant.prior)
    if variant.split is not None:
        task = _split(task, tuple(variant.split), steps_of(data, variant))
    if variant.near:
        assert data.near is not None
        task = data.near(variant.near)
    return task


def _split(task: Any, by: tuple[float, int, int, int], steps: int) -> Any:
    pull, pictures, iterations, batch = by
    key = id(task.forward)
    if key not in _NORMS:  # of one instrument, which the tasks of a set share
        _NORMS[key] = task.forward, norm_of(task.quadratic())
    return task.split(
        pull=pull,
        batch=batch,
        look=max(1, steps // pictures),
        iterations=iterations,
        norm=_NORMS[key][1],
    )


_NORMS: dict[int, tuple[Any, float]] = {}
"""By instrument, which is kept, so that its number stays its own."""


def measure(
    name: str,
    train: bool,
    preset: Preset,
    variants: list[Variant],
    keep: Callable[[list[Any]], None],
    late: Callable[[], bool],
) -> None:
    """The rows of a task: one for each variant, over its keys."""
    data = SETS[name](train, preset)
    groups: dict[Any, list[Variant]] = collections.defaultdict(list)
    for v in variants:
        group = v.moves(), steps_of(data, v), v.prior > 0, v.leak, v.watch, v.split
        groups[*group, v.near].append(v)
    for some in groups.values():
        if late():
            print(f"no time for {name} {', '.join(v.name for v in some)}", flush=True)
            continue
        begun = time.perf_counter()
        runs = [
            (v, k, data.key + v.first + key)
            for v in some
            for key in range(v.keys * v.members)
            for k in range(len(data.tasks))
        ]
        steps = steps_of(data, some[0])
        fields, seconds, ill = trained(data, runs, steps)
        collapsed: list[list[Any]] = []
        now, slower = runs, 1.0
        while True:
            places = sorted(ill)
            collapsed += [[now[i][0].name, now[i][2], slower, *ill[i]] for i in places]
            if not places or slower >= SLOWER**RESTARTS:
                break
            # As a fit: the next seed, at a third of the rate.
            now = [(v, k, key + 1) for v, k, key in now]
            slower *= SLOWER
            found, _, worse = trained(data, [now[i] for i in places], steps, slower)
            for i, field in zip(places, found, strict=True):
                fields[i] = field
            ill = {places[j]: why for j, why in worse.items()}
        middle = time.perf_counter()
        seen = [
            data.predict(k, field)
            for (_, k, _), field in zip(runs, fields, strict=True)
        ]
        size = sum(x.size for x in jax.tree.leaves(fields[0].mlp))
        rows = []
        for v in some:
            own = [i for i, run in enumerate(runs) if run[0] is v]
            by_key = np.array(own).reshape(v.keys, v.members, len(data.tasks))
            scores = [
                [
                    data.score(k, np.mean([seen[i] for i in by_key[key, :, k]], 0))
                    for k in range(len(data.tasks))
                ]
                for key in range(v.keys)
            ]
            rows.append(row_of(name, v, scores, steps, seconds * v.members,
                               size * v.members))  # fmt: skip
            if v.watch:
                rows[-1]["collapsed"] = [c for c in collapsed if c[0] == v.name]
            print(f"  {name} {v.name}: {rows[-1]['scores']}", flush=True)
        keep(rows)
        done = time.perf_counter()
        print(
            f"{name}: {len(runs)} networks, {middle - begun:.1f} s to train, "
            f"{done - middle:.1f} s to score; began anew: {collapsed}", flush=True,
        )  # fmt: skip


def trained(
    data: Set, runs: list[tuple[Variant, int, int]], steps: int, slower: float = 1.0
) -> tuple[list[Field], float, dict[int, tuple[int, str]]]:
    """The fields, the seconds of one, and where a fit would have begun anew: by run,
    the step and why."""
    every = max(d for d in range(1, min(steps, 500) + 1) if steps % d == 0)
    if (by := runs[0][0].split) is not None:
        every = max(1, steps // by[1])
    rates = {id(v): rate_of(data, v, slower) for v, _, _ in runs}
    ill: dict[int, tuple[int, str]] = {}
    stops: list[int] = []
    if runs[0][0].watch and data.ill is not None:
        every = min(every, 250)
        looks = range(every, steps + 1, every)
        stops = [s for s in looks if s <= 2000 or s % 1000 == 0]

    def look(step: int, places: list[int], fields: Field) -> None:
        assert data.ill is not None
        for i, field in zip(places, unstack(fields, len(places)), strict=True):
            if i not in ill and (why := data.ill(field, step)) is not None:
                ill[i] = step, why
                print(f"  key {runs[i][2]}, step {step}: {why}", flush=True)

    fields, histories = driver.train(
        [task_of(data, v, k) for v, k, _ in runs],
        [field_of(data, v, k, key) for v, k, key in runs],
        driver.Config(steps, every=every, precision=data.precision),
        keys=[jax.random.key(key) for _, _, key in runs],
        lrs=[rates[id(v)] for v, _, _ in runs],
        optimiser=optimiser_of(runs[0][0]),
        stops=stops,
        on_stop=look if stops else None,
    )
    return fields, histories[-1]["seconds"][-1] / len(runs), ill


def row_of(
    name: str, v: Variant, found: list[list[Scores]], steps: int, seconds: float,
    size: int,
) -> dict[str, Any]:  # fmt: skip
    scores = {}
    for metric in found[0][0]:
        values = np.array([[one[metric] for one in key] for key in found])
        each = values.mean(axis=1)
        scores[metric] = {
            "value": round(float(each.mean()), 4),
            "spread": round(float(each.std()), 4),
            "keys": np.round(each, 4).tolist(),
            "signals": np.round(values.mean(axis=0), 3).tolist(),
        }
    return {
        "task": name, "variant": dataclasses.asdict(v), "steps": steps,
        "seconds": round(seconds, 3), "parameters": size, "scores": scores,
    }  # fmt: skip


def _variant(given: dict[str, Any]) -> Variant:
    split = given.get("split")
    return Variant(**given | {"split": None if split is None else tuple(split)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=list(SETS))
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--preset", type=Preset, default=Preset.FULL)
    parser.add_argument("--variants", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    args = parser.parse_args()
    plan = json.loads(args.variants.read_text())
    content: dict[str, Any] = {
        "passband": __version__, "jax": jax.__version__, "device": device_name(),
        "train": args.train, "preset": args.preset.value, "rows": [],
    }  # fmt: skip
    begun = time.perf_counter()

    def keep(rows: list[Any]) -> None:
        content["rows"] += rows
        args.json.write_text(json.dumps(content, indent=1))

    for name in args.only:
        variants = [_variant(v) for v in plan["all"] + plan.get(name, [])]
        measure(
            name, args.train, args.preset, variants, keep,
            lambda: time.perf_counter() - begun > args.seconds,
        )  # fmt: skip


if __name__ == "__main__":
    main()
