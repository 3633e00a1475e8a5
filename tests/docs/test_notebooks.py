"""The notebooks run, cell after cell, with fewer steps, and hold what they gave."""

import importlib
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[2]
BOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "website"))
    yield importlib.import_module("notebook_pages")
    sys.modules.pop("notebook_pages")


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tool, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Baselines take longer than all the rest.
    monkeypatch.setattr("passband.kinds.measured.BASELINE_SECONDS", 0.2)
    monkeypatch.setattr("passband.kinds.ct.free_steps", lambda: 5)
    cells = tool.read(path)
    for cell in cells:
        source = re.sub(r"steps=\d+", "steps=12", cell["source"])
        cell["source"] = re.sub(r"width=\d+", "width=16", source)
        before = len(cell.pop("outputs", []))
        cell["kept"] = before
    with plt.ioff():
        tool.run(cells)
    for cell in cells:
        if cell["cell_type"] == "code":
            assert len(cell["outputs"]) == cell["kept"], cell["source"]


def test_there_are_four(tool):
    assert len(BOOKS) == 4
    pages = tool.pages(ROOT / "notebooks")
    assert all("![Figure" in page and "```text" in page for page in pages.values())
