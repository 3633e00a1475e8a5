"""`passband tune mri`."""

from typing import Any

from .fit_mri import Options as FitOptions
from .tune_options import tune_options

Options = tune_options(FitOptions, "k-space")


def run(options: Any, given: set[str]) -> int:
    """Choose the scale for k-space."""
    from .device import prepare

    prepare(options.device, options.deterministic)
    from .mri_job import MriJob
    from .tune import tune

    return tune(MriJob(), FitOptions, options, given)
