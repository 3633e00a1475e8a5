"""How much of a GPU's memory JAX takes, which it reads when it starts."""

import os

SAID_BY = (
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
)
"""How a user says it."""


def take_as_needed(processes: int = 1) -> None:
    """Let memory be taken as it is needed, if nobody said otherwise.

    JAX takes three quarters of it at its start, which on an H200 costs 1.5 s of every
    command, and nobody else can use them.

    Args:
        processes: how many share the device, each of which plans with its part.
    """
    if any(name in os.environ for name in SAID_BY):
        return
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    if processes > 1:
        os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = f"{0.75 / processes:.3f}"
