"""The code of the documentation runs."""

import os
from pathlib import Path

import jax
import numpy as np
import pytest

from passband.activations import ACTIVATIONS
from passband.field import make_field
from passband.model_file import save

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("activation", [*ACTIVATIONS, "sine:60", "wire:12,5"])
def test_the_model_files_page_evaluates_a_model(tmp_path, monkeypatch, activation):
    key = jax.random.key(0)
    field = make_field(
        "gaussian:3,m=8", d=2, out=3, key=key, width=16, activation=activation
    )
    monkeypatch.chdir(tmp_path)
    save(field, "model.safetensors", task="image", low=10.0, high=250.0)
    code = (DOCS / "model-file.md").read_text().split("```python\n")[1].split("```")[0]
    names: dict = {}
    exec(code, names)
    points = np.random.default_rng(0).random((20, 2))
    want = 10 + 240 * field.predict(points)
    np.testing.assert_allclose(names["evaluate"](points), want, rtol=5e-5)
    assert os.listdir(tmp_path) == ["model.safetensors"]
