"""The report of a run: one HTML page that stands alone."""

import os
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passband.atomic_write import atomic_write
from passband.export import report_page as html
from passband.export.report_scores import (
    header_metrics,
    known_first,
    methods_table,
    score,
    score_note,
)
from passband.export.swipe import CSS, SCRIPT, swipe
from passband.version import __version__

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

# Heading, what it shows, what a reader who does not see it is told.
FIGURES = {
    "curves": (
        "Training",
        "The loss is what is trained: for values, half the mean squared error. PSNR is "
        "of the points of a step; what was held out is dashed.",
        "Curves of loss, PSNR or error against steps.",
    ),
    "triptych": (
        "Target, prediction, error",
        "The box marks the most detailed part; it is magnified to single pixels.",
        "Target, prediction and absolute error, whole and magnified.",
    ),
    "signal": (
        "Target, prediction, error",
        "The shaded stretch changes most; it is magnified to single samples.",
        "Target and prediction as curves, a magnified stretch, and their difference.",
    ),
    "spread": (
        "Spread of the members",
        "The standard deviation over the networks that the model is the mean of: where "
        "they differ they cannot all be right. Beside it, if the truth is known, how "
        "far their mean is off; each has its own scale.",
        "The standard deviation over the members, and the error of their mean.",
    ),
    "scale": (
        "Which scale",
        "How well data that were held out are predicted, against the scale; the line "
        "marks the one that was chosen. Pale curves are earlier, for more scales.",
        "Curves of held-out error against the scale of the mapping.",
    ),
    "spectrum": (
        "Spectrum",
        "How much power each frequency holds. Where the residual reaches the target, "
        "the field has learned nothing of that frequency.",
        "Power against frequency for target, prediction and residual.",
    ),
}


MOST_INPUTS = 8


def write_report(
    path: str | os.PathLike[str],
    *,
    title: str,
    config: Mapping[str, Any],
    result: Mapping[str, Any],
    figures: "Mapping[str, Figure | bytes]",
    history: Mapping[str, Sequence[float | None]] | None = None,
    layers: "Mapping[str, np.ndarray] | None" = None,
    render_example: str = "--out rendered.npy",
) -> None:
    """Write one self-contained HTML page about a run; the file is whole or not there.

    It fetches nothing, runs no script but the one that lays pictures over each other,
    and reads on a phone and on paper.

    Args:
        title: what was fitted, usually the name of the file.
        config: all that is needed to run it again; nested dictionaries are flattened.
        result: what `--json` prints: task, mapping, steps, seconds, device, metrics...
        figures: by name. `curves`, `triptych`, `signal`, `spread`, `scale`, `spectrum`
            come first, in this order and with a caption; any other name is its own
            heading.
        history: columns `step`, `seconds`, `loss`, `psnr`, from which the curves are
            drawn unless `figures` has them.
        layers: pictures of one shape to swipe and blink between, by name: the target,
            the network's under its mapping's word, other methods'.
        render_example: what to try with `passband render` first.
    """
    from passband.plot.style import colour_of, readable

    mapping = str(result.get("mapping", ""))
    if (tuned := result.get("tuned")) and tuned["curves"]:
        from passband.plot.sigma_curve import choice_figure

        figures = {**figures, "scale": choice_figure(tuned)}
    body = [*_header(title, result, mapping), *_beside(result, mapping)]
    with ThreadPoolExecutor(1) as pool:  # zlib works beside Python
        packed = pool.submit(_layers, layers or {}, result, mapping)
        drawn = _figures(figures, history, mapping)
        swiped = packed.result()
    body += [*swiped, *_prior(result.get("prior")), *drawn]
    body += _usage(config, result, render_example)
    body += _phases(result.get("phases"))
    body += _origin(config)
    body += ["<h2>Configuration</h2>", html.table(html.flatten(_shown(config)))]
    body += [f"<footer>passband {html.escape(__version__)}</footer>"]
    accent, script = readable(colour_of(mapping)), SCRIPT if swiped else ""
    text = html.page(title, accent, body, css=CSS if swiped else "", script=script)
    with atomic_write(path) as part:
        # A file's name may hold bytes that are no text.
        part.write_text(text, encoding="utf-8", errors="replace")


def _shown(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration less what has a place of its own; of hundreds of pictures, how
    many they are."""
    inputs = config.get("inputs")
    config = {k: v for k, v in config.items() if k not in ("command", "environment")}
    if not isinstance(inputs, dict) or len(inputs) <= MOST_INPUTS:
        return config
    return {**config, "inputs": f"{len(inputs)} files, listed in config.json"}


def image_bytes(figure: "Figure | bytes") -> bytes:
    """Lines as SVG, which stays sharp in print; anything with pixels as PNG."""
    from passband.plot.style import png_bytes, svg_bytes

    if isinstance(figure, bytes):
        return figure
    if any(axes.get_images() for axes in figure.axes):
        return png_bytes(figure)
    return svg_bytes(figure)


def _header(title: str, result: Mapping[str, Any], mapping: str) -> list[str]:
    """What it is and how well it went, before anything else."""
    entries = header_metrics(dict(result.get("metrics") or {}))
    if isinstance(result.get("spread"), float):
        label = "Spread of the members, mean"
        entries.append((label, score(result["spread"], ""), False))
    for key in ("members", "parameters", "steps"):
        if isinstance(value := result.get(key), int):
            entries.append((key.capitalize(), f"{value:,}", False))
    if told := _bytes(result.get("bytes")):
        entries.append(("Model", told, False))
    if result.get("seconds") is not None:
        entries.append(("Time of training", html.duration(result["seconds"]), False))
    for key in ("device", "precision"):
        if result.get(key) is not None:
            entries.append((key.capitalize(), html.text_of(result[key]), False))
    task = html.escape(str(result.get("task", "fit")))
    word = html.escape(mapping or "–")
    parts = [
        "<header>",
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="lead">{task}, mapping <code>{word}</code></p>',
        html.facts(entries),
    ]
    if result.get("evaluated"):
        told = f"Numbers and pictures are of {html.escape(str(result['evaluated']))}."
        parts.append(f'<p class="note">{told}</p>')
    return [*parts, "</header>"]


def _bytes(sizes: Any) -> str | None:
    """The model's bytes, and how many times those of the source they are."""
    if not isinstance(sizes, Mapping) or not isinstance(sizes.get("model"), int):
        return None
    model, source = sizes["model"], sizes.get("source", sizes.get("mesh"))
    told = html.size(model)
    if isinstance(source, int) and source > 0:
        told += f", {model / source:.2g} × the source"
    return told


def _beside(result: Mapping[str, Any], mapping: str) -> list[str]:
    """Methods by metrics, the network among them."""
    others = result.get("baselines")
    if not others:
        return []
    named = f"network, {mapping}" if mapping else "network"
    parts = [
        "<h2>Beside other methods</h2>",
        '<p class="note">On the same data; the best of each column in bold.</p>',
        methods_table(named, result.get("metrics") or {}, others),
    ]
    if late := result.get("left_out"):
        told = html.escape(", ".join(map(str, late)))
        parts.append(f'<p class="note">No time was left for {told}.</p>')
    return parts


def _layers(
    layers: "Mapping[str, np.ndarray]", result: Mapping[str, Any], mapping: str
) -> list[str]:
    """The pictures over each other, where there are two or more."""
    if len(layers) < 2:
        return []
    scores = {mapping: result.get("metrics") or {}, **(result.get("baselines") or {})}
    notes = {name: score_note(found) for name, found in scores.items()}
    return [
        "<h2>Look closely</h2>",
        '<p class="note">Drag over the picture, or move the slider, to see one through '
        "the other; blink shows both in turn.</p>",
        swipe(layers, notes),
    ]


def _prior(prior: Mapping[str, Any] | None) -> list[str]:
    """What was added to the loss, and how its weight was chosen."""
    if not prior:
        return []
    tried, weight = prior["tried"], prior["weight"]
    said = f"Total variation of the field, with a weight of {weight:g}."
    if tried and not weight:
        said = "None: no weight of total variation predicts what was held out better."
    if not tried:
        return ["<h2>Prior</h2>", f'<p class="note">{html.escape(said)}</p>']
    said += (
        " Relative errors of what was held out after a short training with each; a "
        "longer one asks for less than the best of these:"
    )
    rows = [(f"weight {name}", f"{error:.2%}") for name, error in tried.items()]
    return [
        "<h2>Prior</h2>", f'<p class="note">{html.escape(said)}</p>', html.table(rows)
    ]  # fmt: skip


def _phases(phases: Mapping[str, float] | None) -> list[str]:
    """Where the time went."""
    if not phases:
        return []
    said = "Of this sitting, until this page was drawn."
    rows = [(name, html.duration(seconds)) for name, seconds in phases.items()]
    return ["<h2>Where the time went</h2>", f'<p class="note">{said}</p>',
            html.table(rows)]  # fmt: skip


def _origin(config: Mapping[str, Any]) -> list[str]:
    """The command as it was typed, and the versions of what ran."""
    parts: list[str] = []
    if config.get("command"):
        parts.append(html.listing("The command, as it was typed.", config["command"]))
    known = config.get("environment")
    if isinstance(known, Mapping) and known:
        parts.append(html.table(html.flatten(known)))
    return ["<h2>Made by</h2>", *parts] if parts else []


def _figures(
    figures: "Mapping[str, Figure | bytes]",
    history: Mapping[str, Sequence[float | None]] | None,
    mapping: str,
) -> list[str]:
    """The known figures in their order, then the others in the caller's."""
    drawn = dict(figures)
    if "curves" not in drawn and history and len(history.get("step", ())):
        from passband.plot.curves import training_curves

        drawn["curves"] = training_curves(history, mapping=mapping)
    parts: list[str] = []
    for name in known_first(FIGURES, drawn):
        heading, note, description = FIGURES.get(name, (name, "", name))
        parts.append(f"<h2>{html.escape(heading)}</h2>")
        parts.append(f'<p class="note swipe">{html.escape(note)}</p>')
        parts.append(html.picture(image_bytes(drawn[name]), description))
    return parts


def _usage(config: Mapping[str, Any], result: Mapping[str, Any], out: str) -> list[str]:
    """Command lines for the folder of the page: render, load, go on."""
    task = str(result.get("task", ""))
    name = Path(str(result.get("model") or "model.safetensors")).name
    model = shlex.quote(name)
    parts = [
        "<h2>Use this model</h2>",
        '<p class="note">In the folder of this page:</p>',
        html.listing(
            "Render it at another resolution, or see what it holds.",
            f"passband render {model} {out}\npassband info {model}",
        ),
        html.listing(
            "Load it from Python.",
            "import passband as pb\n\n"
            f"model = pb.load({name!r})\n"
            "values = model(coords)  # (n, d) -> (n, c), in the units of the data",
        ),
    ]
    steps = result.get("steps")
    if task and isinstance(steps, int):
        # A run that was stopped early goes on to its end first: steps only grow.
        more = max(2 * steps, config.get("steps", 0))
        parts.append(
            html.listing(
                "Go on training from where it stopped.",
                f"passband fit {task} --resume --out . --steps {more}",
            )
        )
    return parts
