"""Small whole files of every format, and ways to damage them."""

import json
import random
import struct
import wave
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from campaign_scanners import make_scans
from PIL import Image

FITS = {
    "image": ["INPUTS/photo.png"],
    "signal": ["INPUTS/tone.wav"],
    "shape": ["INPUTS/ball.ply"],
    "ct": ["--simulate", "INPUTS/disc.png", "--views", "6"],
    "mri": ["--simulate", "INPUTS/disc.npy"],
    "nerf": ["INPUTS/scene/transforms.json", "--near", "2", "--far", "6",
             "--samples", "4"],
}  # fmt: skip
_STEPS = {"shape": "300", "nerf": "60", "ct": "120"}
for _kind, _words in FITS.items():
    _words += ["--mapping", "none", "--layers", "2", "--width", "16", "--batch", "64"]
    _words += ["--quiet", "--steps", _STEPS.get(_kind, "600")]


@dataclass(frozen=True)
class Sample:
    """A whole file, and how it is read."""

    name: str
    data: bytes
    read: Callable[[Path], Any]


def picture(rows: int = 24, columns: int = 32) -> np.ndarray:
    y, x = np.mgrid[0:rows, 0:columns]
    parts = [7 * x + y, 5 * y + x, 3 * (x + y)]
    return (np.stack(parts, axis=-1) % 256).astype(np.uint8)


def make_tiny(place: Path) -> None:
    """One input of each kind, as small as they come."""
    from passband.data.primitives import primitive
    from passband.export.mesh import write_mesh

    (place / "scene").mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture()).save(place / "photo.png")
    y, x = np.mgrid[-1:1:16j, -1:1:16j]
    disc = (x**2 + y**2 < 0.5).astype(np.float32)
    Image.fromarray((200 * disc).astype(np.uint8)).save(place / "disc.png")
    np.save(place / "disc.npy", disc)
    write_wav(place / "tone.wav")
    ball = primitive("wrinkled").mesh
    write_mesh(place / "ball.ply", ball.vertices, ball.faces)
    frames = []
    for k in range(3):
        Image.fromarray(picture(12, 12)).save(place / "scene" / f"{k}.png")
        pose = np.eye(4)
        pose[:2, 3], pose[2, 3] = (0.1 * k, 0.05 * k), 4
        frames.append({"file_path": f"{k}.png", "transform_matrix": pose.tolist()})
    content = {"camera_angle_x": 0.7, "aabb": [[-1] * 3, [1] * 3], "frames": frames}
    (place / "scene" / "transforms.json").write_text(json.dumps(content))


def write_wav(path: Path, width: int = 2) -> None:
    t = np.arange(400) / 800
    samples = np.round(100 * np.sin(60 * t)).astype({1: np.int8, 2: "<i2"}[width])
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(width)
        out.setframerate(800)
        out.writeframes(samples.tobytes())


def make_samples(place: Path) -> list[Sample]:
    """A whole file of every format that is read."""
    from passband.data import (
        camera_file,
        images,
        kspace_files,
        meshes,
        signals,
        sinograms,
        volumes,
    )

    make_tiny(place)
    pixels = picture()
    deep = pixels.astype(np.uint16) * 257
    images.write_image(place / "deep.png", deep / 65535, bits=16)
    Image.fromarray(pixels).save(place / "a.jpg")
    Image.fromarray(pixels).convert("P").save(place / "palette.png")
    for name in ("raw", "tiff_lzw", "tiff_deflate", "jpeg", "packbits"):
        Image.fromarray(pixels).save(place / f"{name}.tif", compression=name)
    images.write_image(place / "float.tif", deep / 65535, bits=32)
    np.save(place / "picture.npy", pixels)
    write_wav(place / "bytes.wav", 1)
    (place / "a.csv").write_text("t,v\n" + "".join(f"{k},{k * k}\n" for k in range(40)))
    (place / "angles.txt").write_text(" ".join(str(9 * k) for k in range(20)))
    np.save(place / "sinogram.npy", np.ones((20, 24), np.float32))
    Image.fromarray(pixels[..., 0]).save(place / "sinogram.tif")
    head = volumes.head_phantom(12)
    for name in ("head.nii", "head.nii.gz", "head.npy"):
        volumes.write_volume(place / name, head, np.eye(4))
    np.save(place / "kspace.npy", np.fft.fftn(head).astype(np.complex64))
    np.save(place / "mask.npy", head > 0.2)
    ball = meshes.read_mesh(place / "ball.ply")
    ends = _meshes(place, ball)
    readers: dict[str, Callable[[Path], Any]] = {
        **dict.fromkeys(
            ("photo.png", "deep.png", "palette.png", "a.jpg", "raw.tif", "tiff_lzw.tif",
             "tiff_deflate.tif", "jpeg.tif", "packbits.tif", "float.tif",
             "picture.npy"),
            images.read_image,
        ),
        **dict.fromkeys(("tone.wav", "bytes.wav", "a.csv"), signals.read_signal),
        **dict.fromkeys(ends, meshes.read_mesh),
        **dict.fromkeys(("head.nii", "head.nii.gz", "head.npy"), volumes.read_volume),
        "sinogram.npy": lambda p: sinograms.read_sinogram(p, "0:180:20"),
        "sinogram.tif": lambda p: sinograms.read_sinogram(p, "0:180:24"),
        "angles.txt": sinograms.read_angles,
        "kspace.npy": kspace_files.read_kspace,
        "mask.npy": lambda p: kspace_files.read_mask(p, (12, 12, 12)),
        "scene/transforms.json": camera_file.read_cameras,
        **make_scans(place),
    }  # fmt: skip
    samples = [
        Sample(Path(name).name, (place / name).read_bytes(), read)
        for name, read in readers.items()
    ]
    return samples + _own_formats(place)


def _meshes(place: Path, ball: Any) -> list[str]:
    from passband.export.mesh import write_mesh

    for name in ("b.obj", "b.stl"):
        write_mesh(place / name, ball.vertices, ball.faces)
    np.savez(place / "b.npz", vertices=ball.vertices, faces=ball.faces)
    np.savez_compressed(place / "c.npz", vertices=ball.vertices, faces=ball.faces)
    corners = ball.vertices[ball.faces].tolist()
    lines = ["solid a"]
    for corner in corners[:200]:
        lines += ["facet normal 0 0 1", " outer loop"]
        lines += [f"  vertex {x} {y} {z}" for x, y, z in corner]
        lines += [" endloop", "endfacet"]
    (place / "text.stl").write_text("\n".join([*lines, "endsolid a", ""]))
    head = ["ply", "format ascii 1.0", "element vertex 4"]
    head += [f"property float {axis}" for axis in "xyz"]
    head += ["element face 4", "property list uchar int vertex_indices", "end_header"]
    body = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"]
    body += ["3 0 2 1", "3 0 1 3", "3 0 3 2", "3 1 2 3", ""]
    (place / "text.ply").write_text("\n".join(head + body))
    return ["ball.ply", "b.obj", "b.stl", "b.npz", "c.npz", "text.stl", "text.ply"]


def _own_formats(place: Path) -> list[Sample]:
    """Model, labels, checkpoint, run folder, results and kept choices."""
    import jax

    from passband.data.meshes import normalise, read_mesh
    from passband.field import make_field
    from passband.labels.pool import load_labels, make_labels, save_labels
    from passband.model_file import load_with_info, save
    from passband.paper import results
    from passband.paper.item import Outcome, Preset
    from passband.train.checkpoint import read_checkpoint, write_checkpoint
    from passband.train.run_folder import RunFolder
    from passband.tuning.choose import _read as read_choice

    field = make_field("none", d=2, out=3, key=jax.random.key(0), layers=2, width=8)
    facts = {"task": "image", "shape": [24, 32, 3], "low": 0.0, "high": 255.0}
    save(field, place / "m.safetensors", **facts)
    write_checkpoint(place / "state.safetensors", field, seconds=1.0)
    mesh, _ = normalise(read_mesh(place / "ball.ply"))
    labels = make_labels(mesh, blocks=1, block=64, test_points=32)
    save_labels(labels, place / "labels.safetensors")
    outcome = Outcome((), (), {"x": np.arange(40.0).reshape(8, 5)}, {})
    results.save(place, results.Result("fig2", Preset.SMOKE, outcome, {}))
    config = {"passband": "0", "task": "image", "sha256": "0", "steps": 9}
    line = '{{"step": {0}, "seconds": {0}.5, "loss": 0.1}}\n'
    log = "".join(line.format(k) for k in range(30))

    def run_of(path: Path) -> None:
        folder = RunFolder.open(path.parent)
        try:
            folder.history()
        finally:
            folder.release()

    def metrics_of(path: Path) -> None:
        (path.parent / "config.json").write_text(json.dumps(config))
        run_of(path)

    def result_of(path: Path) -> None:
        other = ".npz" if path.suffix == ".json" else ".json"
        home = path.parent / "smoke"
        home.mkdir(exist_ok=True)
        (home / path.name).write_bytes(path.read_bytes())
        kept = (place / "smoke" / f"fig2{other}").read_bytes()
        (home / f"fig2{other}").write_bytes(kept)
        results.load(path.parent, Preset.SMOKE, "fig2")

    return [
        Sample("m.safetensors", (place / "m.safetensors").read_bytes(), load_with_info),
        Sample("labels.safetensors", (place / "labels.safetensors").read_bytes(),
               load_labels),
        Sample("state.safetensors", (place / "state.safetensors").read_bytes(),
               lambda path: read_checkpoint(path, field)),
        Sample("config.json", json.dumps(config).encode(), run_of),
        Sample("metrics.jsonl", log.encode(), metrics_of),
        Sample("fig2.json", (place / "smoke" / "fig2.json").read_bytes(), result_of),
        Sample("fig2.npz", (place / "smoke" / "fig2.npz").read_bytes(), result_of),
        Sample("choice.json", b'{"mapping": "gaussian:3", "sigma": 3.0, "notes": []}',
               read_choice),
    ]  # fmt: skip


def mutated(rng: random.Random, data: bytes) -> bytes:
    """The bytes with one to four things done to them, often near the beginning."""
    out = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        rng.choice(WAYS)(rng, out)
    return bytes(out)


def _at(rng: random.Random, out: bytearray) -> int:
    near = min(len(out), 400) if rng.random() < 0.5 else len(out)
    return rng.randrange(near) if near else 0


def _flip(rng: random.Random, out: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 4, 16))):
        if out:
            out[_at(rng, out)] ^= 1 << rng.randrange(8)


def _cut(rng: random.Random, out: bytearray) -> None:
    del out[_at(rng, out) :]


def _drop(rng: random.Random, out: bytearray) -> None:
    at = _at(rng, out)
    del out[at : at + rng.choice((1, 2, 4, 16, 256))]


def _fill(rng: random.Random, out: bytearray) -> None:
    at, many = _at(rng, out), rng.choice((1, 2, 4, 8, 64))
    out[at : at + many] = bytes([rng.choice((0, 0x7F, 0x80, 0xFF))]) * many


def _number(rng: random.Random, out: bytearray) -> None:
    at = _at(rng, out)
    value = rng.choice((0, 1, -1, 2**15 - 1, 2**31 - 1, -(2**31), 2**24, 65536))
    out[at : at + 4] = struct.pack(rng.choice("<>") + "i", value)


def _digits(rng: random.Random, out: bytearray) -> None:
    """Another number where a digit is: of a text, or of a header that is one."""
    places = [k for k in range(min(len(out), 4000)) if 48 <= out[k] <= 57]
    if places:
        at = rng.choice(places)
        words = (b"9" * 400, b"-1", b"1e999", b"NaN", b"Infinity", b"9" * 10, b"0")
        out[at : at + 1] = rng.choice(words)


def _double(rng: random.Random, out: bytearray) -> None:
    at, many = _at(rng, out), rng.choice((4, 64, 1024))
    out[at:at] = out[at : at + many] * rng.choice((1, 2, 16))


def _noise(rng: random.Random, out: bytearray) -> None:
    out[_at(rng, out) : _at(rng, out)] = rng.randbytes(rng.choice((1, 4, 64)))


def _brackets(rng: random.Random, out: bytearray) -> None:
    at = _at(rng, out)
    out[at:at] = rng.choice((b"[" * 100_000, b'{"a":' * 5000, b"\x1b[2J\x07", b'"'))


WAYS = (_flip, _flip, _flip, _cut, _drop, _fill, _fill, _number, _number, _digits,
        _double, _noise, _brackets)  # fmt: skip


def make_large(place: Path) -> list[Path]:
    """A picture of 24 megapixels, volumes of 512^3, a mesh of a million faces."""
    import trimesh
    from nibabel.nifti1 import Nifti1Image

    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (500, 750, 3), np.uint8)
    large = np.kron(small, np.ones((8, 8, 1), np.uint8))
    noise = rng.integers(0, 4, large.shape, np.uint8)
    Image.fromarray(large ^ noise).save(place / "24mp.png", compress_level=1)
    Image.fromarray(large).save(place / "24mp.jpg", quality=90)
    volume = rng.integers(0, 1000, (512, 512, 64), np.int16).repeat(8, axis=2)
    (place / "v.nii").write_bytes(Nifti1Image(volume, np.eye(4)).to_bytes())
    quarter = np.ascontiguousarray(volume[:, :, :128])
    import gzip

    packed = gzip.compress(Nifti1Image(quarter, np.eye(4)).to_bytes(), 1)
    (place / "quarter.nii.gz").write_bytes(packed)
    ball = trimesh.creation.icosphere(subdivisions=8)  # 1,310,720 faces
    (place / "ball.ply").write_bytes(ball.export(file_type="ply"))
    np.savez(place / "ball.npz", vertices=ball.vertices, faces=ball.faces)
    names = ("24mp.png", "24mp.jpg", "v.nii", "quarter.nii.gz", "ball.ply", "ball.npz")
    return [place / name for name in names]
