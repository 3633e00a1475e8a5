"""The examples of docs/own-operator.md run, each in a namespace of its own."""

from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "own-operator.md"
BLOCKS = [b.split("```")[0] for b in PAGE.read_text().split("```python\n")[1:]]


def test_the_page_has_an_example_of_each():
    assert [word in block for word, block in zip(
        ("LinearOperator((", "import sigpy", "A_adjoint"), BLOCKS, strict=True
    )] == [True] * 3  # fmt: skip


@pytest.mark.parametrize("block", BLOCKS, ids=["SciPy", "SigPy", "A and A^T"])
def test_it_beats_the_least_squares_of_scipy(block, tmp_path, monkeypatch):
    """By what the page says; `ours` is an error of the field, `theirs` of lsqr."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(block, names)
    assert names["ours"] < 0.85 * names["theirs"]
    seen = names["model"].render()
    assert seen.shape == names["x"].shape and np.isfinite(seen).all()
