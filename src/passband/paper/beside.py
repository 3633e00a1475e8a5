"""What stands beside the paper's tables and is no part of their reproduction.

beside.json is made from the benchmarks by `python benchmarks/paper_beside.py`.
"""

import dataclasses
import functools
import json
from importlib import resources
from typing import Any


@dataclasses.dataclass(frozen=True)
class Modern:
    """What Gaussian features give by the recipe `modern`, on a column's own data."""

    table: str
    column: str
    """As Table 1 calls it."""
    metric: str
    value: float
    spread: float
    """Standard deviation over keys."""
    keys: int
    steps: int
    method: str
    about: str

    @property
    def told(self) -> str:
        """Value and spread, and what they are of where that is not the whole column."""
        digits, unit = (2, " dB") if self.metric == "psnr" else (4, "")
        text = f"{self.value:.{digits}f} +- {self.spread:.{digits}f}{unit}"
        return f"{text} ({self.about})" if self.about else text


@functools.cache
def _content() -> dict[str, Any]:
    text = resources.files("passband.paper").joinpath("beside.json").read_text("utf-8")
    return json.loads(text)


def modern() -> dict[str, Modern]:
    """By column of Table 1."""
    rows = [Modern(**row) for row in _content()["modern"]["rows"]]
    return {row.column: row for row in rows}


def modern_line(id: str) -> str:
    """One line about a table of scores; empty for any other item."""
    rows = [row for row in modern().values() if id in (row.table, "table1")]
    if not rows:
        return ""
    told = "; ".join(
        f"{row.column} {row.told}, {row.steps:,} steps"
        + (" and total variation" if "prior tv" in row.method else "")
        for row in rows
    )
    return (
        "Apart from the reproduction, on the same data by the recipe of today, "
        f"modern, with Gaussian features (mean of {rows[0].keys} keys): {told}."
    )


def rounding(row: str, column: str) -> dict[str, Any] | None:
    """What was measured of a row of Table 3: what rounding, keys and the step of
    reading move its mean by; None where nothing was."""
    measured = _content().get("rounding")
    return None if measured is None else measured["rows"].get(f"{column}:{row}")
