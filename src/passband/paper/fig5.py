"""Fig. 5: amplitudes chosen by the theory, beside the best power law."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from .. import theory
from ..plot.panels import band, centred_spectrum, columns, half_turn_ticks
from ..plot.style import FAMILY_COLOURS, INK, MUTED, axes_at, new_figure, styled
from ..theory.design import predicted_loss
from . import published
from .designed_runs import (
    ALPHAS,
    LOSSES,
    SETTINGS,
    Study,
    choose,
    predictions,
    reference_bins,
    train,
)
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .readings import SMALLER, compared, readings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SLACK = 0.05
"""How much worse still counts as no worse, in trained networks."""
DECIBELS = 0.25
COLOURS = tuple(FAMILY_COLOURS[f] for f in ("gaussian", "basic", "positional"))
INFINITE = 2.5
"""Where the power law of p = infinity is drawn, beyond the largest p of 2."""


class Fig5(Item):
    """Optimised a_j against a_j = j^-p, as predicted and as trained."""

    id = "fig5"
    section = "appendix A.1, Fig. 5"
    title = "Amplitudes optimised through the linear dynamics, beside power laws"
    notes = (
        "The text's validation loss is at held-out points. The notebook's was at all "
        "points of every second signal, once more over 256: its PSNR is 24.08 dB high. "
        "Ours is the text's; the notebook's is run beside it and labelled.",
        "The printed values are readings of the plot, but for the line in dB.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        progress(f"amplitudes for {len(ALPHAS)} alphas, by two losses")
        study = choose(setting)
        count = len(ALPHAS) * (setting.powers + 1 + len(LOSSES)) * setting.signals
        progress(f"{count} networks, {setting.steps} steps each")
        arrays = train(study) | predictions(study) | {"bins": reference_bins()}
        numbers = numbers_of(study, arrays, comparable=preset is Preset.FULL)
        return Outcome(
            numbers=numbers,
            claims=claims_of(arrays, numbers, judged=preset is not Preset.SMOKE),
            arrays=arrays,
            settings={
                **dataclasses.asdict(setting),
                "rate": setting.rate(),
                "optimiser": "SGD on half the sum of squares, full batch",
                "keys": "2020: one stream from PRNGKey(0)",
                "spread": "standard deviation over the test signals",
            },
        )

    @styled
    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        """(a) the spectra of the designed kernels; (b) trained errors against p."""
        figures = {}
        for k, loss in enumerate(LOSSES):
            figure = new_figure(11.0, 4.15)
            wide, lefts = columns(11.0, 2, left=0.75, right=0.2, gap=0.85)
            spectra, errors = (axes_at(figure, x, 0.35, wide, 3.2) for x in lefts)
            _draw_spectra(spectra, outcome.arrays, k)
            _draw_errors(errors, outcome.arrays, k)
            errors.plot([], [], "x", color=MUTED, ms=8, mew=2, label="best power law")
            by = f"{loss} loss" if k == 0 else f"the {loss}'s loss"
            errors.plot([], [], ":", color=MUTED, lw=2.4, label=f"$a_j$ by {by}")
            errors.legend(loc="upper right", ncols=2)
            figures[self.id if k == 0 else f"{self.id}-{loss}"] = figure
        return figures


ITEM = Fig5()


def _draw_spectra(axes: "Axes", found: dict[str, np.ndarray], k: int) -> None:
    """|DFT| of the kernel rows designed by the k-th loss, and that of p = infinity."""
    n = found["spectrum_inf"].size
    frequency = np.arange(n + 1) - n // 2
    reference = centred_spectrum(found["spectrum_inf"])
    axes.plot(frequency, reference, color=MUTED, label=r"Power $\infty$")
    for alpha, colour, row in zip(ALPHAS, COLOURS, found["spectra"][:, k], strict=True):
        label = f"Opt. for α = {alpha:g}"
        axes.plot(frequency, centred_spectrum(row), color=colour, label=label)
    axes.set_yscale("log")
    half_turn_ticks(axes, n // 2)
    axes.set_xlim(-n / 2, n / 2)
    axes.set_xlabel("Frequency", color=INK)
    axes.set_ylabel("Magnitude", color=INK)
    axes.set_title("(a) NTK Fourier spectrum")
    axes.legend(loc="upper right")


def _draw_errors(axes: "Axes", found: dict[str, np.ndarray], k: int) -> None:
    """Test errors of networks trained with power laws, the best of them crossed, and
    the mean of those with the k-th loss's amplitudes as a dotted dash beside it."""
    powers = found["powers"].astype(float)
    place = np.where(np.isinf(powers), INFINITE, powers)
    designed = found["designed"][:, k].astype(float).mean(axis=1)
    for i, (alpha, colour) in enumerate(zip(ALPHAS, COLOURS, strict=True)):
        errors = found["trained"][i].astype(float)
        mean, spread = errors.mean(axis=1), errors.std(axis=1)
        axes.plot(place, mean, color=colour, alpha=0.55, label=f"α = {alpha:g}")
        band(axes, place, mean, spread, least=0.05, color=colour, alpha=0.15)
        best = int(np.argmin(mean))
        axes.plot(place[best], mean[best], "x", color=colour, ms=9, mew=2)
        dash = {"color": colour, "linestyle": ":", "linewidth": 2.4}
        axes.hlines(designed[i], place[best] - 0.15, place[best] + 0.15, **dash)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.2)  # room for the legend
    axes.set_xticks(
        [0, 0.5, 1, 1.5, 2, INFINITE], ["0", "0.5", "1", "1.5", "2", r"$\infty$"]
    )
    axes.set_xlabel(r"Power law $p$ ($a_j = j^{-p}$)", color=INK)
    axes.set_ylabel("Mean squared error", color=INK)
    axes.set_title("(b) Trained networks, held-out points")


def numbers_of(
    study: Study, arrays: dict[str, np.ndarray], *, comparable: bool
) -> tuple[Number, ...]:
    """Bins of the kernels, then errors and amplitudes of each alpha."""
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


def _first_amplitude(study: Study, i: int) -> float:
    """|a_1| as the notebook plots it: before the division by the norm."""
    design = study.designs[i]["notebook"]
    return float(design.norm * design.amplitudes[0])


def _line(study: Study) -> dict[str, float]:
    """What the notebook printed last for the last alpha, in dB: its loss, and the
    predicted errors of the first test signal."""
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
    cells = published.FIG5_BINS
    bins = dict(zip(cells, arrays["bins"].flat, strict=True))
    off = [f"p = {text}" for text in published.missed(cells, bins)]
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
    return ", ".join(
        f"{r:.3f} (alpha {alpha:g})" for r, alpha in zip(ratio, ALPHAS, strict=True)
    )


def _line_claim(numbers: tuple[Number, ...]) -> Claim:
    found = [n for n in compared(numbers) if n.name.endswith(" dB")]
    return judge(
        f"the notebook's last printed line comes back to {DECIBELS:g} dB",
        all(abs(n.ours - n.printed) <= DECIBELS for n in found) if found else None,
        "; ".join(
            f"{n.name[9:-3]} {n.ours:.2f}, printed {n.printed:.2f}" for n in found
        )
        or SMALLER,
    )
