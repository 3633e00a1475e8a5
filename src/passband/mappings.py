r"""Input mappings: recipes for the frequencies of an encoding.

A *mapping* is a frozen spec; drawing it with a key gives an *encoding*, which is

$$\gamma(v) = [a \sin 2\pi B v,\; a \cos 2\pi B v]$$

with the mapping's own amplitudes $a$ and frequencies $B$ (see `encodings`).

A new mapping is one class, anywhere: `@mapping(example)` has its word parsed, printed
and found by the contract tests. `mapping_spec` says what one is; ours are none at all,
the Fourier family (`fourier_mappings`) and `multigrid`.
"""

from .encodings import Encoding as Encoding
from .encodings import FourierFeatures as FourierFeatures
from .encodings import Grids as Grids
from .encodings import Identity as Identity
from .fourier_mappings import Basic as Basic
from .fourier_mappings import Dense as Dense
from .fourier_mappings import Fourier as Fourier
from .fourier_mappings import Gaussian as Gaussian
from .fourier_mappings import Isotropic as Isotropic
from .fourier_mappings import Laplace as Laplace
from .fourier_mappings import LogUniform as LogUniform
from .fourier_mappings import Octaves as Octaves
from .fourier_mappings import Positional as Positional
from .fourier_mappings import Random as Random
from .fourier_mappings import Uniform as Uniform
from .mapping_spec import MAPPINGS as MAPPINGS
from .mapping_spec import AnyKey as AnyKey
from .mapping_spec import Mapping as Mapping
from .mapping_spec import NoMapping as NoMapping
from .mapping_spec import Scale as Scale
from .mapping_spec import as_key as as_key
from .mapping_spec import mapping as mapping
from .mapping_spec import nyquist_warning as nyquist_warning
from .multigrid import MOST_VALUES as MOST_VALUES
from .multigrid import START as START
from .multigrid import Multigrid as Multigrid

__all__ = [
    "Basic", "Dense", "FourierFeatures", "Gaussian", "Grids", "Identity", "Laplace",
    "LogUniform", "Multigrid", "NoMapping", "Octaves", "Positional", "Uniform",
]  # fmt: skip
