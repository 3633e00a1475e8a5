"""A network that hangs a picture before each camera is told from one that begins so."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from passband.field import make_field
from passband.kinds.nerf import NerfKind
from passband.tasks.nerf import NerfTask, Probe
from passband.tasks.toy_views import toy_views


@pytest.mark.parametrize(
    ("forward_facing", "step", "collapses"),
    [
        (False, 100, True),  # cameras around a scene: such a run never recovers
        (True, 100, False),  # a real fern was at 0.04 here, and at 0.59 at step 300
        (True, 1500, True),
        (True, 5000, False),
    ],
)
def test_early_fog_is_no_collapse_of_a_forward_facing_scene(
    monkeypatch: pytest.MonkeyPatch, forward_facing: bool, step: int, collapses: bool
):
    monkeypatch.setattr(NerfTask, "probe", lambda *_: Probe(spread=0.5, depth=0.04))
    views = toy_views(2, 8, seed=0)
    if forward_facing:
        views = dataclasses.replace(views, frustum=jnp.ones(4))
    near, far = jnp.float32(2), jnp.float32(6)
    task = NerfTask(views, None, near, far, jnp.zeros(3), jnp.uint32(0), 4, 4)
    field = make_field("gaussian:1,m=4", d=3, out=4, key=jax.random.key(0), width=8)
    kind: Any = object.__new__(NerfKind)
    entry, before = {"step": step, "seconds": 1.0}, {"step": [0], "seconds": [0.9]}
    found = kind.health(task, field, entry, before)
    assert bool(found.collapse) == collapses
