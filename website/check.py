"""Checks of the site in build/site, of every page: links and anchors lead somewhere, pictures
have a text, headings go down step by step, nothing is fetched from elsewhere.

    python website/check.py               # needs no browser
    python website/check.py --contrast    # also, in Chromium: text against its background
"""

import itertools
import json
import re
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

SITE = Path(__file__).resolve().parents[1] / "build" / "site"
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src",
           "source": "src", "video": "src", "audio": "src"}  # fmt: skip
LEAST_CONTRAST = {"large": 3.0, "text": 4.5}
"""WCAG 2.1, level AA."""


class Page(HTMLParser):
    """Anchors, links, pictures and headings of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.without_alt: list[str] = []
        self.headings: list[int] = []
        self.language = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "html":
            self.language = given.get("lang", "")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if (name := FETCHED.get(tag)) and name in given:
            kind = given.get("rel", "")
            if tag != "link" or kind in ("stylesheet", "icon", "preload"):
                self.fetched.append(given[name])
        if tag == "img" and "alt" not in given:
            self.without_alt.append(given.get("src", "")[:60])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))


def faults(site: Path) -> list[str]:
    """What is wrong, a line each."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        if name.name == "404.html":
            continue  # its links are from the root
        for link in page.links:
            if told := _dead(link, path, pages):
                found.append(f"{name}: {told}")
        for address in page.fetched:
            if re.match(r"https?:|//", address):
                found.append(f"{name}: fetches {address}")
            elif not address.startswith("data:") and not _file(address, path).exists():
                found.append(f"{name}: {address} is not there")
        found += [f"{name}: no text for {image}" for image in page.without_alt]
        found += [f"{name}: {told}" for told in _disorder(page.headings)]
        if not page.language:
            found.append(f"{name}: no language")
    return found


def _file(address: str, path: Path) -> Path:
    return path.parent / unquote(address.split("?")[0])


def _dead(link: str, path: Path, pages: dict[Path, Page]) -> str | None:
    where, anchor = urldefrag(link)
    if re.match(r"[a-z]+:", link):
        return None
    there = path if not where else _file(where, path).resolve()
    there = there / "index.html" if there.is_dir() else there
    if not there.exists():
        return f"link to {link}, which is not there"
    if anchor and there in pages and unquote(anchor) not in pages[there].ids:
        return f"link to {link}, which has no such place"
    return None


def _disorder(headings: list[int]) -> list[str]:
    told = (
        [] if headings.count(1) == 1 else [f"{headings.count(1)} headings of level 1"]
    )
    for before, after in itertools.pairwise(headings):
        if after > before + 1:
            told.append(f"heading of level {after} below one of level {before}")
    return told


CONTRAST = """
<script>addEventListener("load", () => setTimeout(() => {
  const rgb = t => {
    const found = (t.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
    return t.startsWith("color(") ? found.map((v, k) => k < 3 ? 255 * v : v) : found;
  };
  const part = v => (v /= 255, v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = c => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
  const over = (top, low) => {
    const a = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map(k => a * top[k] + (1 - a) * low[k]);
  };
  const behind = e => {
    const layers = [];
    for (; e; e = e.parentElement) layers.push(rgb(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((low, top) => over(top, low), PAPER);
  };
  const found = {};
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, text = walk.currentNode.data.trim();
    const style = getComputedStyle(e), box = e.getBoundingClientRect();
    if (!text || !box.width || !box.height || style.visibility !== "visible"
        || style.opacity === "0" || e.closest("script, style, noscript, option")) continue;
    const paper = behind(e), ink = over(rgb(style.color), paper);
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), bold = +style.fontWeight >= 700;
    const kind = size >= 24 || (bold && size >= 18.66) ? "large" : "text";
    const ratio = (a + 0.05) / (b + 0.05);
    if (!(ratio >= found[kind]?.[0])) found[kind] = [ratio, text.slice(0, 40), e.className];
  }
  const told = document.createElement("pre");
  told.id = "contrast"; told.textContent = JSON.stringify(found);
  document.body.append(told);
}, 300));</script>
"""


def contrast(page: Path, *, dark: bool, width: int = 1280) -> dict[str, list]:
    """The lowest contrast of large and of other text: ratio, the text, its class."""
    paper = "[20, 24, 28]" if dark else "[255, 255, 255]"
    text = re.sub(
        r'<meta http-equiv="Content-Security-Policy".*?>', "", page.read_text()
    )
    script = CONTRAST.replace("PAPER", paper)
    with tempfile.NamedTemporaryFile(
        "w", suffix=".html", dir=page.parent, delete=False
    ) as copy:
        copy.write(text.replace("</body>", script + "</body>"))
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    try:
        dom = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", *scheme,
             f"--window-size={width},2000", "--virtual-time-budget=3000", "--dump-dom",
             f"file://{copy.name}"],
            capture_output=True, text=True, timeout=120,
        ).stdout  # fmt: skip
    finally:
        Path(copy.name).unlink()
    found = re.search(r'<pre id="contrast">(.*?)</pre>', dom, re.DOTALL)
    return {} if found is None else json.loads(found[1].replace("&amp;", "&"))


def main(words: list[str]) -> int:
    told = faults(SITE)
    if "--contrast" in words:
        for page in sorted(SITE.rglob("*.html")):
            if page.name == "404.html":
                continue
            for dark in (False, True):
                for kind, (ratio, text, place) in contrast(page, dark=dark).items():
                    if ratio < LEAST_CONTRAST[kind]:
                        name, mode = page.relative_to(SITE), "dark" if dark else "light"
                        told.append(
                            f"{name}, {mode}: {ratio:.2f} for {text!r} ({place})"
                        )
    print("\n".join(told) or "no faults")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
