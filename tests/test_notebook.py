"""What a notebook shows of a model, a choice and a comparison."""

import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

import passband as pb
from passband.field import make_field
from passband.kinds.comparison import Comparison, Row
from passband.model_file import save
from passband.tuning.choice import Choice, Curve


class Cells(HTMLParser):
    """Texts of the cells, and which of them are bold."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, bool]] = []
        self.open: bool | None = None
        self.tags: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.open = "bold" in (dict(attrs).get("style") or "")

    def handle_data(self, data):
        if self.open is not None:
            self.found.append((data, self.open))

    def handle_endtag(self, tag):
        self.open = None


def test_a_model_shows_its_numbers_and_its_picture(tmp_path):
    field = make_field("gaussian:3,m=8", d=2, out=3, key=0, width=8, layers=2)
    facts = {"shape": [20, 30, 3], "low": 0.0, "high": 255.0, "bits": 8}
    save(field, tmp_path / "m.safetensors", task="image", mapping="gaussian:3,m=8",
         metrics={"psnr": 33.333}, **facts)  # fmt: skip
    model = pb.load(tmp_path / "m.safetensors")
    html = model._repr_html_()
    texts = [text for text, _ in Cells(html).found]
    assert "33.33 dB" in texts and "16-8-3" in texts and "3 cycles" in texts
    data = re.search(r"base64,([^\"]+)", html)
    assert data is not None
    seen = np.asarray(Image.open(io.BytesIO(base64.b64decode(data[1]))), float)
    assert np.abs(seen - model.render(resolution=160)).max() <= 0.51
    model.page(tmp_path / "m.html")
    page = (tmp_path / "m.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "//" not in page.split("<script")[0]


def test_a_comparison_has_its_best_row_in_bold_and_no_name_is_markup():
    rows = [
        Row("ours", metrics={"psnr": 30.0}),
        Row("<script>", metrics={"psnr": 31.0}),
    ]
    found = Comparison.of(rows, kind="signal", title="x", equal="bytes", device="cpu")
    cells = Cells(found._repr_html_())
    assert ("<script> *", True) in cells.found and ("ours", False) in cells.found
    assert "script" not in cells.tags


@pytest.mark.parametrize("curves", [True, False])
def test_a_choice_lists_every_scale_that_was_tried(curves):
    tried = [Curve(100, [20.0, 25.0, None], [0.1, 0.1, None])] if curves else []
    choice = Choice(
        mapping="gaussian:8", given="gaussian:auto", scale=8.0, sigma=8.0,
        conclusive=True, notes=["two seeds"], guess=7.0, nyquist=64.0,
        words=["gaussian:4", "gaussian:8", "gaussian:16"], scales=[4.0, 8.0, 16.0],
        sigmas=[4.0, 8.0, 16.0], axes=[None] * 3, predicted=None, curves=tried,
        untried=[], blank=None, cost=[5.0, 0.0, None], half=5.0, twice=None,
        agreement=None, kernel_agreement=None, seconds={}, trials={},
    )  # fmt: skip
    html = choice._repr_html_()
    cells = Cells(html).found
    assert "gaussian:8, chosen for gaussian:auto" in html and "two seeds" in html
    assert (("gaussian:8", True) in cells) == curves
    assert (("gaussian:4", False) in cells) == curves
