"""Instruments: what is measured of a field, written once for fitting and for theory.

Linear ones have an adjoint `H`, the normal operator `N`, `input_shape` and
`output_shape`; they are pytrees, and jit, grad and vmap go through them.

- `radon`: line integrals along parallel rays, as a CT scanner has them.
- `fan`: line integrals from one point to a flat or an arc detector.
- `Slices`: one of these on every slice of a volume, for several rows of a detector.
- `KSpace`: the frequencies that an MRI scanner samples; `from_centred` and `to_centred`
  convert k-space whose origins are in the middle.
- `linear`: an operator of one's own, from a matrix, SciPy, SigPy or functions.
- `Masked`: some of an instrument's measurements.
- `render`, `render_view`: what a pinhole camera sees of colour and density along rays.
  Not linear.

Example:
    >>> import jax.numpy as jnp, passband as pb
    >>> A = pb.forward.radon([0.0, 45.0, 90.0], 16)
    >>> A(jnp.ones((16, 16))).shape
    (3, 16)
"""

from .fan import Fan as Fan
from .fan import fan as fan
from .kspace import KSpace as KSpace
from .kspace import from_centred as from_centred
from .kspace import to_centred as to_centred
from .linear import LinearForward as LinearForward
from .linear import Masked as Masked
from .linear import relative_error as relative_error
from .operator import linear as linear
from .radon import Radon as Radon
from .radon import radon as radon
from .render import Radiance as Radiance
from .render import Rendered as Rendered
from .render import composite as composite
from .render import depths as depths
from .render import on_background as on_background
from .render import ray as ray
from .render import render as render
from .render import render_view as render_view
from .slices import Slices as Slices

__all__ = [
    "Fan", "KSpace", "LinearForward", "Masked", "Radiance", "Radon", "Rendered",
    "Slices", "composite", "depths", "fan", "from_centred", "linear", "on_background",
    "radon", "ray", "relative_error", "render", "render_view", "to_centred",
]  # fmt: skip
