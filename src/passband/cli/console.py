"""What a command says: results on stdout, everything else on stderr."""

import os
import signal
import sys
import time
from typing import Any

from ..errors import printable
from ..json_text import to_json
from .options import as_flags

INTERRUPTED = 128 + signal.SIGINT  # the exit status of a command that Ctrl-C ended
SOME_FAILED = 3
"""Where some of many inputs failed, or a process was lost, and all else is done."""

PIPE_SECONDS = 10.0
"""Between two lines of progress into a pipe or a file, which keeps them all."""


class Console:
    """Speaks as the options ask: `--json`, `--quiet`; of progress little in a pipe."""

    def __init__(
        self, *, json: bool = False, quiet: bool = False, options: type | None = None
    ):
        self.json, self.quiet, self.options = json, quiet, options
        self.live = sys.stderr.isatty() and not quiet
        self._drawn: float | None = None
        self._told = time.monotonic()

    @classmethod
    def of(cls, options: Any) -> "Console":
        """One that speaks of these options by their flags."""
        return cls(json=options.json, quiet=options.quiet, options=type(options))

    def say(self, text: str) -> None:
        """A message for people."""
        if not self.quiet:
            self.error(text)

    def warn(self, text: str) -> None:
        self.say(f"passband: warning: {text}")

    def error(self, text: str) -> None:
        """What is said even when asked to be quiet."""
        self._clear()
        if self.options is not None:
            text = as_flags(text, self.options)
        print(printable(text), file=sys.stderr, flush=True)

    def result(self, content: dict[str, Any], text: str) -> None:
        """What the command was run for."""
        self._clear()
        if self.json:
            print(to_json(content))
        elif not self.quiet:
            print(printable(text))

    def progress(self, text: str, *, often: bool = True) -> None:
        """A line that the next one replaces; of those that come often, ten a second.

        Into a pipe goes a whole line every ten seconds, and nothing in the first ten.
        """
        now = time.monotonic()
        if not self.live:
            if not self.quiet and now - self._told >= PIPE_SECONDS:
                print(printable(text), file=sys.stderr, flush=True)
                self._told = now
            return
        late = self._drawn is None or now - self._drawn > 0.1
        if late or not often:
            self._clear()
            # A line that wraps cannot be taken back.
            sys.stderr.write(printable(text[: _columns() - 1]))
            sys.stderr.flush()
            self._drawn = now

    def _clear(self) -> None:
        if self._drawn is not None:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _columns() -> int:
    """How wide the terminal of stderr is; stdout may be somewhere else."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80
