"""What every table, figure and companion keeps to."""

from pathlib import Path

import pytest

from passband.data.store import list_sets
from passband.paper import plan, registry, results
from passband.paper.captions import CAPTIONS
from passband.paper.item import Assembled, Preset
from passband.plot.style import png_bytes

RESULTS = Path(__file__).parents[2] / "results"
EVERY = (*registry.IDS, *registry.COMPANIONS)


@pytest.mark.parametrize("id", EVERY)
def test_an_id_resolves_to_an_item_that_says_what_it_is(id: str):
    item = registry.get_item(id)
    assert item.id == id and item.section and item.title
    assert registry.get_item(id) is item
    assert CAPTIONS.get(id) or id in registry.COMPANIONS


@pytest.mark.parametrize("id", EVERY)
def test_what_an_item_names_exists(id: str):
    item = registry.get_item(id)
    assert set(item.companions) <= set(registry.COMPANIONS)
    assert set(item.needs) <= {known.name for known in list_sets()}
    if isinstance(item, Assembled):
        assert set(item.parts) <= set(registry.IDS)


def test_a_companion_stands_beside_an_item():
    beside = {c for id in registry.IDS for c in registry.get_item(id).companions}
    assert beside == set(registry.COMPANIONS)


def test_an_id_has_one_home():
    homes = [id for ids in registry.STUDIES.values() for id in ids]
    assert len(homes) == len(set(homes)) and set(homes) <= set(EVERY)


def test_only_an_assembled_item_is_run_with_its_parts():
    class Half(Assembled):
        id, parts = "half", ("table2",)

        def assemble(self, found, preset):
            del preset
            return found["table2"]

        def draw(self, outcome):
            del outcome
            return {}

    with pytest.raises(TypeError, match="`half` runs with its parts"):
        Half().run(Preset.SMOKE, lambda text: None)
    outcome = plan.run_item(Half(), Preset.SMOKE, lambda text: None)
    assert "gaussian.edges" in outcome.arrays


COMMITTED = [
    (preset, id)
    for preset in Preset
    for id in EVERY
    if results.exists(RESULTS, preset, id)
]


@pytest.mark.parametrize(("preset", "id"), COMMITTED)
def test_a_committed_result_draws(preset: Preset, id: str):
    outcome = results.load(RESULTS, preset, id).outcome
    figures = registry.get_item(id).draw(outcome)
    assert id in figures and all(name.startswith(id) for name in figures)
    for figure in figures.values():
        assert figure.axes or figure.texts


@pytest.mark.parametrize("id", registry.COMPANIONS)
def test_a_committed_companion_becomes_a_picture(id: str):
    """Of the companions alone: making all of them takes half a minute."""
    if not results.exists(RESULTS, Preset.FULL, id):
        pytest.skip("has no committed result of the paper's size")
    outcome = results.load(RESULTS, Preset.FULL, id).outcome
    for figure in registry.get_item(id).draw(outcome).values():
        assert png_bytes(figure).startswith(b"\x89PNG")
