"""Recipes: how a fit trains where nothing else was asked for.

`paper` is the one of 2020. `modern` is what was measured to be better, by how much
docs/recipe.md says; kinds give it their own rates and numbers of steps.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What does not depend on the kind of data."""

    optimiser: str
    schedule: str | None
    """None is the paper's for the kind."""
    leak: float
    """Of a field's output while it trains (`passband.Field`)."""


RECIPES = {
    "modern": Recipe("muon", "cosine", 0.01),
    "paper": Recipe("adam", None, 0.0),
}
