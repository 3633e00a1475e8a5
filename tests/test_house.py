"""How the house is built: no import cycle inside a room, kinds and files of a size."""

import ast
from pathlib import Path

import passband

ROOT = Path(passband.__file__).parent


def imports(path: Path) -> set[str]:
    """Modules of ours that a file imports when it is imported itself."""
    here = [*path.relative_to(ROOT).parts[:-1]]
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level + 1]
            base += node.module.split(".") if node.module else []
            found.add(".".join(base))
            found |= {".".join([*base, alias.name]) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "passband."
        ):
            found.add(str(node.module).removeprefix("passband."))
    return found


def graph() -> dict[str, set[str]]:
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in ROOT.rglob("*.py")
    }
    return {name: imports(path) & files.keys() for name, path in files.items()}


def test_no_module_imports_itself_by_way_of_others():
    edges = graph()
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join([*above[above.index(name) :], name])
        if name not in done:
            for other in edges[name]:
                visit(other, (*above, name))
            done.add(name)

    for name in edges:
        visit(name, ())
    # The check sees edges at all: a kind imports what a kind is.
    assert "kinds.kind" in edges["kinds.image"]


def test_kinds_are_files_of_at_most_400_lines():
    for path in (ROOT / "kinds").glob("*.py"):
        assert len(path.read_text().splitlines()) <= 400, path.name


def test_the_command_line_stays_thin():
    lines = [len(p.read_text().splitlines()) for p in (ROOT / "cli").glob("*.py")]
    assert sum(lines) <= 2600
