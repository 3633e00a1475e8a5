"""How large a fit of a scene is: its network, rays, samples and steps."""

import dataclasses

import numpy as np

from ..mappings import Basic, Mapping, NoMapping
from .defaults import CPU_POINTS, cpu_points, modern, on_cpu, resolve
from .kind import Network, Training
from .options import NerfOptions, TrainOptions

STEPS, MUON_STEPS, CPU_STEPS = 50_000, 20_000, 1200
"""The paper's; Muon's, which are better by half a dB on Lego; and what a CPU has time
for by the paper's recipe."""
RAYS, CPU_RAYS = 1024, 64
SAMPLES, PAPER_CPU_SAMPLES = 128, 48
# In the time of 1200 steps of the paper's network a CPU takes 9000 of a seventh of it,
# of twice the samples, most of them where something is.
CPU_WIDTH, CPU_MAPPING, CPU_SAMPLES = 96, "gaussian:auto,m=96", 96


def small(asked: TrainOptions) -> bool:
    """Whether the network is a CPU's; by the paper's recipe it is the paper's."""
    return on_cpu() and asked.recipe == "modern"


def samples_of(asked: NerfOptions) -> int:
    """Points along a ray."""
    on_a_cpu = CPU_SAMPLES if small(asked) else PAPER_CPU_SAMPLES
    return asked.samples or (on_a_cpu if on_cpu() else SAMPLES)


def training_of(
    asked: TrainOptions,
    mapping: Mapping,
    network: Network,
    *,
    samples: int,
    pixels: int,
    evaluate: int,
    bent: bool,
) -> Training:
    """What was asked for, and what the device has time for.

    Args:
        pixels: of all photographs.
        evaluate: points of the views that are scored.
        bent: the scene is a forward-facing one, where nothing is empty.
    """
    steps, batch = MUON_STEPS if modern(asked) else STEPS, RAYS
    width = asked.width or (CPU_WIDTH if small(asked) else 256)
    asked = dataclasses.replace(asked, width=width)
    if small(asked):
        batch = CPU_RAYS
        most = cpu_points(asked, mapping, network, evaluate) // (batch * samples)
        steps = int(np.clip(most, CPU_STEPS, MUON_STEPS))
    elif on_cpu():
        # Of the default steps, so that fewer take less time with the same batch.
        steps = CPU_STEPS
        batch = max(32, int((CPU_POINTS - 0.4 * evaluate) / steps / samples))
    found = resolve(
        asked, mapping, steps=steps, batch=min(pixels, batch), lr=_lr(mapping)
    )
    assert isinstance(asked, NerfOptions)
    skip = asked.recipe == "modern" if asked.skip_empty is None else asked.skip_empty
    skip = skip and asked.members == 1 and not bent
    return dataclasses.replace(found, samples=samples, skip_empty=skip)


def _lr(mapping: Mapping) -> float:
    """The paper's learning rates (protocol 1.5, NeRF)."""
    if isinstance(mapping, NoMapping):
        return 1e-2
    if isinstance(mapping, Basic):
        return 5e-3
    return 2e-3 if on_cpu() else 5e-4  # few steps need long ones
