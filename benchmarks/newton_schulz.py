"""Muon's iteration on a Hopper GPU, cut in several ways: is it right, how fast is it.

    python benchmarks/newton_schulz.py --json FILE [--interpret]

Each way is compared with NumPy in float64 and then timed as a training step has it:
momentum, iteration and step of the first matrix (512 x 256) alone, of the other three
together, of both side by side, and of 16 first matrices stacked; 50 in one program, by
the compiler options of `passband.train.programs`. What the same chain takes without the
iteration is the row `nothing`. `--interpret` checks, on a CPU, and times nothing.
"""

import argparse
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from passband.ops import newton_schulz as ns
from passband.train.device import device_name
from passband.train.muon import FEW, FEWER, _pack, _unpack
from passband.train.programs import overlapping
from passband.version import __version__

FIRST = (512, 256)
REST = ((256, 256), (256, 256), (256, 3))
STEPS, UNROLL = 50, 10
LARGE = ns.Form((64, 64), (64, 64), 64, 64, 48 << 10)
"""The tiles of commit 26733be and before."""
FORMS = {
    "tiles of 32": ns.FORM,
    "chunks of 64": ns.Form(chunk=64, cast=64),
    "chunks of 256": ns.Form(chunk=256, cast=256),
    "cast whole": ns.Form(cast=256),
    "two chunks ahead": ns.Form(chunk=64, cast=64, ahead=32 << 10),
    "8 warps": ns.Form(warps=8),
    "2 warps": ns.Form(warps=2, chunk=64, cast=64),
    "update 32 x 64": ns.Form(update=(32, 64)),
    "update 64 x 32": ns.Form(update=(64, 32)),
    "update 64 x 64": ns.Form(update=(64, 64)),
    "tiles of 32 x 64": ns.Form((32, 64), (32, 64)),
    "tiles of 64": ns.Form((64, 64), (64, 64)),
    "tiles of 64, 3 stages": LARGE,
}
WHOLE = (
    "norm by XLA, tiles of 64", "split inside, tiles of 64",
    "tiles of 32", "tiles of 32 x 64", "tiles of 64",
)  # fmt: skip
"""What is timed in all cases; the others with three turns, first and both."""
Iterate = Callable[..., jax.Array]


def norm_by_xla(X, coefficients, *, interpret=False, form=LARGE):
    """As before 26733be, when X lay: XLA has the norm, all factors are float16."""
    stands = X.shape[1] > X.shape[2]
    X = jnp.swapaxes(X, 1, 2) if stands else X
    unit = jnp.sum(jnp.square(X), axis=(1, 2), keepdims=True) + ns.LEAST
    X = (X * lax.rsqrt(unit)).astype(jnp.float16)
    square, update = (ns._Cut(t, form, interpret) for t in (form.square, form.update))
    for a, b, c in coefficients:
        A = ns._add_product(X, X, (1, 1), square)
        B = ns._add_product(A, A, (1, 0), square, times=c, added=(b, A))
        X = ns._add_product(B, X, (1, 0), update, added=(a, X))
    X = X.astype(jnp.float32)
    return jnp.swapaxes(X, 1, 2) if stands else X


def split_inside(X, coefficients, *, interpret=False):
    """As in 26733be: the first program reads float32 and splits it."""
    stands = X.shape[1] > X.shape[2]
    across = (0, 0) if stands else (1, 1)
    cut, traces = ns._Cut((64, 64), LARGE, interpret), None
    for turn, (a, b, c) in enumerate(coefficients):
        if turn == 0:
            A, traces = _split_square(X, across, cut)
        else:
            A, traces = ns._add_product(X, X, across, cut), None
        B = ns._add_product(A, A, (1, 0), cut, times=c, added=(b, A), traces=traces)
        X = ns._add_product(
            *((X, B) if stands else (B, X)), (1, 0), cut,
            added=(a, X), traces=traces, root=True,
            out=jnp.float32 if turn == len(coefficients) - 1 else jnp.float16,
        )  # fmt: skip
    return X


def _split_square(X, over, cut):
    tile, chunk = cut.tile[0], 64
    inner, side = X.shape[1 + over[0]], X.shape[2 - over[0]]

    def split_square(p_ref, q_ref, out_ref, trace_ref):
        def multiply(k, total):
            part = pl.ds(k * chunk, chunk)
            x, y = (
                ref[0, :, part] if over[0] else ref[0, part, :]
                for ref in (p_ref, q_ref)
            )
            return total + lax.dot_general(
                x, y,
                ((over[:1], over[1:]), ((), ())),
                precision=lax.DotAlgorithmPreset.BF16_BF16_F32_X3,
                preferred_element_type=jnp.float32,
            )  # fmt: skip

        total = lax.fori_loop(
            0, inner // chunk, multiply, jnp.zeros(cut.tile, jnp.float32)
        )
        i, j = (lax.broadcasted_iota(jnp.int32, cut.tile, k) for k in (0, 1))
        out_ref[0] = total
        trace_ref[0, 0, 0] = jnp.sum(jnp.where(i == j, total, 0.0))

    grid = X.shape[0], side // tile, side // tile
    return pl.pallas_call(
        split_square,
        grid=grid,
        in_specs=ns._factors(X, X, over, cut.tile),
        out_specs=(ns._own(cut.tile), ns._own((1, 1))),
        out_shape=(
            jax.ShapeDtypeStruct((X.shape[0], side, side), jnp.float32),
            jax.ShapeDtypeStruct(grid, jnp.float32),
        ),
        compiler_params=triton.CompilerParams(num_warps=4, num_stages=3),
        interpret=cut.interpret,
    )(X, X)


WAYS: dict[str, Iterate] = {
    "norm by XLA, tiles of 64": norm_by_xla,
    "norm by XLA, tiles of 32": partial(norm_by_xla, form=ns.FORM),
    "split inside, tiles of 64": split_inside,
} | {name: partial(ns.iterate, form=form) for name, form in FORMS.items()}


def reference(X: np.ndarray, coefficients: Any) -> np.ndarray:
    X = np.asarray(X, np.float64)
    X = X / np.linalg.norm(X)
    for a, b, c in coefficients:
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X


def check(way: Iterate, interpret: bool) -> float:
    """The largest relative error (Frobenius) over shapes and norms."""
    worst = 0.0
    shapes = [(1, 512, 256), (1, 256, 512), (3, 256, 256), (16, 1, 512, 256)]
    if interpret:
        shapes = [(1, 128, 64), (1, 64, 128), (2, 64, 64), (2, 1, 128, 64)]
    for shape in shapes:
        one = partial(way, coefficients=FEW, interpret=interpret)
        take = jax.jit(jax.vmap(one) if len(shape) == 4 else one)
        for size in (1e-9, 1.0, 1e6):
            X = size * np.random.default_rng(0).standard_normal(shape, np.float32)
            found = np.asarray(take(X)).reshape(-1, *shape[-2:])
            for Y, W in zip(found, X.reshape(found.shape), strict=True):
                want = reference(W, FEW)
                apart = np.linalg.norm(Y - want) / np.linalg.norm(want)
                worst = max(worst, float(apart)) if np.isfinite(apart) else np.inf
    return worst


def chain(way: Iterate | None, turns: Any, which: str) -> Callable[[Any], Any]:
    """Momentum, iteration and step, one after the other."""

    def turned(matrices):
        if way is None:
            return matrices
        return _unpack(way(_pack(matrices, stand=True), turns),
                       [W.shape for W in matrices], stand=True)  # fmt: skip

    def step(carry, _):
        weights, means = carry
        slopes = [0.01 * W + 0.1 for W in weights]
        means = [0.95 * m + 0.05 * g for m, g in zip(means, slopes, strict=True)]
        ahead = [0.9 * m + 0.1 * g for m, g in zip(means, slopes, strict=True)]
        if which == "rest":
            moves = turned(ahead)
        else:
            moves = [*turned(ahead[:1]), *(turned(ahead[1:]) if ahead[1:] else ())]
        weights = [W - 0.01 * M for W, M in zip(weights, moves, strict=True)]
        return (weights, means), None

    def run(carry):
        return lax.scan(step, carry, length=STEPS, unroll=UNROLL)[0]

    return jax.vmap(run) if which == "stack" else run


def carries(which: str) -> Any:
    shapes = {"first": (FIRST,), "rest": REST, "both": (FIRST, *REST)}
    rng, lead = np.random.default_rng(0), (16,) if which == "stack" else ()
    weights = [
        jnp.asarray(rng.standard_normal((*lead, *s), np.float32))
        for s in shapes.get(which, (FIRST,))
    ]
    return weights, [jnp.zeros_like(W) for W in weights]


def median(call: Callable[[Any], Any], carry: Any, repeats: int = 9) -> float:
    jax.block_until_ready(call(carry))
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        jax.block_until_ready([call(carry) for _ in range(4)])
        taken.append((time.perf_counter() - begun) / 4 / STEPS)
    return float(np.median(taken))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--interpret", action="store_true")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    # Compiling them side by side is what keeps this short.
    with ThreadPoolExecutor(1 if args.interpret else None) as pool:
        found = {n: pool.submit(check, w, args.interpret) for n, w in WAYS.items()}
    for name, one in found.items():
        try:
            worst = one.result()
        except Exception as error:  # a way that does not compile costs its row
            print(f"{name}: {str(error)[:200]}", flush=True)
            rows.append({"way": name, "error": str(error)[:500]})
            continue
        right = "right" if worst < 3e-3 else "WRONG"
        print(f"{name}: {right}, {worst:.1e} from float64", flush=True)
        rows.append({"way": name, "apart": worst})
    if not args.interpret:
        timed(rows)
    if args.json:
        about = {"passband": __version__, "jax": jax.__version__}
        about |= {"device": device_name(), "steps": STEPS, "rows": rows}
        args.json.write_text(json.dumps(about, indent=1) + "\n")


def timed(rows: list[dict[str, Any]]) -> None:
    """Adds the microseconds of each case; all are compiled side by side before."""
    cases = ("first", "rest", "both", "stack")
    todo: list[tuple[str, Any, int, str]] = [("nothing", None, 0, c) for c in cases]
    good = [row["way"] for row in rows if row.get("apart", 1) < 3e-3]
    todo += [(w, WAYS[w], 3, c) for w in good for c in ("first", "both")]
    todo += [(w, WAYS[w], 3, c) for w in good if w in WHOLE for c in ("rest", "stack")]
    todo += [(w, WAYS[w], 2, c) for w in good if w in WHOLE for c in ("first", "both")]
    options = overlapping()
    with ThreadPoolExecutor() as pool:
        made = []
        for name, way, turns, which in todo:
            call = chain(way, FEW if turns == 3 else FEWER, which)
            lowered = jax.jit(call, compiler_options=options).lower(carries(which))
            made.append((name, turns, which, pool.submit(lowered.compile)))
        for name, turns, which, compiled in made:
            try:
                seconds = median(compiled.result(), carries(which))
            except Exception as error:
                print(f"{name}, {which}: {str(error)[:200]}", flush=True)
                continue
            row = {"way": name, "turns": turns, "case": which, "seconds": seconds}
            rows.append(row)
            print(f"{which}, {turns} turns, {name}: {1e6 * seconds:.2f} us", flush=True)


if __name__ == "__main__":
    main()
