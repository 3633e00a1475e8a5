"""Where a scene is: along the rays, and in the world."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import InputError
from .cameras import Focus
from .frustum import Frustum, frustum_of
from .seen_depths import Depths

RAYS = ("auto", "box", "ndc")
MARGIN = 0.1
"""Of the depths of points, that near and far leave before and behind them."""
DEPTH = 4.0
"""How long the ray parameter runs: the paper's 2 to 6. Densities, and with them
learning rates, mean the same whatever unit the world is in."""


@dataclass(frozen=True, eq=False)
class Space:
    """The stretch of every ray, and the cube that is one unit long for frequencies.

    A point p of the world is v = (p - low) / side to a field, and a frequency of f
    cycles per side is f / side cycles, or 2 pi f / side radians, per unit of the world.
    """

    near: float
    far: float
    centre: Float[np.ndarray, "3"]
    side: float
    frustum: Frustum | None = None
    """Where a field is laid into what one camera sees, and not into the cube."""

    @property
    def low(self) -> Float[np.ndarray, "3"]:
        return self.centre - self.side / 2

    @property
    def stretch(self) -> float:
        """Units of the ray parameter for each unit of depth in the world."""
        return DEPTH / (self.far - self.near)

    @property
    def ends(self) -> tuple[float, float]:
        """`near` and `far` as ray parameters."""
        if self.frustum is not None:
            return 0.0, DEPTH
        return self.near * self.stretch, self.far * self.stretch

    def place(self, poses: Float[np.ndarray, "n 3 4"]) -> Float[np.ndarray, "n 3 4"]:
        """Poses whose rays run in the field's coordinates.

        With t' = stretch t, origin' + t' direction' = (origin + t direction - low) /
        side. In a frustum they are in the frame of its camera, and `ndc` says the rest.
        """
        if self.frustum is not None:
            return self.frustum.place(poses)
        turn = poses[:, :, :3] / (self.side * self.stretch)
        origin = (poses[:, :, 3:] - self.low[:, None]) / self.side
        return np.concatenate([turn, origin], axis=2)

    @property
    def ndc(self) -> Float[np.ndarray, "4"] | None:
        """What `forward.render.ndc` needs: near, s, and how much of disparity and of
        the field's third coordinate a unit of the ray parameter is."""
        if self.frustum is None:
            return None
        disparity = 1 - self.near / self.far
        return np.array([self.near, self.frustum.scale, disparity / DEPTH, 1 / DEPTH])

    def depth(self, t: np.ndarray) -> np.ndarray:
        """Depth in the world at a ray parameter; in a frustum, from its camera."""
        if self.frustum is None:
            return t / self.stretch
        return np.asarray(self.near / (1 - t / DEPTH * (1 - self.near / self.far)))


def settle(
    where: str,
    content: dict[str, Any],
    seen: Focus | None,
    *,
    near: float | None,
    far: float | None,
    box: tuple[float, float, float, float] | None,
    notes: list[str],
    depths: Depths | None = None,
    train: tuple[np.ndarray, np.ndarray, tuple[int, int]] | None = None,
    rays: str = "auto",
) -> Space:
    """Near, far and box as given, read from a camera file, or estimated.

    Args:
        where: the scene, as errors name it.
        content: of the camera file.
        seen: what the cameras look at, if that can be told.
        notes: gets a line for everything that was not given.
        depths: of points that came with the cameras.
        train: poses, lenses and the size of the pictures.
        rays: one of `RAYS`.
    """
    near, far = _range(where, content, near, far, seen, notes, depths)
    frustum = None
    if train is not None and box is None:
        asked = rays == "ndc" or (rays == "auto" and depths is not None)
        frustum = frustum_of(*train, near) if asked else None
    if frustum is not None:
        notes.append(
            "its cameras all look one way: the field is in normalised device "
            "coordinates, and a frequency in cycles per longer side of a picture"
        )
        return Space(near, far, frustum.pose[:, 3], 1.0, frustum)
    if rays == "ndc":
        raise InputError(
            f"{where}: `rays` (=ndc) is for cameras that all look one way, and these "
            "do not"
            if box is None
            else f"{where}: `box` means nothing with `rays=ndc`"
        )
    centre, side = _box(where, content, box, seen, notes, depths)
    return Space(near, far, centre, side)


def _range(
    where: str,
    content: dict[str, Any],
    near: float | None,
    far: float | None,
    seen: Focus | None,
    notes: list[str],
    depths: Depths | None,
) -> tuple[float, float]:
    ends = {"near": near, "far": far}
    for key in ends:
        value = content.get(key)
        if ends[key] is None and _is_depth(value):
            ends[key] = float(value)  # pyright: ignore[reportArgumentType]
            notes.append(f"`{key}` is {value:g}, from the camera file")
    for key, value in ends.items():
        if value is None and depths is not None:
            room = 1 - MARGIN if key == "near" else 1 + MARGIN
            ends[key] = float(f"{getattr(depths, key) * room:.4g}")
            notes.append(f"`{key}` is {ends[key]:g}, from {depths.source}")
        elif value is None:
            if seen is None:
                raise InputError(
                    f"{where}: its cameras look in parallel, or away from each other, "
                    f"so how far the scene is cannot be told; give `{key}`"
                )
            ends[key] = float(f"{getattr(seen, key):.4g}")
            notes.append(
                f"`{key}` is {ends[key]:g}, estimated from what the cameras look at"
            )
    near, far = ends["near"] or 0.0, ends["far"] or 0.0
    if not 0 < near < far < np.inf:
        raise InputError(
            f"`near` (={near:g}) must be positive and below `far` (={far:g})"
        )
    if depths is not None:
        seen = None  # points are surer than axes that nearly meet
        if far < depths.near or near > depths.far:
            raise InputError(
                f"`near` (={near:g}) to `far` (={far:g}) misses the scene, which lies "
                f"{depths.near:.3g} to {depths.far:.3g} from the cameras"
            )
    if seen is not None and (far < seen.near or near > seen.far):
        raise InputError(
            f"`near` (={near:g}) to `far` (={far:g}) misses the scene: what the "
            f"cameras look at lies {seen.near:.3g} to {seen.far:.3g} from them"
        )
    return near, far


def _is_depth(value: Any) -> bool:
    return isinstance(value, int | float) and 0 < value < np.inf


def _box(
    where: str,
    content: dict[str, Any],
    box: tuple[float, float, float, float] | None,
    seen: Focus | None,
    notes: list[str],
    depths: Depths | None,
) -> tuple[np.ndarray, float]:
    if box is not None:
        if not (np.isfinite(box).all() and box[3] > 0):
            raise InputError(f"`box` (={box}) must be x, y, z and a positive side")
        return np.array(box[:3], float), float(box[3])
    try:
        low, high = np.array(content.get("aabb"), float)
        if low.shape == (3,) and (high > low).all():
            if not np.isfinite([low, high]).all():
                raise InputError(f"{where}: its `aabb` is not finite")
            notes.append("the scene's box is the camera file's `aabb`")
            return (low + high) / 2, float((high - low).max())
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError):
        pass
    if depths is not None and depths.middle is not None and depths.side is not None:
        side = float(f"{depths.side * (1 + MARGIN):.4g}")
        centre = _rounded(depths.middle, side)
        notes.append(_box_note(centre, side, depths.source))
        return centre, side
    if seen is None:
        raise InputError(
            f"{where}: its cameras look in parallel, or away from each other, so where "
            "the scene is cannot be told; give `box`: x,y,z,side"
        )
    side = float(f"{2 * seen.radius:.4g}")
    centre = _rounded(seen.centre, side)
    notes.append(_box_note(centre, side, "what the cameras look at"))
    return centre, side


def _rounded(centre: np.ndarray, side: float) -> np.ndarray:
    """To a thousandth of the side, so that the printed centre is the centre."""
    return np.round(centre, max(0, 3 - int(np.floor(np.log10(side))))) + 0.0


def _box_note(centre: np.ndarray, side: float, source: str) -> str:
    return (
        f"the scene's box is a cube of side {side:g} about "
        f"{', '.join(f'{x:g}' for x in centre)}, estimated from {source}; "
        "frequencies are cycles per side"
    )
