"""`passband paper report` and `passband paper readme`: pages made from the results."""

from collections.abc import Callable
from pathlib import Path

from ..errors import InputError
from ..paper.item import Preset
from .console import Console


def report(
    folder: Path,
    preset: Preset,
    console: Console,
    *,
    aside: bool = False,
    ready: Callable[[], None] | None = None,
) -> int:
    """Write report.html; `aside` where the command was run for something else, `ready`
    called when nothing but the writing is left."""
    from ..paper.report import write_paper_report

    path = write_paper_report(folder, preset, ready)
    if aside:
        console.say(f"wrote {path}")
    else:
        console.result({"report": str(path)}, f"wrote {path}")
    return 0


def readme(folder: Path, console: Console, *, check: bool) -> int:
    """Put the tables into README.md of the working folder, or check that they are."""
    from ..atomic_write import write_bytes
    from ..paper.readme_table import updated

    path = Path("README.md")
    try:
        before = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"`{path}` cannot be read: {error.strerror}") from error
    after = updated(before, folder)
    content = {"readme": str(path), "changed": before != after}
    if before == after:
        console.result(content, f"{path} agrees with {folder}")
    elif check:
        console.result(content, f"{path} disagrees with {folder}")
        return 1
    else:
        write_bytes(path, after.encode())
        console.result(content, f"wrote {path}")
    return 0
