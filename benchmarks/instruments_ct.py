"""CT of real scanners: the network beside the classical methods, on views held out.

    python benchmarks/instruments_ct.py [--sets tooth,disc,wedge] [--steps N]
                                        [--batch POINTS] [--prior tv:WEIGHT]
                                        [--json FILE] [--pictures DIR]

`PASSBAND_DATA` names the folder with `real/ct_parallel_tooth` (tomopy's tooth.h5) and
`real/ct_fan_htc2022` (disc tb of the Helsinki Tomography Challenge 2022).

- tooth: raw counts of row 0, every 4th of 181 angles; the other 135 are held out.
- disc: every 12th of 549 fan-beam views; the others are held out.
- wedge: the views from 75 to 165 degrees; the others are held out.

Each method has the same views, and the same few of them to stop or weigh by
(`holdout`). The error is |predicted - measured| / |measured| over the views held out,
all of them seen through one projector on the picture's pixels. For the disc, the
picture is thresholded by Otsu's method and compared with the challenge's segmentation
by Matthews' correlation.
"""

import argparse
import dataclasses
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from skimage.filters import threshold_otsu

import passband as pb
from passband.data.counts import line_integrals
from passband.data.scans import Scan, read_scan
from passband.kinds.ct import CTKind, free_steps
from passband.reconstruct.backprojection import filtered_backprojection
from passband.reconstruct.baselines import recipes
from passband.tasks.ct import projector
from passband.train.device import device_name


def data_folder() -> Path:
    place = os.environ.get("PASSBAND_DATA")
    if place is None:
        raise SystemExit("PASSBAND_DATA is not set")
    return Path(place) / "real"


Set = tuple[dict[str, Any], np.ndarray, np.ndarray, dict[str, Any], Any]


def tooth() -> Set:
    """What is fitted, the angles and line integrals held out, options."""
    scan = read_scan(data_folder() / "ct_parallel_tooth" / "tooth.h5")
    assert scan.flats is not None and scan.darks is not None
    assert scan.angles is not None
    known = np.arange(len(scan.angles)) % 4 == 0
    all_rays = line_integrals(
        scan.values[:, 0], scan.flats[:, 0], scan.darks[:, 0], name="tooth"
    ).values
    arrays = {
        "data": scan.values[known][:, :1], "angles": scan.angles[known],
        "flats": scan.flats[:, :1], "darks": scan.darks[:, :1],
    }  # fmt: skip
    # What a fit of these views hints at: the tooth is far from filling 640 x 640.
    return arrays, scan.angles[~known], all_rays[~known], {"size": 380}, None


def disc(
    wedge: bool,
) -> tuple[dict[str, Any], np.ndarray, np.ndarray, dict, np.ndarray]:
    path = data_folder() / "ct_fan_htc2022" / "htc2022_tb.npz"
    scan: Scan = read_scan(path)
    assert scan.angles is not None
    if wedge:
        known = (scan.angles >= 75) & (scan.angles <= 165)
    else:
        known = np.arange(len(scan.angles)) % 12 == 0
    values = scan.values[:, 0]
    arrays = {
        "sinogram": values[known], "angles": scan.angles[known],
        "source_origin_mm": np.float64(scan.geometry["source_origin"]),
        "source_detector_mm": np.float64(scan.geometry["source_detector"]),
        "pitch_mm": np.float64(scan.geometry["pitch"]),
    }  # fmt: skip
    with np.load(path) as archive:
        truth = archive["ground_truth"] > 0
    return arrays, scan.angles[~known], values[~known], {"size": 512}, truth


def matthews(found: np.ndarray, truth: np.ndarray) -> float:
    """Of two segmentations."""
    return float(np.corrcoef(found.ravel(), truth.ravel())[0, 1])


def run(name: str, args: argparse.Namespace, folder: str) -> dict[str, Any]:
    arrays, angles, held, options, truth = (
        tooth() if name == "tooth" else disc(name == "wedge")
    )
    path = Path(folder) / f"{name}.npz"
    np.savez(path, **arrays)
    kind = pb.read(path, kind="ct", **options)
    assert isinstance(kind, CTKind)
    geometry = kind.geometry
    see = projector(geometry, angles, held.shape[1])
    result: dict[str, Any] = {
        "views": len(kind.data.angles), "held out": len(angles),
        "axis": geometry.axis, "unit": f"per {geometry.unit}", "notes": kind.notes,
        "methods": {},
    }  # fmt: skip

    def judge(method: str, density: np.ndarray, seconds: float, **more: Any) -> None:
        seen = geometry.side * np.asarray(see(jnp.asarray(density, jnp.float32)))
        found = {
            "error_held_out": float(np.linalg.norm(seen - held) / np.linalg.norm(held)),
            "seconds": round(seconds, 1),
        }
        if truth is not None:
            found["matthews"] = matthews(density > threshold_otsu(density), truth)
        result["methods"][method] = {**found, **more}
        if args.pictures:
            Path(args.pictures).mkdir(parents=True, exist_ok=True)
            np.save(Path(args.pictures) / f"{name}-{method}.npy", density)
        print(name, method, found, flush=True)

    full = kind._task(kind.side)
    made = recipes(kind._coarse(), steps=free_steps())
    made["FBP"] = lambda: np.asarray(_back(full))
    made["FBP, Hann"] = lambda: np.asarray(_back(full, "hann"))

    def classical(*methods: str) -> None:
        for method in methods:
            begun = time.perf_counter()
            density = kind.high * made[method]()
            judge(method, density, time.perf_counter() - begun)

    classical("FBP", "FBP, Hann")
    begun = time.perf_counter()
    wanted = ("steps", "batch", "prior")
    asked = {k: getattr(args, k) for k in wanted if getattr(args, k)}
    alone = dataclasses.replace(kind, beside=False)
    model = pb.fit(alone, recipe="modern", progress=False, **asked)
    took = time.perf_counter() - begun
    density = model.render()[..., 0]
    back = model.measure(angles=angles)
    assert back.shape == held.shape
    more = {k: model.result.get(k) for k in ("mapping", "steps", "grid", "prior")}
    judge("network", density, took, **more)
    seen = np.linalg.norm(back - held) / np.linalg.norm(held)
    result["methods"]["network"]["error of model.measure"] = float(seen)
    classical("SART", "TV")
    return result


def _back(task: Any, window: str = "ramp") -> Any:
    """From the views that the others train on, on the picture's own pixels."""
    known = np.ones(task.sinogram.shape[0], bool)
    if task.train_mask is not None:
        known = np.asarray(task.train_mask).all(axis=1)
    some = np.flatnonzero(known)
    return filtered_backprojection(
        task.forward.view(some), task.sinogram[some], window=window
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="tooth,disc,wedge")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--prior", help="such as tv:1e-4 (default: chosen)")
    parser.add_argument("--json")
    parser.add_argument("--pictures")
    args = parser.parse_args()
    result: dict[str, Any] = {"device": device_name(), "jax": jax.__version__}
    if args.json and os.path.exists(args.json):
        result = json.loads(Path(args.json).read_text())
    for name in args.sets.split(","):
        with tempfile.TemporaryDirectory() as folder:
            result[name] = run(name, args, folder)
        if args.json:
            Path(args.json).write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
