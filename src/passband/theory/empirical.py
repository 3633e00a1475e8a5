r"""The tangent kernel of one finite network, $J(u) J(v)^T$, without its Jacobian.

A dense layer's Jacobian is the outer product of what enters it, $h$, and what the
output feels of its pre-activation, $\delta$; so the kernel is a sum over layers of
$(\delta\cdot\delta')(h\cdot h' + 1)$. Both are vectors as wide as the layer: a field of
4 x 256 needs 16 kB a point where its Jacobian would need 2 MB.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..field import OUTPUTS, Field
from .compose import in_float64, points, refuse_grids

_ROWS = 256


def empirical_ntk(
    field: Field, u: np.ndarray | Array, v: np.ndarray | Array | None = None
) -> Float[np.ndarray, "n k *cc"]:
    r"""$\sum_\theta \partial_\theta f(u)\,\partial_\theta f(v)$ over all that trains.

    (n, k) for a field with one output, else (n, k, c, c), in float64. The amplitudes
    and frequencies of the encoding count where `field.trains` names them. As the width
    grows the kernel approaches `composed_ntk`, with a distance of 1 / sqrt(width).

    Args:
        u: points, (n, d); in 1D also (n,).
        v: points, (k, d); left out, the kernel of `u` with itself.
    """
    refuse_grids(field.encoding)
    u = points("u", u, field.encoding.dims)
    same = v is None
    v = u if v is None else points("v", v, field.encoding.dims)
    with jax.enable_x64(True):
        field = in_float64(field)
        tu = _tangents(field, u)
        tv = tu if same else _tangents(field, v)
        c = tu.sensitivities[-1].shape[1]
        out = np.empty((len(u), len(v), c, c))
        for start in range(0, len(u), _ROWS):
            rows = slice(start, start + _ROWS)
            part = jax.tree.map(lambda x, rows=rows: np.asarray(x)[rows], tu)
            out[rows] = np.asarray(_gram(part, tv, field.mlp.gains))
    return out[..., 0, 0] if c == 1 else out


class _Tangents(NamedTuple):
    inputs: tuple[Array, ...]
    """Of every layer, (n, fan_in)."""
    sensitivities: tuple[Array, ...]
    """Of every output to every layer's pre-activation, (n, c, fan_out)."""
    encoding: tuple[Array, ...]
    """Jacobians of what trains in the encoding, (n, c, parameters)."""


@jax.jit
def _tangents(field: Field, v: Array) -> _Tangents:
    weights, biases = field.mlp.effective()
    between, output = field.mlp.nonlinearity.forward, OUTPUTS[field.output]

    def network(x, shifts):
        inputs = []
        for i, (w, b, s) in enumerate(zip(weights, biases, shifts, strict=True)):
            inputs.append(x)
            x = x @ w + b + s
            x = between(x) if i + 1 < len(weights) else output(x)
        return x, tuple(inputs)

    def one(v):
        # A shift of every pre-activation is where the sensitivities are read off.
        shifts = tuple(jnp.zeros_like(b) for b in biases)
        x = field.encoding(v)
        felt, inputs = jax.jacrev(network, argnums=1, has_aux=True)(x, shifts)
        return (
            inputs,
            felt,
            _encoding_jacobians(field, v, lambda x: network(x, shifts)[0]),
        )

    return _Tangents(*jax.vmap(one)(v))


def _encoding_jacobians(field: Field, v: Array, network) -> tuple[Array, ...]:
    names = {"a": "amplitudes", "b": "frequencies"}
    moving = {names[x]: getattr(field.encoding, names[x]) for x in field.trains}
    if not moving:
        return ()

    def of(arrays):
        return network(dataclasses.replace(field.encoding, **arrays)(v))

    jacobians = jax.jacrev(of)(moving)
    return tuple(j.reshape(j.shape[0], -1) for j in jacobians.values())


@functools.partial(jax.jit, static_argnums=2)
def _gram(a: _Tangents, b: _Tangents, gains) -> Array:
    total = jnp.zeros(())
    gains = gains or ((1.0, 1.0),) * len(a.inputs)
    for i, (gw, gb) in enumerate(gains):
        inner = gw**2 * (a.inputs[i] @ b.inputs[i].T) + gb**2
        felt = jnp.einsum("icw,jdw->ijcd", a.sensitivities[i], b.sensitivities[i])
        total = total + inner[:, :, None, None] * felt
    for ja, jb in zip(a.encoding, b.encoding, strict=True):
        total = total + jnp.einsum("icp,jdp->ijcd", ja, jb)
    return total
