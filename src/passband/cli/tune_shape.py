"""`passband tune shape`."""

from typing import Any

from .fit_shape import Options as FitOptions
from .tune_options import tune_options

Options = tune_options(FitOptions, "a solid")


def run(options: Any, given: set[str]) -> int:
    """Choose the scale for a solid."""
    from .device import prepare

    prepare(options.device, options.deterministic)
    from .shape_job import ShapeJob
    from .tune import tune

    return tune(ShapeJob(), FitOptions, options, given)
