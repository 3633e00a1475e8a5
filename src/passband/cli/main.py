"""The command `passband`: finds the verb, speaks of errors in one line."""

import importlib
import os
import sys

from ..errors import InputError
from ..version import __version__
from .console import INTERRUPTED
from .options import did_you_mean, parse

# verb, or verb and task -> its module, and what it does
VERBS: dict[tuple[str, ...], tuple[str, str]] = {
    ("demo",): ("demo", "the sample picture without and with Fourier features"),
    ("fit", "image"): ("fit_image", "fit a picture: PNG, JPEG, TIFF, NPY"),
    ("fit", "mri"): ("fit_mri", "fit an image or volume to k-space: NPY, NIfTI"),
    ("fit", "shape"): ("fit_shape", "fit a solid: PLY, OBJ, STL, NPZ"),
    ("fit", "signal"): ("fit_signal", "fit a 1D signal: NPY, CSV, WAV"),
    ("fit", "ct"): ("fit_ct", "fit densities to a sinogram: NPY, TIFF"),
    ("fit", "nerf"): ("fit_nerf", "fit a scene to photographs of it"),
    ("tune", "image"): ("tune_image", "choose the scale of a mapping for a picture"),
    ("tune", "signal"): ("tune_signal", "... for a 1D signal"),
    ("tune", "shape"): ("tune_shape", "... for a solid"),
    ("tune", "ct"): ("tune_ct", "... for a sinogram"),
    ("tune", "mri"): ("tune_mri", "... for k-space"),
    ("tune", "nerf"): ("tune_nerf", "... for a scene"),
    ("render",): (
        "render",
        "a model as a file: picture, mesh, volume, orbit, ONNX, ...",
    ),
    ("info",): ("info", "what a model file holds"),
    ("bench",): ("bench", "training throughput of this machine"),
    ("ntk",): ("ntk", "kernel, spectrum and predicted convergence of a mapping"),
    ("data",): ("data", "named data sets: list, path, fetch"),
    ("paper",): ("paper", "the paper's tables and figures: list, run, all, report"),
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 done, 2 the user's input is wrong, 1 anything else."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _dispatch(argv)
        sys.stdout.flush()  # here, where a reader that has gone can be borne
        return status
    except InputError as error:
        print(f"passband: {one_line(error)}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("passband: interrupted", file=sys.stderr)
        return INTERRUPTED


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0
    if argv[0] == "--version":
        print(f"passband {__version__}")
        return 0
    verbs = [words[0] for words in VERBS]
    verb, rest = _take(argv, verbs)
    if verb not in verbs:
        hint = did_you_mean(verb, verbs)
        raise InputError(f"command `{verb}` is unknown; {hint}see `passband --help`")
    words: tuple[str, ...] = (verb,)
    if words not in VERBS:
        tasks = [words[1] for words in VERBS if words[0] == verb]
        if not rest or rest == ["-h"] or rest == ["--help"]:
            print(_overview(verb))
            return 0
        task, rest = _take(rest, tasks)
        if task not in tasks:
            raise InputError(
                f"`passband {verb}` takes {', '.join(tasks)}, not `{task}`; "
                f"{did_you_mean(task, tasks)}see `passband {verb} --help`"
            )
        words = (verb, task)
    module = importlib.import_module(f"passband.cli.{VERBS[words][0]}")
    options, given = parse(module.Options, " ".join(("passband", *words)), rest)
    return module.run(options, given)


def _take(argv: list[str], names: list[str]) -> tuple[str, list[str]]:
    """The word that says what to do, and the others: it may stand behind flags."""
    at = 0
    if argv[0].startswith("-"):
        at = next((k for k, word in enumerate(argv) if word in names), 0)
    return argv[at], argv[:at] + argv[at + 1 :]


def _overview(verb: str | None = None) -> str:
    lines = ["usage: passband COMMAND ... [--help]", ""]
    for words, (_, what) in VERBS.items():
        if verb in (None, words[0]):
            lines.append(f"  passband {' '.join(words):14s} {what}")
    lines += ["", "  passband --version", "", "Each takes --help."]
    return "\n".join(lines)


def one_line(error: Exception) -> str:
    """A message without its line breaks, and without what would steer a terminal."""
    text = " ".join(str(error).split())
    return "".join(c if c.isprintable() else "?" for c in text)


if __name__ == "__main__":
    sys.exit(main())
