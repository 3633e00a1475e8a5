"""The seconds of each phase of a fit, from the command to its files."""

import time

from ..train.programs import compile_seconds

NAMES = ("import", "read", "choose", "compile", "train", "evaluate", "write")
"""In their order. `compile` begins with the drawing of the network and ends before the
first step; `write` has the figures too."""


class Phases:
    """A stopwatch: a phase lasts until the next begins; those of one name add up."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        self._on: tuple[str | None, float, float] = (None, 0.0, 0.0)

    def begin(self, name: str | None) -> None:
        """End the phase that is on, and begin another, or none."""
        before, since, compiled = self._on
        self._on = name, time.perf_counter(), compile_seconds()
        if before is not None:
            spent = self._on[1] - since
            if before == "train":
                compiling = self._on[2] - compiled
                self.add("compile", compiling)
                spent -= compiling
            self.add(before, spent)

    def add(self, name: str, seconds: float) -> None:
        self._spent[name] = self._spent.get(name, 0.0) + seconds

    @property
    def seconds(self) -> dict[str, float]:
        """Of every phase that there was, in their order."""
        return {
            name: round(self._spent[name], 3) for name in NAMES if name in self._spent
        }
