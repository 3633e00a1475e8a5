"""Ours on the protocols of others, beside the numbers that they print.

    python benchmarks/protocols.py --only finer,chest,sizes --json DIR [--small]

finer   FINER++ (Liu et al. 2025): the 16 natural pictures of the paper, 512 x 512, all
        pixels in every step, 5 matrices of 256 units, 5000 steps; PSNR of these pixels,
        clipped. Rates are chosen on the first picture, by runs of a fifth of the steps;
        then all pictures train as one program.
chest   muon-inrs: a slice of a chest from 100 parallel views without noise, 5000 steps;
        PSNR of the slice, clipped.
sizes   INR-benchmark: pictures, the slice and a volume at 1e4 to 3e6 parameters in 1000
        full steps of Adam; features of a fixed sigma beside ours, whose is chosen once
        for each picture.

Each leaves DIR/NAME.json, which grows with every method; one that is there is not run
again. `--rivals` is how many of the 16 pictures all but ours train on, `--optimisers`
those of the slice, `--rates` its methods whose rate is chosen by held-out rays,
`--sizes` which sizes, in this order, `--few` how many of the ten pictures those
from 1e6 on, `--dragon` the most parameters for the volume. `--seconds N` begins no
method later than that, for each protocol. `--data` is the folder of chest.png,
dragon.npz and div2k_x4; the natural pictures are those of `passband data`, or in the
folder `--pictures`. `--small` only shows that it runs.
"""

import argparse
import collections
import dataclasses
import itertools
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from passband.auto import Auto
from passband.data.images import Image, read_image
from passband.data.store import find
from passband.field import Field, make_field
from passband.json_text import to_json
from passband.kinds.choose import choose_for
from passband.kinds.compare import compare, train_seconds
from passband.kinds.comparison import Row
from passband.kinds.ct import CTKind
from passband.kinds.ct_options import CTOptions
from passband.kinds.fit import fit
from passband.kinds.image import ImageKind
from passband.kinds.kind import TrialSize
from passband.kinds.options import ImageOptions
from passband.kinds.prior import with_usual_prior
from passband.kinds.session import Collapse
from passband.kinds.trials import Tuned
from passband.tasks.ct import projector, scanner_of, squared
from passband.tasks.image import ImageTask, image_task
from passband.tasks.metrics import iou, psnr
from passband.tasks.regression import RegressionTask, regression_task
from passband.tasks.task import Task
from passband.train.device import device_name
from passband.train.driver import Config, Diverged, train
from passband.train.optimisers import optimiser
from passband.train.schedules import Schedule, decaying_rate, schedule
from passband.tuning.candidates import Candidate, Trials, held_out_levels
from passband.tuning.choose import choose
from passband.tuning.grid import grid_problem
from passband.tuning.sweep import Plan, rungs_to
from passband.version import __version__
from passband.words import parse_mapping

Found = dict[str, Any]
"""What each method gave."""
Keep = Callable[[dict[str, Any]], None]
"""Writes what there is so far."""
CENTRED = "none:scale=2,shift=-1"
PRINTED = {
    "finer": {
        "siren": 40.06, "finer": 42.13, "gauss": 35.05, "wire": 32.02,
        "finer++ gauss": 40.68, "finer++ wavelet": 41.35,
    },
    "chest": {
        "relu ffn adam": 29.35, "relu ffn muon": 33.24, "siren adam": 29.19,
        "siren muon": 33.09, "finer adam": 32.10, "finer muon": 31.66,
    },
}  # fmt: skip
"""In dB: of picture 01 in FINER++'s table, and of the slice on muon-inrs' page."""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A network and how it trains."""

    activation: str = "relu"
    optimiser: str = "adam"
    output: str = "sigmoid"
    precision: str = "auto"
    rates: tuple[float, ...] = (1e-3,)

    def rate(self, lr: float, steps: int) -> Schedule:
        """FINER++'s decay to a tenth for Adam; half a cosine for Muon."""
        if self.optimiser == "muon":
            return schedule("cosine", lr, steps)
        return decaying_rate(lr, 0.1, steps)


def _rival(activation: str, lr: float) -> Recipe:
    """Outputs without an activation and full products, as their codes have them."""
    rates = (lr / 3, lr, 3 * lr)
    return Recipe(activation, output="identity", precision="float32", rates=rates)


CHEST = ("fourier", "siren", "finer", "no-prior", "relu")
"""By each optimiser, in this order."""


@dataclasses.dataclass(frozen=True)
class Rates:
    """A method for the slice, by rates of which held-out rays choose one."""

    optimiser: str
    lrs: tuple[float, ...]
    mapping: str = CENTRED
    activation: str = "relu"
    prior: str = "none"
    precision: str = "float32"
    trial: int = 1280
    """Steps of a trial."""


# Sigma is what `auto` chose for ours at its default rate (results/protocols-h200).
CHEST_WORD = "gaussian:12.1"
_OURS: Any = {"mapping": CHEST_WORD, "precision": "auto", "trial": 5000}
_WAVES = (1e-4, 5e-4, 2.5e-3)
CHEST_RATES = {
    "tv-muon": Rates("muon", (1e-3, 2.5e-3, 5e-3, 1e-2), **_OURS, prior="tv:2e-05"),
    "muon": Rates("muon", (1e-3, 2.5e-3, 5e-3, 1e-2), **_OURS),
    "siren-muon": Rates("muon", _WAVES, activation="sine:30"),
    "finer-adam": Rates("adam", _WAVES, activation="finer:30"),
    "siren-adam": Rates("adam", _WAVES, activation="sine:30"),
    "finer-muon": Rates("muon", _WAVES, activation="finer:30"),
}
FINER = {
    "ours": Recipe(optimiser="muon", rates=(5e-4, 1e-3, 2e-3, 4e-3)),
    "siren": _rival("sine", 5e-4),
    "finer": _rival("finer", 5e-4),
    "ours, adam": Recipe(rates=(5e-4, 1e-3, 2e-3, 4e-3)),
    "gauss": _rival("gauss", 5e-3),
    "wire": _rival("wire:20,10", 5e-3),
}


def trained(
    tasks: Sequence[Task],
    words: Sequence[str],
    recipe: Recipe,
    lrs: Sequence[float],
    *,
    steps: int,
    d: int,
    out: int,
    layers: int,
    width: int,
    room: int | None = None,
    start: float = 0.5,
    seed: int = 0,
) -> tuple[list[Field], float]:
    """Every task's network, those of one shape as one program, and the seconds; with
    `room`, hidden layers are as wide as that, by units that never live."""
    key = jax.random.key(seed)
    fields = [
        make_field(word, d=d, out=out, key=key, layers=layers, width=width,
                   output=recipe.output, activation=recipe.activation, start=start)
        for word in words
    ]  # fmt: skip
    fields = [_widened(field, room or width) for field in fields]
    begun = time.perf_counter()
    done, _ = train(
        tasks, fields,
        Config(steps=steps, every=max(1, steps // 20), precision=recipe.precision),
        keys=[jax.random.fold_in(key, k) for k in range(len(tasks))],
        lrs=[recipe.rate(lr, steps) for lr in lrs],
        optimiser=optimiser(recipe.optimiser),
    )  # fmt: skip
    return done, time.perf_counter() - begun


def clipped_psnr(task: ImageTask, field: Field) -> float:
    """As FINER++ and INR-benchmark take it."""
    return psnr(np.clip(task.predict(field), 0, 1), task.truth(), data_range=1.0)


def chosen_word(image: Image, asked: ImageOptions) -> str:
    """gaussian:auto of a picture."""
    auto = parse_mapping("gaussian:auto")
    assert isinstance(auto, Auto)
    return choose_for(ImageKind(asked, image.name, image), asked, auto).mapping


def finer(asked: argparse.Namespace, found: Found, keep: Keep) -> None:
    """FINER++'s pictures: one table of PSNR, a row for each method."""
    small = asked.small
    count, steps, width = (2, 40, 16) if small else (16, 5000, 256)
    place = asked.pictures or find("natural") / "test_data"
    images = [_cut(read_image(p), small) for p in sorted(place.glob("*.png"))[:count]]
    tasks = [image_task(image) for image in images]
    options = ImageOptions(steps=steps, width=width, layers=5)
    auto = found["ours"]["words"] if "ours" in found else None
    auto = auto or [chosen_word(image, options) for image in images]
    sizes: Any = {"d": 2, "out": images[0].values.shape[2], "layers": 5, "width": width}
    for name, recipe in FINER.items():
        if name in found:
            continue
        # Few rivals take picture 01 first, whose numbers are printed.
        few = name != "ours" and asked.rivals < count
        which = [(k + 1) % count for k in range(asked.rivals)] if few else range(count)
        words = [auto[k] if name.startswith("ours") else CENTRED for k in which]
        own = [tasks[k] for k in which]
        n = len(recipe.rates)
        tried, _ = trained(
            [own[0]] * n, [words[0]] * n, recipe, recipe.rates,
            steps=max(20, steps // 5), **sizes,
        )  # fmt: skip
        levels = [clipped_psnr(own[0], field) for field in tried]
        lr = recipe.rates[int(np.nanargmax(levels))]
        fields, seconds = trained(
            own, words, recipe, [lr] * len(own), steps=steps, **sizes
        )
        scores = [clipped_psnr(t, f) for t, f in zip(own, fields, strict=True)]
        found[name] = {
            "pictures": [images[k].name for k in which], "psnr": scores,
            "mean": float(np.mean(scores)), "lr": lr, "words": words,
            "rates": dict(zip(map(str, recipe.rates), levels, strict=True)),
            "seconds": seconds, "parameters": fields[0].parameters,
        }  # fmt: skip
        print(
            f"finer  {name:12s} {np.mean(scores):.2f} dB  {seconds:.0f} s", flush=True
        )
        keep({"steps": steps, "methods": found})


def chest(asked: argparse.Namespace, found: Found, keep: Keep) -> None:
    """muon-inrs' slice: the classical ones, ours and rivals by Muon and by Adam."""
    with tempfile.TemporaryDirectory() as place:
        _chest(asked, found, keep, Path(place))


def _slice(
    asked: argparse.Namespace, place: Path, **options: Any
) -> tuple[CTOptions, CTKind, tuple[slice, slice]]:
    """The scan of the slice, and where the slice is in the square that is fitted."""
    small = asked.small
    density = _cut(read_image(asked.data / "chest.png"), small).values[..., 0]
    density = density.astype(np.float32)
    own = CTOptions(
        **_scan(density, 12 if small else 100, place), holdout=0.0,
        batch=64**2 if small else None, **options,
    )  # fmt: skip
    kind = CTKind.read(own)
    h, w = density.shape
    top, left = kind.side // 2 - h // 2, kind.side // 2 - w // 2
    return own, kind, (slice(top, top + h), slice(left, left + w))


def _of_slice(kind: CTKind, box: tuple[slice, slice], seen: np.ndarray) -> float:
    """PSNR of densities, clipped, without the rim of the square."""
    truth = kind.truth
    assert truth is not None
    seen = np.clip(seen, truth.min(), truth.max())
    return psnr(seen[box], truth[box], data_range=float(np.ptp(truth)))


def _chest(asked: argparse.Namespace, found: Found, keep: Keep, place: Path) -> None:
    steps, width = (40, 16) if asked.small else (5000, 256)
    options, kind, box = _slice(asked, place, steps=steps, width=width, layers=5)

    def done(row: Row, moves: str = "") -> None:
        """Keep a method's numbers, and its PSNR without the rim of the square."""
        if row.picture is None:
            print(f"chest  {row.name} {row.setting}: {row.note}", flush=True)
            return
        label = f"{row.name} {moves}".strip().lower()
        level = _of_slice(kind, box, row.picture)
        found[label] = row.to_json() | {"psnr_of_slice": level}
        print(f"chest  {label:14s} {level:.2f} dB", flush=True)
        keep({"steps": steps, "methods": found})

    for name, make in kind.classical(0).items():
        if name not in ("FBP", "SART", "TV") or name.lower() in found:
            continue
        begun = time.perf_counter()
        if (made := make()) is not None:
            spent = time.perf_counter() - begun
            picture = made.shown.values
            done(Row(name, metrics=made.metrics, seconds=spent, picture=picture))
    wanted = asked.rates.split(",") if asked.rates else []
    for name in [n for n in wanted if f"rates {n}" not in found]:
        if asked.late():
            return
        row = _by_rates(kind, options, CHEST_RATES[name], asked.small)
        done(dataclasses.replace(row, name=f"rates {name}"))
    for moves in filter(None, asked.optimisers.split(",")):
        missing = [m for m in CHEST if f"{m} {moves}" not in found]
        own = dataclasses.replace(
            options,
            optimiser="muon" if moves == "split" else moves,
            schedule=None if moves == "adam" else "cosine",
            descent="split" if moves == "split" else "direct",
        )
        if missing:
            compare(
                kind, own, methods=",".join(missing),
                on_row=lambda so_far, moves=moves: done(so_far.rows[-1], moves),
            )  # fmt: skip


def _by_rates(kind: CTKind, options: CTOptions, method: Rates, small: bool) -> Row:
    """A fit at the rate that did best at rays held out, in trials of a coarser grid."""
    begun = time.perf_counter()
    schedule = "cosine" if method.optimiser == "muon" else "constant"
    own = dataclasses.replace(
        options, mapping=method.mapping, activation=method.activation,
        optimiser=method.optimiser, schedule=schedule, prior=method.prior,
        precision=method.precision,
    )  # fmt: skip
    most = 16 if small else method.trial
    problem = kind.trials(own, TrialSize(most, 16**2 if small else 160**2))
    problem = with_usual_prior(kind, own, problem)
    mapping: Any = parse_mapping(method.mapping)
    training = kind.training(own, mapping)
    levels = held_out_levels(
        problem,
        [Candidate(mapping, method.activation, lr, training.width)
         for lr in method.lrs],
        Trials(
            most, training.layers, method.optimiser, schedule, leak=training.leak,
            precision=method.precision, seed=own.seed,
        ),
    )  # fmt: skip
    told = dict(zip(map(str, method.lrs), map(float, levels), strict=True))
    tuned = Tuned({}, len(told), most, time.perf_counter() - begun, told)
    lr = method.lrs[int(np.nanargmax(levels))]
    word = f"{method.mapping} {method.activation} {method.optimiser} lr {lr:g}"
    print(f"chest  {word}: {told}, {tuned.seconds:.0f} s", flush=True)
    try:
        fitted = fit(kind, dataclasses.replace(own, lr=lr))
    except (Diverged, Collapse) as error:
        return Row("", word, note=str(error), tuned=tuned)
    shown = fitted.evaluation.shown
    assert shown is not None
    return Row(
        "", word, metrics=fitted.evaluation.metrics,
        parameters=fitted.field.parameters, steps=int(fitted.history["step"][-1]),
        seconds=train_seconds(fitted.history), picture=shown().values, tuned=tuned,
    )  # fmt: skip


def _scan(density: np.ndarray, views: int, place: Path) -> dict[str, Any]:
    """What they measure of a picture, as files, and the options that read it.

    Angles from 0 to 180 degrees, both of them; a detector as wide as the picture, so
    that views at a slant cut its corners.
    """
    side, angles = max(density.shape), np.linspace(0, 180, views)
    geometry, bins = scanner_of(side, {})
    whole = jnp.asarray(squared(density, side))
    rays = geometry.side * np.asarray(projector(geometry, angles, bins)(whole))
    np.savetxt(place / "angles.txt", angles)
    np.save(place / "chest.npy", rays)
    np.save(place / "picture.npy", density)
    return {
        "file": str(place / "chest.npy"),
        "angles": str(place / "angles.txt"),
        "truth": str(place / "picture.npy"),
        "axis": geometry.axis,
    }


def sizes(asked: argparse.Namespace, found: Found, keep: Keep) -> None:
    """INR-benchmark's sizes: a fixed sigma, ours by the same Adam, ours by Muon."""
    with tempfile.TemporaryDirectory() as place:
        _sizes(asked, found, keep, Path(place))


def _sizes(asked: argparse.Namespace, found: Found, keep: Keep, place: Path) -> None:
    folder, small = asked.data, asked.small
    counts = [1e4] if small else [float(word) for word in asked.sizes.split(",")]
    steps, m = (20, 32) if small else (1000, 1000)
    paths = sorted((folder / "div2k_x4").glob("*.png"))[: 2 if small else None]
    images = [_cut(read_image(path), small) for path in paths]
    tasks: list[Task] = [image_task(image) for image in images]
    with np.load(folder / "dragon.npz") as file:
        volume = next(iter(file.values())).astype(np.float32)
    if small:
        volume = volume[::8, ::8, ::8]
    dragon, problem = _volume(volume)
    options = ImageOptions(steps=steps, width=32 if small else 256, layers=3)
    plan = Plan(rungs=rungs_to(min(steps, 800)), optimiser="muon", schedule="cosine")
    labels = [f"ours, {what}, 1e+04" for what in ("pictures", "dragon")]
    known = [found[label] for label in labels if label in found]
    if len(known) == 2:
        pair = zip(("pictures", "dragon"), known, strict=True)
        chosen = {what: row["words"] for what, row in pair}
    else:
        chosen = {
            "pictures": [_with_m(chosen_word(i, options), m) for i in images],
            "dragon": [_with_m(choose(problem, plan=plan).mapping, m)],
        }
    chosen["chest"] = [_with_m(CHEST_WORD, m)]
    scan, kind, box = _slice(asked, place)
    ray_task: Any = kind.task(kind.training(scan, parse_mapping(CHEST_WORD)))
    mean = kind.network().start

    def score(what: str, task: Any, field: Field) -> float:
        if what != "chest":
            return _score(task, field)
        return _of_slice(kind, box, kind.high * task.predict(field))

    # Their coordinates run from -1 to 1: sigma 20 is 40 cycles per unit of ours.
    ways = {
        "sigma 20": (f"gaussian:40,m={m}", "adam"),
        "ours, adam": (None, "adam"),
        "ours": (None, "muon"),
    }
    # A few are of one size, which is one program.
    usual = collections.Counter(image.values.shape for image in images)
    common = [
        k for k, image in enumerate(images)
        if image.values.shape == usual.most_common(1)[0][0]
    ][: asked.few]  # fmt: skip
    every = list(range(len(tasks)))
    for count in counts:
        which = every if count < 1e6 or asked.few >= len(tasks) else common
        all_of = "pictures" if which == every else f"{len(which)} pictures"
        sets: list[tuple[str, str, list[int], list[Any]]] = [
            ("pictures", all_of, which, [tasks[k] for k in which]),
            ("chest", "chest", [0], [ray_task]),
            ("dragon", "dragon", [0], [dragon]),
        ]
        for (name, (word, moves)), (what, called, items, some) in itertools.product(
            ways.items(), sets
        ):
            label = f"{name}, {called}, {count:.0e}"
            if label in found or (what == "dragon" and count > asked.dragon):
                continue
            if asked.late():
                return
            out, d = 3 if what == "pictures" else 1, 3 if what == "dragon" else 2
            width = _width(int(count), out, m)
            words = [word or chosen[what][k] for k in items]
            # Others of the smaller sizes were measured as narrow as they are.
            wide = small or what == "chest" or count >= 3e5
            fields, seconds = trained(
                some, words, Recipe(optimiser=moves), [1e-3] * len(some),
                steps=steps, d=d, out=out, layers=3, width=width,
                room=_room(width) if wide else None,
                start=mean if what == "chest" and mean is not None else 0.5,
            )  # fmt: skip
            scores = [score(what, t, f) for t, f in zip(some, fields, strict=True)]
            found[label] = {
                "scores": scores, "mean": float(np.mean(scores)), "words": words,
                "width": width, "parameters": _parameters(width, out, m),
                "seconds": seconds, "items": items,
            }  # fmt: skip
            print(
                f"sizes  {label:32s} {np.mean(scores):.3f}  {seconds:.1f} s", flush=True
            )
            keep({"steps": steps, "methods": found})


def _room(width: int) -> int:
    """The width whose products a GPU is made for: that of the fused step, or whole
    tiles."""
    return 256 if 128 < width <= 256 else width + -width % 64


def _widened(field: Field, width: int) -> Field:
    """The same function in wider layers: units of weights 0 have no gradient, by Adam
    or by Muon."""

    def wide(x: jax.Array, *sides: int) -> jax.Array:
        more = zip(x.shape, sides, strict=True)
        return jnp.pad(x, [(0, max(0, side - n)) for n, side in more])

    weights, biases = field.mlp.weights, field.mlp.biases
    inner, last = range(len(weights)), len(weights) - 1
    grown = [
        wide(weights[k], 0 if k == 0 else width, 0 if k == last else width)
        for k in inner
    ]
    moved = [wide(biases[k], 0 if k == last else width) for k in inner]
    return eqx.tree_at(
        lambda f: (f.mlp.weights, f.mlp.biases), field, (tuple(grown), tuple(moved))
    )


def _score(task: Task, field: Field) -> float:
    """PSNR of a picture, IoU of a volume."""
    if isinstance(task, ImageTask):
        return clipped_psnr(task, field)
    assert isinstance(task, RegressionTask)
    return iou(task.predict(field) > 0.5, np.asarray(task.values) > 0.5)


def _volume(volume: np.ndarray) -> tuple[RegressionTask, Any]:
    places = np.stack(np.meshgrid(*map(np.arange, volume.shape), indexing="ij"), -1)
    coords = places.reshape(-1, 3) / max(volume.shape)
    values = volume.reshape(-1, 1)
    batch = min(len(values), 2**18)
    problem = grid_problem(volume[..., None], most=2**16, batch=2**12, name="voxels")
    return regression_task(coords, values, batch=batch, low=0.0, high=1.0), problem


def _width(count: int, out: int, m: int) -> int:
    """That of two hidden layers with about so many parameters."""
    return min(range(2, 4096), key=lambda w: abs(_parameters(w, out, m) - count))


def _parameters(width: int, out: int, m: int) -> int:
    return (2 * m + 1) * width + (width + 1) * width + (width + 1) * out


def _with_m(word: str, m: int) -> str:
    mapping: Any = parse_mapping(word)
    return str(dataclasses.replace(mapping, m=m))


def _cut(image: Image, small: bool) -> Image:
    return dataclasses.replace(image, values=image.values[:32, :32]) if small else image


PROTOCOLS: dict[str, Callable[[argparse.Namespace, Found, Keep], None]] = {
    "finer": finer, "chest": chest, "sizes": sizes,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PROTOCOLS))
    parser.add_argument("--data", type=Path, default=Path("others/inr_benchmarks"))
    parser.add_argument("--json", type=Path, required=True, metavar="DIR")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--rivals", type=int, default=16)
    parser.add_argument(
        "--optimisers",
        default="muon,adam",
        help="by name; split is split steps of Muon",
    )
    parser.add_argument("--pictures", type=Path, help="test_data of natural")
    parser.add_argument("--rates", default="", help=",".join(CHEST_RATES))
    parser.add_argument("--few", type=int, default=10)
    parser.add_argument("--dragon", type=float, default=np.inf)
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--sizes", default="1e4,3e4,1e5,3e5,1e6,3e6")
    options = parser.parse_args()
    options.json.mkdir(parents=True, exist_ok=True)
    for name in options.only.split(","):
        begun = time.perf_counter()
        path = options.json / f"{name}.json"

        def keep(found: dict[str, Any], name=name, path=path, begun=begun) -> None:
            about = {
                "protocol": name, "printed": PRINTED.get(name, {}),
                "device": device_name(), "passband": __version__,
                "seconds": time.perf_counter() - begun,
            }  # fmt: skip
            path.write_text(to_json(found | about, indent=1) + "\n")

        options.late = lambda b=begun: time.perf_counter() - b > options.seconds
        known = json.loads(path.read_text())["methods"] if path.is_file() else {}
        PROTOCOLS[name](options, known, keep)


if __name__ == "__main__":
    main()
