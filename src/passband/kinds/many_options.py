"""What may be asked of several inputs and of several processes; imports neither JAX nor
matplotlib."""

import dataclasses

from ..options import option


@dataclasses.dataclass(frozen=True)
class InputOptions:
    """Which inputs there are."""

    pattern: str | None = option(
        None, "which entries of a folder to take, such as '*.nii.gz' or '**/*.png'",
        metavar="GLOB",
    )  # fmt: skip
    list: str | None = option(
        None, "a text file that names an input a line", metavar="FILE", path=True
    )


@dataclasses.dataclass(frozen=True)
class ProcessOptions:
    """Who else works on it."""

    distributed: bool = option(
        False, "this is one of several processes (Slurm, Open MPI, Kubernetes, or "
        "--coordinator): take a share of the work",
    )  # fmt: skip
    coordinator: str | None = option(
        None, "HOST:PORT of process 0, where no cluster says so", metavar="ADDRESS"
    )
    processes: int | None = option(None, "how many processes there are", least=1)
    process: int | None = option(None, "which of them this one is, from 0", least=0)
    lost_after: float = option(
        60.0, "seconds of silence after which process 0 waits no longer for another",
        above=0, metavar="SECONDS",
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class ManyOptions(ProcessOptions, InputOptions):
    """What goes with several inputs."""

    stack: int | None = option(
        None, "fields that train as one program (default: what the device does well)",
        least=1, most=65536,
    )  # fmt: skip
    own_mappings: bool = option(
        False, "draw B and weights anew for every input (default: one for all)"
    )
    auto: str = option(
        "once", "choose a scale that is left open: once, for a sample of the set, or "
        "for each input", choices=("once", "each"),
    )  # fmt: skip


NAMES = frozenset(f.name for f in dataclasses.fields(ManyOptions))
