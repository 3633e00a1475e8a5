"""The methods that fits are compared by: one row each, ours and those of others.

A row says which options of a fit it changes, and which scales and rates are tried for
it; those that predict held-out data best are taken, as sigma is for ours.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import unknown_word
from ..tuning.problem import Problem
from .options import TrainOptions

Changes = Mapping[str, Any]
CENTRED = "none:scale=2,shift=-1"
"""Their networks were made for coordinates from -1 to 1; ours run from 0 to 1."""
MOST_VALUES = 2**23
"""Of a grid that is tried: 32 MiB."""


@dataclasses.dataclass(frozen=True)
class Method:
    """A way to fit a field."""

    name: str
    summary: str
    changes: Changes
    """Options of the fit that it sets."""
    scale: Callable[[int, Problem], Changes] | None = None
    """From the number of a rung to the options with that scale; 0 is the first, each
    above it is twice as fine. None where there is no scale, or the fit chooses it."""
    also: Callable[[Changes], list[Changes]] | None = None
    """What else is tried at the best scale."""
    lr: float | None = None
    """The rate that it was published with; a fifth of it and five times as much are
    tried too. None leaves the rate to the kind."""
    needs: str | None = None
    """An option that its fit must have."""

    @property
    def tuned(self) -> bool:
        """Whether trials choose its scale and its rate."""
        return self.lr is not None


def _wave(name: str, usual: float) -> Callable[[int, Problem], Changes]:
    def at(rung: int, problem: Problem) -> Changes:
        del problem
        return {"activation": f"{name}:{_short(usual * 2.0**rung)}"}

    return at


def _wavelet(rung: int, problem: Problem) -> Changes:
    """Waves and their envelopes become finer together."""
    del problem
    omega, s = (_short(usual * 2.0**rung) for usual in (20.0, 10.0))
    return {"activation": f"wire:{omega},{s}"}


def _other_envelopes(best: Changes) -> list[Changes]:
    omega, s = (float(x) for x in str(best["activation"]).split(":")[1].split(","))
    return [{"activation": f"wire:{_short(omega)},{_short(s / 2)}"}]


def _wide_biases(best: Changes) -> list[Changes]:
    """FINER's other knob, which its code leaves off: first biases from U(-k, k)."""
    return [{"activation": f"{best['activation']},{k}"} for k in (2, 5)]


def _grid(rung: int, problem: Problem) -> Changes:
    """From half as many points along an axis as there are samples."""
    samples = 128.0 if problem.nyquist is None else 2 * problem.nyquist
    most = (MOST_VALUES / 8) ** (1 / problem.d)
    side = max(4, min(round(samples / 2 * 2.0**rung), int(most)))
    return {"mapping": f"multigrid:{side}"}


METHODS = {
    row.name: row
    for row in (
        Method("fourier", "Fourier features, sigma chosen from the data", {}),
        Method(
            "members", "four of them, averaged", {"members": 4}, needs="members"
        ),
        Method(
            "no-prior", "without total variation as a prior", {"prior": "none"},
            needs="prior",
        ),
        Method(
            "paper", "with the paper's recipe of training", {"recipe": "paper"},
            needs="recipe",
        ),
        Method(
            "siren", "sines (Sitzmann et al. 2020)",
            {"mapping": CENTRED, "activation": "sine"}, _wave("sine", 30.0), lr=5e-4,
        ),
        Method(
            "finer", "sines that turn faster (Liu et al. 2024)",
            {"mapping": CENTRED, "activation": "finer"}, _wave("finer", 30.0),
            _wide_biases, lr=5e-4,
        ),
        Method(
            "gauss", "bells (Ramasinghe and Lucey 2022)",
            {"mapping": CENTRED, "activation": "gauss"}, _wave("gauss", 30.0), lr=5e-3,
        ),
        Method(
            "wire", "real wavelets (Saragadam et al. 2023)",
            {"mapping": CENTRED, "activation": "wire"}, _wavelet, _other_envelopes,
            lr=5e-3,
        ),
        Method(
            "multigrid", "grids of trained values (Mueller et al. 2022, without hash)",
            {"mapping": "multigrid:64"}, _grid, lr=1e-2,
        ),
        Method(
            "relu", "the same network without features", {"mapping": CENTRED}, lr=5e-3
        ),
    )
}  # fmt: skip
OURS = "fourier"


def methods_for(options: type[TrainOptions]) -> dict[str, Method]:
    """Those that fits with such options can be asked for."""
    there = {f.name for f in dataclasses.fields(options)}
    return {k: m for k, m in METHODS.items() if m.needs is None or m.needs in there}


def slug(name: str) -> str:
    """A classical method's name as one word: `free grid` is `free-grid`."""
    return name.lower().replace(" ", "-")


def chosen(
    asked: str | None, networks: Mapping[str, Method], classical: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """The networks and the classical methods of a list such as `fourier,siren,fbp`.

    Left out, all there are. Ours is always there: the others get what it took.
    """
    words = {slug(name): name for name in classical}
    if asked is None:
        return list(networks), list(classical)
    names = [slug(part.strip()) for part in asked.split(",") if part.strip()]
    for name in names:
        if name not in networks and name not in words:
            raise unknown_word("method", name, [*networks, *words])
    ours = [OURS, *(name for name in dict.fromkeys(names) if name in networks)]
    others = [words[name] for name in dict.fromkeys(names) if name in words]
    return list(dict.fromkeys(ours)), others


def _short(value: float) -> str:
    return f"{value:.3g}"
