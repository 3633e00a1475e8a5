"""Inside/outside labels: points a second, beside trimesh's own `contains`.

    python benchmarks/labels.py MESH... [--points N] [--pool] [--json FILE]

Without a mesh, the built-in wrinkled sphere. Every way is timed in turn, `--repeats`
times over, so that all of them meet the same load of the machine; medians are printed,
and the labels of all ways are compared point by point.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
import trimesh

from passband.data.meshes import Mesh, bounding_box, normalise, read_mesh
from passband.data.primitives import primitive
from passband.labels.occupancy import Labeller
from passband.labels.pool import boundary_points, make_labels


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(mesh: Mesh, n: int, peer: int, repeats: int) -> dict[str, object]:
    rng = np.random.default_rng(0)
    points = rng.uniform(*bounding_box(mesh), (n, 3)).astype(np.float32)
    start = time.perf_counter()
    usual = Labeller(mesh)
    ready = time.perf_counter() - start
    near = boundary_points(mesh, usual, min(n, 1 << 18)).points
    reference = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    few = points[:peer]
    ways: dict[str, tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]] = {
        "passband": (usual.inside, points),
        "passband, boundary points": (usual.inside, near),
        "passband, rays only": (Labeller(mesh, cells=False).inside, points[: n // 4]),
        "passband, NumPy only": (Labeller(mesh, embree=False).inside, points[: n // 4]),
        "trimesh contains": (reference.contains, few),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, (way, these) in ways.items():
            times[name].append(seconds(lambda way=way, these=these: way(these)))
    rates = {
        name: round(len(ways[name][1]) / statistics.median(spent))
        for name, spent in times.items()
    }
    truth = reference.contains(few)
    return {
        "mesh": mesh.name,
        "faces": len(mesh.faces),
        "method": usual.method,
        "ready_seconds": round(ready, 2),
        "points_per_second": rates,
        "times_trimesh": round(rates["passband"] / rates["trimesh contains"], 1),
        "differ_from_trimesh": {
            name: int(np.count_nonzero(way(few) != truth))
            for name, (way, _) in ways.items()
            if name.startswith("passband") and "boundary" not in name
        },
        "compared": len(few),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="points labelled a second")
    parser.add_argument("meshes", nargs="*")
    parser.add_argument("--points", type=int, default=1 << 22)
    parser.add_argument("--peer-points", type=int, default=400_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--pool", action="store_true", help="label 64 M points as well")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    meshes = [read_mesh(path) for path in options.meshes]
    runs = []
    for mesh in meshes or [primitive("wrinkled").mesh]:
        unit, _ = normalise(mesh)
        sizes = (options.points, options.peer_points, options.repeats)
        pool = {}
        if options.pool:  # first, so that the memory is that of labelling alone
            pool["pool_seconds"] = round(
                seconds(lambda unit=unit: make_labels(unit)), 2
            )
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            pool["peak_host_MB"] = round(peak / 1024)
        runs.append({**measure(unit, *sizes), **pool})
        print(json.dumps(runs[-1], indent=2))
    load = os.getloadavg()[0]
    machine = {"cores": os.cpu_count(), "cpu": platform.processor(), "load": load}
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"machine": machine, "runs": runs}, file, indent=2)


if __name__ == "__main__":
    main()
