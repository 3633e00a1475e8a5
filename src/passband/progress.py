"""How far a fit has come, for a person at a terminal or a notebook."""

import sys
import time
import warnings

from .errors import printable


class Progress:
    """One line on stderr that the next replaces; warnings become Python's own.

    Silent where stderr is neither a terminal nor a notebook's, unless asked for.
    """

    def __init__(self, shown: bool | None = None):
        self.shown = _watched() if shown is None else shown
        self._drawn, self._wide = 0.0, 0

    def say(self, text: str) -> None:
        if self.shown:
            self.clear()
            print(printable(text), file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        self.clear()
        warnings.warn(text, stacklevel=4)

    def progress(self, text: str, *, often: bool = True) -> None:
        now = time.monotonic()
        if not self.shown or (often and now - self._drawn < 0.1):
            return
        line = printable(text[:79])
        sys.stderr.write("\r" + line.ljust(self._wide))
        sys.stderr.flush()
        self._drawn, self._wide = now, len(line)

    def clear(self) -> None:
        """Take the line back."""
        if self._wide:
            sys.stderr.write("\r" + " " * self._wide + "\r")
            sys.stderr.flush()
            self._wide = 0


def _watched() -> bool:
    """Whether a person may be looking."""
    notebook = "ipykernel" in sys.modules
    return notebook or (sys.stderr is not None and sys.stderr.isatty())
