"""The page about a choice: the scale, how sure it is, every scale that was tried."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..atomic_write import atomic_write
from ..plot.style import colour_of, readable
from ..tuning.choice import Choice
from ..version import __version__
from . import report_page as html
from .report import image_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVE = (
    "How well a field predicts what it was not shown, against its scale, with the "
    "spread over seeds. Pale curves are earlier comparisons. The line marks the "
    "choice, the middle of the top"
)
ABOVE = {
    "views": " and {:.0%} more: scenes learn high frequencies late, and a fit is "
    "longer than these trials",
    "": " and {:.0%} more: what lies between samples is nearer to them than those that "
    "were held out, and bears a higher scale",
}
"""By what was held out."""
PREDICTED = " The kernel's prediction is moved to their height: its order counts."


def write_choice(
    path: Path,
    choice: Choice,
    *,
    title: str,
    task: str,
    device: str,
    command: str,
    figure: "Figure | None",
) -> None:
    """Write one HTML page that stands alone; the file is whole or not there.

    Args:
        command: the fit that the choice was made for.
        figure: its curve, where there is one.
    """
    word = html.escape(choice.mapping)
    body = [
        "<header>",
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="lead">Scale for <code>{html.escape(choice.given)}</code>, '
        f"{html.escape(task)}: <code>{word}</code></p>",
        html.facts(_facts(choice, device)),
        "</header>",
        "<h2>What the data say</h2>",
        *(f"<p>{html.escape(_sentence(note))}</p>" for note in _said(choice)),
    ]
    if figure is not None:
        known, more = choice.predicted is not None, choice.above - 1
        why = ABOVE.get(choice.held, ABOVE[""])
        above = why.format(more) if more > 0 else ""
        body += [
            "<h2>Which scale</h2>",
            f'<p class="note swipe">{CURVE}{above}.{PREDICTED if known else ""}</p>',
            html.picture(image_bytes(figure), "Held-out error against the scale."),
        ]
    if choice.curves or choice.predicted is not None:
        body += ["<h2>Every scale</h2>", f"<p>{_caption(choice)}</p>", _table(choice)]
    body += [
        "<h2>Use it</h2>",
        html.listing("Train with the scale that was chosen.", command),
        "<h2>How it was found</h2>",
        html.table(_how(choice)),
        f"<footer>passband {html.escape(__version__)}</footer>",
    ]
    with atomic_write(path) as part:
        page = html.page(title, readable(colour_of(choice.mapping)), body)
        # A file's name may hold bytes that are no text.
        part.write_text(page, encoding="utf-8", errors="replace")


def _facts(choice: Choice, device: str) -> list[tuple[str, str, bool]]:
    scales = _scales(choice)
    entries = [("Scale", " / ".join(map(_short, scales)), len(scales) == 1)]
    for name, cost in choice.sides():
        if cost is not None:
            entries.append((f"{name.capitalize()} costs", f"{cost:.2f} dB", False))
    entries.append(("First guess, sigma", _short(choice.guess), False))
    if choice.nyquist is not None:
        entries.append(("Nyquist frequency", _short(choice.nyquist), False))
    entries.append(("Time", html.duration(sum(choice.seconds.values())), False))
    return [*entries, ("Device", device, False)]


def _said(choice: Choice) -> list[str]:
    clear = "the best scale has worse ones on either side, all tried to the end"
    return choice.caveats() or [clear]


def _scales(choice: Choice) -> list[float]:
    """The chosen scale, or that of each axis."""
    number = choice.mapping.partition(":")[2].partition(",")[0]
    parts = number.split("/")
    return [float(part) for part in parts] if len(parts) > 1 else [choice.scale]


def _caption(choice: Choice) -> str:
    ranks = []
    for first, then, value in (
        ("first", "last comparison", choice.agreement),
        ("kernel", "first comparison", choice.kernel_agreement),
    ):
        if value is not None:
            ranks.append(f"{first} and {then} {value:.2f}")
    text = f"Held-out {html.escape(choice.held)}, in dB; higher is better."
    if ranks:
        text += f" Rank correlation over the scales: {'; '.join(ranks)}."
    return text


def _table(choice: Choice) -> str:
    head = ["scale", *(f"{c.steps:,} steps" for c in choice.curves)]
    head += ["cost (dB)"] if choice.curves else []
    head += [] if choice.predicted is None else ["kernel"]
    rows = []
    for i, word in enumerate(choice.words):
        cells = [word.partition(":")[2].partition(",")[0]]
        for curve in choice.curves:
            mean, spread = curve.mean[i], curve.spread[i]
            known = mean is not None and spread is not None
            cells.append(f"{mean:.2f} ± {spread:.2f}" if known else "")
        if choice.curves:
            cells.append(_two(choice.cost[i]))
        if choice.predicted is not None:
            cells.append(_two(choice.predicted[i]))
        rows.append("".join(f"<td>{html.escape(cell)}</td>" for cell in cells))
    top = "".join(f'<th scope="col" style="width:auto">{h}</th>' for h in head)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        '<figure tabindex="0"><table style="min-width:34rem"><thead><tr>'
        f"{top}</tr></thead><tbody>{body}</tbody></table></figure>"
    )


def _how(choice: Choice) -> list[tuple[str, str]]:
    trials = choice.trials
    rows = {
        "seeds": trials["seeds"],
        "steps": trials["steps"],
        "points a step": trials["batch"],
        "width": trials["width"],
        "layers": trials["layers"],
        "share of the data that they see": trials["share"],
    }
    rows = rows if choice.curves else {}
    return [
        *((f"trials: {k}", html.text_of(v)) for k, v in rows.items()),
        *((f"seconds: {k}", html.text_of(v)) for k, v in choice.seconds.items()),
        ("known from an earlier choice", html.text_of(choice.cached)),
    ]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _short(value: float) -> str:
    return f"{value:.3g}"
