r"""Fig. 8: gradient descent on a and b beside the weights gains nothing.

Each picture is learned from three scales, once with $a$ and $b$ as they were drawn and
once with Adam moving them too.
"""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from ..field import Field
from ..mappings import FourierFeatures
from ..plot.panels import columns, legend_above
from ..plot.style import INK, MUTED, PAPER, axes_at, colour_of, new_figure, styled
from .image_study import STEPS, load_pictures, scaled_word, train_runs
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .training import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCALES = {"too small": 1.0, "right": 10.0, "too large": 64.0}
"""Of 512 x 512 pictures; 10 is Table 3's, the others are the ends of Fig. 10."""
GAIN, MOVED = 0.5, 0.05
"""The most for no gain, in dB (another seed moves Table 3 by up to 0.8 dB), and the
largest median of |change of b| / |b| for b that hardly moves."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are those of Table 3, on four pictures."""

    images: int = 4
    side: int = 512
    m: int = 256
    width: int = 256
    rate: float = 1e-3
    steps: int = STEPS
    precision: str = "auto"


SETTINGS = {
    Preset.SMOKE: Setting(images=1, side=48, m=16, width=32, steps=60),
    Preset.SMALL: Setting(images=2, side=96, m=64, width=64, steps=400),
    Preset.FULL: Setting(),
}


class Fig8(Item):
    """PSNR with a and b frozen and trained, and how far they went, at three scales."""

    id = "fig8"
    section = "appendix A.3, Fig. 8"
    title = "Gradient descent does not optimise Fourier features"
    needs = ("natural",)
    notes = (
        "No code of this figure was published, and the text names neither scales nor "
        "rate: these are sigma 1, 10 and 64, and Adam at 1e-3 for a, b and weights "
        "alike, all else as in Table 3.",
        "Adam's steps are of one size whatever b is, so that the smaller the scale, "
        "the larger the share of b that training can change.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        full = preset is Preset.FULL
        words = [
            scaled_word("gaussian", scale, m=setting.m, side=setting.side) + train
            for train in ("", ",train=ab")
            for scale in SCALES.values()
        ]
        trained = train_runs(
            load_pictures("natural", setting.images, setting.side, full=full),
            [
                Run(signal=k, word=word, lr=setting.rate)
                for word in words
                for k in range(setting.images)
            ],
            steps=setting.steps,
            width=setting.width,
            precision=setting.precision,
            progress=progress,
        )
        shape = 2, len(SCALES), setting.images
        test, train = trained.test.reshape(shape), trained.train.reshape(shape)
        # (frozen and trained, scales, pictures, m, d): frozen is where b began.
        b = np.array([_mapping(f).frequencies for f in trained.fields])
        a = np.array([_mapping(f).amplitudes for f in trained.fields])
        b = b.reshape(*shape, setting.m, 2)
        moved = moves(*b)
        return Outcome(
            numbers=_numbers(test, train, moved),
            claims=_claims(test, b, moved, preset),
            arrays={
                "test": test,
                "train": train,
                "moved": moved,
                # Every picture began with one b; the figure shows the first's.
                "begun": b[0, :, 0],
                "ended": b[1, :, 0],
                "amplitudes": a.reshape(*shape, setting.m)[1, :, 0],
                "scales": np.array(list(SCALES.values())) * setting.side / 512,
            },
            settings={
                **dataclasses.asdict(setting),
                "precision": trained.precision,
                "scales": {n: s * setting.side / 512 for n, s in SCALES.items()},
                "keys": "2020: PRNGKey(10) for B and weights of every picture",
                "data": "Natural, test_data" if full else "packaged photographs",
                "spread": "standard deviation over pictures",
            },
        )

    @styled
    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        """A column per scale: b before and after training above, trained a below."""
        found = outcome.arrays
        frozen, trained = found["test"].mean(axis=2)
        moved = np.median(found["moved"], axis=1)
        heights = found["amplitudes"].astype(float)
        span = _span(heights)
        side, lefts = columns(12.0, len(SCALES), left=0.75, right=0.15, gap=0.75)
        figure = new_figure(12.0, 1.0 + side + 0.75 + 1.1 + 0.55)
        for i, (name, left) in enumerate(zip(SCALES, lefts, strict=True)):
            axes = axes_at(figure, left, 1.0, side, side)
            _draw_frequencies(axes, found["begun"][i], found["ended"][i])
            title = f"$\\sigma$ = {found['scales'][i]:.3g}, {name}"
            axes.set_title(title, pad=5 + 72 * 0.4)  # over the note
            axes.annotate(
                f"test PSNR {frozen[i]:.2f} dB frozen, {trained[i]:.2f} dB trained\n"
                f"median |change of b| / |b| {100 * moved[i]:.2g} %",
                (0, 1), (0, 5), xycoords="axes fraction", color=MUTED,
                textcoords="offset points", fontsize=8.5, va="bottom",
            )  # fmt: skip
            below = axes_at(figure, left, 1.0 + side + 0.75, side, 1.1)
            bins = np.linspace(*span, 31).tolist()
            below.hist(heights[i], bins, color=colour_of("gaussian"), ec=PAPER, lw=0.5)
            below.locator_params(axis="y", nbins=4, integer=True)
            below.axvline(1, color=INK, linewidth=1.2)
            below.set_xlim(*span)
            below.set_xlabel(r"Trained $a_j$ (all began at 1)", color=INK)
            if i == 0:
                axes.set_ylabel(r"$b_j$ along the rows (cycles)", color=INK)
                below.set_ylabel("Features", color=INK)
        legend_above(figure, 0.75)
        return {self.id: figure}


ITEM = Fig8()


def _draw_frequencies(axes: "Axes", first: np.ndarray, last: np.ndarray) -> None:
    """A ring where each vector began, a dot where it ended, a line between them."""
    path = np.stack([first, last])
    axes.plot(path[..., 0], path[..., 1], color=MUTED, linewidth=0.7)
    axes.plot(
        *first.T, "o", markersize=4.5, mfc="none", mec=MUTED, mew=0.8,
        label="$b_j$ as drawn",
    )  # fmt: skip
    axes.plot(
        *last.T, "o", markersize=2.5, mew=0, color=colour_of("gaussian"),
        label="$b_j$ trained",
    )  # fmt: skip
    reach = 1.06 * float(np.abs(path).max())
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.locator_params(nbins=6)
    axes.set_xlabel(r"$b_j$ along the columns (cycles)", color=INK)


def _span(heights: np.ndarray) -> tuple[float, float]:
    """The range of all amplitudes, with 1 in it and some room on both sides."""
    low, high = min(float(heights.min()), 1.0), max(float(heights.max()), 1.0)
    room = 0.05 * max(high - low, 0.02)
    return low - room, high + room


def moves(begun: np.ndarray, ended: np.ndarray) -> np.ndarray:
    """Median over the m vectors of |change of b| / |b|: (..., m, d) -> (...)."""
    change = np.linalg.norm(ended - begun, axis=-1)
    return np.median(change / np.linalg.norm(begun, axis=-1), axis=-1)


def way(begun: np.ndarray, ended: np.ndarray, right: np.ndarray) -> float:
    """The share of the octaves between two scales that b has gone: 1 is all of them."""
    start, end, goal = (np.log2(np.sqrt(np.mean(x**2))) for x in (begun, ended, right))
    return float((end - start) / (goal - start))


def _mapping(field: Field) -> FourierFeatures:
    assert isinstance(field.encoding, FourierFeatures)
    return field.encoding


def _numbers(
    test: np.ndarray, train: np.ndarray, moved: np.ndarray
) -> tuple[Number, ...]:
    """The paper prints none of these."""
    numbers = []
    for i, name in enumerate(SCALES):
        rows = {
            "test PSNR, frozen": test[0, i],
            "test PSNR, trained": test[1, i],
            "train PSNR, frozen": train[0, i],
            "train PSNR, trained": train[1, i],
            "median |change of b| / |b|": moved[i],
        }
        for row, values in rows.items():
            mean, spread = float(values.mean()), float(values.std())
            numbers.append(Number(f"{name}: {row}", None, mean, spread, False))
    return tuple(numbers)


def _claims(
    test: np.ndarray, b: np.ndarray, moved: np.ndarray, preset: Preset
) -> tuple[Claim, ...]:
    names = list(SCALES)
    right = names.index("right")
    wrong = [i for i in range(len(names)) if i != right]
    frozen, trained = test.mean(axis=2)
    gain = trained - frozen
    gone = [way(b[0, i], b[1, i], b[0, right]) for i in wrong]
    learned = preset is not Preset.SMOKE
    return (
        judge(
            "training a and b at the right scale gains nothing",
            gain[right] <= GAIN if learned else None,
            f"test PSNR {gain[right]:+.2f} dB, at most {GAIN:+g} asked; "
            + ", ".join(f"{names[i]} {gain[i]:+.2f} dB" for i in wrong),
        ),
        judge(
            "at the right scale b hardly moves",
            moved[right].max() <= MOVED if learned else None,
            f"median |change of b| / |b|, at most {100 * MOVED:g} % asked: "
            + ", ".join(
                f"{name} {100 * values.mean():.2g} %"
                for name, values in zip(names, moved, strict=True)
            ),
        ),
        judge(
            "from a wrong scale b does not find the right one",
            max(gone) < 0.5,
            "of the octaves to the right RMS frequency it goes "
            + ", ".join(
                f"{100 * share:.0f} % ({names[i]})"
                for i, share in zip(wrong, gone, strict=True)
            ),
        ),
        judge(
            "so a trained wrong scale stays behind a frozen right one",
            all(trained[i] < frozen[right] for i in wrong) if learned else None,
            f"{names[right]}, frozen {frozen[right]:.2f} dB; trained "
            + ", ".join(f"{names[i]} {trained[i]:.2f} dB" for i in wrong),
        ),
    )
