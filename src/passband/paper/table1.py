"""Table 1: four mappings on five tasks, put together from Tables 3 to 7."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from . import published
from .item import Assembled, Claim, Number, Outcome, Preset, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = ("none", "basic", "positional", "gaussian")
# Column: the table it is of, that table's name of the column (table 7's positional
# row is the rotated one), and what the paper prints.
COLUMNS: dict[str, tuple[str, str, published.Table, str]] = {
    "2D image, Natural": ("table3", "{} natural", published.TABLE3, "natural"),
    "2D image, Text": ("table3", "{} text", published.TABLE3, "text"),
    "3D shape": ("table4", "{} boundary", published.TABLE4, "boundary"),
    "2D CT, Shepp": ("table5", "{} shepp", published.TABLE5, "shepp"),
    "2D CT, ATLAS": ("table5", "{} atlas", published.TABLE5, "atlas"),
    "3D MRI, ATLAS": ("table6", "{}", published.TABLE6, "atlas"),
    "3D NeRF": ("table7", "{}", published.TABLE7, "test"),
}
SHAPE = "3D shape"
WITHIN = 0.3
"""dB from the printed means, where data and keys are the paper's own. One seed serves
all pictures of a row, and moves such a mean by more than that (protocol, top)."""


class Table1(Assembled):
    """Seven columns of means: PSNR, and IoU near the surface of shapes."""

    id = "table1"
    section = "6, Table 1"
    title = "Four mappings on five tasks"
    parts = ("table3", "table4", "table5", "table6", "table7")
    notes = (
        "Put together from the results of Tables 3 to 7, which judge their digits "
        "closer than here.",
        "Other heads stand in for ATLAS, which is restricted, and other copies of "
        "three meshes: those columns are held to their order, not to their digits.",
        "Positional encoding on NeRF has its frequencies rotated, as printed; "
        "unrotated it beats the Gaussian mapping (Table 7).",
    )

    def assemble(self, found: Mapping[str, Outcome], preset: Preset) -> Outcome:
        numbers: list[Number] = []
        ours = np.full((len(COLUMNS), len(ROWS)), np.nan)
        for i, (column, (part, name, printed, place)) in enumerate(COLUMNS.items()):
            of_part = {n.name: n for n in found[part].numbers}
            for j, row in enumerate(ROWS):
                source = name.format(row_name(row, part))
                number = of_part.get(source, Number(source))
                numbers.append(
                    Number(
                        f"{row}, {column}",
                        printed[row_name(row, part), place].value,
                        number.ours,
                        number.spread,
                        number.comparable and number.ours is not None,
                    )
                )
                ours[i, j] = np.nan if number.ours is None else number.ours
        return Outcome(
            numbers=tuple(numbers),
            claims=(*_orders(ours, preset), _digits(numbers)),
            arrays={"ours": ours},
            settings={"parts": self.parts, "spread": "as in the parts"},
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.overview import mapping_table

        printed = [
            [cells[row_name(row, part), place].value for row in ROWS]
            for part, _, cells, place in COLUMNS.values()
        ]
        return {
            self.id: mapping_table(
                list(COLUMNS),
                ROWS,
                outcome.arrays["ours"],
                np.asarray(printed),
                digits=[3 if column == SHAPE else 2 for column in COLUMNS],
                note="; other heads stand in for ATLAS, so that its digits differ",
            )
        }


ITEM = Table1()


def row_name(row: str, part: str) -> str:
    """What a part calls a row of this table."""
    return "positional:rotated" if (row, part) == ("positional", "table7") else row


def _orders(ours: np.ndarray, preset: Preset) -> list[Claim]:
    """The paper's two statements on every column; NaN is a row that was not run."""
    claims = []
    for column, means in zip(COLUMNS, ours, strict=True):
        whole = bool(np.isfinite(means).all())
        text = ", ".join(f"{r} {m:.4g}" for r, m in zip(ROWS, means, strict=True))
        claims.append(
            judge(
                f"{column}: none < basic < positional < Gaussian",
                bool((np.diff(means) > 0).all())
                if whole and preset is Preset.FULL
                else None,
                text,
            )
        )
    whole = bool(np.isfinite(ours).all())
    ahead = ours[:, 2:].min(axis=1) - ours[:, 0]
    claims.append(
        judge(
            "both families of Fourier features beat no mapping in every column",
            bool((ahead > 0).all()) if whole and preset is not Preset.SMOKE else None,
            ", ".join(f"{c} +{a:.3g}" for c, a in zip(COLUMNS, ahead, strict=True)),
        )
    )
    return claims


def _digits(numbers: list[Number]) -> Claim:
    apart = {
        n.name: n.ours - n.printed
        for n in numbers
        if n.comparable
        and not n.name.endswith(SHAPE)
        and n.ours is not None
        and n.printed is not None
    }
    worst = max(apart, key=lambda name: abs(apart[name]), default=None)
    return judge(
        f"PSNR is within {WITHIN:g} dB of the printed one, where it can be compared",
        all(abs(a) <= WITHIN for a in apart.values()) if apart else None,
        "none can be compared at this size"
        if worst is None
        else f"{len(apart)} of {len(numbers)} compared; furthest: {worst}, "
        f"{apart[worst]:+.2f} dB",
    )
