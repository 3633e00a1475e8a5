"""The page on sets: its code runs, and its jobs ask for what the command has."""

import dataclasses
import re
from pathlib import Path

from passband.cli.fit import options_of
from passband.kinds.table import KINDS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_code_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("passband.kinds.many_set.pictures_of", lambda *a: {})
    parts = (DOCS / "many.md").read_text().split("```python\n")[1:]
    exec("\n".join(part.split("```")[0] for part in parts), {})
    assert (tmp_path / "waves" / "summary.html").exists()


def test_the_jobs_give_options_that_there_are():
    known = {f.name for f in dataclasses.fields(options_of(KINDS["image"]))}
    for name in ("many.sbatch", "many-job.yaml"):
        text = (DOCS / "cluster" / name).read_text()
        command = text[text.index("passband fit") :]
        flags = re.findall(r"--([a-z-]+)", command)
        assert "distributed" in flags and {f.replace("-", "_") for f in flags} <= known
