"""What stands beside the paper's tables, from the benchmarks into the package.

    python benchmarks/paper_beside.py

The package ships no benchmarks: src/passband/paper/beside.json has of
results/recipe-h200.json what `modern` gives on each table's data, and of
results/table3-rounding-h200.json, where it is there, what rounding moves Table 3 by.
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECIPE = "benchmarks/results/recipe-h200.json"
ROUNDING = "benchmarks/results/table3-rounding-h200.json"
PACKAGED = "src/passband/paper/beside.json"
# Column of Table 1: its table; task, metric and steps of the recipe's run; a remark.
MODERN = {
    "2D image, Natural": ("table3", "Natural, held-out pixels", "psnr", 500, ""),
    "2D image, Text": ("table3", "Text, held-out pixels", "psnr", 500, ""),
    "3D shape": ("table4", "Dragon", "iou_boundary", 10001, "Dragon alone"),
    "2D CT, Shepp": ("table5", "CT, Shepp, 20 views", "psnr", 976, ""),
    "2D CT, ATLAS": ("table5", "CT, heads, 20 views", "psnr", 976, ""),
    "3D MRI, ATLAS": ("table6", "MRI, heads", "psnr", 976, ""),
    "3D NeRF": ("table7", "Lego, test views", "psnr", 50000, ""),
}
KEPT = (
    "printed", "spread over keys", "keys", "rounding moves one picture by",
    "rounding moves a mean of 16 by", "readings move the mean by up to",
)  # fmt: skip


def modern(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a column: Gaussian features, one network."""
    found = []
    for column, (table, task, metric, steps, about) in MODERN.items():
        [row] = [
            r for r in rows
            if (r["task"], r["metric"], r["recipe"], r["steps"])
            == (task, metric, "modern", steps) and "members" not in r["method"]
        ]  # fmt: skip
        found.append(
            {
                "table": table, "column": column, "metric": metric,
                "value": row["value"], "spread": row["spread"], "keys": row["keys"],
                "steps": steps, "method": row["method"], "about": about,
            }
        )  # fmt: skip
    return found


def rounding(content: dict[str, Any]) -> dict[str, Any]:
    """Of each row what it moves by, and how far the other roundings are from ours."""
    rows = {}
    for row, told in content["summary"].items():
        rows[row] = {name: told[name] for name in KEPT} | {
            "means": [
                {k: line[k] for k in line if k not in ("by reading",)}
                for line in told["means"]
            ]
        }
    return {
        "device": content["device"],
        "commit": content["commit"],
        "steps": content["steps"],
        "rows": rows,
    }


def packaged(root: Path = ROOT) -> dict[str, Any]:
    """The content of the package's file."""
    found: dict[str, Any] = {
        "made by": "python benchmarks/paper_beside.py",
        "modern": {
            "from": RECIPE,
            "rows": modern(json.loads((root / RECIPE).read_text())),
        },
    }
    if (root / ROUNDING).is_file():
        content = json.loads((root / ROUNDING).read_text())
        found["rounding"] = {"from": ROUNDING, **rounding(content)}
    return found


def main() -> None:
    text = json.dumps(packaged(), indent=1) + "\n"
    (ROOT / PACKAGED).write_text(text)
    print(f"wrote {PACKAGED}")


if __name__ == "__main__":
    main()
