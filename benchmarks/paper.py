"""Seconds, PFLOP and TFLOP/s of every table and figure, from the results on disk.

    python benchmarks/paper.py [--preset full] [--results results]

Nothing is run: `passband paper run` notes what each item took, and this adds it up, the
26 items first, then their companions (sweeps, other seeds). Networks that items share
are booked under the first of them. TFLOP/s are of all of an item's seconds, compiling
and scoring too; the last line's are all PFLOP over all seconds.
"""

import argparse
from pathlib import Path

from passband.paper import plan, registry, results
from passband.paper.item import Preset


def row(result: results.Result) -> list[str]:
    noted = result.provenance
    pflop, speed = noted.get("pflop"), noted.get("tflops")
    return [
        result.id,
        f"{noted['seconds']:.0f}",
        "" if pflop is None else f"{pflop:.3g}",
        "" if speed is None else f"{speed:.3g}",
        noted["device"],
        noted["date"],
    ]


def table(folder: Path, preset: Preset, ids: list[str]) -> str:
    lines = ["| id | seconds | PFLOP | TFLOP/s | device | date |", "|---" * 6 + "|"]
    found = [
        results.load(folder, preset, id, arrays=False)
        for id in ids
        if results.exists(folder, preset, id)
    ]
    lines += [f"| {' | '.join(row(result))} |" for result in found]
    noted = [result.provenance for result in found]
    total = sum(n["seconds"] for n in noted)
    pflop = sum(n.get("pflop", 0.0) for n in noted)
    speed = 1e3 * pflop / total if total else 0.0
    devices = ", ".join(sorted({n["device"] for n in noted}))
    lines.append(
        f"| {len(found)} of {len(ids)} | {total:.0f} | {pflop:.3g} | {speed:.3g} "
        f"| {devices} | |"
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="seconds of the paper's items")
    parser.add_argument("--preset", default="full", choices=[p.value for p in Preset])
    parser.add_argument("--results", type=Path, default=Path("results"))
    args = parser.parse_args()
    others = [id for id in registry.COMPANIONS if id not in plan.ORDER]
    for ids in (list(plan.ORDER), others):
        print(table(args.results, Preset(args.preset), ids), end="\n\n")


if __name__ == "__main__":
    main()
