"""The explorer as one HTML file: many networks of a picture, and what they show."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .page import page

SCRIPTS = ("panel.js", "plots.js", "explorer.js")
HEADINGS = {
    "curve": (
        "Error against the scale",
        "Trained pixels, and those between them. The best scale is the top of the "
        "second curve.",
    ),
    "drawn": (
        "The frequencies drawn",
        "The rows of B: what the network can begin with.",
    ),
    "spectra": (
        "What passes",
        "The kernel's power by frequency beside the picture's. Where the kernel has "
        "little, a frequency is learned late or never; where it has much and the "
        "picture has little, noise passes.",
    ),
    "signal": (
        "The row",
        "Dashed: the picture's. Dots: what trains. Line: what is learned.",
    ),
    "bands": (
        "Loss per frequency band",
        "Measured (lines) and predicted by the kernel (dashed): low frequencies first, "
        "and how much later the others follow is up to the mapping.",
    ),
    "row-spectra": ("What passes", "The same two spectra for the row."),
}


def explorer_page(data: Mapping[str, Any], *, title: str | None = None) -> str:
    """The HTML of what `kinds.explore.explore` gives."""
    heading = title or f"{data['name']}: what sigma does"
    families = [(f["name"], f["label"]) for f in data["families"]]
    depths = [(str(n), str(n)) for n in data["layers"]]
    row = data["row"]
    rows = [("p", "power law p"), ("sigma", "Gaussian"), ("none", "none")]
    body = [
        f"<h1>{escape(heading)}</h1>",
        '<p class="lead">A small network has learned this picture from every other row '
        "and column. It sees a pixel's place through Fourier features, and sigma says "
        "how high their frequencies are. Move it.</p>",
        '<div class="two"><div><div class="stick">',
        '<canvas id="picture" role="img" '
        'aria-label="the picture as the network has it"></canvas>',
        _slider("sigma", "sigma"),
        "</div>",
        f'<div class="control">{_choices("family", "Mapping", families)}</div>',
        f'<div class="control">{_choices("layers", "Layers", depths)}'
        '<button type="button" id="original" aria-pressed="false">Show the picture '
        "itself</button></div>",
        '<p id="verdict" aria-live="polite"></p>',
        _numbers(
            [
                ("Mapping", "word"),
                ("PSNR, trained pixels", "train"),
                ("PSNR, pixels between", "test"),
                ("Evaluated in", "time"),
            ]
        ),
        '</div><div class="plots">',
        _plot("curve"),
        _plot("spectra"),
        "<figure><figcaption><b>The composed NTK</b>: how far a pixel that is learned "
        'reaches, about the middle of the picture.</figcaption><div class="pair">'
        '<canvas id="kernel" role="img" aria-label="the kernel about the middle">'
        '</canvas><svg id="cut"></svg></div></figure>',
        _plot("drawn"),
        "</div></div>",
        "<h2>One row of it, and the theory's prediction</h2>",
        "<p>The middle row of the picture, every fourth point trained by plain "
        "gradient descent, for which the kernel predicts each frequency's error at "
        "each step. A power law a<sub>j</sub> = j<sup>-p</sup> weighs the "
        f"frequencies 1 to {len(row['signal']) // 8}: p = 0 passes all alike, a large "
        "p only the lowest.</p>",
        f'<div class="control">{_choices("row", "Mapping", rows)}</div>',
        _slider("power", "p"),
        '<div class="plots">',
        *map(_plot, ("signal", "bands", "row-spectra")),
        "</div>",
        _numbers(
            [
                ("Mapping", "row-word"),
                ("MSE, trained points", "row-train"),
                ("MSE, points between", "row-test"),
            ]
        ),
        "<h2>How this was made</h2>",
        f'<p class="note">{escape(_made(data))} The picture is evaluated here, by '
        '<span id="backend">a script</span>, at every move.</p>',
    ]
    return page(heading, body, data, SCRIPTS)


def _made(data: Mapping[str, Any]) -> str:
    made, row, networks = data["made"], data["row"], len(data["networks"])
    one = next(iter(data["networks"].values()))["spec"]["layers"]
    return (
        f"{networks} networks of {one[0][1]} units a layer, each trained for "
        f"{made['steps']} steps of {made['points']:,} pixels "
        f"({made['optimiser']}, rate {made['rate']:g} to 0 along a cosine), their "
        "numbers rounded to float16; kernels by passband.theory. The row: networks of "
        f"{row['layers']} layers of {row['width']} units, gradient descent at a rate "
        f"of {row['rate']:g}. All of it took {made['seconds']:g} s on {made['device']}."
    )


def _plot(name: str) -> str:
    heading, text = HEADINGS[name]
    return (
        f"<figure><figcaption><b>{heading}.</b> {text}</figcaption>"
        f'<svg id="{name}"></svg></figure>'
    )


def _slider(name: str, label: str) -> str:
    return (
        f'<div class="control"><label for="{name}" id="{name}-name">{label}</label>'
        f'<input type="range" id="{name}" min="0" max="1" step="1" value="0">'
        f'<output id="{name}-value" for="{name}"></output></div>'
    )


def _choices(name: str, legend: str, values: Sequence[tuple[str, str]]) -> str:
    boxes = "".join(
        f'<label class="choice"><input type="radio" name="{name}" value="{value}">'
        f"{escape(text)}</label>"
        for value, text in values
    )
    return f"<fieldset><legend>{legend}</legend>{boxes}</fieldset>"


def _numbers(entries: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f'<div><dt>{name}</dt><dd id="{key}">–</dd></div>' for name, key in entries
    )
    return f'<dl class="facts">{cells}</dl>'
