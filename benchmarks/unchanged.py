"""Does a change of the code change a number? A tiny fit of each kind, and more.

    python benchmarks/unchanged.py --write before.json   # before the change
    python benchmarks/unchanged.py --against before.json # after it: equal, not close
    python benchmarks/unchanged.py --against before.json --results OLD NEW

Fits, choices, renders and ONNX files of six small inputs made here, seed 0, on a CPU;
the last form also compares the numbers of two folders of `passband paper all --preset
smoke --companions`. Machines differ in the last bits: make the file anew on each.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from safetensors.numpy import load_file
from scipy.io import wavfile

SMALL = ("--layers", "3", "--width", "16", "--quiet")
FITS = {
    "image": ("photo.png", "--steps", "60", "--batch", "128", "--mapping",
              "gaussian:4,m=8", "--holdout", "quarter"),
    "signal": ("tone.wav", "--steps", "60", "--batch", "64"),
    "shape": ("ball.obj", "--steps", "600", "--batch", "512", "--width", "32",
              "--mapping", "gaussian:1,m=16,norm=1", "--labels", "labels.safetensors"),
    "ct": ("--simulate", "disc.npy", "--steps", "60", "--batch", "256", "--mapping",
           "gaussian:2,m=8", "--views", "16"),
    "mri": ("--simulate", "volume.npy", "--steps", "30", "--fraction", "0.5",
            "--mapping", "gaussian:2,m=8", "--batch", "600"),
    "nerf": ("scene", "--steps", "60", "--batch", "64", "--samples", "16", "--mapping",
             "gaussian:3,m=8"),
}  # fmt: skip
TUNES = {
    "image": ("photo.png", "--steps", "24", "--mapping", "gaussian:auto,m=8"),
    "signal": ("tone.wav", "--steps", "24", "--mapping", "gaussian:auto,m=8"),
    "shape": ("ball.obj", "--steps", "8", "--batch", "256", "--mapping",
              "gaussian:auto,m=8,norm=1", "--labels", "labels.safetensors"),
    "ct": ("--simulate", "disc.npy", "--steps", "16", "--mapping", "gaussian:auto,m=8",
           "--kernel"),
    "mri": ("--simulate", "volume.npy", "--steps", "16", "--fraction", "0.5",
            "--mapping", "gaussian:auto,m=8"),
    "nerf": ("scene", "--steps", "16", "--batch", "32", "--samples", "16", "--mapping",
             "gaussian:auto,m=8"),
}  # fmt: skip
RENDERS = {
    "image": [("a.npy", "--resolution", "40", "--crop", "2,3,20,30"), ("a.png",)],
    "signal": [("a.npy", "--resolution", "333"), ("a.csv",)],
    "shape": [("a.ply", "--resolution", "24"), ("a.png", "--resolution", "32")],
    "ct": [("a.npy", "--resolution", "40"), ("a.tif",)],
    "mri": [("a.npy", "--resolution", "20"), ("a.nii",)],
    "nerf": [("a.npy", "--depth"), ("a.gif", "--orbit", "3", "--resolution", "10")],
}


def make_inputs(folder: Path) -> None:
    """Six small files, the same bytes every time."""
    y, x = np.mgrid[0:24, 0:32] / 32
    parts = [np.sin(9 * x + 4 * y), np.cos(7 * y - 3 * x), np.sin(12 * x * y)]
    picture = np.round(127.5 * (1 + np.stack(parts, axis=-1))).astype(np.uint8)
    Image.fromarray(picture).save(folder / "photo.png")
    t = np.arange(600) / 800
    sound = np.stack([np.sin(60 * t), 0.5 * np.cos(140 * t)], axis=1)
    wavfile.write(folder / "tone.wav", 800, np.round(30000 * sound).astype(np.int16))
    y, x = np.mgrid[:32, :32] - 16
    disc = 0.7 * (np.hypot(x, y) < 11) + 0.3 * (np.hypot(x - 3, y + 2) < 5)
    np.save(folder / "disc.npy", disc.astype(np.float32))
    z, y, x = np.mgrid[:12, :12, :8] / 12 - 0.5
    np.save(folder / "volume.npy", np.exp(-12 * (x**2 + y**2 + z**2)).astype("f4"))
    # An octahedron off its origin: inside is |x| + |y| + |z| < 1.
    corners = np.array([5.0, 1.0, -2.0]) + np.concatenate([np.eye(3), -np.eye(3)])
    faces = [(1, 2, 3), (2, 4, 3), (4, 5, 3), (5, 1, 3), (2, 1, 6), (4, 2, 6),
             (5, 4, 6), (1, 5, 6)]  # fmt: skip
    lines = ["v {} {} {}".format(*v) for v in corners]
    (folder / "ball.obj").write_text(
        "\n".join([*lines, *("f {} {} {}".format(*f) for f in faces)])
    )
    scene = folder / "scene"
    rng = np.random.default_rng(0)
    for split, count in (("train", 9), ("test", 2)):
        (scene / split).mkdir(parents=True)
        frames = []
        for k in range(count):
            angle = 2 * np.pi * (k + (split == "test") / 2) / count
            back = np.array([np.cos(angle), np.sin(angle), 0.4])
            back /= np.linalg.norm(back)
            right = np.cross([0, 0, 1], back)
            right /= np.linalg.norm(right)
            turn = np.stack([right, np.cross(back, right), back, 4 * back], axis=1)
            pose = [*turn.tolist(), [0, 0, 0, 1]]
            v, u = np.mgrid[:12, :12] - 5.5
            ball = np.clip(1.5 - np.hypot(u, v) / 3, 0, 1)[..., None]
            shade = ball * [0.9, 0.5 + 0.4 * np.cos(angle), 0.3] + 0.02 * rng.random(
                (12, 12, 3)
            )
            pixels = np.round(255 * np.clip(shade, 0, 1)).astype(np.uint8)
            Image.fromarray(pixels).save(scene / split / f"{k}.png")
            frames.append({"file_path": f"{split}/{k}", "transform_matrix": pose})
        content = {"camera_angle_x": 0.7, "frames": frames}
        (scene / f"transforms_{split}.json").write_text(json.dumps(content))


def make_labels(folder: Path) -> None:
    """Labels of the octahedron, few enough for a moment."""
    code = """
from passband.data.meshes import normalise, read_mesh
try:
    from passband.labels.pool import make_labels, save_labels
except ImportError:
    from passband.forward.label_pool import make_labels, save_labels
mesh, _ = normalise(read_mesh("ball.obj"))
labels = make_labels(mesh, blocks=16, block=2048, test_points=4096)
save_labels(labels, "labels.safetensors")
"""
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)


def passband(folder: Path, *words: object) -> dict[str, Any]:
    """A command's JSON."""
    environ = os.environ | {"XDG_CACHE_HOME": str(folder / "cache"),
                            "JAX_PLATFORMS": "cpu"}  # fmt: skip
    line = [sys.executable, "-m", "passband", *map(str, words), "--json"]
    done = subprocess.run(line, cwd=folder, env=environ, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(line)}\n{done.stderr}")
    return json.loads(done.stdout)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def tensors(path: Path) -> str:
    """One hash of the arrays of a safetensors file, not of its header."""
    arrays = load_file(path)
    return digest(b"".join(k.encode() + arrays[k].tobytes() for k in sorted(arrays)))


def without_time(content: Any) -> Any:
    """JSON less what differs from run to run and from place to place."""
    gone = {"seconds", "seconds_a_view", "run", "model", "device", "file", "out",
            "files", "cached"}  # fmt: skip
    if isinstance(content, dict):
        return {k: without_time(v) for k, v in content.items() if k not in gone}
    if isinstance(content, list):
        return [without_time(v) for v in content]
    return content


def measure(kinds: list[str]) -> dict[str, Any]:
    """What every fit, choice and render gave."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_inputs(folder)
        if "shape" in kinds:
            make_labels(folder)
        for kind in kinds:
            print(kind, file=sys.stderr, flush=True)
            run = folder / f"run-{kind}"
            fit = passband(folder, "fit", kind, *SMALL, *FITS[kind], "--out", run)
            log = (run / "metrics.jsonl").read_text().splitlines()
            found[f"{kind} fit"] = {
                "result": without_time(fit),
                "log": [without_time(json.loads(line)) for line in log],
                "model": tensors(run / "model.safetensors"),
                "checkpoint": tensors(run / "checkpoint" / "state.safetensors"),
            }
            for words in [*RENDERS[kind], ("a.onnx",)]:
                out, *more = words
                path = folder / f"{kind}-{out}"
                model = run / "model.safetensors"
                shown = passband(folder, "render", model, "--out", path, *more)
                made = without_time(shown) | {"bytes": digest(path.read_bytes())}
                found[f"{kind} {' '.join(words)}"] = made
            tuned = passband(
                folder, "tune", kind, *TUNES[kind], "--out", f"t-{kind}", *SMALL
            )
            found[f"{kind} tune"] = without_time(tuned)
            words = TUNES[kind]
            if kind != "nerf":  # a scene on a CPU takes the first guess
                auto = passband(
                    folder, "fit", kind, *words, "--out", f"auto-{kind}", *SMALL
                ) if "--kernel" not in words else {}  # fmt: skip
                found[f"{kind} auto"] = without_time(auto)
    return found


def numbers(folder: Path) -> dict[str, Any]:
    """Numbers and claims of a folder of results."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text())
        found[path.stem] = {k: content[k] for k in ("verdict", "numbers", "claims")}
    return found


def differences(a: Any, b: Any, place: str = "") -> list[str]:
    """Where two JSON values differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        lines = []
        for k in sorted({*a, *b}):
            if k not in a or k not in b:
                lines.append(f"{place}/{k}: only {'after' if k in b else 'before'}")
            else:
                lines += differences(a[k], b[k], f"{place}/{k}")
        return lines
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = enumerate(zip(a, b, strict=True))
        return [d for i, (x, y) in pairs for d in differences(x, y, f"{place}/{i}")]
    same = a == b or (a != a and b != b)
    return [] if same else [f"{place}: {str(a)[:60]} became {str(b)[:60]}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="file for what is found")
    parser.add_argument("--against", type=Path, help="file of an earlier --write")
    parser.add_argument("--only", nargs="+", default=list(FITS), choices=list(FITS))
    parser.add_argument("--results", nargs=2, type=Path, metavar=("OLD", "NEW"))
    args = parser.parse_args()
    apart: list[str] = []
    if args.write or args.against:
        found = measure(args.only)
        if args.write:
            args.write.write_text(json.dumps(found, indent=1))
        if args.against:
            before = json.loads(args.against.read_text())
            kept = {k: v for k, v in before.items() if k.split()[0] in args.only}
            apart += differences(kept, json.loads(json.dumps(found)))
    if args.results:
        old, new = map(numbers, args.results)
        apart += differences(old, new)
        print(f"{len(old)} items", file=sys.stderr)
    print("\n".join(apart) or "nothing changed")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
