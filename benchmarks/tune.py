"""Choosing sigma: fixed, by each stage, by all of them, and the oracle.

    python benchmarks/tune.py --only natural --json DIR [--items 16] [--small]

Sets: natural, text, shepp, mri, lego, mesh; each leaves DIR/SET.json. Every choice and
every column of scores is kept in DIR/SET.parts as soon as it is there, and what is
there is not done again: with `--seconds N` no column begins that may not end by then,
and the next call goes on. `--table DIR` prints the Markdown table of all there are.
`--few` only compares the choice with the paper's scale: no grid, no guess, few keys.

Every choice sees training data alone: the pixels [::2, ::2] of a picture, the rays of a
sinogram, the measured frequencies, the training and validation views, the labels. Then
networks at the chosen scale are trained as the paper's tables train them and scored as
these are: other pixels, the true density, the true volume, test views, test points.

Columns of one key differ by the scale alone. Fixed and chosen scales are trained with
all keys of a set, its grid with the first few of them. The best of a grid is also the
luckiest, so the oracle is the top of a cubic in log sigma through the means of each
item's grid over its keys, and the chosen scale is compared with it by the same keys;
the best itself is given besides.
"""

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from tune_sets import SETS, Set, few, modern

from passband.field import Field, make_field
from passband.train import driver
from passband.train.device import device_name
from passband.train.driver import Config
from passband.train.optimisers import optimiser
from passband.train.stack import unstack
from passband.train.work import flop_of
from passband.tuning.choice import Choice, rank_agreement
from passband.tuning.choose import choose
from passband.version import __version__


@dataclasses.dataclass(frozen=True)
class Column:
    """A network for each item."""

    name: str
    words: tuple[str, ...]
    key: int


def choices(data: Set, folder: Path, kernel: bool) -> list[dict[str, Choice]]:
    """What every stage chooses for each item: the spectrum, the kernel, the sweep."""
    found = []
    for k, problem in enumerate(data.problems):
        path = folder / f"choice-{k}.json"
        content = json.loads(path.read_text()) if path.is_file() else {}
        ways: dict[str, dict[str, Any]] = {"spectrum": {"train": False}}
        if kernel and (problem.patches is not None or problem.coarse is not None):
            ways["kernel"] = {"kernel": True, "train": False}
        ways["chosen"] = {}
        for way in [way for way in ways if way not in content]:
            choice = choose(problem, data.auto, data.plan, **ways[way])
            content[way] = dataclasses.asdict(choice)
            _write(path, content)
        found.append({way: Choice.from_json(content[way]) for way in ways})
    return found


def columns(data: Set, found: Sequence[dict[str, Choice]]) -> list[Column]:
    """What is trained, the most telling first; columns of equal words only once."""
    first, count = data.keys[0], len(data.problems)
    fixed = (data.word(data.fixed),) * count
    chosen = tuple(f["chosen"].mapping for f in found)
    out = []
    for key in data.keys:
        out.append(Column("fixed", fixed, key))
        out.append(Column("chosen", chosen, key))
    for way in ("spectrum", "kernel") if data.grid else ():
        if way in found[0]:
            out.append(Column(way, tuple(f[way].mapping for f in found), first))
    far = sorted(data.grid, key=lambda s: abs(np.log(s / data.fixed)))
    for key in data.keys[: data.grid_keys]:
        out += [Column(f"{s:.4g}", (data.word(s),) * count, key) for s in far]
    unique: dict[Any, Column] = {}
    for column in out:
        unique.setdefault((column.words, column.key), column)
    return list(unique.values())


def scores(
    data: Set, wanted: Sequence[Column], path: Path, left: Callable[[], float]
) -> dict[str, list[float]]:
    """Of every column; stacks end with a write, and none begins that may not end."""
    known = json.loads(path.read_text()) if path.is_file() else {}
    missing = [c for c in wanted if _name(c) not in known]
    longest = 0.0
    for k in range(0, len(missing), data.together):
        if left() <= 1.2 * longest:
            break
        begun = time.perf_counter()
        some = missing[k : k + data.together]
        # Stacks of one size are one program.
        full = [some[i % len(some)] for i in range(data.together)]
        trained = train(data, full)
        known |= {_name(c): row for c, row in zip(some, trained, strict=False)}
        _write(path, known)
        spent = time.perf_counter() - begun
        longest = max(longest, spent)
        names = "; ".join(f"{c.name}, key {c.key}" for c in some)
        print(f"  {names}: {spent:.1f} s", flush=True)
    return known


def train(data: Set, some: Sequence[Column]) -> list[list[float]]:
    """The columns as one stack; the median of the last looks at each network."""
    items = range(len(data.problems))
    trials = [(k, column.words[k], column.key) for column in some for k in items]
    chunks = data.steps // data.every
    seen = np.full((data.looks, len(trials)), np.nan)
    stops = [data.every * done for done in range(chunks - data.looks + 1, chunks + 1)]

    def on_stop(step: int, places: list[int], stacked: Field) -> None:
        for i, field in zip(places, unstack(stacked, len(places)), strict=True):
            seen[stops.index(step), i] = data.score(trials[i][0], field)

    driver.train(
        [data.tasks[k] for k, _, _ in trials],
        [field_of(data, word, key, k) for k, word, key in trials],
        Config(data.every * chunks, data.rate, data.every),
        keys=[jax.random.PRNGKey(0)] * len(trials),
        optimiser=optimiser(data.optimiser),
        stops=stops,
        on_stop=on_stop,
    )
    middle = np.median(seen, axis=0).reshape(len(some), -1)
    return middle.tolist()


def field_of(data: Set, word: str, key: int, item: int = 0) -> Field:
    start = None if data.starts is None else data.starts[item]
    return make_field(
        word, key=jax.random.PRNGKey(key), bits2020=True, start=start, **data.network
    ).with_leak(data.leak)


def seconds_of_one(data: Set, path: Path) -> tuple[float, float]:
    """One training of the table by itself, compilation apart, and its PFLOP."""
    field = field_of(data, data.word(data.fixed), data.keys[0])
    steps = data.steps
    flop = steps * flop_of(field, data.tasks[0].step_points)
    if not path.is_file():
        length = max(4, min(100, steps // 8))
        config = Config(steps=3 * length, lr=data.rate, every=length)
        keys = [jax.random.PRNGKey(0)]
        _, [history] = driver.train(
            data.tasks[:1], [field], config, keys=keys,
            optimiser=optimiser(data.optimiser),
        )  # fmt: skip
        spent = history["seconds"][-1] - history["seconds"][0]
        _write(path, spent / (2 * length) * steps)
    return json.loads(path.read_text()), flop / 1e15


def measure(
    name: str,
    items: int | None,
    small: bool,
    recipe: str,
    kernel: bool,
    folder: Path,
    seconds: float,
    short: bool = False,
) -> dict[str, Any] | None:
    """A set's row, or None where time was up before the columns that it needs."""
    begun = time.perf_counter()
    make, default = SETS[name]
    parts = folder / f"{name}.parts"
    parts.mkdir(parents=True, exist_ok=True)
    data = make(items or default, small)
    if recipe == "modern":
        data = modern(name, data, small)
    if short:
        data = few(name, data)
    print(f"{name}: read in {time.perf_counter() - begun:.1f} s", flush=True)
    found = choices(data, parts, kernel)
    print(f"  chosen by {time.perf_counter() - begun:.1f} s", flush=True)
    one, pflop = (None, None) if short else seconds_of_one(data, parts / "one.json")
    wanted = columns(data, found)
    known = scores(
        data, wanted, parts / "scores.json",
        lambda: seconds - (time.perf_counter() - begun),
    )  # fmt: skip
    content = summary(name, data, found, known, one, pflop)
    if content is not None:
        content["recipe"] = recipe
        content["command"] += f" --recipe {recipe}{' --few' if short else ''}"
        content["complete"] = all(_name(c) in known for c in wanted)
    return content


def summary(
    name: str,
    data: Set,
    found: Sequence[dict[str, Choice]],
    known: dict[str, list[float]],
    one: float | None,
    pflop: float | None,
) -> dict[str, Any] | None:
    """The row of a set, from choices and scores."""
    count = len(found)

    def of(words: Sequence[str], key: int) -> np.ndarray | None:
        row = known.get(_name(Column("", tuple(words), key)))
        return None if row is None else np.asarray(row)

    first = data.keys[0]
    fixed = (data.word(data.fixed),) * count
    words = {way: [f[way].mapping for f in found] for way in found[0]}
    rows = {"fixed": of(fixed, first)} | {w: of(s, first) for w, s in words.items()}
    grid = [s for s in data.grid if of([data.word(s)] * count, first) is not None]
    if rows["fixed"] is None or rows["chosen"] is None:
        return None
    if data.grid and len(grid) < 4:
        return None
    tables, picked = [], []
    for key in data.keys[: data.grid_keys]:
        chosen = of(words["chosen"], key)
        cells = [of([data.word(s)] * count, key) for s in grid]
        if chosen is not None and all(c is not None for c in cells):
            tables.append(np.stack(cells, axis=1))  # pyright: ignore
            picked.append(chosen)
    oracle: dict[str, Any] = {
        "oracle": None, "best of grid": None, "chosen over oracle": None
    }  # fmt: skip
    tops: Sequence[float] = ()
    table = np.zeros((count, 0))
    if data.grid:
        table = np.mean(tables, axis=0)
        tops, smooth = zip(*(top_of_cubic(grid, row) for row in table), strict=True)
        all_rows = [*tables[0].T, *(r for r in rows.values() if r is not None)]
        oracle = {
            "oracle": float(np.mean(smooth)),
            "best of grid": float(np.max(all_rows, axis=0).mean()),
            "chosen over oracle": _mean(np.mean(picked, axis=0) - np.asarray(smooth)),
        }
    both = [(of(words["chosen"], key), of(fixed, key)) for key in data.keys]
    gains = [a - b for a, b in both if a is not None and b is not None]
    spent = [f["chosen"].seconds for f in found]
    sweeps = np.asarray([s["sweep"] for s in spent])
    ranks = [(None, None)] * count
    if data.grid:
        ranks = [_ranks(f, grid, row) for f, row in zip(found, table, strict=True)]
    return {
        "set": name,
        "passband": __version__,
        "command": f"python benchmarks/tune.py --only {name} --json DIR",
        "date": time.strftime("%Y-%m-%d"),
        "device": device_name(),
        "jax": jax.__version__,
        "items": count,
        "unit": data.unit,
        "fixed scale": data.fixed,
        **{way: float(row.mean()) for way, row in rows.items() if row is not None},
        "oracle": oracle["oracle"],
        "best of grid": oracle["best of grid"],
        "chosen over fixed": _mean(np.mean(gains, axis=0)),
        "chosen over fixed, by key": [float(g.mean()) for g in gains],
        "chosen over oracle": oracle["chosen over oracle"],
        "keys of the grid": len(tables),
        "oracle scales": list(tops),
        "words": words,
        "seconds": {
            "kernel": _median([f["kernel"].seconds["kernel"] for f in found
                               if "kernel" in f["kernel"].seconds])
            if "kernel" in found[0] else None,
            "sweep": float(np.median(sweeps)),
            "longest sweep": float(sweeps.max()),
            "compiling the sweep": max(s["compiling"] for s in spent),
            "one training": one,
        },
        "trainings that a choice costs": one and float(np.median(sweeps)) / one,
        "trainings that the longest choice costs": one and float(sweeps.max()) / one,
        "steps of one training": data.steps,
        "PFLOP of one training": pflop,
        "scales tried": [len(f["chosen"].sigmas) for f in found],
        "neighbours not tried to the end": [f["chosen"].untried for f in found],
        "notes": [f["chosen"].notes for f in found],
        "rank agreement of rungs": [f["chosen"].agreement for f in found],
        "rank agreement of kernel and trials": [r[0] for r in ranks],
        "rank agreement of kernel and scores": [r[1] for r in ranks],
        "grid": grid,
        "grid scores": table.tolist(),
    }  # fmt: skip


def top_of_cubic(grid: Sequence[float], levels: np.ndarray) -> tuple[float, float]:
    """Scale and level of the top, between the ends of the grid."""
    u = np.log(grid)
    fit = np.polynomial.Polynomial.fit(u, levels, 3 if len(grid) > 5 else 2)
    fine = np.linspace(u[0], u[-1], 400)
    at = int(np.argmax(fit(fine)))
    return float(np.exp(fine[at])), float(fit(fine)[at])


def _ranks(
    found: dict[str, Choice], grid: Sequence[float], row: np.ndarray
) -> tuple[float | None, float | None]:
    """Of the kernel's prediction with the first comparison, and with the scores."""
    by = found.get("kernel")
    if by is None or by.predicted is None:
        return None, None
    told = np.asarray(by.predicted, float)
    trials = np.asarray(found["chosen"].curves[0].mean[: len(told)], float)
    alike = [i for i, axes in enumerate(by.axes) if axes is None]
    at = np.interp(np.log(grid), np.log([by.scales[i] for i in alike]), told[alike])
    return rank_agreement(told, trials), rank_agreement(at, row)


def table(folder: Path) -> str:
    """Every set that was run, a row each."""
    lines = [
        "| set | fixed | spectrum | kernel | chosen | oracle (best of grid) | chosen "
        "over fixed (keys) | over oracle (keys) | seconds: kernel, sweep, one training "
        "| trainings a choice costs |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for path in sorted(folder.glob("*.json")):
        r = json.loads(path.read_text())
        digits = 2 if r["unit"] == "dB" else 4

        def text(value: Any, digits: int = digits) -> str:
            if value is None:
                return "-"
            if isinstance(value, list):
                spread = "" if value[1] is None else f" ± {value[1]:.{digits}f}"
                return f"{value[0]:+.{digits}f}{spread}"
            return f"{value:.{digits}f}"

        spent = r["seconds"]
        longest = r["trainings that the longest choice costs"]
        cells = [
            f"{r['set']} ({r['items']}, {r['unit']})",
            f"{text(r['fixed'])} at {r['fixed scale']:g}",
            text(r.get("spectrum")), text(r.get("kernel")), f"**{text(r['chosen'])}**",
            f"{text(r['oracle'])} ({text(r['best of grid'])})",
            f"{text(r['chosen over fixed'])} ({len(r['chosen over fixed, by key'])})",
            f"{text(r['chosen over oracle'])} ({r['keys of the grid']})",
            f"{text(spent['kernel'], 1)}, {spent['sweep']:.1f}, "
            f"{text(spent['one training'], 1)}",
            f"{text(r['trainings that a choice costs'], 1)} "
            f"(at most {text(longest, 1)})",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean(values: np.ndarray) -> list[float | None]:
    """Mean over items, and its standard error."""
    n = len(values)
    error = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else None
    return [float(values.mean()), error]


def _median(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None


def _name(column: Column) -> str:
    same = len(set(column.words)) == 1
    return f"{column.words[0] if same else ' '.join(column.words)} key {column.key}"


def _write(path: Path, content: Any) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, indent=1) + "\n")
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description="choosing sigma")
    parser.add_argument("--only", nargs="*", choices=list(SETS), default=list(SETS))
    parser.add_argument("--items", type=int, help="pictures, phantoms or volumes")
    parser.add_argument("--small", action="store_true", help="sizes for a CPU")
    parser.add_argument("--recipe", choices=("modern", "paper"), default="modern")
    parser.add_argument("--kernel", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--few", action="store_true", help="choice and paper's alone")
    parser.add_argument("--json", type=Path, default=Path("tune"))
    parser.add_argument("--seconds", type=float, default=np.inf, help="for all sets")
    parser.add_argument("--table", type=Path)
    args = parser.parse_args()
    if args.table is not None:
        print(table(args.table))
        return
    begun = time.perf_counter()
    for name in args.only:
        path = args.json / f"{name}.json"
        if path.is_file() and json.loads(path.read_text())["complete"]:
            continue
        left = args.seconds - (time.perf_counter() - begun)
        if left <= 0:
            break
        result = measure(
            name, args.items, args.small, args.recipe, args.kernel and not args.few,
            args.json, left, args.few,
        )  # fmt: skip
        if result is not None:
            _write(path, result)
    print(table(args.json))


if __name__ == "__main__":
    main()
