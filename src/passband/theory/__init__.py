"""The paper's theory: tangent kernels, their spectra, and the training they predict."""

from .compose import composed_ntk as composed_ntk
from .compose import kernel_row as kernel_row
from .design import Design as Design
from .design import Training as Training
from .design import design_amplitudes as design_amplitudes
from .design import predicted_loss as predicted_loss
from .dynamics import LinearDynamics as LinearDynamics
from .dynamics import linear_dynamics as linear_dynamics
from .empirical import empirical_ntk as empirical_ntk
from .ntk import relu_nngp as relu_nngp
from .ntk import relu_ntk as relu_ntk
from .regression import kernel_regression as kernel_regression
from .spectrum import band_errors as band_errors
from .spectrum import band_power as band_power
from .spectrum import circulant_eigenvalues as circulant_eigenvalues
from .spectrum import eigenvalues as eigenvalues
from .spectrum import predicted_band_errors as predicted_band_errors
from .survey import Survey as Survey
from .survey import survey as survey
