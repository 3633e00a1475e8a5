"""Fig. 16: normal maps of table 4's networks beside those of the meshes."""

import math
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..export.normals import Camera, field_normals, mesh_normals, normal_picture
from ..field import Field
from ..model_file import save
from ..plot.style import (
    MUTED,
    axes_at,
    colour_of,
    label_of,
    new_figure,
    readable,
    styled,
)
from . import published
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .shape_study import (
    POINTS,
    STUDY,
    Shape,
    ShapeSizes,
    iou_of,
    labelled,
    labels_of,
    settings_of,
)
from .study import ROWS, Network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = {Preset.SMOKE: 24, Preset.SMALL: 80, Preset.FULL: 192}
"""Pixels of a panel's side."""
CHUNK = 1 << 15
RADIUS = 2.3
FRONT = {"buddha": 325.0}
"""Where the protocol's camera sees the back."""


class Fig16(Item):
    """Ground truth and four mappings of every shape."""

    id = "fig16"
    section = "appendix, Fig. 16"
    title = "Normal maps of shapes with four mappings"
    needs = ("meshes",)
    notes = (
        "One run with Table 4: `passband paper run table4 fig16` trains only once.",
        "The camera is the code's (azimuth 145, elevation -30), a step further back "
        "(radius 2.3, not 2), where nothing is cut off, and in front of Buddha "
        "(azimuth 325), whose back it would show.",
        "Normals are in the camera's axes: what faces it is light blue.",
        "The paper's meshes are OBJ and PLY files of the full scans; ours are counted "
        "as binary PLY, 12 bytes a vertex and 13 a face, and three are reduced.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = STUDY.sizes[preset]
        labels_of(setting, progress)
        rows = STUDY.of_rows(setting, progress)
        iou = iou_of(rows)
        panels, apart = _panels(rows, setting, SIZES[preset], progress)
        sizes = {name: labelled(name, setting).ply_bytes for name in setting.shapes}
        model = _model_bytes(rows["gaussian"][0].field)
        return Outcome(
            numbers=(
                *_numbers(sizes, model, setting, full=preset is Preset.FULL),
                *(
                    Number(f"{row}, {name}, boundary IoU", None, float(iou[1, j, i]))
                    for i, name in enumerate(setting.shapes)
                    for j, row in enumerate(ROWS)
                ),
            ),
            claims=_claims(iou, apart, sizes, model, setting, preset),
            arrays={
                "model_bytes": np.array(model),
                **{f"panels.{name}": panel for name, panel in panels.items()},
                **{f"iou.{s}": iou[1, :, i] for i, s in enumerate(setting.shapes)},
                **{f"bytes.{s}": np.array(size) for s, size in sizes.items()},
            },
            settings={
                **settings_of(setting),
                "pixels": SIZES[preset],
                "iou": "of the boundary points",
                "angle_errors": apart,
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        arrays = outcome.arrays
        names = [k.removeprefix("panels.") for k in arrays if k.startswith("panels.")]
        figure = _normal_maps(
            [decoded(arrays[f"panels.{name}"]) for name in names],
            [arrays[f"iou.{name}"] for name in names],
            shapes=names,
            mappings=ROWS,
            mesh_bytes=[int(arrays[f"bytes.{name}"]) for name in names],
            model_bytes=int(arrays["model_bytes"]),
        )
        return {self.id: figure}


ITEM = Fig16()


def camera_of(name: str, size: int) -> Camera:
    """The protocol's camera, a step further back, and in front of the shape."""
    azimuth = FRONT.get(name, Camera().azimuth)
    return Camera(azimuth=azimuth, radius=RADIUS, size=size)


def _panels(
    rows: dict[str, list[Network]], setting: ShapeSizes, size: int, progress: Progress
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Panels (1 + rows, size, size, 2) of every shape, and each row's error of angle.

    The error is the mean over pixels, in degrees, where mesh and network are hit.
    """
    panels, angles = {}, {row: [] for row in ROWS}
    # Marching along rays is the host's work, most of it: one thread for every map.
    with ThreadPoolExecutor() as pool:
        maps = {}
        for i, name in enumerate(setting.shapes):
            shape, camera = labelled(name, setting), camera_of(name, size)
            fields = [rows[row][i].field for row in ROWS]
            corners, faces = shape.mesh.vertices, shape.mesh.faces
            maps[name] = [
                pool.submit(mesh_normals, corners, faces, camera=camera),
                *(pool.submit(_seen, field, shape, camera) for field in fields),
            ]
        for name in setting.shapes:
            progress(f"normal maps of {name}")
            truth, *seen = (one.result() for one in maps[name])
            for row, normals in zip(ROWS, seen, strict=True):
                angles[row].append(angle(normals, truth))
            axes = camera_of(name, size).axes()
            panels[name] = np.stack([encoded(m @ axes) for m in (truth, *seen)])
    return panels, {row: float(np.mean(found)) for row, found in angles.items()}


def _seen(field: Field, shape: Shape, camera: Camera) -> np.ndarray:
    """The network's normals; points are filled up, so that one program serves all."""

    def inside(points: np.ndarray) -> np.ndarray:
        fill = max(0, CHUNK - len(points))
        filled = np.pad(points, ((0, fill), (0, 0)))
        return field.predict(filled, chunk=CHUNK)[: len(points)]

    return field_normals(inside, shape.box, camera=camera, level=0.5)


def angle(one: np.ndarray, other: np.ndarray) -> float:
    """Mean angle in degrees between unit normals, where both maps have one."""
    cosine = np.sum(one * other, axis=-1)
    both = np.any(one, axis=-1) & np.any(other, axis=-1)
    if not both.any():
        return 90.0
    return float(np.rad2deg(np.arccos(np.clip(cosine[both], -1, 1))).mean())


def encoded(normals: np.ndarray) -> np.ndarray:
    """(rows, cols, 2) uint8: right and up, 255 both beside the shape.

    What is seen faces the camera, so that these give the third, in two thirds of the
    bytes.
    """
    hit = np.any(normals, axis=-1, keepdims=True)
    return np.where(hit, normal_picture(normals[..., :2]), np.uint8(255))


def decoded(panel: np.ndarray) -> np.ndarray:
    """(..., rows, cols, 3) uint8, white beside the shape."""
    across = panel / 127.5 - 1
    toward = np.sqrt(np.maximum(0, 1 - np.sum(across**2, axis=-1, keepdims=True)))
    picture = normal_picture(np.concatenate([across, toward], axis=-1))
    return np.where(np.all(panel == 255, axis=-1, keepdims=True), 255, picture)


def _model_bytes(field: Field) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        save(field, path)
        return path.stat().st_size


def _numbers(
    sizes: dict[str, int], model: int, setting: ShapeSizes, *, full: bool
) -> tuple[Number, ...]:
    printed = {column: cell.value for (_, column), cell in published.FIG16_MB.items()}
    numbers = [Number("MB of a network", printed["model"], model / 1e6, None, full)]
    for name in setting.shapes:
        numbers.append(
            Number(f"MB of {name}", printed.get(name), sizes[name] / 1e6, None, False)
        )
    return tuple(numbers)


def _claims(
    iou: np.ndarray,
    apart: dict[str, float],
    sizes: dict[str, int],
    model: int,
    setting: ShapeSizes,
    preset: Preset,
) -> tuple[Claim, ...]:
    full, judged = preset is Preset.FULL, preset is not Preset.SMOKE
    means = iou[POINTS.index("boundary")].mean(axis=1)
    printed = published.FIG16_MB["size", "model"]
    first = setting.shapes[0]
    return (
        judge(
            "over the four shapes, boundary IoU: none < basic < positional < Gaussian",
            np.all(np.diff(means) > 0) if judged else None,
            ", ".join(f"{r} {m:.3f}" for r, m in zip(ROWS, means, strict=True)),
        ),
        judge(
            "normals are nearest to the mesh's with Fourier features",
            max(apart["positional"], apart["gaussian"])
            < min(apart["none"], apart["basic"])
            if judged
            else None,
            "mean angle in degrees: "
            + ", ".join(f"{row} {value:.1f}" for row, value in apart.items()),
        ),
        judge(
            f"a network is {printed.text} MB, less than {first} takes",
            printed.holds(model / 1e6) and model < sizes[first] if full else None,
            f"{model / 1e6:.2f} MB; as binary PLY "
            + ", ".join(f"{s} {size / 1e6:.1f} MB" for s, size in sizes.items()),
        ),
    )


DPI = 150  # of `png_bytes`: a pixel of a panel is one of the picture, or 2 x 2
LEAST, GAP, MARGIN = 1.1, 0.08, 0.16
TITLES, CAPTION = 0.32, 0.3


@styled
def _normal_maps(
    panels: Sequence[ArrayLike],
    scores: Sequence[ArrayLike],
    *,
    shapes: Sequence[str],
    mappings: Sequence[str],
    mesh_bytes: Sequence[int],
    model_bytes: int,
) -> "Figure":
    """A row a shape: the mesh's normals, then each network's, with its IoU below.

    Args:
        panels: for each shape (1 + mappings, rows, cols, 3) uint8 on white.
        scores: for each shape the boundary IoU of every mapping.
    """
    columns = 1 + len(mappings)
    pictures = [_cut(np.asarray(p)) for p in panels]
    inch = DPI / math.ceil(LEAST * DPI / pictures[0].shape[2])
    panel = pictures[0].shape[2] / inch
    heights = [p.shape[1] / inch for p in pictures]
    width = 2 * MARGIN + columns * panel + (columns - 1) * GAP
    height = TITLES + sum(heights) + CAPTION * len(panels) + MARGIN
    figure = new_figure(width, height)

    def write(text: str, column: int, down: float, **options) -> None:
        middle = MARGIN + column * (panel + GAP) + panel / 2
        figure.text(middle / width, 1 - down / height, text, ha="center", **options)

    for column, word in enumerate(("Mesh", *mappings)):
        colour = readable(colour_of(word))
        bold = {"fontweight": "bold", "color": colour, "fontsize": 9.5}
        write(label_of(word), column, TITLES - 0.12, **bold)
    top = TITLES
    for i, name in enumerate(shapes):
        for column, picture in enumerate(pictures[i]):
            left = MARGIN + column * (panel + GAP)
            axes = axes_at(figure, left, top, panel, heights[i])
            axes.imshow(picture, interpolation="nearest")
            axes.set_axis_off()
        top += heights[i]
        mesh = f"{name.capitalize()} {_megabytes(mesh_bytes[i])}"
        write(mesh, 0, top + 0.15, fontsize=8)
        values = np.asarray(scores[i], float)
        for column, value in enumerate(values, 1):
            best = {"fontweight": "bold"} if value == values.max() else {}
            write(f"IoU {value:.3f}", column, top + 0.15, fontsize=8, **best)
        top += CAPTION
    note = f"IoU near the surface; each network {_megabytes(model_bytes)}"
    figure.text(1 - MARGIN / width, MARGIN / 2 / height, note, ha="right", va="center",
                fontsize=8, color=MUTED)  # fmt: skip
    return figure


def _cut(panels: np.ndarray) -> np.ndarray:
    """A row's panels without the white above and below all of them."""
    drawn = np.flatnonzero((panels < 255).any(axis=(0, 2, 3)))
    if not len(drawn):
        return panels
    pad = panels.shape[1] // 32
    return panels[:, max(0, drawn[0] - pad) : drawn[-1] + 1 + pad]


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.2g} MB" if count < 1e7 else f"{count / 1e6:.0f} MB"
