"""Running items of the paper one after the other, and what may go wrong on the way."""

import errno
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from ..data.store import check
from ..errors import InputError
from ..kinds.listener import Listener
from ..train.device import device_name
from . import plan, registry, results
from . import whole as wall_clock
from .item import Assembled, Item, Preset
from .results import Result
from .stopwatch import Stopwatch

# A disk in such a state will take no other item's result either.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
LOST = "its process was lost before it had the result; `resume` runs it"


class Hearer(Listener, Protocol):
    """A listener that also hears of failures, and how to go on."""

    def error(self, text: str) -> None: ...


class Runs:
    """Runs items, keeps each result as soon as it is there, and says what it found.

    A figure is drawn while the next item runs, always from disk, so that a figure
    drawn again is the same figure.

    Args:
        go_on: the command that does the rest after a stop.
        tell: sees every result as it comes.
        resume: leave out the items whose result is there.
        whole: one item's failure must not cost the others' hours.

    Attributes:
        jobs: how many processes share the device meanwhile.
    """

    def __init__(
        self,
        preset: Preset,
        folder: Path,
        listener: Hearer,
        *,
        go_on: str,
        tell: Callable[[Item, Result], None],
        resume: bool = False,
        whole: bool = False,
    ):
        self.preset, self.folder, self.listener = preset, folder, listener
        self.go_on, self.tell = go_on, tell
        self.resume, self.whole = resume, whole
        self.results: list[Result] = []
        self.ran: list[str] = []
        self.kept: list[str] = []
        self.skipped: dict[str, str] = {}
        self.broken, self.broken_disk = False, False
        self.on_item: Callable[[], object] = lambda: None
        self.jobs = 1
        self._undrawn: set[str] = set()

    def run(self, items: Iterable[Item]) -> None:
        """Run them in this order."""
        drawings: deque[tuple[Item, Future[list[Path]]]] = deque()
        with ThreadPoolExecutor(max_workers=1) as artist:
            for item in items:
                result = self._try(item, lambda item=item: self._result(item))
                if result is not None:
                    self._have(item, result)
                    drawings.append((item, artist.submit(self._drawn, item)))
                    self._undrawn.add(item.id)
                self._collect(drawings, wait=False)
                self.on_item()
                if self.broken_disk:
                    artist.shutdown(cancel_futures=True)
                    return
            self._collect(drawings, wait=True)

    def did(self) -> dict[str, Any]:
        """What came of the items so far; of those whose figures are drawn."""
        return {
            "ran": [id for id in self.ran if id not in self._undrawn],
            "kept": [id for id in self.kept if id not in self._undrawn],
            "skipped": self.skipped,
            "broken": self.broken,
        }

    def take_in(self, items: Iterable[Item], did: Iterable[Mapping[str, Any]]) -> None:
        """Have what other processes did as if it had been done here; an item that none
        of them speaks of was lost with its process."""
        mine = {*self.ran, *self.kept, *self.skipped}
        told: dict[str, str] = dict(self.skipped)
        for one in did:
            self.ran += [id for id in one["ran"] if id not in mine]
            self.kept += [id for id in one["kept"] if id not in mine]
            self.broken = self.broken or one["broken"]
            told |= one["skipped"]
        for item in items:
            if item.id in mine:
                continue
            if item.id in self.ran or item.id in self.kept:
                self._try(item, lambda item=item: self._have(item, self._load(item)))
            else:
                self.skipped[item.id] = told.get(item.id, LOST)
                self.listener.warn(f"{item.id} was left out: {self.skipped[item.id]}")

    def have_of_another(self, item: Item, *, kept: bool) -> None:
        """Have the result that another process has put on the disk."""
        (self.kept if kept else self.ran).append(item.id)
        self._try(item, lambda: self._have(item, self._load(item)))

    def draw(self, items: Iterable[Item]) -> None:
        """Draw them again from their results."""
        for item in items:
            for path in self._drawn(item):
                self.listener.say(f"drew {path}")
            self._have(item, self._load(item))

    def judge(self, items: Iterable[Item]) -> None:
        """Work out their verdicts again from their results, which stay as they are."""
        for item in items:
            self._have(item, results.judge_again(self.folder, self.preset, item))

    def how_to_go_on(self) -> str:
        """What is kept after a stop, and the command that does the rest."""
        count = len(self.results)
        return f"{count} items are finished and kept; `{self.go_on}` goes on"

    def note(self, begun: float, processes: int = 1) -> None:
        """Write down what all of it has taken since `begun`.

        Args:
            processes: of a job; those of one machine are `jobs`.
        """
        seconds = time.perf_counter() - begun
        companions = any(id in registry.COMPANIONS for id in (*self.ran, *self.kept))
        done = wall_clock.command(
            self.preset, self.ran, self.kept, seconds, device_name(), processes,
            companions, self.jobs,
        )  # fmt: skip
        wall_clock.note(self.folder, self.preset, done)

    def _collect(
        self, drawings: "deque[tuple[Item, Future[list[Path]]]]", *, wait: bool
    ) -> None:
        """Progress which figures are drawn, or why one is not."""
        while drawings and not self.broken_disk and (wait or drawings[0][1].done()):
            item, drawn = drawings.popleft()
            self._undrawn.discard(item.id)
            for path in self._try(item, drawn.result) or ():
                self.listener.say(f"drew {path}")

    def _try(self, item: Item, do: Callable[[], Any]) -> Any:
        """What `do` gives; where all are run, None for an item that fails."""
        try:
            return do()
        except InputError as error:
            if not self.whole:
                raise
            self.skipped[item.id] = str(error)
            cause = error.__cause__
            self.broken_disk = isinstance(cause, OSError) and cause.errno in UNWRITABLE
            if self.broken_disk:
                self.listener.error(f"passband: {error}; {self.how_to_go_on()}")
            else:
                self.listener.warn(f"{item.id} was left out: {error}")
        except Exception as error:  # a bug, or memory that ran out on the device
            if not self.whole:
                raise
            self.broken = True
            self.skipped[item.id] = f"{type(error).__name__}: {error}"
            self.listener.error(traceback.format_exc())
            self.listener.error(f"passband: {item.id} failed; the others go on")
        return None

    def _result(self, item: Item) -> Result:
        if self.resume and (kept := self._kept(item)) is not None:
            at = str(kept.provenance.get("commit"))[:10]
            self.listener.say(f"{item.id}: already there, of commit {at}")
            self.kept.append(item.id)
            return kept
        progress, preset = self.listener.say, self.preset
        watch = Stopwatch()
        progress(f"{item.id}: {item.title} ({preset.value})")
        data = {}
        if preset is Preset.FULL:
            for name in item.needs:
                check(name)  # before hours are spent on other bytes than the paper's
            data = results.fingerprints(item.needs)
        watch.data_checked()
        outcome, parts = plan.run_or_assemble(
            item,
            preset,
            self.folder,
            lambda t: self.listener.progress(f"{item.id}: {t}"),
        )
        options = f" --seeds {item.seeds}" if item.seeds else ""
        command = f"passband paper run {item.id} --preset {preset.value}{options}"
        origin = watch.provenance(
            outcome, command=command, device=device_name(), data=data, parts=parts,
            jobs=self.jobs,
        )  # fmt: skip
        self.ran.append(item.id)
        result = Result(item.id, preset, outcome, origin)
        results.save(self.folder, result)
        return result

    def _kept(self, item: Item) -> Result | None:
        """The result on disk, if it is whole and of the data sets as they are now."""
        if isinstance(item, Assembled):  # its parts may be newer, and it takes no time
            return None
        if not results.exists(self.folder, self.preset, item.id):
            return None
        try:
            found = self._load(item)
        except InputError as error:
            self.listener.warn(f"{error}; it runs again")
            return None
        if changed := results.changed_data(found, item.needs):
            self.listener.warn(
                f"{item.id} was run on another `{changed[0]}` than this version "
                "knows; it runs again"
            )
            return None
        return found

    def _load(self, item: Item) -> Result:
        return results.load(self.folder, self.preset, item.id)

    def _drawn(self, item: Item) -> list[Path]:
        result = self._load(item)
        return results.save_figures(self.folder, self.preset, item.draw(result.outcome))

    def _have(self, item: Item, result: Result) -> None:
        self.results.append(result)
        self.tell(item, result)
