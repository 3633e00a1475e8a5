"""A training step by who makes its layers: Mosaic GPU, Triton, and XLA by itself.

    python benchmarks/makers.py --json FILE [--only image,stack,scene,mri]
                                [--by mosaic,triton] [--small]

First the gradients of one image network by each, beside those of float32. Then steps of
Adam, in turns, medians of 7: the image network alone and 16 stacked (65,536 points a
step), a scene (1024 rays of 128 samples) and MRI of 96^3 voxels.
"""

import argparse
import contextlib
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import equinox as eqx
import jax
import jax.numpy as jnp
import step_profile

import passband.field
from passband.field import make_field
from passband.ops import fused
from passband.ops.mlp import Precision
from passband.train import programs
from passband.train.device import device_name
from passband.train.optimisers import adam
from passband.version import __version__

MAKERS = ("mosaic", "triton", "xla")


@contextlib.contextmanager
def made_by(maker: str) -> Iterator[None]:
    """Layers by one of the makers, in programs compiled from here on."""
    programs._PROGRAMS.clear()
    with contextlib.ExitStack() as patched:
        if maker != "mosaic":
            patched.enter_context(mock.patch.object(fused, "mosaic", lambda: False))
        if maker == "xla":
            never = mock.patch.object(passband.field, "fits", lambda *_: False)
            patched.enter_context(never)
        yield


def gradients(points: int, precision: Precision) -> list[jax.Array]:
    field = make_field("gaussian:10", d=2, out=3, key=jax.random.key(0))
    field = field.with_precision(precision)
    coords = jax.random.uniform(jax.random.key(1), (points, 2))
    params, fixed = eqx.partition(field, field.trainable())

    @jax.jit
    def slopes(params):
        def loss(params):
            out = eqx.combine(params, fixed).batch(coords)
            return jnp.mean(jnp.square(out - jnp.sin(40 * coords[:, :1])))

        return jax.grad(loss)(params)

    return [g for g in jax.tree.leaves(slopes(params)) if g is not None]


def errors(points: int, makers: list[str]) -> dict[str, float]:
    """Of each maker's gradients: the largest of |g - g32| / |g32| over the layers."""
    exact = gradients(points, Precision.FLOAT32)
    found = {}
    for maker in makers:
        with made_by(maker):
            ours = gradients(points, Precision.BFLOAT16)
        pairs = zip(ours, exact, strict=True)
        apart = [jnp.linalg.norm(g - e) / jnp.linalg.norm(e) for g, e in pairs]
        found[maker] = max(map(float, apart))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--only", default="image,stack,scene,mri")
    parser.add_argument("--by", default=",".join(MAKERS))
    parser.add_argument("--small", action="store_true")
    asked = parser.parse_args()
    small, moves, makers = asked.small, adam(), asked.by.split(",")
    step_profile.STEPS = 2 if small else 200  # so many that a call's own time is lost
    cases: dict[str, Callable[[], Any]] = {
        "image": lambda: step_profile.image(small, moves),
        "stack": lambda: step_profile.image(small, moves, runs=16),
        "scene": lambda: step_profile.scene(small, moves),
        "mri": lambda: step_profile.mri(small, moves),
    }
    found: dict[str, Any] = {
        "passband": __version__, "jax": jax.__version__, "device": device_name(),
        "errors": errors(4096 if small else 65_536, makers), "us": {},
    }  # fmt: skip
    print(found, flush=True)
    for name in asked.only.split(","):
        calls = {}
        for maker in makers:
            with made_by(maker):
                calls[maker] = cases[name]()
        taken: dict[str, list[float]] = {maker: [] for maker in makers}
        for _ in range(7):
            for maker, call in calls.items():
                begun = time.perf_counter()
                call()
                taken[maker].append(time.perf_counter() - begun)
        of_step = 1e6 / step_profile.STEPS
        us = {maker: of_step * statistics.median(t) for maker, t in taken.items()}
        found["us"][name] = us
        print(name, us, flush=True)
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
