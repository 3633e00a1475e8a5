"""A scene and a film of real cameras: the network beside what no network needs.

    python benchmarks/instruments_scenes.py [--sets fern,bikes] [--longest PIXELS]
        [--steps N] [--batch N] [--samples N] [--json FILE] [--pictures DIR]

`PASSBAND_DATA` names the folder with `real/nerf_fern_8` (20 photographs of a phone,
cameras by COLMAP) and `real/video_bikes` (40 frames of a street).

- fern: 17 views; views 0, 8 and 16 are held out, beside the nearest photograph.
- bikes: the even frames; the odd ones are held out, beside the mean of their
  neighbours.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from PIL import Image

import passband as pb
from passband.train.device import device_name


def data_folder() -> Path:
    place = os.environ.get("PASSBAND_DATA")
    if place is None:
        raise SystemExit("PASSBAND_DATA is not set")
    return Path(place) / "real"


def fern(asked: dict[str, Any], pictures: Path | None) -> dict[str, Any]:
    begun = time.perf_counter()
    kind = pb.read(data_folder() / "nerf_fern_8", kind="nerf", **_of(
        asked, "longest", "samples"))  # fmt: skip
    model = pb.fit(kind, recipe="modern", progress=False, **_of(
        asked, "steps", "batch"))  # fmt: skip
    found = _told(model, begun) | {"notes": kind.notes}
    if pictures is not None:
        scene = kind.scene  # pyright: ignore[reportAttributeAccessIssue]
        seen = model.render(views="test")
        depth = model.render(views="test", depth=True)
        rows = []
        for photograph, one, far in zip(scene.test.pixels, seen, depth, strict=True):
            grey = np.nan_to_num(scene.space.near / far) * 255
            shade = np.repeat(grey[..., None], 3, axis=2)
            rows.append(
                np.concatenate([photograph, 255 * np.clip(one, 0, 1), shade], 1)
            )
        _save(pictures / "fern.png", np.concatenate(rows))
    return found


def bikes(asked: dict[str, Any], pictures: Path | None) -> dict[str, Any]:
    begun = time.perf_counter()
    path = data_folder() / "video_bikes" / "bikes_frames138-177_136x320.npz"
    kind = pb.read(path, kind="video", holdout="odd", **_of(asked, "longest"))
    model = pb.fit(
        kind, recipe="modern", progress=False, **_of(asked, "steps", "batch")
    )
    found = _told(model, begun)
    if pictures is not None:
        frames = np.moveaxis(kind.video.values, 2, 0)  # pyright: ignore[reportAttributeAccessIssue]
        k = len(frames) // 2 | 1
        mean = (frames[k - 1].astype(float) + frames[k + 1]) / 2
        rows = [frames[k], model.render(time=k), mean, model.render(time=k - 0.5)]
        _save(pictures / "bikes.png", np.concatenate(rows))
    return found


def _of(asked: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: asked[name] for name in names if asked[name] is not None}


def _told(model: pb.Model, begun: float) -> dict[str, Any]:
    keys = ("mapping", "steps", "metrics", "baselines", "evaluated")
    found = {key: model.result[key] for key in keys if key in model.result}
    found["seconds"] = round(time.perf_counter() - begun, 1)
    print(found, flush=True)
    return found


def _save(path: Path, picture: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.clip(np.rint(picture), 0, 255).astype(np.uint8)).save(path)


SETS = {"fern": fern, "bikes": bikes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    for name in ("longest", "steps", "batch", "samples"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--json")
    parser.add_argument("--pictures", type=Path)
    args = parser.parse_args()
    result: dict[str, Any] = {"device": device_name(), "jax": jax.__version__}
    if args.json and os.path.exists(args.json):
        result = json.loads(Path(args.json).read_text())
    for name in args.sets.split(","):
        result[name] = SETS[name](vars(args), args.pictures)
        if args.json:
            Path(args.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
