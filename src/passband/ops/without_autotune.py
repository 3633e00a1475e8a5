"""Programs that run a few times, where compiling is what costs."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np

NO_AUTOTUNE = {"xla_gpu_autotune_level": "0", "xla_gpu_enable_triton_gemm": False}
"""XLA's options for a program that takes the products of cuBLAS as they come. Its own
Triton kernels, unsearched, have tiles that suit no size."""


def jit_without_autotune(function: Callable[..., Any]) -> Callable[..., Any]:
    """`eqx.filter_jit` without XLA's search for the fastest matrix product: on an H200
    a float32 network compiles in 0.7 s, not in 12."""

    @functools.partial(jax.jit, static_argnums=0, compiler_options=NO_AUTOTUNE)
    def program(tree_and_rest: Any, arrays: list[Any]) -> Any:
        tree, rest = tree_and_rest
        leaves = (b if a is None else a for a, b in zip(arrays, rest, strict=True))
        return function(*jax.tree.unflatten(tree, leaves))

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        leaves, tree = jax.tree.flatten(arguments)
        arrays = [x if _is_array(x) else None for x in leaves]
        rest = tuple(None if _is_array(x) else x for x in leaves)
        return program((tree, rest), arrays)

    return call


def _is_array(x: Any) -> bool:
    return eqx.is_array(x) or isinstance(x, np.ndarray)
