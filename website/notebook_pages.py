"""Notebooks as pages, from the outputs that they hold; `run` fills these in.

    python website/notebook_pages.py            # run all, and keep what they print and draw

No Jupyter is needed: cells are Python, run one after the other in one name space.
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
SOURCE = "https://github.com/passband/passband/blob/main/notebooks/"


def read(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook; every source is one text."""
    cells = json.loads(path.read_text())["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


def run(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Run the code cells in a folder of their own, and put in what they give: the text
    that they print, the value of a last line, and the figures that are open."""
    os.environ.setdefault("MPLBACKEND", "agg")
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {"__name__": "__main__"}
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for number, cell in enumerate(cells):
                if cell["cell_type"] == "code":
                    text = _exec(cell["source"], names, f"cell {number}")
                    cell["outputs"] = _outputs(text, plt)
        finally:
            os.chdir(before)
    return names


def _exec(source: str, names: dict[str, Any], where: str) -> str:
    """Run one cell; what it prints, and its last line's value if that is one."""
    tree, said = ast.parse(source), io.StringIO()
    last = tree.body[-1] if tree.body else None
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(tree.body[:-1], []), where, "exec"), names)
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
            if value is not None:
                print(repr(value))
        else:
            exec(compile(tree, where, "exec"), names)
    return said.getvalue()


def _outputs(text: str, plt: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if text:
        lines = text.splitlines(keepends=True)
        found.append({"output_type": "stream", "name": "stdout", "text": lines})
    for number in plt.get_fignums():
        stream = io.BytesIO()
        plt.figure(number).savefig(stream, format="png", dpi=100, bbox_inches="tight")
        data = base64.b64encode(stream.getvalue()).decode()
        shown = {"image/png": data, "text/plain": ["<Figure>"]}
        found.append(
            {"output_type": "display_data", "data": shown, "metadata": {}}
        )  # fmt: skip
    plt.close("all")
    return found


def write(path: Path, cells: list[dict[str, Any]]) -> None:
    """A notebook of format 4.5, which GitHub and Jupyter show."""
    kept = []
    for number, cell in enumerate(cells):
        one = {
            "cell_type": cell["cell_type"], "id": f"cell-{number}", "metadata": {},
            "source": cell["source"].splitlines(keepends=True),
        }  # fmt: skip
        if cell["cell_type"] == "code":
            one |= {"execution_count": None, "outputs": cell.get("outputs", [])}
        kept.append(one)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    content = {"cells": kept, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(content, indent=1) + "\n")


def pages(folder: Path) -> dict[str, str]:
    """Every notebook as Markdown, with its outputs."""
    found = {}
    for path in sorted(folder.glob("*.ipynb")):
        parts: list[str] = []
        for number, cell in enumerate(read(path)):
            if cell["cell_type"] == "markdown":
                parts += [cell["source"], ""]
                if number == 0:
                    parts += [f"*A notebook: [{path.name}]({SOURCE}{path.name}).*", ""]
                continue
            parts += ["```python", cell["source"], "```", ""]
            for k, output in enumerate(cell.get("outputs", [])):
                if output["output_type"] == "stream":
                    parts += ["```text", "".join(output["text"]).rstrip(), "```", ""]
                else:
                    name = _picture(path, number, k)
                    parts += [f"![Figure of the code above]({name})", ""]
        found[f"notebooks/{path.stem}.md"] = "\n".join(parts)
    return found


def copy_pictures(folder: Path, there: Path) -> None:
    """The figures of the outputs, as files."""
    for path in sorted(folder.glob("*.ipynb")):
        for number, cell in enumerate(read(path)):
            for k, output in enumerate(cell.get("outputs", [])):
                if data := output.get("data", {}).get("image/png"):
                    there.mkdir(exist_ok=True)
                    content = base64.b64decode("".join(data))
                    (there / _picture(path, number, k)).write_bytes(content)


def _picture(path: Path, cell: int, output: int) -> str:
    return f"{path.stem}-{cell}-{output}.png"


def main() -> int:
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = read(path)
        run(cells)
        write(path, cells)
        print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
