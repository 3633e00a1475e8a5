"""The theory at its largest sizes, beside the plain way of computing the same.

    python benchmarks/theory.py [--repeats N] [--json FILE]

Every way is timed in turn, `--repeats` times over, after one run that compiles; medians
of wall seconds and of processor seconds are printed, and each pair is compared.
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from passband.field import make_field, standard
from passband.mappings import Dense, Gaussian
from passband.theory import (
    band_power,
    circulant_eigenvalues,
    composed_ntk,
    eigenvalues,
    empirical_ntk,
    kernel_regression,
    kernel_row,
    linear_dynamics,
)

KEY = jax.random.key(0)
N = 4096


def rows() -> dict[str, Callable[[], object]]:
    """FFT paths at 2^20 points; the peer sums the cosines one by one, at 2^14."""
    whole = Dense(1.0, m=256).draw(KEY, 1)
    gaussian = Gaussian(10.0, m=256).draw(KEY, 1)

    def plain():
        b = np.asarray(gaussian.frequencies, float)[:, 0]
        return np.cos(2 * np.pi * np.outer(np.arange(2**14) / 2**14, b)).sum(axis=1)

    net: Any = {"layers": 4, "width": 256}
    return {
        "spectrum, whole frequencies, 2^20 points": lambda: circulant_eigenvalues(
            kernel_row(whole, 2**20, **net)
        ),
        "spectrum, Gaussian m = 256, 2^20 points": lambda: band_power(
            kernel_row(gaussian, 2**20, **net)
        ),
        "NumPy's cosines, Gaussian m = 256, 2^14 points": plain,
    }


def dense() -> dict[str, Callable[[], object]]:
    """Dense paths at 4096 points; the peer is NumPy's eigh of the same matrix."""
    encoding = Gaussian(10.0, m=256).draw(KEY, 1)
    x, y = np.arange(N) / N, np.random.default_rng(0).normal(size=N)
    k = composed_ntk(encoding, x, layers=4, width=256)
    t = np.geomspace(1e-6, 1, 20)

    def scan(f):
        return jnp.fft.fft(f, norm="ortho")

    return {
        "kernel matrix": lambda: composed_ntk(encoding, x, layers=4, width=256),
        "eigenvalues": lambda: eigenvalues(k),
        "kernel regression": lambda: kernel_regression(k, y, k),
        "dynamics, 20 times": lambda: linear_dynamics(k, y)(t, k),
        "dynamics through every 2nd point": lambda: linear_dynamics(
            k, y[::2], A=lambda f: f[::2]
        )(t, k),
        "dynamics through a Fourier transform": lambda: linear_dynamics(
            k, np.fft.fft(y, norm="ortho"), A=scan
        )(t, k),
        "NumPy's eigh": lambda: np.linalg.eigh(k),
    }


def empirical() -> dict[str, Callable[[], object]]:
    """The kernel of a 4 x 256 field on 1024 points; the peer's Jacobian, on 256."""
    field = make_field(
        "gaussian:10", d=2, out=1, key=KEY, layers=4, width=256, init=standard,
        output="identity",
    )  # fmt: skip
    u = np.random.default_rng(0).random((1024, 2))
    moving, still = eqx.partition(field, field.trainable())

    @jax.jit
    def plain(v):
        jacobian = jax.jacrev(lambda p: eqx.combine(p, still).batch(v)[:, 0])(moving)
        parts = [j.reshape(len(v), -1) for j in jax.tree.leaves(jacobian)]
        return sum(j @ j.T for j in parts)

    few = jnp.asarray(u[:256], jnp.float32)
    np.testing.assert_allclose(empirical_ntk(field, u[:256]), plain(few), rtol=1e-3)
    return {
        "empirical kernel, 1024 points": lambda: empirical_ntk(field, u),
        "jacrev and J J^T, 256 points": lambda: jax.block_until_ready(plain(few)),
    }


def measure(repeats: int) -> dict[str, dict[str, float]]:
    found = {}
    for group in (rows, dense, empirical):
        ways = group()
        spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for _ in range(repeats + 1):
            for name, way in ways.items():
                wall, processor = time.perf_counter(), time.process_time()
                way()
                processor = time.process_time() - processor
                spent[name].append((time.perf_counter() - wall, processor))
        for name, pairs in spent.items():
            walls, processors = zip(*pairs[1:], strict=True)
            found[name] = {
                "seconds": round(statistics.median(walls), 3),
                "processor_seconds": round(statistics.median(processors), 3),
            }
            print(f"{name:48s} {found[name]['seconds']:8.3f} s wall, "
                  f"{found[name]['processor_seconds']:8.3f} s processor")  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    content = {
        "benchmark": "theory",
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
        "seconds": measure(options.repeats),
    }
    if options.json:
        with open(options.json, "w") as file:
            json.dump(content, file, indent=2)


if __name__ == "__main__":
    main()
