"""`passband fit signal FILE`."""

import dataclasses

from .fit_options import FitOptions
from .options import option


@dataclasses.dataclass
class Options(FitOptions):
    """Fit a 1D signal (NPY, CSV, WAV): a field from position to value.

    The whole signal is one unit long, so a scale is in cycles per signal; for a WAV
    file the sample rate gives the seconds.
    """

    mapping: str | None = option(
        None,
        "one word (default: gaussian at a sixteenth of the Nyquist frequency)",
        metavar="WORD",
    )


def run(options: Options, given: set[str]) -> int:
    """Fit a signal."""
    from .device import prepare

    prepare(options.device, options.deterministic)
    from .fit import fit
    from .signal_job import SignalJob

    return fit(SignalJob(), options, given)
