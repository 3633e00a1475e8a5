"""The paper's 26 tables and figures by id, in its order, and what runs beside them."""

import difflib
import importlib

from ..errors import InputError
from .item import Item

IDS: tuple[str, ...] = (
    "table1",
    "table2",
    "table3",
    "table4",
    "table5",
    "table6",
    "table7",
    "fig1",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "fig6",
    "fig7",
    "fig8",
    "fig9",
    "fig10",
    "fig11",
    "fig12",
    "fig13",
    "fig14",
    "fig15",
    "fig16",
    "fig17",
    "fig18",
    "fig19",
)
# What the paper does not print, run by the same command and reported with an item.
COMPANIONS: tuple[str, ...] = (
    "table3-sweep",
    "table3-seeds",
    "table4-seeds",
    "table5-sweep",
    "table5-seeds",
    "table6-sweep",
    "table6-seeds",
    "precision",
    "indirect",
    "table7-seeds",
    "table7-sweep",
    "table7-rotated",
)
# Modules that hold several items; any other id is the name of its module, imported when
# it is asked for.
STUDIES: dict[str, tuple[str, ...]] = {
    "image_study": ("table3", "table3-seeds", "table3-sweep"),
    "shape_tables": ("table4", "table4-seeds"),
    "ct_study": ("table5", "table5-seeds", "table5-sweep"),
    "mri_study": ("table6", "table6-seeds", "table6-sweep"),
    "nerf_tables": ("table7", "table7-seeds", "table7-sweep", "table7-rotated"),
}


def get_item(id: str) -> Item:
    """The item of that id."""
    known = (*IDS, *COMPANIONS)
    if id not in known:
        near = difflib.get_close_matches(id, known, n=1)
        hint = f"did you mean `{near[0]}`? " if near else ""
        raise InputError(f"item `{id}` is unknown; {hint}known: {', '.join(known)}")
    home = next((name for name, ids in STUDIES.items() if id in ids), None)
    module = importlib.import_module(f".{home or id.replace('-', '_')}", __package__)
    items = module.ITEMS if home else (module.ITEM,)
    return next(item for item in items if item.id == id)
