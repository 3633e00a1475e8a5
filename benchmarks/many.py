"""Many small pictures as one set: fields a second, beside fits one by one, and memory.

    python benchmarks/many.py [--sets 32:100,1000,10000 128:100,1000] [--alone 5]
                              [--torch 3] [--data FOLDER] [--json FILE]

Crops of the pictures in FOLDER (PNG; $PASSBAND_DATA/natural/test_data by default) are
written as files, so that reading, hashing, metrics and writing are in every number of a
set. A set is `pb.fit_many(folder, out=...)`; the first of each side also compiles, and
is told apart. Beside it, on the same files: `pb.fit` of the same network for as many
steps, and a plain PyTorch loop (eager, fused Adam at the best of three rates, all
pixels in a step or as many as ours, features worked out once) that stops as soon as a
picture has 35 dB. Both are measured on a few pictures, after one to warm up, and scaled
to the set.

What one process does for all others is timed too: listing the files, and merging the
index. `million` is the arithmetic that follows for a million pictures on 8, 64 and 512
such devices: start + N (listing + merging) + N / (devices x fields a second).

Memory is what the process holds (VmRSS) and held at most (VmHWM) after each set, from
the smallest to the largest, and what the device held at most.
"""

import argparse
import importlib
import importlib.util
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from PIL import Image

import passband as pb
from passband.kinds.image import ImageKind
from passband.kinds.many_inputs import sources_of
from passband.train.device import device_name
from passband.train.programs import compile_seconds
from passband.train.set_folder import SetFolder

ENOUGH = 35.0
"""dB, the mean that a set must have."""
FITS = {32: (64, 75, 1024, 1e-2, 6.0), 128: (128, 120, 4096, 5e-3, 10.0)}
"""Of each side of a picture: width and frequencies, steps, pixels a step, rate, sigma;
chosen on the training pictures of Natural (docs/many.md)."""


def write_crops(pictures: Path, side: int, count: int, out: Path) -> list[Path]:
    """Crops from all over the pictures, as PNG files."""
    out.mkdir(parents=True)
    found = [
        np.asarray(Image.open(p).convert("RGB")) for p in sorted(pictures.glob("*.png"))
    ]
    rng, paths = np.random.default_rng(0), []
    for k in range(count):
        whole = found[rng.integers(len(found))]
        top, left = (int(rng.integers(n - side + 1)) for n in whole.shape[:2])
        paths.append(out / f"{k:06d}.png")
        Image.fromarray(whole[top : top + side, left : left + side]).save(paths[-1])
    return paths


def memory() -> dict[str, float]:
    """MiB of this process, now and at most, and of its device at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    table = dict(line.split(":", 1) for line in lines)
    held = {name: int(table[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")}
    stats = jax.local_devices()[0].memory_stats() or {}
    return held | {"device": stats.get("peak_bytes_in_use", 0) / 2**20}


def options_of(side: int, steps: int | None) -> dict[str, Any]:
    nearest = min(FITS, key=lambda known: abs(known - side))
    width, usual, batch, lr, sigma = FITS[nearest]
    return {
        "width": width, "steps": steps or usual, "batch": batch, "lr": lr,
        "mapping": f"gaussian:{sigma:g},m={width}",
    }  # fmt: skip


def timed_set(paths: list[Path], options: dict[str, Any], out: Path) -> dict[str, Any]:
    """One set, from its files to its folder."""
    compiled, begun = compile_seconds(), time.perf_counter()
    models = pb.fit_many(paths, out=out, progress=False, **options)
    seconds = time.perf_counter() - begun
    compiled = compile_seconds() - compiled
    trained = sum(row["seconds"] for row in models.rows)
    return {
        "pictures": len(paths),
        "seconds": round(seconds, 2),
        "compiling": round(compiled, 2),
        "training": round(trained, 2),
        "fields_per_second": round(len(paths) / (seconds - compiled), 1),
        "psnr": round(float(models.metrics["psnr"].mean()), 2),
        "least": round(float(models.metrics["psnr"].min()), 2),
        "bytes": sum(p.stat().st_size for p in out.glob("part-*/*.safetensors")),
        **{f"{k}_MiB": round(v) for k, v in memory().items()},
    }


def timed_for_all(folder: Path, out: Path) -> dict[str, float]:
    """Seconds a file that process 0 takes, and those that every process starts with."""
    begun = time.perf_counter()
    files = sources_of(ImageKind, [str(folder)], suffixes=(".png",))
    listed = time.perf_counter()
    rows = SetFolder(out).merge()
    merged = time.perf_counter()
    words = [sys.executable, "-c", "import passband.kinds.many_set"]
    subprocess.run(words, check=True)
    return {
        "listing": (listed - begun) / len(files),
        "merging": (merged - listed) / len(rows),
        "importing": round(time.perf_counter() - merged, 2),
    }


def million(row: dict[str, Any], serial: dict[str, float]) -> dict[str, Any]:
    """Minutes of a million pictures on several devices, and the share of it in which
    they train."""
    count, start = 1_000_000, serial["importing"] + row["compiling"]
    alone = count * (serial["listing"] + serial["merging"])
    rate, each = row["fields_per_second"], row["bytes"] / row["pictures"]
    found = {}
    for devices in (8, 64, 512):
        together = count / (devices * rate)
        whole = start + alone + together
        found[str(devices)] = {
            "minutes": round(whole / 60, 2),
            "training_share": round(together / whole, 3),
            "MB_per_second": round(devices * rate * each / 1e6),
        }
    return found


def timed_alone(paths: list[Path], options: dict[str, Any]) -> dict[str, Any]:
    """Fits of ours one by one; the first has compiled what the others use."""
    spent, levels = [], []
    for path in paths:
        begun = time.perf_counter()
        model = pb.fit(path, progress=False, **options)
        spent.append(time.perf_counter() - begun)
        levels.append(model.metrics["psnr"])
    return {
        "pictures": len(paths) - 1,
        "seconds_each": round(statistics.median(spent[1:]), 4),
        "psnr": round(statistics.mean(levels), 2),
    }


def timed_torch(paths: list[Path], options: dict[str, Any]) -> dict[str, Any] | None:
    """A plain loop of PyTorch over pictures; None where it is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    torch: Any = importlib.import_module("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    width = options["width"]
    scale = float(options["mapping"].split(":")[1].split(",")[0])
    torch.set_float32_matmul_precision("high")

    def fit(path: Path, lr: float, batch: int, most: int) -> tuple[float, float, int]:
        """Seconds, PSNR and steps of one picture."""
        begun = time.perf_counter()
        pixels = np.asarray(Image.open(path), np.float32) / 255
        h, w, c = pixels.shape
        torch.manual_seed(0)
        at = np.stack(np.meshgrid(np.arange(w), np.arange(h)), -1).reshape(-1, 2)
        coords = torch.tensor(at / max(h, w), dtype=torch.float32, device=device)
        values = torch.tensor(pixels.reshape(-1, c), device=device)
        B = scale * torch.randn(width, 2, device=device)
        phase = 2 * math.pi * coords @ B.T
        features = torch.cat([torch.sin(phase), torch.cos(phase)], dim=1)
        layers = []
        for i, o in itertools.pairwise([2 * width, width, width, width, c]):
            layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
        network = torch.nn.Sequential(*layers[:-1], torch.nn.Sigmoid()).to(device)
        moves = torch.optim.Adam(network.parameters(), lr=lr, fused=device == "cuda")
        level, step = 0.0, 0
        while level < ENOUGH and step < most:
            seen, truth = features, values
            if batch < h * w:
                pick = torch.randint(h * w, (batch,), device=device)
                seen, truth = features[pick], values[pick]
            moves.zero_grad(set_to_none=True)
            loss = torch.mean((network(seen) - truth) ** 2)
            loss.backward()
            moves.step()
            step += 1
            if step % 25 == 0:
                level = -10 * math.log10(max(float(loss.detach()), 1e-12))
        return time.perf_counter() - begun, level, step

    pixels = np.asarray(Image.open(paths[0])).shape[:2]
    sizes = {math.prod(pixels), options["batch"]}
    ways = list(itertools.product((1e-3, 3e-3, 1e-2), sizes))
    for lr, batch in ways:
        fit(paths[0], lr, batch, 25)  # warm
    lr, batch = min(ways, key=lambda way: fit(paths[0], *way, 2000)[0])
    found = [fit(path, lr, batch, 2000) for path in paths[1:]]
    return {
        "pictures": len(found),
        "device": device,
        "lr": lr,
        "batch": batch,
        "seconds_each": round(statistics.median(f[0] for f in found), 4),
        "psnr": round(statistics.mean(f[1] for f in found), 2),
        "steps": round(statistics.mean(f[2] for f in found), 1),
    }


def measured(
    side: int, counts: list[int], args: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    """Every number of one side."""
    options = options_of(side, args.steps)
    paths = write_crops(args.data, side, max(counts), folder / f"crops-{side}")
    before = memory()
    print(f"{side} x {side}: {options}", flush=True)
    rows = []
    for count in sorted(counts):
        row = timed_set(paths[:count], options, folder / f"set-{side}-{count}")
        rows.append(row)
        print(f"  {row}", flush=True)
    last = folder / f"set-{side}-{max(counts)}"
    serial = timed_for_all(folder / f"crops-{side}", last)
    many = million(rows[-1], serial)
    print(f"  for all: {serial}\n  a million: {many}", flush=True)
    alone = timed_alone(paths[: args.alone + 1], options)
    print(f"  one by one: {alone}", flush=True)
    peer = timed_torch(paths[: args.torch + 1], options)
    print(f"  PyTorch: {peer}", flush=True)
    best = rows[-1]["fields_per_second"]
    times = {"alone": round(best * alone["seconds_each"], 1)}
    if peer is not None:
        times["torch"] = round(best * peer["seconds_each"], 1)
    print(f"  times faster: {times}", flush=True)
    return {
        "side": side, "options": options, "sets": rows, "alone": alone,
        "torch": peer, "times_faster": times,
        "before_MiB": round(before["VmRSS"]), "for_all": serial, "million": many,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    usual = Path(os.environ.get("PASSBAND_DATA", ".")) / "natural" / "test_data"
    parser.add_argument(
        "--sets", nargs="+", default=["32:100,300,1000,10000", "128:100,1000"]
    )
    parser.add_argument("--steps", type=int)
    parser.add_argument("--alone", type=int, default=5)
    parser.add_argument("--torch", type=int, default=3)
    parser.add_argument("--data", type=Path, default=usual)
    parser.add_argument("--json")
    args = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for text in args.sets:
            side, counts = text.split(":")
            sizes = [int(n) for n in counts.split(",")]
            found.append(measured(int(side), sizes, args, Path(folder)))
    content = {
        "device": device_name(), "jax": jax.__version__, "cores": os.cpu_count(),
        "results": found,
    }  # fmt: skip
    if args.json:
        Path(args.json).write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
