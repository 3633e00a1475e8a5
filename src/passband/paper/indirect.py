"""What training through an instrument learns: theory and network, MRI and CT (ours).

The appendix reasons about indirect supervision (eq. 22) and has no figure of it. Here
the linear dynamics of K A^T A predict the error of every frequency of a small image,
and a wide network is trained beside. Its remark that A^T A is diagonal in the DFT for
both instruments is worked out on the way.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Int, Scalar

from ..data.masks import gaussian_mask, opposite
from ..data.volumes import head_phantom
from ..domain import grid_coords
from ..field import Field, make_field, standard
from ..forward.kspace import KSpace
from ..forward.linear import LinearForward
from ..forward.radon import radon
from ..forward.radon_nearest import nearest_radon
from ..mappings import AnyKey
from ..plot import pixels
from ..plot.panels import write_at
from ..plot.style import FAMILY_COLOURS, INK, MUTED, axes_at, new_figure, styled
from ..tasks.task import Task
from ..theory import composed_ntk, linear_dynamics
from ..train.driver import Config, train
from ..train.optimisers import sgd
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {"mri": "MRI", "ct": "CT"}


@dataclasses.dataclass(frozen=True)
class Setting:
    """An image, its two instruments, and a wide network."""

    side: int = 32
    fraction: float = 0.35
    views: int = 10
    scale: float = 3.0
    m: int = 128
    width: int = 8192
    layers: int = 2
    """One hidden layer: of two networks at equal cost it is wider, nearer to theory."""
    steps: int = 4000


SETTINGS = {
    Preset.SMOKE: Setting(side=8, m=16, width=32, steps=50, views=4, scale=1.0),
    Preset.SMALL: Setting(side=16, m=64, width=2048, steps=1000, views=6, scale=2.0),
    Preset.FULL: Setting(),
}
OFF = "share of A^T A's energy off the DFT's diagonal"
STEP = 0.5
"""Learning rate times the largest eigenvalue: at 2, gradient descent would diverge."""


class Indirect(Item):
    """The error of every frequency after training, predicted and trained."""

    id = "indirect"
    section = "appendix, indirect supervision (ours)"
    title = "Which frequencies an MRI or CT fit learns"
    notes = (
        "Not in the paper, which states eq. 22 without a figure.",
        "The appendix calls A^T A diagonal in the DFT for both instruments. For the "
        "mask that is exact, (M(k) + M(-k)) / 2 for a real field; for a projector on a "
        "grid it is not.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        truth = head_phantom(setting.side, dims=2) - 0.5
        arrays: dict[str, np.ndarray] = {"truth": truth}
        numbers, claims = [], []
        for name, forward in instruments(setting).items():
            progress(
                f"{NAMES[name]}: normal operator, prediction, {setting.steps} steps"
            )
            in_dft = normal_in_dft(forward)
            share = off_diagonal(in_dft)
            found = converge(forward, truth, setting)
            arrays |= {f"{name}.{k}": v for k, v in found.items()}
            diagonal = np.real(np.diag(in_dft)).reshape(setting.side, setting.side)
            arrays[f"{name}.diagonal"] = diagonal
            numbers.append(Number(f"{NAMES[name]}, {OFF}", None, share))
            claims.append(_diagonal_claim(name, forward, diagonal, share))
            claims += _prediction_claims(name, found, preset is not Preset.SMOKE)
            numbers += _numbers(name, found)
        angles = np.arange(setting.views) * 180 / setting.views
        smooth = off_diagonal(normal_in_dft(radon(angles, setting.side)))
        numbers.append(Number(f"CT, interpolated, {OFF}", None, smooth))
        return Outcome(
            numbers=tuple(numbers),
            claims=tuple(claims),
            arrays=arrays,
            settings={
                **dataclasses.asdict(setting),
                "optimiser": f"gradient descent, rate {STEP} / largest eigenvalue",
                "error": "|DFT of (output - image)|, orthonormal",
            },
        )

    @styled
    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        """A row for each instrument: maps of frequencies, and a scatter of them."""
        found, step = outcome.arrays, SIDE + 0.25
        width = 0.55 + 4 * SIDE + 3 * 0.25 + 0.55 + 0.15
        figure = new_figure(width, 0.77 + len(NAMES) * (SIDE + 0.45))
        for i, (name, title) in enumerate(NAMES.items()):
            top = 0.62 + i * (SIDE + 0.45)
            seen, start = found[f"{name}.diagonal"], found[f"{name}.start"]
            predicted, trained = (
                np.maximum(found[f"{name}.{key}"] / np.maximum(start, 1e-30), LOW)
                for key in ("predicted", "trained")
            )
            for k, values in enumerate((seen / seen.max(), predicted, trained)):
                axes = axes_at(figure, 0.55 + k * step, top, SIDE, SIDE)
                _draw_map(axes, values, log=k > 0)
                if i == 0:
                    axes.set_title(MAPS[k])
                if k == 0:
                    axes.set_ylabel(title, color=INK, fontsize=11, fontweight="bold")
            axes = axes_at(figure, 1.05 + 3 * step, top, SIDE, SIDE)
            _draw_scatter(axes, predicted, trained, seen)
            if i == 0:
                axes.set_title("Every frequency")
            if i == len(NAMES) - 1:
                axes.set_xlabel("predicted share of error left", color=INK)
            axes.set_ylabel("trained", color=INK, labelpad=1)
        note = (
            "maps of frequencies, 0 in the middle; errors as a share of that at the "
            f"start, white 1 and more, black {LOW:g}; dots are orange where the "
            "instrument sees"
        )
        write_at(figure, 0.55, 0.17, note, fontsize=8, color=MUTED)
        return {self.id: figure}


ITEM = Indirect()
SIDE, LOW = 2.25, 1e-3
MAPS = ("Seen: diagonal of $A^TA$", "Error left, predicted", "Error left, trained")


def _draw_map(axes: "Axes", values: np.ndarray, *, log: bool) -> None:
    shown = np.fft.fftshift(np.log10(values) if log else values)
    low, high = (np.log10(LOW), 0.0) if log else (0.0, 1.0)
    whole = (0, 0, *shown.shape)
    pixels.show(axes, shown, whole, interpolation="nearest", cmap="gray", vmin=low,
                vmax=high)  # fmt: skip


def _draw_scatter(
    axes: "Axes", predicted: np.ndarray, trained: np.ndarray, diagonal: np.ndarray
) -> None:
    seen = diagonal > 0.05 * diagonal.max()
    for which, colour in ((~seen, MUTED), (seen, FAMILY_COLOURS["gaussian"])):
        axes.loglog(predicted[which], trained[which], "o", color=colour, markersize=3,
                    alpha=0.6, markeredgewidth=0)  # fmt: skip
    top = 2 * max(predicted.max(), trained.max())
    axes.plot([LOW, top], [LOW, top], color=INK, linewidth=0.8)
    axes.set_xlim(LOW * 0.7, top)
    axes.set_ylim(LOW * 0.7, top)


def instruments(setting: Setting) -> dict[str, LinearForward]:
    """A mask of k-space, and a few views, of a square image."""
    sides = (setting.side, setting.side)
    mask = gaussian_mask(sides, setting.fraction, spread=0.2)
    angles = np.arange(setting.views) * 180 / setting.views
    return {"mri": KSpace(jnp.asarray(mask)), "ct": nearest_radon(angles, setting.side)}


def normal_in_dft(forward: LinearForward) -> Inexact[np.ndarray, "n n"]:
    """F A^T A F^H, with F the orthonormal DFT of the grid."""
    shape = forward.input_shape
    n = int(np.prod(shape))
    eye = jnp.eye(n).reshape(n, *shape)
    normal = np.asarray(jax.lax.map(forward.N, eye)).reshape(n, n).astype(float)
    axes = (1, 2)
    rows = np.fft.fftn(normal.reshape(n, *shape), axes=axes, norm="ortho")
    columns = np.fft.ifftn(rows.reshape(*shape, n), axes=(0, 1), norm="ortho")
    return columns.reshape(n, n).T


def off_diagonal(matrix: np.ndarray) -> float:
    """The share of a matrix's squares that is not on its diagonal."""
    total = float(np.sum(np.abs(matrix) ** 2))
    on = float(np.sum(np.abs(np.diag(matrix)) ** 2))
    return max(0.0, 1 - on / total)


class SeenThrough(Task):
    """An image on a grid seen through any linear instrument; half the sum of squares,
    which the theory's time counts."""

    forward: LinearForward
    measured: Inexact[Array, "..."]

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del key, step
        error = self.forward(self.image(field)) - self.measured
        return 0.5 * jnp.sum(jnp.square(error.real) + jnp.square(error.imag))

    def image(self, field: Field) -> Float[Array, "h w"]:
        h, w = self.forward.input_shape
        return field.batch(grid_coords(jnp.arange(h * w), (h, w))).reshape(h, w)

    def predict(self, field: Field) -> np.ndarray:
        return np.asarray(self.image(field))

    def metrics(self, field: Field) -> dict[str, float]:
        return {"loss": float(self.loss(field, jax.random.key(0)))}

    @property
    def step_points(self) -> int:
        return int(np.prod(self.forward.input_shape))


def converge(
    forward: LinearForward, truth: np.ndarray, setting: Setting
) -> dict[str, np.ndarray]:
    """Errors of every frequency at the start and at the end, predicted and trained."""
    task = SeenThrough(forward, forward(jnp.asarray(truth)))
    field = make_field(
        f"gaussian:{setting.scale},m={setting.m},norm=1",
        d=2,
        out=1,
        key=jax.random.key(0),
        layers=setting.layers,
        width=setting.width,
        output="identity",
        init=standard,
    )
    sides = truth.shape
    coords = np.asarray(grid_coords(jnp.arange(truth.size), sides))
    kernel = composed_ntk(
        field.encoding, coords, layers=setting.layers, width=setting.width
    )
    dynamics = linear_dynamics(
        kernel,
        np.asarray(task.measured),
        A=lambda values: forward(values.reshape(sides)),
    )
    rate = STEP / float(dynamics.eigenvalues[-1])
    f0 = task.predict(field)
    t = rate * setting.steps
    predicted = dynamics(t, kernel, f0_train=f0.ravel(), f0_test=f0.ravel())
    config = Config(setting.steps, rate, setting.steps, "float32")
    [moved], [history] = train(
        [task], [field], config, keys=[jax.random.key(0)], optimiser=sgd()
    )
    trained = task.predict(moved)
    return {
        "start": _spectrum(f0 - truth),
        "predicted": _spectrum(predicted.reshape(sides) - truth),
        "trained": _spectrum(trained - truth),
        "losses": np.asarray(
            [history["loss"][-1], float(dynamics.loss(t, f0_train=f0.ravel()))]
        ),
    }


def _spectrum(error: np.ndarray) -> np.ndarray:
    return np.abs(np.fft.fft2(error, norm="ortho"))


def _left(found: dict[str, np.ndarray], name: str) -> float:
    """How much of the error at the start is left, all frequencies together."""
    return float(np.linalg.norm(found[name]) / np.linalg.norm(found["start"]))


def _numbers(name: str, found: dict[str, np.ndarray]) -> list[Number]:
    return [
        Number(f"{NAMES[name]}, share of the error left, {way}", None,
               _left(found, way))
        for way in ("predicted", "trained")
    ]  # fmt: skip


def _diagonal_claim(
    name: str, forward: Any, diagonal: np.ndarray, share: float
) -> Claim:
    if name == "mri":
        mask = np.asarray(forward.mask)
        expected = (mask + opposite(mask).astype(float)) / 2
        off = float(np.abs(diagonal - expected).max())
        return judge(
            "MRI: A^T A is diagonal in the DFT, (M(k) + M(-k)) / 2 for a real field",
            share < 1e-9 and off < 1e-5,
            f"{100 * share:.2g} % of its energy is off the diagonal, which is the "
            f"mask's to {off:.1g}",
        )
    return judge(
        "CT: A^T A is near to diagonal in the DFT, but not so",
        0.01 < share < 0.5,
        f"{100 * share:.1f} % of its energy is off the diagonal; the appendix has none",
    )


def _prediction_claims(
    name: str, found: dict[str, np.ndarray], judged: bool
) -> list[Claim]:
    floor = 1e-6 * float(found["start"].max())
    ours, theirs = (
        np.log10(np.maximum(found[k].ravel(), floor)) for k in ("predicted", "trained")
    )
    agree = float(np.corrcoef(ours, theirs)[0, 1])
    apart = float(np.median(np.abs(ours - theirs)))
    low = found["predicted"] < 0.3 * found["start"]
    both = float(np.mean(low == (found["trained"] < 0.3 * found["start"])))
    return [
        judge(
            f"{NAMES[name]}: theory says which frequencies the network learns",
            both > 0.9 and agree > 0.9 if judged else None,
            f"log errors correlate by {agree:.3f}, and differ by a factor of "
            f"{10**apart:.2f} in the median; {100 * both:.0f} % of the frequencies are "
            "on the same side of 0.3 of the error at the start",
        )
    ]
