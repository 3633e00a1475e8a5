"""The command `passband`: finds the verb, speaks of errors in one line."""

import atexit
import contextlib
import importlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import LONGEST_MESSAGE, InputError, one_line
from ..kinds.table import KINDS
from ..options import did_you_mean
from ..version import __version__
from .console import INTERRUPTED
from .options import TYPED, as_flags, parse

# verb -> its module, and what it does; those of KIND_VERBS follow the table of kinds
VERBS: dict[str, str] = {
    "demo": "the sample picture without and with Fourier features",
    "fit": "",
    "tune": "",
    "compare": "",
    "render": "a model as a file: picture, mesh, volume, orbit, page, ONNX, ...",
    "view": "a model, or a run as it goes, in the browser of this machine",
    "explore": "a page of what sigma does to a picture",
    "export": "one field of a set as a model file, or as ONNX",
    "info": "what a model file holds",
    "bench": "training throughput of this machine",
    "ntk": "kernel, spectrum and predicted convergence of a mapping",
    "data": "named data sets: list, path, fetch",
    "paper": "the paper's tables and figures: list, run, all, report",
    "completion": "a script that completes commands in bash, zsh or fish",
}
KIND_VERBS = ("fit", "tune", "compare")


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 done, 2 the user's input is wrong, 1 anything else."""
    argv = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a letter must not cost the result.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
    try:
        with _stops():
            status = _dispatch(argv)
            sys.stdout.flush()  # here, where a reader that has gone can be borne
        return status
    except InputError as error:
        print(f"passband: {one_line(error, LONGEST_MESSAGE)}", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"passband: there is not enough memory: {one_line(error)}",
              file=sys.stderr)  # fmt: skip
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # of a disk or a folder, where nobody else spoke of it
        print(f"passband: {one_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("passband: interrupted", file=sys.stderr)
        return INTERRUPTED


def command() -> int:
    """`main` as a process, which ends once threads are joined and `atexit` is through:
    taking Python apart behind them is 0.3 s of a fit."""
    ended: list[int] = []

    def leave() -> None:
        if ended:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ended[0])

    atexit.register(leave)  # registered first, called last
    ended.append(main())
    return ended[0]


@contextlib.contextmanager
def _stops() -> Iterator[None]:
    """Let TERM and HUP end a command as Ctrl-C does."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:  # `nohup` has it ignored
                before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0
    if argv[0] == "--version":
        print(f"passband {__version__}")
        return 0
    verb, rest = _take(argv, list(VERBS))
    if verb not in VERBS:
        hint = did_you_mean(verb, VERBS)
        raise InputError(f"command `{verb}` is unknown; {hint}see `passband --help`")
    module = importlib.import_module(f"passband.cli.{verb}")
    if verb not in KIND_VERBS:
        return _run(module.Options, f"passband {verb}", rest, module.run)
    if not rest or rest == ["-h"] or rest == ["--help"]:
        print(_overview(verb))
        return 0
    name, rest = _take(rest, list(KINDS))
    if name not in KINDS and verb == "fit" and (told := _configured(name, rest)):
        name, rest = told, [name, *rest]
    if name not in KINDS:
        raise InputError(
            f"`passband {verb}` takes {', '.join(KINDS)}, not `{name}`; "
            f"{did_you_mean(name, KINDS)}see `passband {verb} --help`"
        )
    row = KINDS[name]

    def run(options: Any, given: set[str]) -> int:
        return module.run(row, options, given)

    return _run(module.options_of(row), f"passband {verb} {name}", rest, run)


def _run(cls: type, prog: str, args: list[str], run: Callable[..., int]) -> int:
    """Parse and run; what is wrong is said of flags, and where the help is."""
    options, given = parse(cls, prog, args)
    TYPED.set(shlex.join([*prog.split(), *args]))
    try:
        return run(options, given)
    except InputError as error:
        text = as_flags(str(error), cls)
        if " is missing" in text and "--help" not in text:
            text += f"; see `{prog} --help`"
        raise InputError(text) from error


def _take(argv: list[str], names: list[str]) -> tuple[str, list[str]]:
    """The word that says what to do, and the others: it may stand behind flags."""
    at = 0
    if argv[0].startswith("-"):
        at = next((k for k, word in enumerate(argv) if word in names), 0)
    return argv[at], argv[:at] + argv[at + 1 :]


def _configured(first: str, others: list[str]) -> str | None:
    """The kind that the config.json of `fit --config` names; it need not be typed."""
    words = [first, *others]
    for k, word in enumerate(words):
        flag, _, value = word.partition("=")
        if flag == "--config":
            from ..train.config_file import read_config

            file = value or next(iter(words[k + 1 :]), "-")
            if file.startswith("-"):
                raise InputError("`--config` needs a value: the config.json of a run")
            try:
                return read_config(file)["task"]
            except InputError as error:
                raise InputError(f"`--{str(error)[1:]}") from error
    return None


def commands() -> dict[str, str]:
    """Every command and what it does; some are for each kind of data."""
    found = {}
    for verb, what in VERBS.items():
        if verb not in KIND_VERBS:
            found[verb] = what
        for name, row in KINDS.items() if verb in KIND_VERBS else ():
            found[f"{verb} {name}"] = {
                "fit": row.summary,
                "tune": f"choose the scale of a mapping for {row.thing}",
                "compare": f"compare methods on {row.thing}",
            }[verb]
    return found


def _overview(verb: str | None = None) -> str:
    lines = ["usage: passband COMMAND ... [--help]", ""]
    for words, what in commands().items():
        if verb in (None, words.split()[0]):
            lines.append(f"  passband {words:14s} {what}")
    lines += ["", "  passband --version", "", "Each takes --help."]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(command())
