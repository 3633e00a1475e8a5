"""How large a fit of k-space is: its descent, network, points and steps."""

import dataclasses
import math

import numpy as np

from ..auto import Auto
from ..mappings import Mapping
from ..words import parse_mapping
from .defaults import cpu_points, on_cpu, resolve
from .descent import Split, descent_of
from .kind import Network, Training
from .options import TrainOptions

STEPS = 1000
SPLIT_BATCH, CPU_GRID = 8192, 1_000_000
"""Points a step of a split training, and voxels that it learns from at most."""
CPU_DIRECT, CPU_LEAST_STEPS = 100_000, 300
"""Voxels up to which steps through all of them serve better on a CPU, where it has time
for so many."""
SPLIT = Split(pull=1e-2, pictures=8, iterations=20, ratio=0.5, most=120)
# By direct steps a CPU learns more by a quarter of the paper's network (26.7 dB, and
# 24.7); split, a head of 96^3 ends at 33.5 dB with all of it and at 32.5 with less.
CPU_WIDTH, CPU_MAPPING, CPU_RATE = 128, "gaussian:auto,m=128", 5e-3


def small(
    asked: TrainOptions,
    sides: tuple[int, ...],
    network: Network,
    mapping: Mapping | None = None,
) -> bool:
    """Whether the network is a CPU's, as where its steps go through the grid.

    Args:
        mapping: what was asked for by default.
    """
    if mapping is None:
        found = parse_mapping(asked.mapping or CPU_MAPPING)
        mapping = found.base if isinstance(found, Auto) else found
    return on_cpu() and _descent(asked, mapping, sides, network) == "direct"


def width_of(asked: TrainOptions, small: bool) -> int:
    """Of a hidden layer."""
    return asked.width or (CPU_WIDTH if small else 256)


def training_of(
    asked: TrainOptions, mapping: Mapping, sides: tuple[int, ...], network: Network
) -> Training:
    """What was asked for, and what the device has time for."""
    count, how = math.prod(sides), _descent(asked, mapping, sides, network)
    width = width_of(asked, small(asked, sides, network, mapping))
    # The paper's (protocol 1.5); fewer steps of a smaller network are larger.
    lr = CPU_RATE if on_cpu() and width <= CPU_WIDTH else 2e-3
    asked = dataclasses.replace(asked, width=width)
    steps, batch = STEPS, count
    if on_cpu():
        points = cpu_points(asked, mapping, network, count)
        # Of the default steps, so that fewer take less time on the same grid.
        steps = int(np.clip(points // count, CPU_LEAST_STEPS, STEPS))
        batch = min(count, points // steps)
        if how == "split":
            batch = min(count, SPLIT_BATCH)
            steps = int(np.clip(points // batch, STEPS // 2, 4 * STEPS))
    found = resolve(
        asked, mapping, steps=steps, batch=batch, lr=lr, muon_lr=2e-3, muon="muon4"
    )
    return dataclasses.replace(found, descent=how)


def _descent(
    asked: TrainOptions, mapping: Mapping, sides: tuple[int, ...], network: Network
) -> str:
    """Direct where a CPU has time for enough steps through all of the grid."""
    count = batch = math.prod(sides)
    if on_cpu():
        narrow = dataclasses.replace(asked, width=width_of(asked, small=True))
        steps = cpu_points(narrow, mapping, network, count) // count
        if count > CPU_DIRECT or steps < CPU_LEAST_STEPS:
            batch = min(count, SPLIT_BATCH)
    return descent_of(asked, asked.batch or batch, count)
