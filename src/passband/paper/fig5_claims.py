"""What Fig. 5 claims, and the printed numbers beside ours."""

from typing import TYPE_CHECKING

import numpy as np

from .. import theory
from . import published
from .item import Claim, Number, judge
from .readings import SMALLER, readings

if TYPE_CHECKING:
    from .fig5 import Study

SLACK = 0.05
"""How much worse still counts as no worse, in trained networks."""
DECIBELS = 0.25


def numbers_of(
    study: "Study", arrays: dict[str, np.ndarray], *, comparable: bool
) -> tuple[Number, ...]:
    """Bins of the kernels, then errors and amplitudes of each alpha."""
    from .fig5 import ALPHAS

    cells = published.FIG5_BINS.items()
    numbers = [
        Number(f"p = {p}, {column}", cell.value, float(ours))
        for ((p, column), cell), ours in zip(cells, arrays["bins"].flat, strict=True)
    ]
    powers, trained = arrays["powers"], arrays["trained"]
    held, notebook = arrays["designed"][:, 0], arrays["designed"][:, 1]
    for i, alpha in enumerate(ALPHAS):
        best = int(np.argmin(trained[i].mean(axis=1)))
        rows = {
            "best-p": (powers[best], None),
            "power": (trained[i, best].mean(), trained[i, best].std()),
            "optimised": (notebook[i].mean(), notebook[i].std()),
            "inf": (trained[i, -1].mean(), trained[i, -1].std()),
            "a1": (_first_amplitude(study, i), None),
        }
        for column, (ours, spread) in rows.items():
            label = NAMES.get(column, column)
            numbers.append(
                Number(
                    f"alpha {alpha:g}, {label}",
                    published.FIG5[f"{alpha:g}", column].value,
                    float(ours),
                    None if spread is None else float(spread),
                    comparable,
                )
            )
        numbers.append(
            Number(
                f"alpha {alpha:g}, optimised by the held-out loss",
                ours=float(held[i].mean()),
                spread=float(held[i].std()),
                comparable=False,
            )
        )
    for column, ours in _line(study).items():
        printed = published.FIG5_LINE["2", column].value
        numbers.append(Number(f"alpha 2, {column} dB", printed, ours, None, comparable))
    return tuple(numbers)


NAMES = {
    "best-p": "best power",
    "power": "error of the best power",
    "optimised": "optimised by the notebook's loss",
    "inf": "error of p = inf",
    "a1": "first amplitude by the notebook's loss",
}


def _first_amplitude(study: "Study", i: int) -> float:
    """|a_1| as the notebook plots it: before the division by the norm."""
    design = study.designs[i]["notebook"]
    return float(design.norm * design.amplitudes[0])


def _line(study: "Study") -> dict[str, float]:
    """What the notebook printed last for the last alpha, in dB: its loss, and the
    predicted errors of the first test signal."""
    from ..theory.design import predicted_loss

    setting, tests = study.setting, study.tests[-1]
    design = study.designs[-1]["notebook"]
    training = setting.training()
    row = theory.kernel_row(
        design.encoding(), setting.n, layers=setting.layers, width=setting.width
    )
    left = theory.predicted_band_errors(
        training.t, theory.circulant_eigenvalues(row), tests.y_train[0]
    )
    test = predicted_loss(design.amplitudes, tests.y[:1], training=training)
    errors = {
        "validation": 2 * design.losses[-1],  # that loss is half a mean square
        "test": test,
        "train": np.sum(left**2) / setting.n**2,
    }
    return {name: float(-10 * np.log10(error)) for name, error in errors.items()}


def claims_of(
    arrays: dict[str, np.ndarray], numbers: tuple[Number, ...], *, judged: bool
) -> tuple[Claim, ...]:
    """Judge; a smoke run trains too little to be judged."""
    cells = published.FIG5_BINS.items()
    off = [
        f"p = {p} {column}: {ours:.5g}, not {cell.text}"
        for ((p, column), cell), ours in zip(cells, arrays["bins"].flat, strict=True)
        if not cell.holds(float(ours))
    ]
    laws = arrays["trained"].shape[1]
    predicted = {
        name: arrays[f"predicted_{name}"][:, laws]
        / arrays[f"predicted_{name}"][:, :laws].min(axis=1)
        for name in ("choosing", "test")
    }
    best = arrays["trained"].mean(axis=2).min(axis=1)
    trained = arrays["designed"].mean(axis=2) / best[:, None]
    return (
        judge(
            "the kernels' spectra have the reference values to all digits",
            not off,
            "; ".join(off) or f"{len(cells)} values",
        ),
        judge(
            "optimised a_j is no worse than the best power law, as predicted",
            all(bool(np.all(ratio <= 1)) for ratio in predicted.values())
            if judged
            else None,
            "predicted error over the best power law's, on the signals it was chosen "
            f"with: {_each(predicted['choosing'])}; on the test signals: "
            f"{_each(predicted['test'])}",
        ),
        _trained(
            "optimised a_j is no worse than the best power law, in trained networks",
            trained[:, 0],
            judged,
        ),
        _trained(
            "neither is a_j optimised by the notebook's loss", trained[:, 1], judged
        ),
        _line_claim(numbers),
        readings(
            n for n in numbers if " error of " in n.name or n.name.endswith("loss")
        ),
    )


def _trained(claim: str, ratio: np.ndarray, judged: bool) -> Claim:
    return judge(
        claim,
        bool(np.all(ratio <= 1 + SLACK)) if judged else None,
        f"mean test error over the best power law's, at most {1 + SLACK:g} asked: "
        + _each(ratio),
    )


def _each(ratio: np.ndarray) -> str:
    from .fig5 import ALPHAS

    return ", ".join(
        f"{r:.3f} (alpha {alpha:g})" for r, alpha in zip(ratio, ALPHAS, strict=True)
    )


def _line_claim(numbers: tuple[Number, ...]) -> Claim:
    found = [n for n in numbers if n.name.endswith(" dB") and n.comparable]
    apart = [(n.ours or 0) - (n.printed or 0) for n in found]
    return judge(
        f"the notebook's last printed line comes back to {DECIBELS:g} dB",
        all(abs(a) <= DECIBELS for a in apart) if found else None,
        "; ".join(
            f"{n.name[9:-3]} {n.ours:.2f}, printed {n.printed:.2f}" for n in found
        )
        or SMALLER,
    )
