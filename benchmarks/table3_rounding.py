"""Table 3: what rounding, the key and the step of reading move its means by.

    python benchmarks/table3_rounding.py --json FILE [--seconds 170] [--plan WORD...]
                                         [--rows natural:gaussian ...] [--small]

A word of the plan is PRECISION:PICTURES:KEY, with `:moved` and a number behind it where
every weight and every frequency starts one last bit beside its own: rounding alone,
with the arithmetic as it is. Each is trained as Table 3 is and read at four steps, the
paper's (index 1975) among them. Coordinates are k/512 and 2k/512, exact in float32 (and
checked), so that they can be rounded in no way that matters.

What is new is compared with the first word of the plan, picture by picture, and FILE is
written after every word, so that a run cut short keeps what it has. A word that would
end after `--seconds`, by its FLOP and the speed below or as measured, is left out.
"""

import argparse
import dataclasses
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from passband.domain import grid_coords
from passband.field import Field
from passband.ops.mlp import Precision
from passband.paper import published
from passband.paper.image_study import PAPER, SMOKE, STUDY
from passband.paper.item import Preset
from passband.paper.results import commit_now
from passband.paper.study import GridSizes
from passband.paper.training import Run, draw_fields, train
from passband.train.device import device_name
from passband.train.work import flop_of
from passband.version import __version__

PLAN = (
    "bfloat16:8:10", "tf32:8:10", "bfloat16:8:10:moved1", "float32:4:10",
    "bfloat16:8:11", "bfloat16:8:12", "bfloat16:8:10:moved2",
)  # fmt: skip
ROWS = ("natural:positional", "natural:gaussian")
TFLOPS = {"bfloat16": 280.0, "tf32": 100.0, "float32": 33.0}
"""On one H200, for the first word of each precision."""
COMPILE = 15.0
"""Seconds of the first word of each precision, on top."""
GAP = 52
"""Steps between two readings; 1976 is a multiple, so that chunks of steps are equal."""
READINGS = (-2, -1, 0, 1)
PAPERS = READINGS.index(0)


class Word(NamedTuple):
    """One word of the plan."""

    precision: str
    pictures: int
    key: int
    moved: int = 0

    @classmethod
    def read(cls, text: str) -> "Word":
        precision, pictures, key, *more = text.split(":")
        moved = int(more[0].removeprefix("moved")) if more else 0
        return cls(Precision(precision).value, int(pictures), int(key), moved)

    def __str__(self) -> str:
        text = f"{self.precision}, key {self.key}"
        return text + f", a last bit beside ({self.moved})" if self.moved else text


def beside(field: Field, seed: int) -> Field:
    """The field with every number of it moved by one last bit, up or down."""
    rng = np.random.default_rng(seed)

    def moved(x: Any) -> Any:
        towards = np.where(rng.random(np.shape(x)) < 0.5, -np.inf, np.inf)
        return jnp.asarray(np.nextafter(np.asarray(x), towards.astype(np.float32)))

    return jax.tree.map(moved, field)


def runs_of(rows: Sequence[str], word: Word, sizes: GridSizes) -> list[Run]:
    """Row by row, picture by picture; the pictures of all sets stand in a line."""
    found, sets = [], list(dict.fromkeys(row.partition(":")[0] for row in rows))
    for row in rows:
        column, _, mapping = row.partition(":")
        for k in range(word.pictures):
            found.append(
                Run(
                    sets.index(column) * word.pictures + k,
                    STUDY.word(mapping, column, sizes),
                    STUDY.lr(mapping, column, sizes),
                    sizes.layers,
                    word.key,
                )
            )
    return found


def fields_of(runs: Sequence[Run], sizes: GridSizes, moved: int = 0) -> list[Field]:
    fields = draw_fields(
        runs, d=STUDY.d, out=STUDY.out, width=sizes.width, output=STUDY.output
    )
    if not moved:
        return fields
    once = {id(field): beside(field, moved) for field in fields}  # equal draws stay one
    return [once[id(field)] for field in fields]


def trained(
    rows: Sequence[str], word: Word, sizes: GridSizes
) -> tuple[np.ndarray, float]:
    """PSNR of the test pixels (rows, pictures, readings), and seconds of training."""
    sizes = dataclasses.replace(sizes, count=word.pictures, precision=word.precision)
    sets = dict.fromkeys(row.partition(":")[0] for row in rows)
    signals = np.concatenate([STUDY.load(name, sizes) for name in sets])
    tasks, runs = STUDY.tasks(signals, sizes), runs_of(rows, word, sizes)
    _check_coords(signals.shape[1])
    found, seconds = train(
        [tasks[run.signal] for run in runs],
        fields_of(runs, sizes, word.moved),
        stops=[sizes.steps + GAP * k for k in READINGS],
        lrs=[run.lr for run in runs],
        keys=STUDY.batch_keys(runs),
        precision=word.precision,
        progress=lambda text: None,
    )
    scores = [
        [score[0] for score in STUDY.scores(list(at), runs, signals, sizes)]
        for at in zip(*found, strict=True)
    ]
    shape = len(READINGS), len(rows), word.pictures
    return np.moveaxis(np.reshape(scores, shape), 0, -1), float(np.sum(seconds))


def _check_coords(side: int) -> None:
    """Coordinates in float32 are those of float64, to the last bit."""
    ours = np.asarray(grid_coords(jnp.arange(side * side), (side, side)), np.float64)
    k = np.arange(side) / side
    if side & (side - 1) == 0:  # others are no sums of powers of two
        exact = np.stack(np.meshgrid(k, k, indexing="ij"), -1).reshape(-1, 2)
        assert all(np.array_equal(np.unique(ours[:, i]), k) for i in range(2))
        assert {tuple(v) for v in ours[::97]} <= {tuple(v) for v in exact}


def pflop(rows: Sequence[str], word: Word, sizes: GridSizes) -> float:
    runs = runs_of(rows, word._replace(pictures=1), sizes)
    points = (sizes.side // 2) ** 2
    each = sum(flop_of(field, points) for field in fields_of(runs, sizes))
    return each * word.pictures * (sizes.steps + GAP * READINGS[-1]) / 1e15


def summary(rows: Sequence[str], found: dict[Word, np.ndarray]) -> dict[str, Any]:
    """Of every row: its means, and what each thing moves them by."""
    words = list(found)
    first = words[0]
    told: dict[str, Any] = {}
    for i, row in enumerate(rows):
        column, _, mapping = row.partition(":")
        base = found[first][i]
        means, rounding, square = [], [], []
        for word in words:
            scores = found[word][i]
            shared = base[: len(scores)]
            apart = scores[:, PAPERS] - shared[: len(scores), PAPERS]
            line = {
                "what": str(word),
                "pictures": len(scores),
                "mean": float(scores[:, PAPERS].mean()),
                "by reading": scores.mean(axis=0).round(4).tolist(),
            }
            if word != first and len(scores) <= len(base):
                line |= {
                    "apart from the first, same pictures": float(apart.mean()),
                    "error of that": float(apart.std() / np.sqrt(len(apart))),
                    "largest of one picture": float(apart[np.abs(apart).argmax()]),
                }
                if word.key == first.key:
                    square.append(float(np.mean(apart**2)))
                    if len(apart) == len(base):
                        rounding.append(abs(float(apart.mean())))
            means.append(line)
        keys = [
            found[w][i][:, PAPERS].mean()
            for w in words
            if w.precision == first.precision
            and not w.moved
            and w.pictures == first.pictures
        ]
        readings = base.mean(axis=0)
        # Of two runs that differ by rounding alone: the root mean square between a
        # picture's PSNRs, and from it twice the deviation between two means of 16.
        one = float(np.sqrt(np.mean(square))) if square else None
        random = None if one is None else 2 * one / np.sqrt(PAPER.count)
        told[row] = {
            "printed": published.TABLE3[mapping, column].value,
            "means": means,
            "spread over keys": float(np.std(keys)) if len(keys) > 1 else None,
            "keys": len(keys),
            "rounding moves one picture by": one,
            "rounding moves these means by up to": max(rounding, default=None),
            "rounding moves a mean of 16 by": max([random or 0.0, *rounding])
            if one is not None
            else None,
            "spread over readings": float(readings.std()),
            "readings move the mean by up to": float(np.ptp(readings)),
        }
    return told


def printed(told: dict[str, Any]) -> str:
    lines = []
    for row, of in told.items():
        lines.append(f"{row}: printed {of['printed']}")
        for line in of["means"]:
            text = f"  {line['what']:34s} {line['mean']:.3f} of {line['pictures']}"
            if "error of that" in line:
                text += (
                    f"; {line['apart from the first, same pictures']:+.3f} +- "
                    f"{line['error of that']:.3f} from the first, one picture "
                    f"{line['largest of one picture']:+.2f}"
                )
            lines.append(text)
        for name in list(of)[2:]:
            value = of[name]
            if isinstance(value, float):
                lines.append(f"  {name}: {value:.3f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--plan", nargs="+", default=PLAN)
    parser.add_argument("--rows", nargs="+", default=ROWS)
    parser.add_argument("--seconds", type=float, default=170.0)
    parser.add_argument("--steps", type=int, default=PAPER.steps)
    parser.add_argument("--small", action="store_true", help="tiny, for a CPU")
    args = parser.parse_args()
    begun = time.perf_counter()
    sizes = dataclasses.replace(PAPER, steps=args.steps)
    plan = [Word.read(text) for text in args.plan]
    if args.small:
        sizes = dataclasses.replace(SMOKE, side=64, steps=4 * GAP)
        plan = [word._replace(pictures=min(word.pictures, 2)) for word in plan]
    speed = dict(TFLOPS)
    found: dict[Word, np.ndarray] = {}
    content: dict[str, Any] = {
        "device": device_name(), "version": __version__, "commit": commit_now(),
        "jax": jax.__version__, "preset": (Preset.SMOKE if args.small else
                                           Preset.FULL).value,
        "rows": list(args.rows), "steps": [sizes.steps + GAP * k for k in READINGS],
        "runs": [], "left out": [],
    }  # fmt: skip
    seen: set[str] = set()
    for word in plan:
        work = pflop(args.rows, word, sizes)
        spent = time.perf_counter() - begun
        needs = 1e3 * work / speed[word.precision]
        needs += 0 if word.precision in seen else COMPILE
        if spent + needs > args.seconds:
            print(
                f"left out: {word} ({needs:.0f} s more after {spent:.0f})", flush=True
            )
            content["left out"].append(str(word))
            continue
        since = time.perf_counter()
        scores, seconds = trained(args.rows, word, sizes)
        took = time.perf_counter() - since
        found[word] = scores
        if word.precision in seen:
            speed[word.precision] = 1e3 * work / took
        seen.add(word.precision)
        content["runs"].append(
            {
                **word._asdict(), "pflop": work, "seconds": round(took, 1),
                "of training": round(seconds, 1),
                "tflops": round(1e3 * work / max(seconds, 1e-9), 1),
                "psnr": scores.round(4).tolist(),
            }
        )  # fmt: skip
        content["summary"] = summary(args.rows, found)
        args.json.write_text(json.dumps(content, indent=1) + "\n")
        print(f"{word}: {word.pictures} pictures, {work:.2f} PFLOP, {took:.0f} s "
              f"({seconds:.0f} of training)", flush=True)  # fmt: skip
    print(printed(content["summary"]))
    print(f"wrote {args.json} after {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
