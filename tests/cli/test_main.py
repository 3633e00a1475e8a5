"""The command as a whole: verbs, help, pipes."""

import importlib
import subprocess
import sys

import pytest

from passband.cli.main import KIND_VERBS, VERBS, commands, main
from passband.kinds.table import KINDS
from passband.version import __version__


def spawn(*words: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "passband", *words]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_overview_names_every_verb(capsys):
    for words in ([], ["--help"], ["-h"], ["help"]):
        assert main(words) == 0
        said = capsys.readouterr().out
        assert all(f"passband {words} " in said for words in commands())
    assert main(["fit"]) == 0
    said = capsys.readouterr().out
    assert "passband fit image" in said
    assert "render" not in said


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"passband {__version__}\n"


def test_unknown_verbs_and_tasks(fails):
    assert "did you mean `fit`?" in fails("fti", "image")
    assert "command `zzz` is unknown; see `passband --help`" in fails("zzz")
    assert "`--zzz` is unknown" in fails("--zzz")
    said = fails("fit", "imgae", "x.png")
    assert "`passband fit` takes image, " in said
    assert "not `imgae`; did you mean `image`" in said


@pytest.mark.parametrize(
    "words",
    [
        ["--json", "fit", "image", "none.png"],
        ["fit", "--steps", "3", "image", "none.png"],
        ["--steps", "3", "fit", "--json", "image", "none.png"],
        ["fit", "image", "--json", "none.png", "--steps", "3"],
    ],
)
def test_flags_may_stand_anywhere(fails, here, words):
    assert "`none.png` does not exist" in fails(*words)


def test_help_is_quick_and_imports_nothing_heavy(capsys):
    """Half a second is promised; what costs the time is forbidden here."""
    heavy = ("jax", "matplotlib", "numpy", "trimesh", "nibabel", "tyro", "skimage")
    program = (
        "import sys, contextlib, passband.cli.main as m\n"
        f"for words in {[*commands()]!r}:\n"
        "    with contextlib.suppress(SystemExit): m.main([*words.split(), '--help'])\n"
        f"sys.exit(str([n for n in {heavy!r} if n in sys.modules] or ''))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert ran.stderr.strip() == ""
    for words in commands():
        assert f"usage: passband {words} " in ran.stdout


def test_every_verb_has_a_module():
    for name in VERBS:
        module = importlib.import_module(f"passband.cli.{name}")
        rows = KINDS.values() if name in KIND_VERBS else [None]
        for row in rows:
            options = module.Options if row is None else module.options_of(row)
            assert options.__doc__
        assert callable(module.run)


def test_module_runs_from_an_uninstalled_tree():
    ran = spawn("--version")
    assert (ran.returncode, ran.stdout) == (0, f"passband {__version__}\n")


def test_a_process_ends_with_the_status_and_all_that_was_said():
    """Python is not taken apart at the end, but what others asked for is done."""
    program = (
        "import atexit, sys, passband.cli.main as m\n"
        "def main():\n"
        "    atexit.register(print, 'last', file=sys.stderr)\n"
        "    print('said', end='')\n"
        "    return {status}\n"
        "m.main = main\n"
        "sys.exit(m.command())"
    )
    for status in (0, 2, 130):
        run = [sys.executable, "-c", program.format(status=status)]
        ran = subprocess.run(run, capture_output=True, text=True)
        assert (ran.returncode, ran.stdout) == (status, "said")
        assert ran.stderr == "last\n"


def test_reader_that_has_gone_is_borne():
    command = f"{sys.executable} -m passband data list --json | exit 0"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert ran.stderr == ""


def test_control_characters_do_not_reach_the_terminal(fails, here):
    assert "\x1b" not in fails("fit", "image", "\x1b[31mred.png")
