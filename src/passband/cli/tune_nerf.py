"""`passband tune nerf`."""

from typing import Any

from .fit_nerf import Options as FitOptions
from .tune_options import tune_options

Options = tune_options(FitOptions, "a scene")


def run(options: Any, given: set[str]) -> int:
    """Choose the scale for a scene."""
    from .device import prepare

    prepare(options.device, options.deterministic)
    from .nerf_job import NerfJob
    from .tune import tune

    return tune(NerfJob(), FitOptions, options, given)
