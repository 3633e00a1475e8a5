"""What a command says: results on stdout, everything else on stderr."""

import os
import signal
import sys
import time
from typing import Any

from ..json_text import to_json

INTERRUPTED = 128 + signal.SIGINT  # the exit status of a command that Ctrl-C ended


class Console:
    """Speaks as the options ask: `--json`, `--quiet`, and no progress into a pipe."""

    def __init__(self, *, json: bool = False, quiet: bool = False):
        self.json, self.quiet = json, quiet
        self.live = sys.stderr.isatty() and not quiet
        self._drawn: float | None = None

    def say(self, text: str) -> None:
        """A message for people."""
        if not self.quiet:
            self.error(text)

    def warn(self, text: str) -> None:
        self.say(f"passband: warning: {text}")

    def error(self, text: str) -> None:
        """What is said even when asked to be quiet."""
        self._clear()
        print(text, file=sys.stderr, flush=True)

    def result(self, content: dict[str, Any], text: str) -> None:
        """What the command was run for."""
        self._clear()
        if self.json:
            print(to_json(content))
        elif not self.quiet:
            print(text)

    def progress(self, text: str, *, often: bool = True) -> None:
        """A line that the next one replaces; of those that come often, ten a second."""
        now = time.monotonic()
        late = self._drawn is None or now - self._drawn > 0.1
        if self.live and (late or not often):
            self._clear()
            # A line that wraps cannot be taken back.
            sys.stderr.write(text[: _columns() - 1])
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


def duration(seconds: float) -> str:
    """Seconds as minutes and seconds."""
    seconds = round(seconds)
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02d}"
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"
