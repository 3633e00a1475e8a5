"""What sigma does to a picture: many small networks of it, and what the theory says.

A page shows them (`export.web.explorer_page`). Every network is trained here on every
other row and column, and judged on the pixels between, as in the paper's section 6.2.
"""

import base64
import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .. import theory
from ..data.images import Image, read_image
from ..errors import InputError
from ..export.web.network import network_data
from ..field import Field, make_field
from ..mappings import Encoding, FourierFeatures
from ..tasks.image import ImageTask, image_task
from ..train.device import device_name
from ..train.driver import Config, train
from ..train.optimisers import optimiser
from ..train.schedules import schedule
from .defaults import start_at
from .explore_row import row_study
from .kind import SILENT, Listener

SIDE, M, WIDTH = 256, 64, 64
"""Small enough for a browser to evaluate all pixels within 60 ms on two cores."""
SIGMAS = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0, 23.0, 32.0, 45.0, 64.0)
"""Up to the Nyquist frequency of the pixels that train."""
OCTAVES = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
STEPS, BATCH, RATE = 400, 4096, 5e-3
KERNEL = 65
"""Points a side of the kernel's picture."""
DENSE = 32
"""Points a side where the kernel is no function of the difference, and is factored."""


@dataclasses.dataclass(frozen=True)
class Family:
    """A mapping and the scales it is shown at."""

    name: str
    label: str
    scale: str
    """What its slider is called."""
    unit: str
    values: tuple[float, ...]

    def word(self, value: float) -> str:
        if self.name in ("none", "basic"):
            return self.name
        return f"{self.name}:{value:g},m={M}"


FAMILIES = (
    Family("gaussian", "Gaussian", "sigma", "cycles", SIGMAS),
    Family("positional", "positional", "scale", "octaves", OCTAVES),
    Family("basic", "basic", "one turn", "per side", (1.0,)),
    Family("none", "no mapping", "coordinates", "", (1.0,)),
)


def explore(
    image: Image,
    *,
    layers: Sequence[int] = (3,),
    steps: int = STEPS,
    seed: int = 0,
    families: Sequence[Family] = FAMILIES,
    row: Mapping[str, int] | None = None,
    listener: Listener = SILENT,
) -> dict[str, Any]:
    """The networks of a picture and all that the page says of them.

    Args:
        layers: matrices of the networks, one set of them for each.
        row: `width` and `steps` of gradient descent on one row, if not the usual.
    """
    begun = time.perf_counter()
    picture = as_square(image)
    task = image_task(picture, holdout="quarter", batch=BATCH, seed=seed)
    asked = [
        (family, value, depth)
        for depth in layers
        for family in families
        for value in family.values
    ]
    mean = float(picture.values.mean()) / 255
    drawn = [
        _halved_encoding(
            make_field(
                family.word(value), d=2, out=picture.values.shape[2], key=seed,
                layers=depth, width=WIDTH, start=start_at(mean),
            )
        )
        for family, value, depth in asked
    ]  # fmt: skip
    fields = _trained(task, drawn, steps, seed, listener)
    networks = {}
    for k, ((family, value, depth), field) in enumerate(
        zip(asked, fields, strict=True)
    ):
        listener.progress(f"kernel {k + 1} of {len(asked)}", often=False)
        scores = task.metrics(field)
        networks[f"{family.name} {value:g} {depth}"] = {
            **network_data(field, np.float16),
            "word": family.word(value),
            "train": round(scores["psnr_train"], 2),
            "test": round(scores["psnr_test"], 2),
            "kernel": _kernel(field.encoding, depth),
        }
    listener.progress("one row by gradient descent", often=False)
    by_row = row_study(_row(picture), seed=seed, listener=listener, **(row or {}))
    return {
        "name": image.name,
        "side": SIDE,
        "target": base64.b64encode(picture.values.tobytes()).decode(),
        "channels": picture.values.shape[2],
        "families": [dataclasses.asdict(family) for family in families],
        "layers": list(layers),
        "networks": networks,
        "spectrum": _rounded(_radial(_power(picture))),
        "row": by_row,
        "made": {
            "steps": steps,
            "points": BATCH,
            "optimiser": "muon",
            "rate": RATE,
            "device": device_name(),
            "seconds": round(time.perf_counter() - begun, 1),
        },
    }


def sample_picture(file: str | None) -> Image:
    """The picture of a file; without one, the sample of scikit-image."""
    if file is not None:
        return read_image(Path(file))
    import skimage.data

    return Image(skimage.data.astronaut(), 0.0, 255.0, "astronaut")


def as_square(image: Image) -> Image:
    """The middle of a picture, 256 pixels a side, grey or in colours."""
    import skimage.transform

    values = image.normalised()
    h, w, channels = values.shape
    if min(h, w) < 8:
        raise InputError(
            f"`{image.name}` has {h} x {w} pixels; give a picture of 8 or more a side"
        )
    side = min(h, w)
    top, left = (h - side) // 2, (w - side) // 2
    square = values[top : top + side, left : left + side]
    square: Any = square[..., :3] if channels >= 3 else square[..., :1]
    if side > SIDE:
        square = skimage.transform.resize_local_mean(square, (SIDE, SIDE))
    elif side < SIDE:
        square = skimage.transform.resize(square, (SIDE, SIDE), order=3)
    byte = np.round(255 * np.clip(square, 0, 1)).astype(np.uint8)
    return Image(byte, 0.0, 255.0, image.name)


def _trained(
    task: ImageTask,
    fields: Sequence[Field],
    steps: int,
    seed: int,
    listener: Listener,
) -> list[Field]:
    """The fields, trained and rounded to what the page holds of them."""
    config = Config(steps=steps, lr=schedule("cosine", RATE, steps))
    done: list[int] = []

    def on_stack(count: int) -> None:
        done.append(count)
        listener.progress(f"training networks {count + 1} to ... of {len(fields)}")

    def on_log(_: Any, entry: dict[str, Any]) -> None:
        listener.progress(
            f"{done[-1]} of {len(fields)} networks; the next: step {entry['step']} of "
            f"{steps}"
        )

    found, _ = train(
        [task] * len(fields),
        fields,
        config,
        keys=[jax.random.key(seed + 1)] * len(fields),
        optimiser=optimiser("muon"),
        on_stack=on_stack,
        on_log=on_log,
    )
    return [jax.tree.map(_half, field) for field in found]


def _half(leaf: Any) -> Any:
    """Rounded to float16."""
    if not eqx.is_array(leaf):
        return leaf
    return jax.numpy.asarray(leaf, np.float16).astype(np.float32)


def _halved_encoding(field: Field) -> Field:
    """B rounded before it is trained behind, so that nothing is lost afterwards."""
    return eqx.tree_at(lambda f: f.encoding, field, jax.tree.map(_half, field.encoding))


def _kernel(encoding: Encoding, layers: int) -> dict[str, Any]:
    """The composed NTK about the middle: a picture, a cut and its power by frequency;
    all as shares of its largest value."""
    axis = np.linspace(0, 1, KERNEL)
    x, y = np.meshgrid(axis, axis)
    middle = np.array([[0.5, 0.5]])
    points = np.stack([x, y], -1).reshape(-1, 2)
    found = theory.composed_ntk(encoding, points, middle, layers=layers, width=WIDTH)
    found = found.reshape(KERNEL, KERNEL) / found.max()
    fine = np.stack(
        [np.linspace(0, 1, 4 * KERNEL - 3), np.full(4 * KERNEL - 3, 0.5)], 1
    )
    cut = theory.composed_ntk(encoding, fine, middle, layers=layers, width=WIDTH)[:, 0]
    low = min(0.0, float(found.min()))
    byte = np.round(255 * (found - low) / (1 - low)).astype(np.uint8)
    return {
        "picture": base64.b64encode(byte.tobytes()).decode(),
        "cut": _rounded(cut / cut.max()),
        "power": _rounded(_kernel_power(encoding, layers)),
    }


def _kernel_power(encoding: Encoding, layers: int) -> np.ndarray:
    """Mean power u^H K u of waves u on the training pixels, by whole frequencies.

    A stationary kernel is enough at all differences; any other is laid out on a coarse
    grid, whose frequencies end sooner.
    """
    if isinstance(encoding, FourierFeatures):
        n = SIDE // 2
        steps = np.arange(1 - n, n)
        x, y = np.meshgrid(steps / n, steps / n)
        points = np.stack([x, y], -1).reshape(-1, 2)
        origin = np.zeros((1, 2))
        k = theory.composed_ntk(encoding, points, origin, layers=layers, width=WIDTH)
        # How many pairs of pixels are so far apart.
        pairs = (n - np.abs(steps)) / n
        wrapped = np.zeros((n, n))
        weighed = (pairs[:, None] * pairs * k.reshape(2 * n - 1, -1)).ravel()
        np.add.at(wrapped, tuple(np.meshgrid(steps % n, steps % n, indexing="ij")),
                  weighed.reshape(2 * n - 1, -1))  # fmt: skip
        power = np.fft.fft2(wrapped).real
    else:
        n = DENSE
        axis = np.arange(n) / n
        x, y = np.meshgrid(axis, axis)
        points = np.stack([x, y], -1).reshape(-1, 2)
        k = theory.composed_ntk(encoding, points, layers=layers, width=WIDTH)
        waves = np.fft.fft2(k.reshape(n * n, n, n), norm="ortho").reshape(n * n, -1)
        back = np.fft.ifft2(waves.T.reshape(-1, n, n), norm="ortho").reshape(n * n, -1)
        power = np.diagonal(back).real.reshape(n, n)
    return _radial(np.maximum(power, 0))


def _power(picture: Image) -> np.ndarray:
    """Of the training pixels, the mean over channels taken off."""
    values = picture.values[::2, ::2].mean(axis=2) / 255
    return np.abs(np.fft.fft2(values - values.mean())) ** 2


def _radial(power: np.ndarray) -> np.ndarray:
    """Mean over rings of whole frequencies, 1 to Nyquist, as shares of the first."""
    n = len(power)
    k = np.fft.fftfreq(n, 1 / n)
    ring = np.rint(np.hypot(k[:, None], k)).astype(int).ravel()
    inside = ring <= n // 2
    total = np.bincount(ring[inside], power.ravel()[inside])
    count = np.bincount(ring[inside])
    found = (total / count)[1:]
    return found / max(found[0], 1e-300)


def _row(picture: Image) -> np.ndarray:
    """Every second pixel of the middle row, in grey, about 0."""
    row = picture.values[SIDE // 2, ::2].mean(axis=-1) / 255
    return row - row.mean()


def _rounded(values: np.ndarray) -> list[float]:
    return [float(f"{value:.4g}") for value in np.asarray(values).ravel()]
