"""`make docs`: the site, in build/site, from docs/, docstrings, results and notebooks.

All pages are gathered as Markdown in build/docs, which mkdocs.yml names; Zensical makes
HTML of them, or mkdocs-material, which reads the same file, where it is not installed.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import api_pages
import command_pages
import notebook_pages
import paper_pages

ROOT = Path(__file__).resolve().parents[1]
PAGES, SITE = ROOT / "build" / "docs", ROOT / "build" / "site"
BESIDE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md",
          "SECURITY.md": "security.md", "results/CREDITS.md": "credits.md"}  # fmt: skip
"""Pages of the repository's root, and where they are on the site."""
SOURCE = "https://github.com/passband/passband/blob/main/"


def gather(root: Path, pages: Path) -> None:
    """Every page and picture of the site, as Markdown and files."""
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(root / "docs", pages, ignore=shutil.ignore_patterns("*.py", "__*"))
    for name, there in BESIDE.items():
        (pages / there).write_text((root / name).read_text())
    for name, text in {
        **api_pages.pages(),
        **notebook_pages.pages(root / "notebooks"),
        "command.md": command_pages.page(),
        "paper.md": paper_pages.overview(root / "results"),
    }.items():
        (pages / name).parent.mkdir(exist_ok=True)
        (pages / name).write_text(text)
    notebook_pages.copy_pictures(root / "notebooks", pages / "notebooks")
    paper_pages.report(root / "results", pages / "paper-report.html")
    for page in sorted(pages.rglob("*.md")):
        page.write_text(_moved(page, root, pages))


def _moved(page: Path, root: Path, pages: Path) -> str:
    """A page with its links as the site has them; results' pictures come along."""
    up = os.path.relpath(pages, page.parent)

    def moved(found: re.Match[str]) -> str:
        path, _, anchor = found[1].partition("#")
        anchor = f"#{anchor}" if anchor else ""
        inside = path.removeprefix("../").removeprefix("docs/")
        if path in BESIDE or inside in BESIDE:
            return f"]({up}/{BESIDE[inside]}{anchor})"
        picture = inside.startswith("benchmarks/") and inside.endswith(".png")
        if (inside.startswith("results/") or picture) and (root / inside).is_file():
            (pages / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / inside, pages / inside)
            return f"]({up}/{inside})"
        if path.startswith("../") and (root / inside).exists():
            return f"]({SOURCE}{inside}{anchor})"
        if path.removeprefix("../").startswith("docs/"):
            return f"]({up}/{inside}{anchor})"
        return found[0]

    return re.sub(r"\]\(((?!https?:)[^)\s]+)\)", moved, page.read_text())


def main() -> int:
    gather(ROOT, PAGES)
    shutil.rmtree(SITE, ignore_errors=True)
    tool = ["zensical", "build", "--clean"]
    if importlib.util.find_spec("zensical") is None:
        tool = ["mkdocs", "build", "--quiet"]
    status = subprocess.run([sys.executable, "-m", *tool], cwd=ROOT).returncode
    if status == 0:
        megabytes = sum(f.stat().st_size for f in SITE.rglob("*") if f.is_file()) / 1e6
        print(f"{SITE.relative_to(ROOT)}/index.html  {megabytes:.1f} MB")
    return status


if __name__ == "__main__":
    sys.exit(main())
