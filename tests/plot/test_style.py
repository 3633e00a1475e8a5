import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import matplotlib
import numpy as np
import pytest
from skimage.color import deltaE_ciede2000, rgb2lab

from passband.mappings import MAPPINGS
from passband.plot.curves import training_curves
from passband.plot.style import (
    FAMILY_COLOURS,
    INK,
    colour_of,
    colours_of,
    dash_of,
    label_of,
    png_bytes,
    readable,
    svg_bytes,
)

# Machado, Oliveira & Fernandes (2009), severity 1, on linear RGB.
EYES = {
    "normal": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
HISTORY = {"step": [1, 2, 3], "seconds": [0.1, 0.2, 0.3], "loss": [0.3, 0.2, 0.1]}


def linear(colour):
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(
        values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4
    )


def contrast_with_white(colour):
    return 1.05 / (float(linear(colour) @ [0.2126, 0.7152, 0.0722]) + 0.05)


def test_every_colour_is_that_of_a_mapping():
    assert set(FAMILY_COLOURS) <= set(MAPPINGS)


@pytest.mark.parametrize("eye", EYES)
def test_families_differ_for_every_eye(eye):
    labs = {}
    for family, colour in FAMILY_COLOURS.items():
        seen = np.clip(np.asarray(EYES[eye]) @ linear(colour), 0, 1)
        srgb = np.where(
            seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055
        )
        labs[family] = rgb2lab(srgb[None, None])
    for one, other in itertools.combinations(labs, 2):
        distance = float(deltaE_ciede2000(labs[one], labs[other])[0, 0])
        assert distance > 10, (one, other, distance)


@pytest.mark.parametrize("family", FAMILY_COLOURS)
def test_colours_stand_out_from_paper(family):
    assert contrast_with_white(FAMILY_COLOURS[family]) > 2
    assert contrast_with_white(readable(FAMILY_COLOURS[family])) > 4.45


def test_readable_leaves_dark_colours_alone():
    assert readable("#0072B2") == "#0072B2"


def test_words_of_a_family_share_its_colour():
    assert colour_of("gaussian:10") == colour_of("gaussian:scale=3,m=64")
    assert colour_of("gaussian:10") == FAMILY_COLOURS["gaussian"]
    assert colour_of("loguniform:80") == FAMILY_COLOURS["loguniform"]
    assert colour_of("nonesuch:3") == INK
    assert dash_of("gaussian:10") != dash_of("positional:6")


@pytest.mark.parametrize(
    ("word", "label"),
    [
        ("none", "No mapping"),
        ("basic", "Basic"),
        ("gaussian:10", "Gaussian 10"),
        ("gaussian:scale=10/10/3,m=64", "Gaussian 10/10/3 (m = 64)"),
        ("octaves:9,units=rad,rotate=zx45", "Octaves 9 (units = rad, rotate = zx45)"),
        ("loguniform:80", "Log-uniform 80"),
        ("the baseline: cubic", "the baseline: cubic"),
    ],
)
def test_labels_read_as_words(word, label):
    assert label_of(word) == label


def test_one_figure_never_repeats_a_colour():
    labels = [f"gaussian:{s}" for s in (1, 2, 5, 10, 20, 50)]
    labels += ["none", "basic", *(f"run {k}" for k in range(15))]
    colours = colours_of(labels)
    assert list(colours) == labels
    assert len(set(colours.values())) == len(labels)
    assert colours["none"] == FAMILY_COLOURS["none"]


def test_shades_of_a_family_run_from_light_to_dark():
    colours = colours_of([f"dense:p={p}" for p in range(6)])
    contrasts = [contrast_with_white(colour) for colour in colours.values()]
    assert contrasts == sorted(contrasts)


def test_figures_ignore_and_keep_the_users_settings():
    plain = png_bytes(training_curves(HISTORY))
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        assert png_bytes(training_curves(HISTORY)) == plain
        assert matplotlib.rcParams["font.size"] == 30
    assert plain.startswith(b"\x89PNG")


def test_figures_drawn_in_threads_are_the_same():
    before = dict(matplotlib.rcParams)
    draw = lambda _: svg_bytes(training_curves(HISTORY))  # noqa: E731
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(draw, range(8)))) == 1
    assert dict(matplotlib.rcParams) == before


def test_import_is_light_and_pyplot_stays_out():
    code = """
import sys
from passband.plot import comparison, curves, signal, spectrum, style, triptych
assert "matplotlib" not in sys.modules
style.png_bytes(triptych.triptych([[0.0, 1.0]], [[0.0, 0.5]]))
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
