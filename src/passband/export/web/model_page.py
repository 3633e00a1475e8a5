"""A model as one HTML file: its network, evaluated where it is looked at."""

import dataclasses
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from ...field import Field
from .network import network_data
from .page import facts, page

SCRIPTS = ("panel.js", "viewers.js")


@dataclasses.dataclass(frozen=True)
class View:
    """How a kind of data is looked at: what viewers.js takes."""

    type: str
    """One of `VIEWERS` there: plane, volume, series, surface, scene."""
    geometry: Mapping[str, Any]
    """Numbers by name: where samples lie, what 0 and 1 stand for, cameras."""
    how: str
    """What one can do with it, in a sentence."""


def model_page(
    title: str,
    field: Field,
    view: View,
    entries: Iterable[tuple[str, str]],
    *,
    options: Mapping[str, Any] | None = None,
    more: Iterable[str] = (),
    data: Mapping[str, Any] | None = None,
    scripts: Iterable[str] = (),
    **document: str,
) -> str:
    """The HTML of a model.

    Args:
        entries: facts to state, (name, value).
        options: of the engine: `backend` names the one to use.
        more: further parts of the body.
        data: what scripts find besides.
        scripts: to run behind the viewers.
        document: `connect` and `footer` of `page`.
    """
    label = f"{title}, as the network has it"
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(view.how)}</p>',
        '<div id="stage"></div>',
        '<p id="readout" aria-live="polite"></p>',
        *more,
        facts(entries),
        '<p class="note">Everything on the stage is computed here, by '
        '<span id="backend">a script</span>, from the weights of the network.</p>',
    ]
    content = {
        **(data or {}),
        "view": {"type": view.type, "label": label, **view.geometry},
        "network": network_data(field),
        "options": dict(options or {}),
    }
    return page(title, body, content, (*SCRIPTS, *scripts), **document)
