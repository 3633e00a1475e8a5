"""The scripts of completion, run by the shells themselves where they are installed."""

import shutil
import subprocess

import pytest

from passband.cli.main import VERBS, main
from passband.kinds.table import KINDS

ASKED = {
    "passband f": ["fit"],
    "passband fit im": ["image"],
    "passband fit image --opt": ["--optimiser"],
    "passband fit image --device ": ["auto", "cpu", "gpu"],
    "passband bench --dev": ["--device"],
    "passband fit nerf --no": ["--no-skip-empty"],
}
BASH = """
source "$1"
COMP_WORDS=($2); [[ "$2" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_passband
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(tmp_path, capsys):
    def write(shell):
        assert main(["completion", shell]) == 0
        path = tmp_path / f"passband.{shell}"
        path.write_text(capsys.readouterr().out)
        return path

    return write


def answer(*words: str) -> list[str]:
    ran = subprocess.run(words, capture_output=True, text=True, timeout=20)
    assert ran.stderr == ""
    return [line.split("\t")[0] for line in ran.stdout.splitlines() if line]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_kinds_options_and_values(script):
    path = str(script("bash"))
    for line, words in ASKED.items():
        assert answer("bash", "-c", BASH, "bash", path, line) == words


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_the_same(script):
    path = script("fish")
    for line, words in ASKED.items():
        code = f"source {path}; complete -C '{line}'"
        assert answer("fish", "--no-config", "-c", code) == words


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_reads_its_script(script):
    assert answer("zsh", "-n", str(script("zsh"))) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_there(script, shell):
    text = script(shell).read_text()
    for word in (*VERBS, *KINDS, "deterministic", "max-memory", "holdout", "config"):
        assert word in text


def test_an_unknown_shell_is_one_line(capsys):
    assert main(["completion", "fisch"]) == 2
    assert "did you mean `fish`?" in capsys.readouterr().err
