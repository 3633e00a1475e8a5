"""The one error that is the user's to mend, and text that is safe to show."""

import difflib
from collections.abc import Iterable

LONGEST_MESSAGE = 1000
LONGEST_QUOTE = 200


class InputError(ValueError):
    """Something the user gave is wrong: a file, an option, an array.

    Its message is one line of bounded length that names the thing in backticks, says
    what was found and what would work, whatever a file or a library put into it. The
    command prints it and exits with status 2.
    """

    def __init__(self, message: object = ""):
        super().__init__(one_line(message, most=LONGEST_MESSAGE))


def one_line(text: object, most: int = LONGEST_QUOTE) -> str:
    """What another library or a file said: one line, nothing that steers a terminal,
    the middle left out where it is long."""
    said = str(text)
    if len(said) > 8 * most:  # no need to tidy a megabyte to show a line of it
        said = said[: 4 * most] + " ... " + said[-2 * most :]
    said = printable(" ".join(said.split())) or type(text).__name__
    if len(said) <= most:
        return said
    tail = most // 3
    return f"{said[: most - tail - 5]} ... {said[-tail:]}"


def printable(text: str) -> str:
    """Text without control characters, line breaks and tabs excepted: what a file holds
    must not steer a terminal, nor turn its text around."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def unknown_word(what: str, word: str, known: Iterable[str]) -> InputError:
    """The error of a word that no row of a table has, with the nearest that one has."""
    known = list(known)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.4)
    hint = f"did you mean `{near[0]}`? " if near else ""
    return InputError(f"{what} `{word}` is unknown; {hint}known: {', '.join(known)}")
