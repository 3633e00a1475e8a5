"""The report of a run: one HTML page that stands alone."""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passband.atomic_write import atomic_write
from passband.export import report_page as html
from passband.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRICS = {
    "psnr": ("PSNR", "dB"),
    "psnr_train": ("PSNR, training points", "dB"),
    "psnr_test": ("PSNR, held-out points", "dB"),
    "ssim": ("SSIM", ""),
    "iou_uniform": ("IoU, uniform points", ""),
    "iou_boundary": ("IoU, near the surface", ""),
    "chamfer": ("Chamfer distance, in units of the mesh", ""),
    "error_train": ("Relative error, trained measurements", ""),
    "error_test": ("Relative error, held-out measurements", ""),
}

# Heading, what it shows, what a reader who does not see it is told.
FIGURES = {
    "curves": (
        "Training",
        "Loss and PSNR against steps and against seconds.",
        "Curves of loss and PSNR against steps and against seconds.",
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
    render_example: str = "--out rendered.npy",
) -> None:
    """Write one self-contained HTML page about a run; the file is whole or not there.

    It fetches nothing and runs no script, and reads on a phone and on paper.

    Args:
        title: what was fitted, usually the name of the file.
        config: all that is needed to run it again; nested dictionaries are flattened.
        result: what `--json` prints: task, mapping, steps, seconds, device, metrics...
        figures: by name. `curves`, `triptych`, `signal`, `spread`, `scale`, `spectrum`
            come first, in this order and with a caption; any other name is its own
            heading.
        history: columns `step`, `seconds`, `loss`, `psnr`, from which the curves are
            drawn unless `figures` has them.
        render_example: what to try with `passband render` first.
    """
    from passband.plot.style import colour_of, readable

    mapping = str(result.get("mapping", ""))
    if (tuned := result.get("tuned")) and tuned["curves"]:
        from passband.plot.sigma_curve import choice_figure

        figures = {**figures, "scale": choice_figure(tuned)}
    body = [*_header(title, result, mapping)]
    body += _prior(result.get("prior"))
    body += _figures(figures, history, mapping or "run")
    body += _usage(config, result, render_example)
    body += _phases(result.get("phases"))
    body += ["<h2>Configuration</h2>", html.table(html.flatten(_shown(config)))]
    body += [f"<footer>passband {html.escape(__version__)}</footer>"]
    text = html.page(title, readable(colour_of(mapping)), body)
    with atomic_write(path) as part:
        # A file's name may hold bytes that are no text.
        part.write_text(text, encoding="utf-8", errors="replace")


def _shown(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration; of a scene's hundreds of pictures, how many they are."""
    inputs = config.get("inputs")
    if not isinstance(inputs, dict) or len(inputs) <= MOST_INPUTS:
        return dict(config)
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
    metrics = dict(result.get("metrics") or {})
    entries: list[tuple[str, str, bool]] = []
    for name in _known_first(METRICS, metrics):
        label, unit = METRICS.get(name, (name, ""))
        main = name in ("psnr", "ssim", "iou_boundary")
        entries.append((label, _score(metrics[name], unit), main))
    entries.sort(key=lambda entry: not entry[2])
    if isinstance(result.get("spread"), float):
        label = "Spread of the members, mean"
        entries.append((label, _score(result["spread"], ""), False))
    for key, label in (("members", "Members"), ("steps", "Steps"), ("seconds", "Time")):
        value = result.get(key)
        if value is not None:
            text = html.duration(value) if key == "seconds" else f"{value:,}"
            entries.append((label, text, False))
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
        "</header>",
    ]
    baselines = result.get("baselines")
    if baselines:
        parts += ["<h2>Beside other methods</h2>", html.table(html.flatten(baselines))]
    return parts


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


def _known_first(known: Iterable[str], given: Iterable[str]) -> list[str]:
    """The given names, known ones in the order they are known in, then the others."""
    given = list(given)
    order = [name for name in known if name in given]
    return order + [name for name in given if name not in order]


def _score(value: Any, unit: str) -> str:
    """A metric: dB to two places, shares to four."""
    if not isinstance(value, int | float):
        return html.text_of(value)
    text = html.number(value)
    if text.lstrip("-")[:1].isdigit():
        text = f"{value:.2f}" if unit == "dB" else f"{value:.4g}"
    return f"{text} {unit}".strip()


def _figures(
    figures: "Mapping[str, Figure | bytes]",
    history: Mapping[str, Sequence[float | None]] | None,
    label: str,
) -> list[str]:
    """The known figures in their order, then the others in the caller's."""
    drawn = dict(figures)
    if "curves" not in drawn and history and len(history.get("step", ())):
        from passband.plot.curves import training_curves

        drawn["curves"] = training_curves({label: history})
    parts: list[str] = []
    for name in _known_first(FIGURES, drawn):
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
