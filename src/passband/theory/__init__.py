"""The paper's theory: tangent kernels, their spectra, and the training they predict."""

from .compose import composed_ntk as composed_ntk
from .compose import kernel_row as kernel_row
from .dynamics import LinearDynamics as LinearDynamics
from .dynamics import linear_dynamics as linear_dynamics
from .ntk import relu_nngp as relu_nngp
from .ntk import relu_ntk as relu_ntk
