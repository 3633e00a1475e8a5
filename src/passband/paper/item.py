"""A table or figure of the paper: what it runs, what it found, what it draws."""

import abc
import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Progress = Callable[[str], None]
"""Takes a line on how far a run has come."""
Verdict = Literal["reproduced", "differs", "not comparable"]


class Preset(enum.Enum):
    """How much of the paper's own size an item is run at."""

    SMOKE = "smoke"
    """About 5 s on 2 cores: what continuous integration runs."""
    SMALL = "small"
    """At most a minute on 2 cores."""
    FULL = "full"
    """The paper's own size."""


@dataclasses.dataclass(frozen=True)
class Number:
    """One number of the paper beside ours."""

    name: str
    printed: float | None = None
    ours: float | None = None
    spread: float | None = None
    """Standard deviation of ours, over what the item's settings say."""
    comparable: bool = True
    """False where a preset's size, or missing data, leaves nothing to compare."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """One statement of the paper, and whether it holds here."""

    claim: str
    verdict: Verdict
    detail: str
    aside: bool = False
    """Of something that the paper does not print: told and judged, but the item's
    verdict does not hang on it."""


def judge(
    claim: str, holds: bool | np.bool_ | None, detail: str, *, aside: bool = False
) -> Claim:
    """A claim that holds, does not, or (None) cannot be judged at this size."""
    if holds is None:
        return Claim(claim, "not comparable", detail, aside)
    return Claim(claim, "reproduced" if holds else "differs", detail, aside)


def ordered(
    claim: str, scores: Mapping[str, Sequence[float]], *, judged: bool
) -> Claim:
    """Whether the means over what a figure shows rise from row to row, as the means of
    its table do; a single panel need not, so each is told.

    Args:
        scores: of every panel, by row, the row that should be worst first.
    """
    means = {row: float(np.mean(values)) for row, values in scores.items()}
    text = ", ".join(
        f"{row} {means[row]:.2f}"
        + (f" ({', '.join(f'{v:.2f}' for v in values)})" if len(values) > 1 else "")
        for row, values in scores.items()
    )
    rising = bool(np.all(np.diff(list(means.values())) > 0))
    return judge(claim, rising if judged else None, text)


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """What a run of an item found; `arrays` is all that its figures are drawn from."""

    numbers: tuple[Number, ...] = ()
    claims: tuple[Claim, ...] = ()
    arrays: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What was run: sizes, rates, steps, keys; `precision` where it is not float32."""

    @property
    def verdict(self) -> Verdict:
        """Reproduced if there is a claim to judge and all such claims hold; those that
        stand aside do not count."""
        verdicts = {c.verdict for c in self.claims if not c.aside} - {"not comparable"}
        if not verdicts:
            return "not comparable"
        return "reproduced" if verdicts == {"reproduced"} else "differs"


class Item(abc.ABC):
    """A table or figure; a module holds one, `ITEM`, or some, `ITEMS`."""

    id: str
    """As the command names it: `fig2`, `table3`."""
    section: str
    """Where the paper has it."""
    title: str
    needs: tuple[str, ...] = ()
    """The data sets that its full preset reads."""
    notes: tuple[str, ...] = ()
    """Where what produced the printed numbers is not what the text says."""
    companions: tuple[str, ...] = ()
    """Ids of runs that the paper does not print, reported with this item."""
    seeds: int = 0
    """How many other keys it runs with, where that can be chosen."""

    @abc.abstractmethod
    def run(self, preset: Preset, progress: Progress) -> Outcome:
        """Compute everything; `progress` hears how far it has come."""

    @abc.abstractmethod
    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        """The figures by file stem (`fig2`), from `outcome.arrays` alone."""

    def judged(self, outcome: Outcome, preset: Preset) -> Sequence[Claim] | None:
        """The claims worked out anew from an outcome's numbers and arrays, without a
        run; None where these do not tell."""
        del outcome, preset
        return None


class Assembled(Item):
    """An item with no run of its own: made of what others found."""

    parts: tuple[str, ...]
    """Ids of those others, which run before it."""

    @abc.abstractmethod
    def assemble(self, found: Mapping[str, Outcome], preset: Preset) -> Outcome:
        """The item from the outcomes of its parts."""

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        raise TypeError(f"`{self.id}` runs with its parts: `plan.run_item`")
