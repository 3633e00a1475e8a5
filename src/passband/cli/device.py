"""Which device JAX uses; decided before JAX starts."""

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .console import Console

if TYPE_CHECKING:
    from ..train.processes import Processes


def prepare(
    device: str, deterministic: bool = False, *, keep: bool = True, quiet: bool = False
) -> None:
    """Set what JAX reads when it starts, and check that the device is there.

    Args:
        keep: whether compiled programs are kept for the next command.
    """
    started = "jax" in sys.modules
    flags = os.environ.get("XLA_FLAGS", "")
    if deterministic and "xla_gpu_deterministic_ops" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_deterministic_ops=true".strip()
    if device == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    from ..train.gpu_memory import take_as_needed

    take_as_needed()
    import jax

    if started and device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    if device == "gpu" and jax.default_backend() == "cpu":
        raise InputError(
            "`--device gpu`: JAX finds no GPU here; install passband with its CUDA "
            'parts, `pip install ".[cuda]"` in its folder, or use `--device cpu`'
        )
    if keep:
        from ..train.program_cache import keep_programs

        problem = keep_programs()
        if problem is not None:
            Console(quiet=quiet).warn(problem)


def find_ahead() -> None:
    """Let JAX start its device in a thread of its own, beside the imports that follow.

    On an H200 that takes longer than these, most of it outside Python.
    """
    import jax

    def find() -> None:
        with contextlib.suppress(Exception):  # told to whoever asks for the device
            jax.default_backend()

    threading.Thread(target=find, daemon=True, name="passband-device").start()


def join(options: Any, console: Console, deterministic: bool = False) -> "Processes":
    """Prepare as `prepare` does, and join the other processes where the options ask for
    it; of several, process 0 speaks."""
    asked = options.distributed or options.coordinator is not None
    # Processes join before JAX looks for its devices.
    device = "auto" if asked and options.device == "gpu" else options.device
    prepare(device, deterministic, quiet=options.quiet)
    from ..train.processes import ALONE, distributed

    if not asked:
        return ALONE
    found = distributed(options.coordinator, options.processes, options.process)
    console.quiet = console.quiet or found.index > 0
    return found
