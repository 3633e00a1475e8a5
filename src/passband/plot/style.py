"""The one look of every figure: its type, its inks, and one colour per mapping."""

import colorsys
import functools
import io
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")

# Any two stay at least 10 CIEDE2000 apart for normal, protan, deutan and tritan eyes,
# and all stand out from white paper; tests/plot/test_style.py measures both.
FAMILY_COLOURS = {
    "none": "#707070",
    "basic": "#009E73",
    "positional": "#0072B2",
    "gaussian": "#D55E00",
    "uniform": "#5BB8F0",
    "loguniform": "#D585B8",
    "laplace": "#7A1248",
    "dense": "#C9A800",
    "octaves": "#2A1A78",
}
# A second sign beside the colour, for prints in grey.
FAMILY_DASHES = {
    "none": (0, (1, 1.2)),
    "basic": (0, (5, 1.5)),
    "positional": (0, (7, 1.5, 1.5, 1.5)),
    "octaves": (0, (3, 1.2)),
    "dense": (0, (7, 1.5, 1.5, 1.5, 1.5, 1.5)),
}
FAMILY_NAMES = {
    "none": "No mapping",
    "loguniform": "Log-uniform",
}

INK = "#1F2328"
MUTED = "#6A7178"
RULE = "#D5D9DE"
PAPER = "#FFFFFF"
TARGET = INK
RESIDUAL = "#A0A6AD"
PNG_LEVEL = 4
"""Of zlib: files are 2 % larger than at its usual 6, made in half the time."""

STYLE = {
    # The one sans that matplotlib ships, so a figure is the same on every machine.
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "mathtext.fontset": "dejavusans",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 5,
    "axes.titlecolor": INK,
    "axes.labelsize": 9,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": "#9AA1A9",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "text.color": INK,
    "xtick.color": "#9AA1A9",
    "ytick.color": "#9AA1A9",
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "savefig.dpi": 150,
    "svg.fonttype": "path",
    # Ids in an SVG are drawn from this salt: the same figure gives the same bytes.
    "svg.hashsalt": "passband",
}

# matplotlib's settings are one global table: two threads that changed and restored it
# at the same time would leave each other's values behind.
_lock = threading.RLock()


@contextmanager
def style() -> Iterator[None]:
    """Hold matplotlib's own defaults plus `STYLE`, then restore the caller's."""
    import matplotlib.style

    with _lock, matplotlib.style.context(["default", STYLE]):
        yield


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Make a drawing function run inside `style`."""

    @functools.wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        with style():
            return draw(*args, **kwargs)

    return inside


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure of that many inches on a canvas of its own, pyplot unaware."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def axes_at(
    figure: "Figure", left: float, top: float, width: float, height: float
) -> "Axes":
    """Axes whose frame is that box, in inches from the figure's top left corner."""
    full_width, full_height = figure.get_size_inches()
    box = (
        left / full_width,
        1 - (top + height) / full_height,
        width / full_width,
        height / full_height,
    )
    return figure.add_axes(box)


def png_bytes(figure: "Figure", *, dpi: int = 150) -> bytes:
    """The figure as a PNG file."""
    buffer = io.BytesIO()
    with style():
        figure.savefig(
            buffer, format="png", dpi=dpi, metadata={"Software": None},
            pil_kwargs={"compress_level": PNG_LEVEL},
        )  # fmt: skip
    return buffer.getvalue()


def svg_bytes(figure: "Figure") -> bytes:
    """The figure as an SVG file whose letters are outlines: it needs no font."""
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def family_of(word: str) -> str | None:
    """The family a mapping word opens with ("gaussian" for "gaussian:10,m=64")."""
    match = re.match(r"[a-z]+", word.strip().lower())
    return match[0] if match and match[0] in FAMILY_COLOURS else None


def colour_of(word: str) -> str:
    """The colour of a mapping word's family; plain ink for any other label."""
    family = family_of(word)
    return INK if family is None else FAMILY_COLOURS[family]


def readable(colour: str) -> str:
    """The colour, darkened until letters in it stand out from white by 4.5 to 1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    while _luminance(channels) + 0.05 > 1.05 / 4.5:
        channels = [0.97 * c for c in channels]
    return _hex(channels)


def label_of(word: str) -> str:
    """A mapping word as a reader says it: "Gaussian 10 (m = 64)".

    What is not a mapping word stays as it is.
    """
    family = family_of(word)
    if family is None:
        return word
    name = FAMILY_NAMES.get(family, family.capitalize())
    _, _, rest = word.strip().partition(":")
    values, options = [], []
    for part in filter(None, rest.split(",")):
        key, sign, value = part.partition("=")
        if sign and key != "scale":
            options.append(f"{key} = {value}")
        else:
            values.append(value if sign else key)
    text = " ".join([name, *values])
    return f"{text} ({', '.join(options)})" if options else text


def colours_of(labels: Sequence[str]) -> dict[str, str]:
    """A colour for each label of one figure, no two alike.

    Words of one family share its hue and run from light to dark in the order given.
    Labels that are no mapping words take the colours of families not present.
    """
    groups: dict[str | None, list[str]] = {}
    for label in dict.fromkeys(labels):
        groups.setdefault(family_of(label), []).append(label)
    strangers = groups.pop(None, [])
    colours: dict[str, str] = {}
    for family, members in groups.items():
        assert family is not None
        colours.update(_shades(members, FAMILY_COLOURS[family]))
    order = [*list(FAMILY_COLOURS)[1:], "none"]  # grey last: it is too near to ink
    spare = [INK, *(FAMILY_COLOURS[f] for f in order if f not in groups)]
    for hue in range(len(spare)):
        members = strangers[hue :: len(spare)]
        colours.update(_shades(members, spare[hue]))
    return {label: colours[label] for label in labels}


def dash_of(word: str) -> str | tuple[float, tuple[float, ...]]:
    """The dash pattern of a mapping word's family, solid unless it has one."""
    return FAMILY_DASHES.get(family_of(word) or "", "-")


def _shades(members: Sequence[str], colour: str) -> dict[str, str]:
    """One colour for each member, from light to dark about the family's own."""
    if len(members) == 1:
        return {members[0]: colour}
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    brightest, darkest = max(light, 0.70), min(light, 0.42) * 0.6
    shades = {}
    for rank, member in enumerate(members):
        share = rank / (len(members) - 1)
        level = brightest + (darkest - brightest) * share
        shades[member] = _hex(colorsys.hls_to_rgb(hue, level, saturation))
    return shades


def _hex(channels: Iterable[float]) -> str:
    return "#" + "".join(f"{round(255 * c):02X}" for c in channels)


def _luminance(channels: Sequence[float]) -> float:
    """Relative luminance of an sRGB colour, as WCAG 2 defines it."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
