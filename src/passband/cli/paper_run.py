"""Running items of the paper one after the other, and what may go wrong on the way."""

import errno
import shlex
import time
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..data.store import check
from ..errors import InputError
from ..paper import plan, results, whole
from ..paper.item import Assembled, Item, Preset
from ..paper.results import Result
from ..paper.stopwatch import Stopwatch
from ..train.device import device_name
from .console import Console
from .paper_text import beside, described

# A disk in such a state will take no other item's result either.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)


class Runs:
    """Runs items, keeps each result as soon as it is there, and says what it found.

    A figure is drawn while the next item runs, always from disk, so that a figure
    drawn again is the same figure.
    """

    def __init__(
        self,
        preset: Preset,
        folder: Path,
        console: Console,
        *,
        resume: bool = False,
        whole: bool = False,
    ):
        self.preset, self.folder, self.console = preset, folder, console
        self.resume = resume
        self.whole = whole
        """Whether one item's failure must not cost the others' hours."""
        self.results: list[Result] = []
        self.ran: list[str] = []
        self.kept: list[str] = []
        self.skipped: dict[str, str] = {}
        self.broken, self.broken_disk = False, False

    def run(self, items: list[Item]) -> None:
        """Run them in this order."""
        drawings: deque[tuple[Item, Future[list[Path]]]] = deque()
        with ThreadPoolExecutor(max_workers=1) as artist:
            for item in items:
                result = self._try(item, lambda item=item: self._result(item))
                if result is not None:
                    self._tell(item, result)
                    drawings.append((item, artist.submit(self._drawn, item)))
                self._collect(drawings, wait=False)
                if self.broken_disk:
                    artist.shutdown(cancel_futures=True)
                    return
            self._collect(drawings, wait=True)

    def draw(self, items: list[Item]) -> None:
        """Draw them again from their results."""
        for item in items:
            for path in self._drawn(item):
                self.console.say(f"drew {path}")
            self._tell(item, results.load(self.folder, self.preset, item.id))

    def judge(self, items: list[Item]) -> None:
        """Work out their verdicts again from their results, which stay as they are."""
        for item in items:
            self._tell(item, results.judge_again(self.folder, self.preset, item))

    def how_to_go_on(self) -> str:
        """What is kept after a stop, and the command that does the rest."""
        command = f"passband paper all --preset {self.preset.value} --resume"
        if self.folder != Path("results"):
            command += f" --out {shlex.quote(str(self.folder))}"
        return f"{len(self.results)} items are finished and kept; `{command}` goes on"

    def note(self, begun: float) -> None:
        """Write down what all of it has taken since `begun`."""
        seconds = time.perf_counter() - begun
        done = whole.command(self.preset, self.ran, self.kept, seconds, device_name())
        whole.note(self.folder, self.preset, done)

    def _collect(
        self, drawings: "deque[tuple[Item, Future[list[Path]]]]", *, wait: bool
    ) -> None:
        """Progress which figures are drawn, or why one is not."""
        while drawings and not self.broken_disk and (wait or drawings[0][1].done()):
            item, drawn = drawings.popleft()
            for path in self._try(item, drawn.result) or ():
                self.console.say(f"drew {path}")

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
                self.console.error(f"passband: {error}; {self.how_to_go_on()}")
            else:
                self.console.warn(f"{item.id} was left out: {error}")
        except Exception as error:  # a bug, or memory that ran out on the device
            if not self.whole:
                raise
            self.broken = True
            self.skipped[item.id] = f"{type(error).__name__}: {error}"
            self.console.error(traceback.format_exc())
            self.console.error(f"passband: {item.id} failed; the others go on")
        return None

    def _result(self, item: Item) -> Result:
        if self.resume and (kept := self._kept(item)) is not None:
            at = str(kept.provenance.get("commit"))[:10]
            self.console.say(f"{item.id}: already there, of commit {at}")
            self.kept.append(item.id)
            return kept
        progress, preset = self.console.say, self.preset
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
            lambda t: self.console.progress(f"{item.id}: {t}"),
        )
        options = f" --seeds {item.seeds}" if item.seeds else ""
        command = f"passband paper run {item.id} --preset {preset.value}{options}"
        origin = watch.provenance(
            outcome, command=command, device=device_name(), data=data, parts=parts
        )
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
            found = results.load(self.folder, self.preset, item.id)
        except InputError as error:
            self.console.warn(f"{error}; it runs again")
            return None
        if changed := results.changed_data(found, item.needs):
            self.console.warn(
                f"{item.id} was run on another `{changed[0]}` than this version "
                "knows; it runs again"
            )
            return None
        return found

    def _drawn(self, item: Item) -> list[Path]:
        result = results.load(self.folder, self.preset, item.id)
        return results.save_figures(self.folder, self.preset, item.draw(result.outcome))

    def _tell(self, item: Item, result: Result) -> None:
        self.results.append(result)
        if not self.console.json:
            text = described(item, result) + beside(item, self.preset, self.folder)
            self.console.result({}, text)
