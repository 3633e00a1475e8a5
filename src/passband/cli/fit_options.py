"""Options that every `passband fit` shares."""

import dataclasses

from .options import Output, argument, option

# What may differ when a run is resumed: how it is shown, where it runs, how long.
FREE = {"resume", "overwrite", "out", "json", "quiet", "device", "deterministic",
        "max_memory", "minutes", "save_every"}  # fmt: skip


@dataclasses.dataclass
class FitOptions(Output):
    """Fit a field to a file."""

    file: str | None = argument("the file to fit", metavar="FILE", default=None)
    mapping: str | None = option(
        "gaussian:10",
        "one word: none, basic, positional:6, gaussian:10, gaussian:10/3, ...",
        metavar="WORD",
    )
    steps: int | None = option(
        None, "training steps (default: 2000)", least=1, most=2**31 - 1
    )
    lr: float | None = option(
        None, "learning rate (default: the paper's)", above=0, most=1e30
    )
    batch: int | None = option(
        None, "points a step (default: what the device does in time)", least=1
    )
    layers: int = option(
        4, "dense layers, the output layer counted", least=1, most=1000
    )
    width: int = option(256, "channels of a hidden layer", least=1)
    seed: int = option(0, "of B, the weights and the batches", least=0, most=2**32 - 1)
    minutes: float | None = option(
        None, "train no longer than this; --resume goes on", above=0
    )
    precision: str = option(
        "auto",
        "of matrix products; auto is float32 on a CPU and bfloat16 on a GPU",
        choices=("auto", "float32", "tf32", "bfloat16"),
    )
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))
    deterministic: bool = option(False, "the same bits on every run on a GPU too")
    max_memory: str | None = option(
        None, "what training may take, such as 1GiB", metavar="SIZE"
    )
    save_every: float = option(
        10.0, "seconds between checkpoints", least=0, metavar="SECONDS"
    )
    out: str | None = option(
        None, "run folder (default: runs/NAME-MAPPING)", metavar="DIR"
    )
    overwrite: bool = option(False, "start anew in a run folder that exists")
    resume: bool = option(False, "go on with the run in the run folder")
