"""Every command that a report suggests works as it stands, in the report's folder."""

import html
import json
import re
import shlex

import numpy as np
import pytest

from passband.cli.main import main


def suggested(folder) -> list[str]:
    text = (folder / "report.html").read_text()
    listings = re.findall(r"<pre><code>(.*?)</code></pre>", text, re.DOTALL)
    return [html.unescape(listing) for listing in listings]


@pytest.mark.parametrize(("task", "d"), [("image", 2), ("signal", 1)])
def test_suggested_commands_work(here, quick, monkeypatch, capsys, task, d):
    file = {"image": "photo.png", "signal": "a signal.npy"}[task]
    np.save("a signal.npy", np.sin(np.arange(90) / 9))
    assert main(["fit", task, file, *quick, "--out", "run", "--quiet"]) == 0
    shell, python, more, typed = suggested(here / "run")
    assert shlex.split(typed) == ["passband", "fit", task, file, *quick, "--out",
                                  "run", "--quiet"]  # fmt: skip
    monkeypatch.chdir("run")
    commands = [*shell.splitlines(), more]
    for line in commands:
        program, *words = shlex.split(line)
        assert program == "passband"
        assert main(words) == 0
    words = shlex.split(commands[0])
    assert (here / "run" / words[words.index("--out") + 1]).exists()
    names = {"coords": np.zeros((5, d))}
    exec(python, names)
    assert names["values"].shape == (5, 3 if task == "image" else 1)
    assert json.loads((here / "run" / "result.json").read_text())["steps"] == 50


def test_going_on_works_after_a_run_was_stopped_early(here, quick, monkeypatch, capsys):
    words = ["fit", "image", "photo.png", *quick, "--steps", "100", "--out", "run"]
    assert main([*words, "--minutes", "1e-6", "--quiet"]) == 0
    *_, more, _ = suggested(here / "run")
    assert more == "passband fit image --resume --out . --steps 100"
    monkeypatch.chdir("run")
    assert main(shlex.split(more)[1:]) == 0
    assert "100 steps" in capsys.readouterr().out
