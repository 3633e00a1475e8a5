"""`passband fit image FILE`."""

import dataclasses

from .fit_options import FitOptions
from .options import option


@dataclasses.dataclass
class Options(FitOptions):
    """Fit a picture (PNG, JPEG, TIFF, NPY): a field from (x, y) to colour."""

    holdout: str = option(
        "none",
        "pixels kept for testing: none, quarter (the paper's split), or a share",
        metavar="WHICH",
    )


def run(options: Options, given: set[str]) -> int:
    """Fit a picture."""
    from .device import prepare

    prepare(options.device, options.deterministic)
    from .fit import fit
    from .image_job import ImageJob

    return fit(ImageJob(), options, given)
