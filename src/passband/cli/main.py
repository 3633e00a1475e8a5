"""The command `passband`: finds the verb, speaks of errors in one line."""

import difflib
import importlib
import os
import signal
import sys

from ..errors import InputError
from ..version import __version__
from .options import parse

# verb, or verb and task -> module and its dataclass of options
VERBS: dict[tuple[str, ...], tuple[str, str]] = {
    ("demo",): ("demo", "the sample picture without and with Fourier features"),
    ("fit", "image"): ("fit_image", "fit a picture: PNG, JPEG, TIFF, NPY"),
    ("fit", "signal"): ("fit_signal", "fit a 1D signal: NPY, CSV, WAV"),
    ("render",): ("render", "a model as a picture or signal of any resolution"),
    ("info",): ("info", "what a model file holds"),
    ("bench",): ("bench", "training throughput of this machine"),
    ("ntk",): ("ntk", "kernel, spectrum and predicted convergence of a mapping"),
    ("data",): ("data", "named data sets: list, path, fetch"),
    ("paper",): ("paper", "the paper's tables and figures: list, run"),
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 done, 2 the user's input is wrong, 1 anything else."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(argv)
    except InputError as error:
        print(f"passband: {one_line(error)}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has gone: nothing to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("passband: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0
    if argv[0] == "--version":
        print(f"passband {__version__}")
        return 0
    verb = argv[0]
    names = {v[0] for v in VERBS}
    if verb not in names:
        near = difflib.get_close_matches(verb, names, n=1)
        hint = f"did you mean `{near[0]}`? " if near else ""
        raise InputError(f"command `{verb}` is unknown; {hint}see `passband --help`")
    words: tuple[str, ...] = (verb,)
    if words not in VERBS:
        tasks = [v[1] for v in VERBS if v[0] == verb]
        task = argv[1] if len(argv) > 1 else ""
        if task in ("", "-h", "--help"):
            print(_overview(verb))
            return 0
        if task not in tasks:
            near = difflib.get_close_matches(task, tasks, n=1)
            hint = f"did you mean `{near[0]}`? " if near else ""
            raise InputError(
                f"`passband {verb}` takes {', '.join(tasks)}, not `{task}`; {hint}"
                f"such as `passband {verb} {tasks[0]} FILE`"
            )
        words = (verb, task)
    module = importlib.import_module(f"passband.cli.{VERBS[words][0]}")
    prog = " ".join(("passband", *words))
    options, given = parse(module.Options, prog, argv[len(words) :])
    return module.run(options, given)


def _overview(verb: str | None = None) -> str:
    lines = ["usage: passband COMMAND ... [--help]", ""]
    for words, (_, what) in VERBS.items():
        if verb in (None, words[0]):
            lines.append(f"  passband {' '.join(words):14s} {what}")
    lines += ["", "  passband --version", "", "Each takes --help."]
    return "\n".join(lines)


def one_line(error: Exception) -> str:
    """A message without its line breaks."""
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
