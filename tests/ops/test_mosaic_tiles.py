"""Programs of `mosaic_tiles`, `mosaic_joined` and `mosaic_first`, run by JAX's
interpreter of Mosaic GPU, with its detection of races."""

import importlib
from pathlib import Path

import pytest
from jax.experimental.pallas import mosaic_gpu

HOME = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(
    not hasattr(mosaic_gpu, "InterpretGPUParams"),
    reason="this JAX cannot interpret Mosaic GPU (0.11 can)",
)


@pytest.mark.parametrize(
    "layer",
    ["dense", "dense_first", "dense_outputs", "dense_encoded", "back", "back_outputs"],
)
def test_layers_are_exact_and_without_races(layer, monkeypatch):
    """Integers exactly, a NaN where it belongs, normal numbers to a rounding."""
    monkeypatch.syspath_prepend(str(HOME))
    said = importlib.import_module("mosaic_layers").interpreted([layer])
    assert said and not any(said.values()), said
