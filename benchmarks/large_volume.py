"""One volume larger than what is read: 1024^3 voxels on the disk, fitted and rendered.

    python benchmarks/large_volume.py --folder /tmp/large --json FILE

Sines and balls are written slab by slab to an NPY file (1 GiB of uint8), which is
fitted with `passband fit volume` and rendered as a box, a small volume and three
planes. Told are the seconds and the most resident memory of each command.
"""

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np


def write_volume(path: Path, side: int) -> None:
    """Waves of 4 to 9 cycles, and 24 balls of one brightness each."""
    about = {"descr": "|u1", "fortran_order": False, "shape": (side,) * 3}
    rng = np.random.default_rng(0)
    balls = [
        (rng.uniform(0.15, 0.85, 3), rng.uniform(0.03, 0.12), rng.uniform(0.3, 0.7))
        for _ in range(24)
    ]
    place = np.arange(side, dtype=np.float32) / side
    y, x = place[:, None], place[None, :]
    across, down = np.sin(2 * np.pi * 9 * x), np.sin(2 * np.pi * 7 * y)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, about)
        for k in range(side):
            z = k / side
            level = 0.3 + 0.12 * across * np.cos(2 * np.pi * 5 * z)
            level = level + 0.1 * down * np.sin(2 * np.pi * 4 * z)
            for (cz, cy, cx), radius, value in balls:
                room = radius**2 - (z - cz) ** 2
                if room > 0:
                    level = np.where((y - cy) ** 2 + (x - cx) ** 2 < room, value, level)
            file.write((255 * np.clip(level, 0, 1)).astype(np.uint8).tobytes())


def told(words: list[str]) -> dict[str, float]:
    """Seconds, CPU seconds and the most memory of `passband` with these words."""
    begun = time.perf_counter()
    child = os.posix_spawn(
        sys.executable, [sys.executable, "-m", "passband", *words], os.environ
    )
    _, status, used = os.wait4(child, 0)
    if status:
        sys.exit(f"passband {' '.join(words)} ended with {status}")
    return {
        "seconds": round(time.perf_counter() - begun, 1),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "resident_mib": round(used.ru_maxrss / 1024),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--side", type=int, default=1024)
    parser.add_argument("--steps", default="200")
    parser.add_argument("--mapping", default="gaussian:8")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    volume, run = asked.folder / "volume.npy", str(asked.folder / "run")
    if not volume.exists():
        write_volume(volume, asked.side)
    part = asked.side // 16
    box = ",".join(map(str, [4 * part] * 3 + [6 * part] * 3))
    render = ["render", run, "--quiet", "--overwrite", "--out"]
    found = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "file_mib": volume.stat().st_size // 2**20,
        "fit": told(["fit", "volume", str(volume), "--mapping", asked.mapping,
                     "--steps", asked.steps, "--out", run, "--overwrite", "--quiet"]),
        "box": told([*render, str(asked.folder / "box.nii.gz"), "--crop", box]),
        "small": told([*render, str(asked.folder / "small.npy"), "--resolution", "64"]),
        "planes": told([*render, str(asked.folder / "p.png"), "--resolution", "256"]),
    }  # fmt: skip
    result = json.loads((asked.folder / "run/result.json").read_text())
    found |= {k: result[k] for k in ("metrics", "evaluated", "steps") if k in result}
    text = json.dumps(found, indent=1)
    print(text)
    if asked.json is not None:
        asked.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
