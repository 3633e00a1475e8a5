"""The labelled points that a shape is learned from, and how many a fit takes."""

import warnings
from collections.abc import Collection

from ..data.meshes import Mesh
from ..data.store import kept_folder
from ..errors import InputError
from ..labels.near import NearPool, make_near
from ..labels.occupancy import embree_missing
from ..labels.pool import ShapeLabels, load_labels, make_labels
from ..tasks.shape import LEAST_SHARED, near_points
from .defaults import modern, on_cpu
from .kind import Listener
from .options import ShapeOptions, TrainOptions

BLOCK = 32_768  # the paper's points a step
POOL, SMALL_POOL = 2**26, 2**23
TEST_POINTS = 2**18
NEAR_SURFACE = 0.4
"""The share of a step's points that lie near the surface."""
SLOW = "embreex is not installed; labels are made a slower way"


def default_sizes(asked: TrainOptions) -> tuple[int, int, int, int]:
    """Steps, points a step, width and layers. In three minutes of 2 cores Muon learns
    most with many points and a small network: Lucy's IoU near the surface is 0.940, and
    0.921 with the paper's network."""
    if not on_cpu():
        return 10_000, BLOCK, 256, 8
    return (1400, 8192, 128, 5) if modern(asked) else (2000, 2048, 256, 8)


def steps_and_batch(asked: TrainOptions) -> tuple[int, int]:
    """What was asked for, or the default sizes."""
    steps, batch, *_ = default_sizes(asked)
    return asked.steps or steps, asked.batch or batch


def near_share(asked: TrainOptions, batch: int, read: ShapeOptions) -> float:
    """What was asked for, if a step of so many points can have it; by the modern recipe
    a part, where labels are made here.

    Args:
        read: what the mesh was read with, its target and labels among it.
    """
    assert isinstance(asked, ShapeOptions)
    if read.target == "sdf":
        if asked.near_surface:
            raise InputError(
                f"`near_surface` (={asked.near_surface:g}) is for the target "
                "occupancy; leave it out"
            )
        return 0.0
    if asked.near_surface is None:
        usual = asked.recipe == "modern" and read.labels is None
        return NEAR_SURFACE if usual and batch >= LEAST_SHARED else 0.0
    near_points(batch, asked.near_surface)
    return asked.near_surface


def read_labels(
    mesh: Mesh, options: ShapeOptions, listener: Listener
) -> tuple[ShapeLabels, tuple[str, ...]]:
    """Labels from a file, from the cache, or made now, and what is to be warned of.

    A run that draws few points has a small pool: every point of it is new, or nearly,
    and a CPU is not kept from training.
    """
    if options.labels is not None:
        return (
            load_labels(options.labels, mesh=mesh, allow_open=options.allow_open),
            (),
        )
    blocks, block = _pool_size(options)
    slow = ()
    if embree_missing():
        slow = (SLOW,)
    listener.progress(f"labelling {mesh.name}", often=False)
    labels = make_labels(
        mesh,
        blocks=blocks,
        block=block,
        test_points=TEST_POINTS,
        cache_dir=kept_folder("labels"),
        allow_open=options.allow_open,
        on_block=lambda done: listener.progress(
            f"labelling {mesh.name}  {done * block / 1e6:.1f} of "
            f"{blocks * block / 1e6:.1f} million points"
        ),
    )
    return labels, slow


def near_labels(
    mesh: Mesh,
    drawn: int,
    batch: int,
    listener: Listener,
    *,
    allow_open: bool,
    said: Collection[str],
) -> NearPool:
    """Points near the surface, as many as are drawn, from the cache or made now.

    Args:
        said: what was warned of when the other labels were made.
    """
    what = f"labelling {mesh.name} near its surface"
    listener.progress(what, often=False)
    block = max(BLOCK, batch)
    blocks = 1 + min(drawn, POOL) // block
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pool = make_near(
            mesh,
            seed=0,
            blocks=blocks,
            block=block,
            cache_dir=kept_folder("labels"),
            allow_open=allow_open,
            on_block=lambda done: listener.progress(
                f"{what}  {done * block / 1e6:.1f} of "
                f"{blocks * block / 1e6:.1f} million points"
            ),
        )
    slow = (SLOW,) if embree_missing() else ()
    for text in (*slow, *(str(warning.message) for warning in caught)):
        if text not in said:
            listener.warn(text)
    return pool


def _pool_size(options: ShapeOptions) -> tuple[int, int]:
    """Blocks of a pool, and points of a block."""
    steps, batch = steps_and_batch(options)
    if batch % 8:
        raise InputError(
            f"`batch` (={batch}) must be a multiple of 8, since labels are packed in "
            "bytes"
        )
    block = max(BLOCK, batch)
    points = SMALL_POOL if steps * batch <= SMALL_POOL else POOL
    return max(1, points // block), block
