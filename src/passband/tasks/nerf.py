"""View synthesis: colour and density from photographs (paper, section 6.2)."""

import dataclasses
import math
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Scalar, UInt8, UInt32

from ..data.scene_space import Space
from ..data.scenes import Photographs, Scene
from ..errors import InputError
from ..field import Field
from ..forward.empty_space import PAYS, Occupied, box_of_views, render_view_of
from ..forward.empty_space import occupied as occupied_by
from ..forward.packed import Skip, render_packed
from ..forward.render import ndc, on_background, ray, render, render_view
from ..mappings import AnyKey
from ..members import Members, mean_and_spread
from ..ops.mlp import Precision
from ..ops.without_autotune import jit_without_autotune
from .metrics import psnr, ssim
from .shuffle import shuffled
from .task import Task, half_mean_square

MORE_RAYS = 4
"""Times the batch: rays from which a step is filled where empty space is skipped."""
SKIP_LATTICE, SKIP_STEPS, SKIP_AFTER = 96, 50, 1000
"""Points along each side of what is looked at between steps, at most, one for two
pixels of a photograph; how many steps; and the first steps, in which nothing is left
out: where they were no exception, one key of Lego in two did not leave the fog that
scenes begin with."""
# Rays that `probe` looks along: a twentieth of a second on a CPU.
PROBES = 128


class FieldRadiance(eqx.Module):
    """A field of 4 channels as colour (sigmoid) and density (ReLU)."""

    field: Field

    def __call__(
        self, points: Float[Array, "n 3"]
    ) -> tuple[Float[Array, "n 3"], Float[Array, " n"]]:
        raw = self.field.logits(points)
        return jax.nn.sigmoid(raw[:, :3]), jax.nn.relu(raw[:, 3])


class View(NamedTuple):
    """A rendered picture, off the device."""

    colour: np.ndarray
    """(rows, columns, 3), on the background."""
    depth: np.ndarray
    """(rows, columns) of ray parameters; what passed through counts as zero."""
    opacity: np.ndarray
    spread: np.ndarray | None = None
    """Of members, the standard deviation of their colours."""


class Views(eqx.Module):
    """Photographs and the cameras that took them."""

    pixels: UInt8[Array, "*runs n h w 3"]
    poses: Float[Array, "*runs n 3 4"]
    lens: Float[Array, "*runs n k"]
    frustum: Float[Array, "*runs 4"] | None = None
    """Of forward-facing scenes, in whose coordinates rays are then."""

    def rays(
        self, index: UInt32[Array, " k"] | Int[Array, " k"]
    ) -> tuple[Float[Array, "k 3"], Float[Array, "k 3"], Float[Array, "k 3"]]:
        """Origins, directions and colours of flat pixel indices of all views."""
        _, h, w, _ = self.pixels.shape
        view, rest = index // (h * w), index % (h * w)
        pixel = jnp.stack([rest % w, rest // w], -1).astype(jnp.float32)
        o, d = jax.vmap(ray)(self.poses[view], self.lens[view], pixel)
        if self.frustum is not None:
            o, d = jax.vmap(ndc, (0, 0, None))(o, d, self.frustum)
        colour = self.pixels.reshape(-1, 3)[index].astype(jnp.float32) / 255
        return o, d, colour

    def truth(self) -> np.ndarray:
        """The photographs in [0, 1]."""
        return np.asarray(self.pixels, np.float32) / 255

    @property
    def size(self) -> tuple[int, int]:
        return self.pixels.shape[-3], self.pixels.shape[-2]


class Probe(NamedTuple):
    """Signs of a network that will not come to show the scene."""

    spread: float
    """How much rendered colours differ from ray to ray, over how much they should, in
    the channel where they differ least: 0 if the network has collapsed to one colour
    everywhere, or has lost one of its channels to a saturated sigmoid."""
    depth: float
    """By where nine rays of ten are stopped, from 0 (near) to 1 (far): close to 0 if
    each camera has a picture of its own hung up before it, and no other sees it."""


class NerfTask(Task):
    """Fit photographs from known cameras by what they show of one scene."""

    views: Views
    test: Views | None
    near: Float[Array, "*runs"]
    far: Float[Array, "*runs"]
    background: Float[Array, "*runs 3"]
    seed: UInt32[Array, "*runs"]
    """Of the order in which the rays are taken."""
    batch: int = eqx.field(static=True)
    """Rays a step."""
    samples: int = eqx.field(static=True)
    """Points along a ray."""
    skip: Skip | None = None
    """What is left out of empty space; `batch` rays are then what fits if nothing is
    empty, and up to `MORE_RAYS` times as many are taken."""

    def ready(self, field: Field, step: Int[Array, ""] | int) -> "NerfTask":
        if self.skip is None or isinstance(field, Members):
            return self
        early = jnp.asarray(step) < SKIP_AFTER
        skip = self.skip.looked(FieldRadiance(field), everywhere=early)
        return dataclasses.replace(self, skip=skip)

    @property
    def steps_a_look(self) -> int:
        return 1 if self.skip is None else SKIP_STEPS

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        o, d, target = self.views.rays(self.pick(step))
        if self.skip is not None:
            seen, fits = render_packed(
                self.skip, FieldRadiance(field), o, d, self.near, self.far,
                samples=self.samples, key=key,
            )  # fmt: skip
            off = on_background(seen, self.background) - target
            square = jnp.where(fits, jnp.mean(jnp.square(off), axis=-1), 0.0)
            return jnp.sum(square) / jnp.sum(fits)
        seen = render(
            FieldRadiance(field), o, d, self.near, self.far,
            samples=self.samples, key=key,
        )  # fmt: skip
        return 2 * half_mean_square(on_background(seen, self.background), target)

    def pick(self, step: Int[Array, ""] | int) -> UInt32[Array, " rays"]:
        """The rays of a step: none comes twice in a pass over all of them.

        Every pass has an order of its own, and leaves out the few rays that do not
        fill a batch.
        """
        n, h, w, _ = self.views.pixels.shape
        rays = self.rays
        a_pass = n * h * w // rays
        step = jnp.asarray(step, jnp.uint32)
        place = step % a_pass * rays + jnp.arange(rays, dtype=jnp.uint32)
        return shuffled(place, self.seed + step // a_pass, n * h * w)

    def see(
        self,
        field: Field,
        pose: Array,
        lens: Array,
        size: tuple[int, int],
        occupied: Occupied | None = None,
    ) -> View:
        """A view of a field from a camera in the field's coordinates."""
        return see(
            field, pose, lens, size, near=self.near, far=self.far,
            samples=self.samples, background=self.background,
            frustum=self.views.frustum, occupied=occupied,
        )  # fmt: skip

    def look(self, field: Field) -> list[View]:
        """All views shown, the field asked only where it is not empty."""
        views = self.shown
        where = somewhere(
            field, np.asarray(views.poses), np.asarray(views.lens), views.size,
            near=self.near, far=self.far, samples=self.samples, frustum=views.frustum,
        )  # fmt: skip
        cameras = zip(views.poses, views.lens, strict=True)
        return [self.see(field, *camera, views.size, where) for camera in cameras]

    def predict(self, field: Field, views: Views | None = None) -> np.ndarray:
        """The test views, or the training views where there are none."""
        views = self.shown if views is None else views
        return np.stack(
            [
                self.see(field, pose, lens, views.size).colour
                for pose, lens in zip(views.poses, views.lens, strict=True)
            ]
        )

    def metrics(
        self, field: Field, prediction: np.ndarray | None = None
    ) -> dict[str, float]:
        """Mean over views of their PSNR (unclipped) and SSIM, against peak 1."""
        seen = self.predict(field) if prediction is None else prediction
        truth = self.shown.truth()
        name = "psnr_train" if self.test is None else "psnr_test"
        pairs = zip(seen, truth, strict=True)
        alike = [ssim(a, b, data_range=1.0) for a, b in pairs]
        return {
            name: float(psnr_of_views(seen, truth).mean()),
            "ssim": float(np.mean(alike)),
        }

    def probe(self, field: Field) -> Probe:
        """What a few rays of the training views say of a network's health."""
        if isinstance(field, Members):  # one that is ill is enough
            return Probe(*np.min([self.probe(one) for one in field.each()], axis=0))
        n, h, w, _ = self.views.pixels.shape
        place = jnp.arange(min(PROBES, n * h * w), dtype=jnp.uint32)
        seen, depth, target = (
            np.asarray(x)
            for x in _probe(self, field, shuffled(place, jnp.uint32(0), n * h * w))
        )
        wanted, found = np.std(target, axis=0), np.std(seen, axis=0)
        vary = wanted > 0
        spread = float((found[vary] / wanted[vary]).min()) if vary.any() else 1.0
        return Probe(spread, float(np.quantile(depth, 0.9)))

    @property
    def rays(self) -> int:
        """Those that a step is filled from."""
        if self.skip is None:
            return self.batch
        n, h, w, _ = self.views.pixels.shape[-4:]
        return min(MORE_RAYS * self.batch, n * h * w)

    @property
    def shown(self) -> Views:
        return self.views if self.test is None else self.test

    @property
    def step_points(self) -> int:
        return self.batch * self.samples

    def psnr_of_loss(self, loss: np.ndarray) -> np.ndarray:
        return -10 * np.log10(np.maximum(loss, 1e-30))


def see(
    field: Field,
    pose: Float[Array, "3 4"] | np.ndarray,
    lens: Float[Array, " k"] | np.ndarray,
    size: tuple[int, int],
    *,
    near: Array | float,
    far: Array | float,
    samples: int,
    background: Array,
    frustum: Float[Array, "4"] | np.ndarray | None = None,
    occupied: Occupied | None = None,
) -> View:
    """What a camera in the field's coordinates sees.

    Products are rounded as in training: on a GPU to bfloat16. Of members it is the mean
    of what each of them shows: colours where one of them is empty mean nothing.

    Args:
        occupied: where the field is not empty (`somewhere`); it is asked only there.
    """
    if isinstance(field, Members):
        one_sees = partial(
            see, pose=pose, lens=lens, size=size, near=near, far=far, samples=samples,
            background=background, frustum=frustum,
        )  # fmt: skip
        mean, spread = mean_and_spread(field, lambda one: _layers(one_sees(one)))
        assert spread is not None
        return View(mean[..., :3], mean[..., 3], mean[..., 4], spread[..., :3])
    precision = Precision.resolve("auto", jax.default_backend())
    look = render_view if occupied is None else partial(render_view_of, occupied)
    seen = look(
        FieldRadiance(field.with_precision(precision)),
        jnp.asarray(pose, jnp.float32),
        jnp.asarray(lens, jnp.float32),
        jnp.float32(near),
        jnp.float32(far),
        size=size,
        samples=samples,
        frustum=None if frustum is None else jnp.asarray(frustum, jnp.float32),
    )
    colour = np.asarray(on_background(seen, background))
    return View(colour, np.asarray(seen.depth), np.asarray(seen.opacity))


def somewhere(
    field: Field,
    poses: np.ndarray,
    lenses: np.ndarray,
    size: tuple[int, int],
    *,
    near: Array | float,
    far: Array | float,
    samples: int,
    frustum: Float[Array, "4"] | np.ndarray | None = None,
) -> Occupied | None:
    """Where a field is not empty, of what these cameras can see; None where they see
    too little for that to pay, and of members, each of which is empty elsewhere."""
    if isinstance(field, Members) or len(poses) * math.prod(size) * samples < PAYS:
        return None
    precision = Precision.resolve("auto", jax.default_backend())
    box = box_of_views(poses, lenses, size, (float(near), float(far)), frustum)
    return occupied_by(FieldRadiance(field.with_precision(precision)), *box)


def _layers(view: View) -> np.ndarray:
    """Colour, depth and opacity as one array."""
    return np.concatenate([view.colour, np.stack(view[1:3], axis=-1)], axis=-1)


def nerf_task(
    scene: Scene,
    *,
    batch: int = 1024,
    samples: int = 128,
    seed: int = 0,
    test: Photographs | None = None,
    skip: bool = False,
) -> NerfTask:
    """The task of a scene; rays a step and points a ray are the paper's by default.

    Args:
        test: the views to score on, in place of the scene's test views.
        skip: leave samples in empty space out while training, for more rays; not in
            forward-facing scenes, where hardly anything is empty.
    """
    if samples < 2:
        raise InputError(f"`samples` (={samples}) must be at least 2")
    views = views_in(scene.space, scene.train)
    rays = views.pixels.size // 3
    if rays >= 2**31:
        raise InputError(
            f"`{scene.name}` has {rays:.3g} pixels to train on; reduce the pictures to "
            "fewer than 2^31"
        )
    chosen = scene.test if test is None else test
    near, far = scene.space.ends
    batch = min(batch, rays)
    return NerfTask(
        views,
        None if chosen is None else views_in(scene.space, chosen),
        jnp.float32(near),
        jnp.float32(far),
        jnp.full(3, float(scene.background == "white")),
        jnp.uint32(seed),
        batch,
        samples,
        _skip(views, (near, far), batch * samples)
        if skip and views.frustum is None
        else None,
    )


def _skip(views: Views, ends: tuple[float, float], points: int) -> Skip:
    low, high = box_of_views(
        np.asarray(views.poses), np.asarray(views.lens), views.size, ends
    )
    low, high = jnp.asarray(low, jnp.float32), jnp.asarray(high, jnp.float32)
    lattice = min(SKIP_LATTICE, max(8, max(views.size) // 2))
    return Skip(low, high, None, points, lattice)


def views_in(space: Space, photographs: Photographs) -> Views:
    """Photographs on the device, their cameras in the field's coordinates."""
    return Views(
        jnp.asarray(photographs.pixels),
        jnp.asarray(space.place(photographs.poses), jnp.float32),
        jnp.asarray(photographs.lens, jnp.float32),
        None if space.ndc is None else jnp.asarray(space.ndc, jnp.float32),
    )


@jit_without_autotune
def _probe(task: NerfTask, field: Field, index: Array) -> tuple[Array, Array, Array]:
    o, d, target = task.views.rays(index)
    seen = render(FieldRadiance(field), o, d, task.near, task.far, samples=task.samples)
    # What passed through counts as far: an empty scene is not one before the cameras.
    stopped = seen.depth + (1 - seen.opacity) * task.far
    depth = (stopped - task.near) / (task.far - task.near)
    return on_background(seen, task.background), depth, target


def psnr_of_views(seen: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The PSNR of each view, as the table has them: unclipped."""
    return np.array(
        [psnr(a, b, data_range=1.0) for a, b in zip(seen, truth, strict=True)]
    )
