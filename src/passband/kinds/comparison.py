"""What came of a comparison: rows, a table, a strip of pictures, a folder of files."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import notebook
from ..atomic_write import make_folder, write_bytes
from ..errors import InputError
from ..export.compare_page import compare_page
from ..json_text import to_json
from ..plot.strip import Panel, strip
from ..plot.style import png_bytes
from .trials import Tuned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRICS = (
    ("psnr_test", True), ("psnr_val", True), ("iou_boundary", True), ("psnr", True),
    ("error_test", False), ("psnr_train", True), ("error_train", False),
)  # fmt: skip
"""What decides, by the first of them that there is, and whether more is better: data
that were held out before those that were shown."""
FILES = ("compare.json", "table.md", "strip.png", "compare.html")


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """What one method came to."""

    name: str
    setting: str = ""
    """Its mapping or activation with its scale, and its rate."""
    metrics: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Empty where it failed."""
    parameters: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    """Of its training, compiling left out."""
    steps: int | None = None
    width: int | None = None
    note: str = ""
    """Why there are no metrics."""
    tuned: Tuned | None = None
    picture: np.ndarray | None = None
    best: bool = False

    def summary(self) -> str:
        """One line, for when it is done and others are not."""
        found = [f"{name} {_metric(name, x)}" for name, x in self.metrics.items()]
        time = [] if self.seconds is None else [f"{_seconds(self.seconds)} s"]
        return f"{self.name}: {self.note or ', '.join([*found, *time])}"

    def to_json(self) -> dict[str, Any]:
        """Its numbers, the picture left out."""
        names = ("name", "setting", "parameters", "bytes", "seconds", "steps", "width",
                 "note", "best")  # fmt: skip
        content = {name: getattr(self, name) for name in names}
        content["metrics"] = dict(self.metrics)
        if self.tuned is not None:
            content["tuned"] = dataclasses.asdict(self.tuned)
        return content


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """Methods on the same data, the best one marked, whoever it is.

    `rows` has the numbers; `table()` is a text, `figure()` a strip of pictures, `save`
    writes both with a page.
    """

    rows: tuple[Row, ...]
    metric: str
    """What decides."""
    higher: bool
    """Whether more of it is better."""
    kind: str
    title: str
    equal: str
    device: str
    truth: np.ndarray | None = None

    @classmethod
    def of(cls, rows: Sequence[Row], **about: Any) -> "Comparison":
        """The rows, with the best one marked."""
        there = {name for row in rows for name in row.metrics}
        found = ((name, up) for name, up in METRICS if name in there)
        metric, higher = next(found, ("psnr", True))
        values = [row.metrics.get(metric, math.nan) for row in rows]
        finite = [v for v in values if math.isfinite(v)] or [math.nan]
        top = max(finite) if higher else min(finite)
        marked = (
            dataclasses.replace(row, best=value == top)
            for row, value in zip(rows, values, strict=True)
        )
        return cls(tuple(marked), metric, higher, **about)

    @property
    def best(self) -> Row:
        """The method that is ahead."""
        return next((row for row in self.rows if row.best), self.rows[0])

    def columns(self) -> list[str]:
        """Every metric that is there, the deciding one first."""
        names = dict.fromkeys(name for row in self.rows for name in row.metrics)
        return [self.metric, *(name for name in names if name != self.metric)]

    def cells(self) -> list[list[str]]:
        """The head of the table and a line for each method, as text."""
        columns = self.columns()
        head = ["method", *columns, "parameters", "bytes", "seconds", "setting"]
        lines = [head]
        for row in self.rows:
            numbers = [_metric(name, row.metrics.get(name)) for name in columns]
            size = [_whole(row.parameters), _whole(row.bytes), _seconds(row.seconds)]
            mark = f"{row.name} *" if row.best else row.name
            lines.append([mark, *numbers, *size, row.note or row.setting])
        return lines

    def table(self) -> str:
        """The table for a terminal; a star marks the best."""
        lines = self.cells()
        wide = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        last = len(wide) - 1
        text = [
            "  ".join(
                cell.ljust(w) if k in (0, last) else cell.rjust(w)
                for k, (cell, w) in enumerate(zip(line, wide, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*text, "", self.summary()])

    def markdown(self) -> str:
        """The table for a page of Markdown."""
        head, *lines = self.cells()
        rule = ["---", *["---:"] * (len(head) - 2), "---"]
        shown = [head, rule, *lines]
        text = "\n".join(f"| {' | '.join(line)} |" for line in shown)
        return f"{text}\n\n{self.summary()}\n"

    def summary(self) -> str:
        """What was equal, and who is ahead by how much."""
        more = "most" if self.higher else "least"
        what = f"* the {more} {self.metric}, at equal {self.equal}, on {self.title}"
        others = [row for row in self.rows if not row.best and row.metrics]
        values = [row.metrics.get(self.metric, math.nan) for row in others]
        known = [(v, row) for v, row in zip(values, others, strict=True) if v == v]
        if not known or not self.best.metrics:
            return what
        second, row = (max if self.higher else min)(known, key=lambda pair: pair[0])
        gap = abs(self.best.metrics[self.metric] - second)
        return f"{what}: {_metric(self.metric, gap)} ahead of {row.name}"

    def figure(self) -> "Figure":
        """The truth and what each method made of it, side by side."""
        panels = [
            Panel(
                row.name,
                f"{self.metric} {_metric(self.metric, row.metrics.get(self.metric))}",
                row.picture,
                row.best,
            )
            for row in self.rows
            if row.picture is not None
        ]
        if not panels:
            raise InputError(f"data of kind `{self.kind}` have no picture of their own")
        return strip(panels, self.truth)

    @property
    def pictured(self) -> bool:
        """Whether there is a strip."""
        return any(row.picture is not None for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """All numbers: what `passband compare --json` prints."""
        names = ("kind", "title", "equal", "metric", "higher", "device")
        content: dict[str, Any] = {name: getattr(self, name) for name in names}
        content["best"] = self.best.name
        return content | {"rows": [row.to_json() for row in self.rows]}

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write table.md, strip.png, compare.html and compare.json.

        Args:
            folder: made, if it is not there.
            overwrite: replace a comparison that is there.
        """
        place = Path(folder)
        refuse_to_overwrite(place, overwrite)
        make_folder(place)
        image = png_bytes(self.figure()) if self.pictured else None
        page = compare_page(self.to_json(), self.cells(), self.summary(), image)
        if image is not None:
            write_bytes(place / "strip.png", image)
        write_bytes(place / "table.md", self.markdown().encode())
        write_bytes(place / "compare.html", page.encode())
        write_bytes(place / "compare.json", to_json(self.to_json(), indent=1).encode())

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """In a notebook: the table, the best row in bold, and the strip."""
        head, *lines = self.cells()
        best = [k for k, row in enumerate(self.rows) if row.best]
        parts = [notebook.table(lines, head=head, bold=best)]
        parts.append(notebook.paragraph(self.summary()))
        if self.pictured:
            strip = png_bytes(self.figure())
            parts.append(notebook.picture(strip, "what each method made of it", 900))
        return "".join(parts)


def refuse_to_overwrite(place: Path, overwrite: bool) -> None:
    """An error if a comparison is in a folder already."""
    if place.exists() and not place.is_dir():
        raise InputError(f"`{place}` is a file; `out` must name a folder")
    if not overwrite and any((place / name).exists() for name in FILES):
        raise InputError(
            f"`{place}` holds a comparison; `overwrite` replaces it, `out` names "
            "another folder"
        )


def _metric(name: str, value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.2f} dB" if name.startswith("psnr") else f"{value:.4g}"


def _whole(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if value >= 1 else f"{value:.2g}"
