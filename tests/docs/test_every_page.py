"""Every page of the site: its code runs or says why not, its commands parse, its links
lead somewhere."""

import re
import shlex
import sys
import warnings
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
import yaml

import passband as pb
from passband.cli import main as command
from passband.cli.options import parse
from passband.errors import InputError
from passband.kinds.kind import Kind
from passband.kinds.table import KINDS

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
ELSEWHERE = {
    "encoding.md": "tests/docs/test_encoding_page.py",
    "first-hour.md": "tests/docs/test_first_hour.py",
    "many.md": "tests/docs/test_many_page.py",
    "members.md": "tests/docs/test_members_page.py",
    "model-file.md": "tests/test_docs.py",
    "own-operator.md": "tests/docs/test_own_operator_page.py",
    "shapes.md": "tests/cli/test_render_shape.py",
    "which-frequencies.md": "tests/theory/test_survey.py",
}
"""Pages whose code has a test of its own."""
GIVEN = {
    "ct.md": lambda: {
        "angles": np.arange(3) * 60.0, "bins": 512, "density": jnp.ones((512, 512)),
    },
}  # fmt: skip
"""Names that the code of a page begins with."""


@pytest.fixture
def website(monkeypatch):
    """The tools of the site, which are no package."""
    monkeypatch.syspath_prepend(str(ROOT / "website"))
    import build  # pyright: ignore[reportMissingImports]

    yield build
    tools = [path.stem for path in (ROOT / "website").glob("*.py")]
    for name in tools:
        sys.modules.pop(name, None)


def blocks(page: Path) -> list[str]:
    """The Python of a page, less what is marked as not run."""
    text = re.sub(
        r"<!-- not run: .+? -->\n```python\n.*?```", "", page.read_text(), flags=re.S
    )
    return re.findall(r"```python\n(.*?)```", text, re.S)


@pytest.mark.parametrize(
    "page", [p for p in DOCS if blocks(p) and p.name not in ELSEWHERE],
    ids=lambda page: page.name,
)  # fmt: skip
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # A guess of sigma for trials of it: tests/tuning has these.
    monkeypatch.setattr(Kind, "trials_by_default", False)
    names = GIVEN.get(page.name, dict)()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks(page):
            exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_page_with_a_test_of_its_own_is_named_there(name):
    assert name in (ROOT / ELSEWHERE[name]).read_text()


def shown_commands() -> list[tuple[str, list[str]]]:
    found = []
    for page in [*DOCS, ROOT / "README.md"]:
        for block in re.findall(
            r"```(?:text|bash|sh)?\n(.*?)```", page.read_text(), re.S
        ):
            for line in block.replace("\\\n", " ").splitlines():
                if re.match(r"(\$ )?passband \w", line):
                    words = shlex.split(line.removeprefix("$ "), comments=True)[1:]
                    if not {"...", "|"} & set(words):
                        found.append((page.name, [*_before_pipe(words)]))
    return found


def _before_pipe(words: list[str]) -> list[str]:
    ends = [k for k, word in enumerate(words) if word in ("|", ">", "&&")]
    return words[: ends[0]] if ends else words


def test_every_command_that_a_page_shows_parses(monkeypatch):
    def only_parse(cls, prog, args, run):
        parse(cls, prog, args)
        return 0

    monkeypatch.setattr(command, "_run", only_parse)
    lines, wrong = shown_commands(), []
    for page, words in lines:
        try:
            command._dispatch(words)
        except InputError as error:
            wrong.append(f"{page}: passband {shlex.join(words)}: {error}")
    assert not wrong
    assert len(lines) > 45
    kinds = {words[1] for _, words in lines if words[0] == "fit"}
    assert kinds >= set(KINDS)


def test_the_site_has_every_page_and_no_dead_link(website, tmp_path, monkeypatch):
    monkeypatch.setattr(
        website.paper_pages, "report", lambda _, path: path.write_text("")
    )
    pages = tmp_path / "docs"
    website.gather(ROOT, pages)
    there = {str(p.relative_to(pages)) for p in pages.rglob("*") if p.is_file()}
    nav = set(_leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert nav <= there
    assert {name for name in there if name.endswith(".md")} <= nav
    dead = []
    for page in sorted(pages.rglob("*.md")):
        text = re.sub("```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = link.partition("#")
            if link.startswith("http"):
                continue
            target = (page.parent / path).resolve() if path else page
            page_of = anchor and target.suffix == ".md"
            if not target.exists() or (page_of and anchor not in _anchors(target)):
                dead.append(f"{page.name}: {link}")
    assert not dead
    size = sum((pages / name).stat().st_size for name in there)
    assert size < 25e6  # with the paper's report and the theme, under 40 MB


def _leaves(nav) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [leaf for each in inner for leaf in _leaves(each)]


def _anchors(page: Path) -> set[str]:
    """The places of a page, by the rule of Python-Markdown."""
    found = set()
    for head in re.findall(r"(?m)^#+ (.*)$", page.read_text()):
        named = re.search(r"\{ #(\S+) \}", head)
        slug = re.sub(r"[^\w\s-]", "", head.lower()).strip()
        found.add(named[1] if named else re.sub(r"[-\s]+", "-", slug))
    return found


def test_the_reference_has_every_public_name(website):
    from types import ModuleType

    pages = website.api_pages.pages()
    text = "\n".join(pages.values())
    for name in dir(pb):
        thing = getattr(pb, name)
        if isinstance(thing, ModuleType):
            for inner in website.api_pages.public(thing):
                assert f"## {name}.{inner} " in text
        elif name != "__version__":
            assert f"## {name} {{" in text
    assert "- **`mapping`**: one word, or a mapping" in pages["api/fit.md"]
    assert "0x" not in text  # no address of this process


def test_which_sigma_is_answered_within_120_lines():
    assert len((ROOT / "docs" / "which-sigma.md").read_text().splitlines()) <= 120
