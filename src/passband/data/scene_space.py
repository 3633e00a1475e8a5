"""Where a scene is: along the rays, and in the world."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import InputError
from .cameras import Focus

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
        return self.near * self.stretch, self.far * self.stretch

    def place(self, poses: Float[np.ndarray, "n 3 4"]) -> Float[np.ndarray, "n 3 4"]:
        """Poses whose rays run in the field's coordinates.

        With t' = stretch t, origin' + t' direction' = (origin + t direction - low) /
        side.
        """
        turn = poses[:, :, :3] / (self.side * self.stretch)
        origin = (poses[:, :, 3:] - self.low[:, None]) / self.side
        return np.concatenate([turn, origin], axis=2)


def settle(
    where: str,
    content: dict[str, Any],
    seen: Focus | None,
    *,
    near: float | None,
    far: float | None,
    box: tuple[float, float, float, float] | None,
    notes: list[str],
) -> Space:
    """Near, far and box as given, read from a camera file, or estimated.

    Args:
        where: the scene, as errors name it.
        content: of the camera file.
        seen: what the cameras look at, if that can be told.
        notes: gets a line for everything that was not given.
    """
    near, far = _range(where, content, near, far, seen, notes)
    centre, side = _box(where, content, box, seen, notes)
    return Space(float(near), float(far), centre, side)


def _range(
    where: str,
    content: dict[str, Any],
    near: float | None,
    far: float | None,
    seen: Focus | None,
    notes: list[str],
) -> tuple[float, float]:
    ends = {"near": near, "far": far}
    for key in ends:
        value = content.get(key)
        if ends[key] is None and _is_depth(value):
            ends[key] = float(value)  # pyright: ignore[reportArgumentType]
            notes.append(f"`{key}` is {value:g}, from the camera file")
    for key, value in ends.items():
        if value is None:
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
    if seen is None:
        raise InputError(
            f"{where}: its cameras look in parallel, or away from each other, so where "
            "the scene is cannot be told; give `box`: x,y,z,side"
        )
    side = float(f"{2 * seen.radius:.4g}")
    # To a thousandth of the side, so that the printed centre is the centre.
    centre = np.round(seen.centre, max(0, 3 - int(np.floor(np.log10(side))))) + 0.0
    notes.append(
        f"the scene's box is a cube of side {side:g} about "
        f"{', '.join(f'{x:g}' for x in centre)}, estimated from what the cameras look "
        "at; frequencies are cycles per side"
    )
    return centre, side
