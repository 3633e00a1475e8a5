import base64
import hashlib
import io
import math
import os
import re
import shlex
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from passband.errors import InputError
from passband.export.report import image_bytes, write_report
from passband.export.report_page import duration, flatten, number, picture, text_of
from passband.plot.triptych import triptych

CONFIG = {
    "task": "image",
    "file": "photo.png",
    "network": {"layers": 4, "width": 256},
    "training": {"rate": 1e-3, "schedule": None},
    "deterministic": False,
}
RESULT = {
    "task": "image",
    "mapping": "gaussian:10",
    "sigma": 10.0,
    "steps": 2000,
    "seconds": 151.2,
    "parameters": 263_683,
    "bytes": {"model": 1_057_804, "source": 422_355},
    "device": "NVIDIA H200",
    "precision": "bfloat16",
    "metrics": {"psnr": 28.1334, "ssim": 0.83456, "psnr_test": 27.5},
    "run": "runs/photo",
    "model": "runs/photo/model.safetensors",
}
HISTORY = {
    "step": [1, 2, 3],
    "seconds": [0.1, 0.2, 0.3],
    "loss": [0.3, 0.2, 0.1],
    "psnr": [2.0, 4.0, 7.0],
}


class Page(HTMLParser):
    """The tags, the images, the links and the words of a page."""

    VOID = frozenset({"meta", "img", "br", "link"})
    WORDLESS = ("style", "script")

    def __init__(self, text):
        super().__init__()
        self.tags, self.images, self.open, self.words = [], [], [], []
        self.addresses: list[str] = []
        self.feed(text)
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset", "action", "data"):
                self.addresses.append(value or "")
        if tag == "img":
            self.images.append(dict(attrs))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in self.WORDLESS:
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))

    def image(self, index):
        kind, _, data = self.images[index]["src"].partition(";base64,")
        return kind, base64.b64decode(data, validate=True)


def report(path, **changes):
    given = {
        "title": "photo.png",
        "config": CONFIG,
        "result": RESULT,
        "figures": {},
        "history": HISTORY,
    }
    write_report(path, **(given | changes))
    return Page(path.read_text(encoding="utf-8"))


def pixels():
    target, prediction = np.random.default_rng(0).random((2, 12, 12))
    return triptych(target, prediction)


def test_the_header_says_what_was_fitted_and_how_well(tmp_path):
    text = report(tmp_path / "report.html").text
    top = text[: text.index("Training")]
    for words in (
        "image",
        "gaussian:10",
        "PSNR, all points 28.13 dB",
        "SSIM 0.8346",
        "PSNR, held out 27.50 dB",
        "Steps 2,000",
        "Parameters 263,683",
        "Model 1.06 MB, 2.5 × the source",
        "Time of training 2 min 31 s",
        "Device NVIDIA H200",
        "Precision bfloat16",
    ):
        assert words in top


def test_the_large_number_is_of_what_was_held_out(tmp_path):
    report(tmp_path / "a.html")
    shape = {"iou_uniform": 0.98, "iou_boundary": 0.93, "chamfer": 0.02}
    report(tmp_path / "b.html", result={**RESULT, "metrics": shape})
    large = re.compile(r'class="main"><dt>(.*?)</dt><dd>(.*?)</dd>')
    [held] = large.findall((tmp_path / "a.html").read_text())
    [surface] = large.findall((tmp_path / "b.html").read_text())
    assert held == ("PSNR, held out", "27.50 dB")
    assert surface == ("IoU, near the surface", "0.93")


def test_one_script_runs_and_the_policy_names_it_by_its_hash(tmp_path):
    layers = {"Target": np.eye(8), "gaussian:10": np.ones((8, 8)) / 2}
    page = report(tmp_path / "report.html", layers=layers)
    source = (tmp_path / "report.html").read_text(encoding="utf-8")
    [script] = re.findall("<script>(.*?)</script>", source, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in source
    assert all(address.startswith("data:image/") for address in page.addresses)
    assert (
        page.images[1]["alt"] == "gaussian:10, PSNR, held out 27.50 dB, PSNR 28.13 dB"
    )
    kind, data = page.image(0)
    with Image.open(io.BytesIO(data)) as image:
        np.testing.assert_array_equal(np.asarray(image), 255 * np.eye(8))
    assert kind == "data:image/png"


def test_one_picture_alone_needs_no_script(tmp_path):
    page = report(tmp_path / "report.html", layers={"gaussian:10": np.eye(8)})
    assert "script" not in page.tags


def test_the_command_and_the_versions_are_told(tmp_path):
    made = {"command": "passband fit image 'my photo.png'", "environment": {"jax": "1"}}
    text = report(tmp_path / "report.html", config={**CONFIG, **made}).text
    told = text[text.index("Made by") : text.index("Configuration")]
    assert "passband fit image 'my photo.png'" in told
    assert "jax 1" in told


def test_the_page_stands_alone(tmp_path):
    page = report(tmp_path / "report.html", figures={"triptych": pixels()})
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert page.addresses
    assert all(address.startswith("data:image/") for address in page.addresses)
    source = (tmp_path / "report.html").read_text(encoding="utf-8")
    style = source[source.index("<style>") : source.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "default-src 'none'" in source


def test_figures_come_in_their_order_and_lines_as_vectors(tmp_path):
    lines = Figure()
    lines.add_axes((0.1, 0.1, 0.8, 0.8)).plot([0, 1])
    page = report(
        tmp_path / "report.html",
        figures={"Other view": lines, "spectrum": lines, "triptych": pixels()},
    )
    kinds = [page.image(index)[0] for index in range(4)]
    # Curves (from the history), triptych, spectrum, then what the page does not know.
    assert [kind.removeprefix("data:image/") for kind in kinds] == [
        "svg+xml",
        "png",
        "svg+xml",
        "svg+xml",
    ]
    headings = re.findall(r"<h2>(.*?)</h2>", (tmp_path / "report.html").read_text())
    assert headings == [
        "Training",
        "Target, prediction, error",
        "Spectrum",
        "Other view",
        "Use this model",
        "Configuration",
    ]
    assert all(image["alt"] for image in page.images)


def test_bytes_are_embedded_as_they_are(tmp_path):
    given = b"\x89PNG\r\n\x1a\n and the rest"
    page = report(tmp_path / "report.html", figures={"preview": given}, history=None)
    assert page.image(0) == ("data:image/png", given)


def test_bytes_of_no_picture_are_refused():
    with pytest.raises(ValueError, match="`figures` holds bytes that start with"):
        picture(b"GIF89a...", "a picture")


def test_everything_is_escaped(tmp_path):
    evil = "<script>alert('&\"')</script>"
    page = report(
        tmp_path / "report.html",
        title=evil,
        config={evil: evil, "file": evil, "nested": {evil: [evil]}},
        result={
            **dict.fromkeys(("task", "mapping", "device", "precision"), evil),
            "model": f"runs/{evil}",
            "steps": 5,
            "metrics": {evil: 1.0, "psnr": evil},
            "baselines": {evil: {evil: 1.5}},
        },
        figures={evil: b"<svg></svg>"},
    )
    assert "script" not in page.tags
    assert page.text.count("<script>") > 10


def test_the_commands_are_relative_and_survive_a_shell(tmp_path):
    folder = tmp_path / "runs" / "my run"
    folder.mkdir(parents=True)
    page = report(
        folder / "report.html",
        config={"file": str(tmp_path / "my photo.png")},
        result={**RESULT, "model": str(folder / "model.safetensors")},
    )
    source = (folder / "report.html").read_text(encoding="utf-8")
    listings = re.findall(r"<pre><code>(.*?)</code></pre>", source, re.DOTALL)
    commands = [shlex.split(line) for line in page.text.split("passband ")[1:]]
    assert len(listings) == 3
    assert commands[0][:2] == ["render", "model.safetensors"]
    assert commands[1][:2] == ["info", "model.safetensors"]
    again = next(command for command in commands if command[0] == "fit")
    assert again[:7] == ["fit", "image", "--resume", "--out", ".", "--steps", "4000"]
    assert not any(str(tmp_path) in listing for listing in listings)
    compile(listings[1].replace("&#x27;", "'").replace("&gt;", ">"), "listing", "exec")


def test_a_signal_has_its_own_figure_and_command(tmp_path):
    page = report(
        tmp_path / "report.html",
        title="voice.wav",
        result={**RESULT, "task": "signal", "metrics": {"psnr": math.inf}},
        figures={"signal": b"<svg></svg>"},
    )
    assert "PSNR ∞ dB" in page.text
    assert "The shaded stretch changes most" in page.text
    assert "passband fit signal --resume --out . --steps" in page.text


def test_the_configuration_is_whole(tmp_path):
    text = report(tmp_path / "report.html").text
    table = text[text.rindex("Configuration") :]
    for name, value in flatten(CONFIG):
        assert f"{name} {value}" in table
    assert "network.layers 4" in table
    assert "training.schedule –" in table


def test_methods_by_metrics_have_the_network_and_the_best_in_bold(tmp_path):
    ours = {"psnr": 25.0, "ssim": 0.7, "error_test": 0.04}
    others = {
        "bicubic": {"psnr": 24.25, "ssim": 0.9, "error_test": 0.03},
        "spline": {"psnr": 24.5, "ssim": 0.8},
    }
    result = {**RESULT, "metrics": ours, "baselines": others}
    report(tmp_path / "r.html", result=result)
    source = (tmp_path / "r.html").read_text()
    [table] = re.findall('<table class="methods">(.*?)</table>', source)
    lines = [re.findall("<t[hd].*?>(.*?)</t[hd]>", r) for r in table.split("<tr")[1:]]
    assert lines == [
        ["Method", "PSNR (dB)", "SSIM", "Error, held out"],
        ["network, gaussian:10", "<b>25.00</b>", "0.7", "0.04"],
        ["bicubic", "24.25", "<b>0.9</b>", "<b>0.03</b>"],
        ["spline", "24.50", "0.8", "–"],
    ]


def test_a_run_with_nothing_recorded_has_a_page(tmp_path):
    page = report(
        tmp_path / "r.html",
        config={},
        result={},
        history={"step": [], "seconds": [], "loss": [], "psnr": []},
    )
    assert not page.images


def test_the_same_run_gives_the_same_bytes(tmp_path):
    report(tmp_path / "a.html", figures={"triptych": pixels()})
    report(tmp_path / "b.html", figures={"triptych": pixels()})
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_failure_leaves_the_old_page(tmp_path):
    path = tmp_path / "report.html"
    report(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="`figures`"):
        report(path, figures={"preview": b"nonsense"})
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(InputError, match=r"`.*report\.html` cannot be written"):
        report(tmp_path / "no such folder" / "report.html")
    with pytest.raises(InputError, match="is a folder"):
        report(tmp_path)


def test_figures_with_pixels_are_png():
    assert image_bytes(pixels()).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3.21, "3.2 s"), (59.96, "60.0 s"), (61, "1 min 1 s"), (7260, "2 h 1 min")],
)
def test_durations_read_as_speech(seconds, words):
    assert duration(seconds) == words


def test_values_read_as_words():
    assert text_of([1, 2.5, None]) == "1, 2.5, –"
    assert text_of(True) == "yes"
    assert text_of({}) == "–"
    assert number(math.nan) == "not a number"
    assert number(-math.inf) == "−∞"
    assert number(0.001) == "0.001"
