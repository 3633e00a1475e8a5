"""The one error that is the user's to mend."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Something the user gave is wrong: a file, an option, an array.

    Its message is one line that names the thing in backticks, says what was found and
    what would work. The command prints it and exits with status 2.
    """


def unknown_word(what: str, word: str, known: Iterable[str]) -> InputError:
    """The error of a word that no row of a table has, with the nearest that one has."""
    known = list(known)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.4)
    hint = f"did you mean `{near[0]}`? " if near else ""
    return InputError(f"{what} `{word}` is unknown; {hint}known: {', '.join(known)}")
