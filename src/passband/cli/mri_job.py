"""The k-space's part of `passband fit`."""

import math
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..atomic_write import write_bytes
from ..errors import InputError
from ..export.report import write_report
from ..field import Field, make_field
from ..forward.kspace import to_centred
from ..mappings import Mapping
from ..ops.mlp import Precision
from ..plot.kspace import kspace_figure
from ..plot.reconstructions import reconstructions
from ..plot.style import png_bytes
from ..plot.volume_slices import planes, volume_slices
from ..reconstruct.baselines import baselines
from ..tasks.mri import MriTask, against, extent_of, render
from ..train.memory import budget, bytes_of_point, bytes_of_run, human, parse_bytes
from ..train.run_folder import RunFolder
from ..train.state import State
from ..words import parse_mapping
from .console import Console
from .fit_job import CPU_POINTS, FitJob, check_moves, start_at
from .fit_mri import Options
from .mri_input import Measurement, measurement

# Voxels times iterations of a baseline: 20 s on 2 CPU cores, 300 iterations of 96^3.
CPU_WORK = 260_000_000
# Volumes of complex numbers that a step holds beside the network's layers, and how much
# more than planned from their shapes the layers take by XLA's own account.
VOLUMES, SLACK, FUSED_SLACK = 6, 1.3, 1.05
LOOK = 10
"""Steps between two looks at what is held out: each costs a third of a step."""
# The paper's network learns nothing of a volume in 3 minutes of a CPU. A quarter of
# its products in as many steps reached 26.7 dB where it reached 24.7.
CPU_WIDTH, CPU_MAPPING, CPU_RATE = 128, "gaussian:5,m=128", 5e-3


class MriJob(FitJob):
    """k-space from a file or simulated, fitted."""

    name = "mri"
    data: Measurement
    console: Console
    width: int
    seen: tuple[float, dict[str, float]] | None = None
    """The step of the last look, and the errors then."""

    def source(self, options: Options) -> Path:
        if options.simulate is not None:
            return Path(options.simulate)
        return super().source(options)

    def inputs(self, options: Options) -> list[Path]:
        word = options.mask if options.mask not in ("gaussian", "uniform") else None
        more = [word, options.sens, options.truth]
        return [self.source(options), *(Path(p) for p in more if p is not None)]

    def read(self, options: Options, console: Console) -> None:
        self.console = console
        if options.width == 0:  # settled here, so that config.json has it
            options.width = CPU_WIDTH if _on_cpu() else 256
        self.width = options.width
        self.data = measurement(options, console)

    def task(self, options: Options, batch: int | None) -> MriTask:
        sides = coarser(self.data.sides, batch)
        if sides != self.data.sides:
            text = " x ".join(map(str, sides))
            self.console.say(
                f"trains on the {text} lowest frequencies of "
                f"{' x '.join(map(str, self.data.sides))}, on a grid as coarse; "
                f"`--batch {math.prod(self.data.sides)}` takes them all"
            )
        return self._task(self.data.cropped(sides), self._at_once(options, sides))

    def _task(self, data: Measurement, at_once: int | None) -> MriTask:
        return MriTask(
            data.forward(),
            jnp.asarray(data.measured),
            None if data.test_mask is None else jnp.asarray(data.test_mask),
            extent=extent_of(self.data.sides, self.data.spacing),
            at_once=at_once,
        )

    def _at_once(self, options: Options, sides: tuple[int, ...]) -> int:
        """Voxels whose layers fit into memory, beside the volumes of every step."""
        room = (
            budget() if options.max_memory is None else parse_bytes(options.max_memory)
        )
        coils = 1 if self.data.maps is None else len(self.data.maps)
        return microbatch_voxels(self._shapes(options), math.prod(sides), coils, room)

    def _shapes(self, options: Options) -> Field:
        """The network before it is drawn."""
        precision = Precision.resolve(options.precision, jax.default_backend())
        return eqx.filter_eval_shape(
            lambda: make_field(
                parse_mapping(options.mapping or self.default_mapping()),
                key=jax.random.key(0),
                layers=options.layers,
                width=options.width,
                **self.field_options(),
            )
        ).with_precision(precision)

    def field_options(self) -> dict[str, Any]:
        data = self.data
        field = {"d": len(data.sides), "out": 1, "output": "sigmoid"}
        if data.pair:
            return field | {"out": 2, "output": "tanh"}
        # Heads come out better from 1/2 (23.4 dB and 22.6 in one run), which is too far
        # for an image that is nearly 0 everywhere; frequency 0 has the mean.
        if self.restarts > 0 and data.maps is None and data.train_mask.flat[0]:
            mean = data.measured.flat[0].real / math.sqrt(data.train_mask.size)
            field["start"] = start_at(mean)
        return field

    def points(self, options: Options) -> tuple[int, int]:
        count = math.prod(self.data.sides)
        return count, count

    def nyquist(self, options: Options) -> float:
        # Along the longest side, which is one unit: half its voxels.
        extent = extent_of(self.data.sides, self.data.spacing)
        return max(n / (2 * e) for n, e in zip(self.data.sides, extent, strict=True))

    def default_mapping(self) -> str:
        return CPU_MAPPING if _on_cpu() else "gaussian:5"

    def default_steps(self, options: Options, on_cpu: bool) -> int:
        if not on_cpu:
            return 1000
        affordable = self._cpu_points(options) // math.prod(self.data.sides)
        return int(np.clip(affordable, 300, 1000))

    def batch(self, options: Options, steps: int, on_cpu: bool) -> int:
        count, _ = self.points(options)
        return min(count, self._cpu_points(options) // steps) if on_cpu else count

    def _cpu_points(self, options: Options) -> int:
        """Voxels that 2 cores train on in time: more, the smaller the network is."""
        weights = self._shapes(options).mlp.weights
        products = sum(math.prod(w.shape) for w in weights)
        _, evaluate = self.points(options)
        return int(max(CPU_POINTS * 262_400 / products - 0.4 * evaluate, 1e6))

    def rate(self, mapping: Mapping) -> float:
        """The paper's (protocol 1.5); fewer steps of a smaller network are larger."""
        del mapping
        return CPU_RATE if _on_cpu() and self.width <= CPU_WIDTH else 2e-3

    def on_log(
        self, task: MriTask, state: State, entry: dict[str, float], folder: RunFolder
    ) -> bool:
        check_moves(entry, folder, lambda: task.empty_loss)
        if task.test_mask is None:
            return False
        fresh = self.seen is None or entry["step"] - self.seen[0] >= LOOK
        if self.seen is None or fresh:
            exact = state.field.with_precision(Precision.FLOAT32)
            self.seen = entry["step"], task.errors(task.predict(exact))
        entry |= self.seen[1]
        patience = folder.config["patience"]
        if patience is None or not fresh:
            return False
        past = folder.history()
        looks = looks_of(past.get("step", []), past.get("error_test", []))
        return waited(patience, [*looks, entry["error_test"]])

    def finish(
        self,
        task: MriTask,
        field: Field,
        folder: RunFolder,
        result: dict[str, Any],
        history: dict[str, list[float]],
    ) -> dict[str, Any]:
        data = self.data
        whole = task if task.forward.mask.shape == data.sides else self._task(data, 1)
        extent = extent_of(data.sides, data.spacing)
        seen = render(field, data.sides, extent).reshape(whole.forward.input_shape)
        result["metrics"] = self._scores(whole, seen)
        if task is not whole:
            result["grid"] = list(task.forward.mask.shape)
        limit = CPU_WORK // math.prod(data.sides) if _on_cpu() else 1000
        steps = int(np.clip(limit, 20, 1000))
        self.console.progress("the baselines", often=False)
        others = baselines(whole, steps=steps)
        result["baselines"] = {
            name: self._scores(whole, image) for name, image in others.items()
        }
        shown = {result["mapping"]: seen, **others}
        scores = {result["mapping"]: result["metrics"], **result["baselines"]}
        volumes = {name: self._magnitude(image) for name, image in shown.items()}
        truth = None if data.truth is None else np.abs(data.truth)
        write_report(
            folder.path / "report.html",
            title=data.name,
            config=folder.config,
            result=result,
            figures={
                "Reconstructions": reconstructions(
                    {k: _slice(v) for k, v in volumes.items()},
                    None if truth is None else _slice(truth),
                    notes={k: _note(v) for k, v in scores.items()},
                ),
                "Slices": self._slices(volumes[result["mapping"]], truth),
                "k-space": self._kspace(whole, seen),
            },
            history=history,
        )
        preview = self._slices(volumes[result["mapping"]], None)
        write_bytes(folder.path / "preview.png", png_bytes(preview))
        return {
            "shape": [*data.sides, 2 if data.pair else 1],
            "low": 0.0,
            "high": data.high,
            "spacing": list(data.spacing),
            "affine": None if data.affine is None else data.affine.tolist(),
        }

    def _magnitude(self, image: np.ndarray) -> np.ndarray:
        """In the user's units."""
        size = np.linalg.norm(image, axis=-1) if self.data.pair else np.abs(image)
        return self.data.high * size

    def _scores(self, task: MriTask, image: np.ndarray) -> dict[str, float]:
        truth = self.data.truth
        found: dict[str, float] = {}
        if truth is not None:
            ours = image[..., 0] + 1j * image[..., 1] if self.data.pair else image
            known = truth.astype(np.complex64) if self.data.pair else truth
            found = against(
                self.data.high * ours, known, data_range=float(np.abs(truth).max())
            )
        return found | task.errors(image)

    def _slices(self, volume: np.ndarray, truth: np.ndarray | None) -> Any:
        rows = {} if truth is None else {"Truth": truth}
        top = None if truth is None else float(truth.max())
        return volume_slices(
            rows | {"Field": volume}, spacing=self.data.spacing, top=top
        )

    def _kspace(self, task: MriTask, image: np.ndarray) -> Any:
        data = self.data
        residual = np.asarray(task.forward.transform(jnp.asarray(image)))
        residual = residual - data.measured

        def shown(samples: np.ndarray) -> np.ndarray:
            size = np.abs(to_centred(samples, data.sides)) * data.high
            return size if data.maps is None else np.linalg.norm(size, axis=0)

        middle = np.fft.fftshift
        test_mask = None if data.test_mask is None else middle(data.test_mask)
        return kspace_figure(
            shown(data.measured), shown(residual), middle(data.train_mask), test_mask
        )


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"


def microbatch_voxels(field: Field, count: int, coils: int, room: int) -> int:
    """How many of `count` voxels may have their layers in so many bytes together."""
    alone = bytes_of_run(field, 0) + VOLUMES * 8 * count * coils
    plain = bytes_of_point(field, 1)
    fits = int((room - alone) / (SLACK * plain))
    fused = bytes_of_point(field, fits // 2)  # parts are equal, so none is below half
    if fused < plain:
        fits = int((room - alone) / (FUSED_SLACK * fused))
    if fits < 1:
        raise InputError(
            f"{count} voxels and {coils} coil(s) need more than {human(alone)}, and "
            f"{human(room)} may be used; a smaller `--batch` trains on a coarser grid"
        )
    return min(count, fits)


def coarser(sides: tuple[int, ...], batch: int | None) -> tuple[int, ...]:
    """Sides of about the same shape with at most `batch` points, even and 4 or more."""
    count = math.prod(sides)
    if batch is None or batch >= count:
        return sides
    scale = (batch / count) ** (1 / len(sides))
    return tuple(min(n, max(4, int(n * scale) // 2 * 2)) for n in sides)


def looks_of(steps: list[float], errors: list[float]) -> list[float]:
    """The errors that were new in their entries of the history."""
    looks, last = [], -math.inf
    for step, error in zip(steps, errors, strict=True):
        if step - last >= LOOK:
            looks.append(error)
            last = step
    return looks


def waited(patience: int, errors: list[float]) -> bool:
    """Whether the last so many errors are no lower than one before them."""
    before, lately = errors[:-patience], errors[-patience:]
    return bool(before) and min(lately) >= min(before)


def _slice(volume: np.ndarray) -> np.ndarray:
    return planes(volume)[-1][0]


def _note(scores: dict[str, float]) -> str:
    """The score that matters most, under a picture."""
    parts = []
    if "psnr" in scores:
        parts.append(f"{scores['psnr']:.2f} dB")
    if "error_test" in scores:
        parts.append(f"held out {scores['error_test']:.1%}")
    return ", ".join(parts)
