"""Every table and figure that can be run, by its id, in the paper's order."""

import difflib
import importlib

from ..errors import InputError
from .item import Item

# An id is the name of its module here, which is imported when it is asked for.
IDS: tuple[str, ...] = (
    "table3",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "fig7",
    "fig12",
    "fig13",
    "fig14",
)


def get_item(id: str) -> Item:
    """The item of that id."""
    if id not in IDS:
        near = difflib.get_close_matches(id, IDS, n=1)
        hint = f"did you mean `{near[0]}`? " if near else ""
        raise InputError(f"item `{id}` is unknown; {hint}known: {', '.join(IDS)}")
    return importlib.import_module(f"passband.paper.{id}").ITEM
