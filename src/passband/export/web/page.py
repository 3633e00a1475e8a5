"""One HTML file that holds all it needs: data, scripts and style."""

import functools
import json
from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from typing import Any

from ...version import __version__

# Nothing is fetched: scripts are in the page, workers are made of them.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob: {images}; "
    "script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; "
    "connect-src {connect}"
)
FOOTER = "this file is all there is of the page, and it asks nobody for more."
EVALUATOR = ("evaluator.js", "jobs.js")
"""What workers run."""


def page(
    title: str,
    body: Iterable[str],
    data: Mapping[str, Any],
    scripts: Iterable[str],
    *,
    connect: str = "'none'",
    footer: str = FOOTER,
) -> str:
    """A whole document.

    Args:
        data: what the scripts read from the element `data`.
        scripts: files of this folder, run in this order behind the evaluator.
        connect: whom it may ask for more (a policy's `connect-src`).
        footer: what it says at its end.
    """
    evaluator = "\n".join(map(source, EVALUATOR))
    others = "\n".join(map(source, ("engine.js", *scripts)))
    images = "" if connect == "'none'" else connect
    policy = POLICY.format(connect=connect, images=images)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>",
            f"<style>{source('page.css')}</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            f"<footer>passband {escape(__version__)}; {escape(footer)}</footer>",
            "</main>",
            f'<script type="application/json" id="data">{as_json(data)}</script>',
            f'<script id="evaluator">{evaluator}</script>',
            f"<script>{others}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


@functools.cache
def source(name: str) -> str:
    """The text of a script or style beside this file."""
    return (
        resources.files("passband.export.web")
        .joinpath(name)
        .read_text(encoding="utf-8")
    )


def as_json(data: Any) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def facts(entries: Iterable[tuple[str, str]]) -> str:
    """Named values side by side."""
    cells = [
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in entries
    ]
    return f'<dl class="facts">{"".join(cells)}</dl>'
