"""Pictures by the thousand: small networks, tasks without JAX, one judgement."""

import abc
import dataclasses
import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import jax
import numpy as np

from ..data.images import Image
from ..field import Field
from ..mappings import NoMapping
from ..tasks.image import ImageTask, image_task, render
from ..tasks.pooled_image import PooledImageTask, pooled
from ..tasks.stack_scores import stack_scores
from .defaults import modern
from .in_stacks import InStacks, Judged
from .kind import Training
from .options import ImageOptions
from .shown import Shown

AMONG_MANY = ((64**2, 64, 200, 5e-3), (256**2, 128, 400, 5e-3))
"""Pixels up to which so many channels, steps and such a rate of Muon are enough for a
picture among many; docs/many.md has what they reach."""
FEW_PIXELS = 4096
"""Pixels that a step takes at least; of a larger picture among many it takes a quarter,
since four such steps learn more than one of all pixels."""
TOGETHER = 2**18
"""Pixels up to which pictures of a stack are judged together."""


class PicturesInStacks(InStacks):
    """What `kinds.image` adds for many pictures."""

    image: Image
    options: ImageOptions

    @property
    @abc.abstractmethod
    def mapped(self) -> bool: ...

    @abc.abstractmethod
    def default_mapping(self) -> str: ...

    @abc.abstractmethod
    def training(self, asked: ImageOptions, mapping: Any) -> Training: ...

    @abc.abstractmethod
    def facts(self) -> dict[str, Any]:
        """What the model file says of the picture."""

    def among_many(self, asked: ImageOptions, given: Collection[str]) -> ImageOptions:
        h, w, _ = self.image.values.shape
        size = next((row for row in AMONG_MANY if h * w <= row[0]), None)
        if size is None or "width" in given or not modern(asked):
            # Pictures of several sizes train together where a step has as many pixels.
            mapping = NoMapping()  # of the rate alone, which is not taken
            batch = asked.batch or self.training(asked, mapping).batch
            return dataclasses.replace(asked, batch=batch)
        _, width, steps, lr = size
        batch = max(FEW_PIXELS, h * w // 4)
        usual = {"width": width, "steps": steps, "lr": lr, "batch": batch}
        usual["mapping"] = f"{self.default_mapping()},m={width}"
        return dataclasses.replace(
            asked, **{k: v for k, v in usual.items() if k not in given}
        )

    def host_task(self, training: Training) -> ImageTask | PooledImageTask | None:
        image = self.image
        h, w, _ = image.values.shape
        if self.mapped or self.options.holdout != "none":
            return None
        if training.batch < h * w:
            return pooled(image.values, image.low, image.high, training.batch)
        ends = (np.asarray(end, np.float32) for end in (image.low, image.high))
        return jax.tree.unflatten(_structure(), (image.values, *ends))

    @classmethod
    def judge_stack(
        cls,
        kinds: Sequence["PicturesInStacks"],
        tasks: Sequence[Any],
        field: Field,
    ) -> Callable[[], list[Judged]] | None:
        first = tasks[0]
        if isinstance(first, ImageTask) and first.train is not None:
            return None
        if not isinstance(first, ImageTask | PooledImageTask) or field.members > 1:
            return None
        h, w, _ = kinds[0].image.values.shape
        several = {kind.image.values.shape for kind in kinds}
        if len(several) > 1 or h * w > TOGETHER:  # every size would be a program
            return None
        pixels = np.stack([kind.image.values for kind in kinds])
        low, high = (
            np.asarray([getattr(kind.image, end) for kind in kinds], np.float32)
            for end in ("low", "high")
        )
        found = stack_scores(field, pixels, low, high)

        def judged() -> list[Judged]:
            levels, alike = (np.asarray(scores).tolist() for scores in found)
            return [
                Judged({"psnr": p, "psnr_train": p, "ssim": s}, kind.facts())
                for kind, p, s in zip(kinds, levels, alike, strict=True)
            ]

        return judged

    def pictured(self, field: Field) -> Shown:
        h, w, _ = self.image.values.shape
        seen = render(field, (h, w), (h, w))
        return Shown(colours(seen), colours(self.image.normalised()))


@functools.cache
def _structure() -> Any:
    """How a task of a whole picture is put together."""
    image = Image(np.zeros((2, 2, 1), np.uint8), 0.0, 1.0, "")
    return jax.tree.structure(image_task(image))


def colours(picture: np.ndarray) -> np.ndarray:
    """Grey, or three colours: what a figure shows of any picture."""
    return picture[..., 0] if picture.shape[2] < 3 else picture[..., :3]
