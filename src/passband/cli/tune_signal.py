"""`passband tune signal`."""

from typing import Any

from .fit_signal import Options as FitOptions
from .tune_options import tune_options

Options = tune_options(FitOptions, "a 1D signal")


def run(options: Any, given: set[str]) -> int:
    """Choose the scale for a 1D signal."""
    from .device import prepare

    prepare(options.device, options.deterministic)
    from .signal_job import SignalJob
    from .tune import tune

    return tune(SignalJob(), FitOptions, options, given)
