"""`passband tune ct`."""

from typing import Any

from .fit_ct import Options as FitOptions
from .tune_options import tune_options

Options = tune_options(FitOptions, "a sinogram")


def run(options: Any, given: set[str]) -> int:
    """Choose the scale for a sinogram."""
    from .device import prepare

    prepare(options.device, options.deterministic)
    from .ct_job import CTJob
    from .tune import tune

    return tune(CTJob(), FitOptions, options, given)
