"""The same network and step in PyTorch, for `passband bench` to stand beside."""

import importlib
import importlib.util
import itertools
import math
import time
from typing import Any

from .throughput import Prepared, Shape


def available() -> bool:
    """Whether PyTorch is installed."""
    return importlib.util.find_spec("torch") is not None


def prepare_torch(
    shape: Shape, *, device: str, precision: str, compiled: bool, steps: int
) -> Prepared:
    """The training step, encoding in it, with Adam (fused where it can be)."""
    torch: Any = importlib.import_module("torch")
    if precision not in ("float32", "tf32", "bfloat16"):
        raise ValueError(precision)
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.manual_seed(0)
    half = shape.features // 2
    B = 10 * torch.randn(half, 2, device=device)
    sizes = [shape.features, *[shape.width] * (shape.layers - 1), shape.out]
    layers = []
    for i, o in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1], torch.nn.Sigmoid()).to(device)
    coords = torch.rand(shape.points, 2, device=device)
    values = torch.rand(shape.points, shape.out, device=device)
    fused = device == "cuda"
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3, fused=fused)

    def loss_of(coords):
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
            phase = 2 * math.pi * (coords[:, :1] * B[:, 0] + coords[:, 1:] * B[:, 1])
            features = torch.cat([torch.sin(phase), torch.cos(phase)], dim=1)
            out = network(features)
        return 0.5 * torch.mean((out.float() - values) ** 2)

    if compiled:
        loss_of = torch.compile(loss_of)

    def run() -> None:
        for _ in range(steps):
            optimiser.zero_grad(set_to_none=True)
            loss_of(coords + torch.rand(2, device=device)).backward()
            optimiser.step()
        if device == "cuda":
            torch.cuda.synchronize()

    begun = time.perf_counter()
    run()
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    run()
    again = time.perf_counter() - begun
    return Prepared(run, shape, 1, steps, compile_seconds=max(0.0, first - again))
