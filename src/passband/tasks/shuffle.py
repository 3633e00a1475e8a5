"""An order of n things without replacement, one place at a time."""

import math

import jax.numpy as jnp
from jaxtyping import Array, UInt32

ROUNDS = 4


def shuffled(
    place: UInt32[Array, " n"], seed: UInt32[Array, ""], count: int
) -> UInt32[Array, " n"]:
    """Which of `count` things stands at each place of the order that `seed` names.

    The places form a grid of rows x columns = count. Each round moves every column's
    entries along by a number hashed from the column, then every row's by one hashed
    from the row: a Feistel network on a grid, so a bijection for any count and seed,
    at the cost of its arithmetic. Sorting 16 million keys would take longer than a
    step of training.
    """
    rows, columns = map(jnp.uint32, sides(count))
    row, column = place // columns, place % columns
    for turn in range(ROUNDS):
        key = _mixed(seed + jnp.uint32(0x9E3779B9) * jnp.uint32(turn + 1))
        row = (row + _mixed(column ^ key) % rows) % rows
        column = (column + _mixed(row ^ ~key) % columns) % columns
    return row * columns + column


def sides(count: int) -> tuple[int, int]:
    """The two factors of a number that are nearest to each other."""
    small = next(k for k in range(math.isqrt(count), 0, -1) if count % k == 0)
    return small, count // small


def _mixed(x: UInt32[Array, "..."]) -> UInt32[Array, "..."]:
    """32 bits, each depending on all of x (the finaliser of MurmurHash3)."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)
