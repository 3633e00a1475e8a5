"""`passband tune image`."""

from typing import Any

from .fit_image import Options as FitOptions
from .tune_options import tune_options

Options = tune_options(FitOptions, "a picture")


def run(options: Any, given: set[str]) -> int:
    """Choose the scale for a picture."""
    from .device import prepare

    prepare(options.device, options.deterministic)
    from .image_job import ImageJob
    from .tune import tune

    return tune(ImageJob(), FitOptions, options, given)
