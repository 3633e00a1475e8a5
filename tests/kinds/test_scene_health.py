"""A network that hangs a picture before each camera is told from one that begins so."""

from typing import Any

import pytest

from passband.kinds.nerf import NerfKind
from passband.tasks.nerf import Probe


class Looked:
    """A task whose rays are all stopped early."""

    def __init__(self, forward_facing: bool):
        self.views = self
        self.frustum = [1.0] * 4 if forward_facing else None

    def probe(self, field: object) -> Probe:
        return Probe(spread=0.5, depth=0.04)


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
    forward_facing: bool, step: int, collapses: bool
):
    kind: Any = NerfKind
    entry, before = {"step": step, "seconds": 1.0}, {"step": [0], "seconds": [0.9]}
    found = kind.health(None, Looked(forward_facing), None, entry, before)
    assert bool(found.collapse) == collapses
