"""Items of the paper shared by the processes of a job: each takes some, as long as the
others' take; process 0 waits and has what all of them found."""

from collections.abc import Sequence
from typing import Any

from ..train.processes import Processes
from ..train.shares import Share, new_run, remove_parts
from . import plan, results
from .item import Assembled, Item
from .runs import Runs

FOLDER = "processes"
"""In that of the preset's results, while several processes are at it."""


def run_shared(
    runs: Runs, items: Sequence[Item], processes: Processes, lost_after: float
) -> bool:
    """Run this process's share of the items.

    What is put together from others' results is process 0's, after all else. An item
    runs as it does alone, whoever runs it, and its result is a file of its own; those
    of a process that is lost are left out of `runs.results` and are in `runs.skipped`.

    Args:
        lost_after: seconds of silence after which another process counts as lost.

    Returns:
        Whether a process was lost.
    """
    if processes.count == 1:
        runs.run(items)
        return False
    own = [item for item in items if not isinstance(item, Assembled)]
    place = runs.folder / runs.preset.value / FOLDER

    def begin() -> dict[str, Any]:
        there = {i.id for i in own if results.exists(runs.folder, runs.preset, i.id)}
        shares = plan.shares(
            own, runs.folder, runs.preset, processes.count,
            kept=there if runs.resume else (),
        )  # fmt: skip
        return {"run": new_run(place), "shares": shares}

    begun = processes.agreed(begin)
    mine = begun["shares"][processes.index]
    with Share(place, processes, begun["run"], lost_after) as share:
        runs.on_item = lambda: share.so_far(runs.did())
        runs.run([item for item in own if item.id in mine])
        share.done(runs.did())
        if processes.index:
            return False
        did, lost = share.wait(runs.listener.progress)
        runs.on_item = lambda: None
    remove_parts(place)
    runs.take_in(own, did)
    runs.run([item for item in items if isinstance(item, Assembled)])
    order = {item.id: at for at, item in enumerate(items)}
    runs.results.sort(key=lambda result: order[result.id])
    return bool(lost)
