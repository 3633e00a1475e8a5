"""The blocks of docs/encoding.md run, and the networks there leave B alone."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "encoding.md"
TORCH = importlib.util.find_spec("torch") is not None


def _blocks() -> dict[str, list[str]]:
    """The Python blocks of the page, by the heading they stand under."""
    found = {}
    for part in f"\n{PAGE.read_text()}".split("\n#"):
        heading = part.partition("\n")[0].lstrip("# ")
        if codes := part.split("```python\n")[1:]:
            found[heading] = [code.partition("```")[0] for code in codes]
    return found


BLOCKS = _blocks()


def _run(code: str, names: dict | None = None) -> dict:
    names = {} if names is None else names
    exec(compile(code, str(PAGE), "exec"), names)
    return names


def test_every_block_is_under_a_test():
    assert {heading: len(codes) for heading, codes in BLOCKS.items()} == {
        "The encoding alone": 1,
        "In an Equinox network": 1,
        "In a Flax NNX network": 1,
        "In a PyTorch network": 2,
        "To train B after all": 2,
        "Units": 1,
    }


def test_one_point_and_many():
    names = _run(BLOCKS["The encoding alone"][0])
    assert names["one"].shape == (512,)
    assert names["many"].shape == (64, 100, 512)


@pytest.mark.parametrize("library", ["an Equinox", "a Flax NNX"])
def test_a_network_learns_and_leaves_B_alone(library):
    names = _run(BLOCKS[f"In {library} network"][0])
    losses, model, began = names["losses"], names["model"], names["began"]
    assert losses[-1] < 0.1 * losses[0]
    B = getattr(getattr(began, "encoding", None), "frequencies", began)
    np.testing.assert_array_equal(model.encoding.frequencies, B)
    assert model.encoding.frequencies.shape == (64, 2)


@pytest.mark.parametrize("k", [0, 1])
def test_the_other_blocks_hold_what_they_claim(k):
    _run(BLOCKS["To train B after all"][k])
    _run(BLOCKS["Units"][0])


def _numpy_torch() -> ModuleType:
    """What the page's module takes from PyTorch, as NumPy has it."""

    class Module:
        def register_buffer(self, name, values):
            setattr(self, name, values)

    torch = ModuleType("torch")
    vars(torch).update(
        nn=type("nn", (), {"Module": Module}),
        from_numpy=np.asarray,
        sin=np.sin,
        cos=np.cos,
        cat=np.concatenate,
    )
    return torch


def test_the_pytorch_module_has_the_same_features(monkeypatch):
    code, training = BLOCKS["In a PyTorch network"]
    # The module's own lines, computed by NumPy: this much is checked anywhere.
    monkeypatch.setitem(sys.modules, "torch", _numpy_torch())
    names = _run(code)
    encoding, points, theirs = names["encoding"], names["points"], names["theirs"]
    phase = 2 * np.pi * points.astype(float) @ np.asarray(encoding.frequencies).T
    want = np.concatenate([np.sin(phase), np.cos(phase)], axis=1)
    np.testing.assert_allclose(theirs, want, atol=2e-5)
    np.testing.assert_allclose(encoding(points), want, atol=2e-5)
    compile(training, str(PAGE), "exec")
    monkeypatch.undo()
    if TORCH:
        names = _run(training, _run(code))
        assert names["losses"][-1] < 0.1 * names["losses"][0]
