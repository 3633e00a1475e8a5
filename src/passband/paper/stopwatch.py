"""What running an item takes: seconds by phase, and the work of its networks."""

import time
from typing import Any

from ..train.programs import compile_seconds
from ..train.work import work_done
from . import results
from .item import Outcome
from .study import scoring_seconds


class Stopwatch:
    """Runs from its making; the code it tells of is that of its start."""

    def __init__(self) -> None:
        self._begun, self._commit = time.perf_counter(), results.commit_now()
        self._work, self._compiled = work_done(), compile_seconds()
        self._scored = scoring_seconds()
        self._checked = 0.0

    def data_checked(self) -> None:
        """The data sets are the paper's bytes: what follows is the item."""
        self._checked = time.perf_counter() - self._begun

    def provenance(self, outcome: Outcome, **told: Any) -> dict[str, Any]:
        """Where the outcome comes from; `told` as `results.provenance` has it."""
        seconds = time.perf_counter() - self._begun
        work = work_done().since(self._work)
        phases = {
            "check data": self._checked,
            "compile": compile_seconds() - self._compiled,
            "train": work.seconds,
            "evaluate": scoring_seconds() - self._scored,
        }
        phases["other"] = max(0.0, seconds - sum(phases.values()))
        return results.provenance(
            outcome,
            commit=self._commit,
            seconds=seconds,
            work=work,
            phases=phases,
            **told,
        )
