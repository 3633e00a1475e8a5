"""A trained field with its domain, units, kind and history."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import notebook
from .atomic_write import write_bytes
from .data.images import quantise
from .errors import InputError
from .field import Field
from .kinds.kind import Evaluation, Kind, Units, own_units
from .kinds.model_facts import range_of
from .kinds.page import page_facts, page_of
from .kinds.render import kind_of, render_values
from .kinds.render_options import RenderOptions
from .kinds.report_parts import figures_of, layers_of
from .members import mean_and_spread
from .model_file import load_with_info, save
from .options import make_options

PREVIEW = 160
"""Pixels along the longest side of a picture in a notebook."""

if TYPE_CHECKING:
    from .tuning.choice import Choice


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """What `pb.fit` and `pb.load` give: a field in the user's coordinates and units.

    Example:
        >>> import numpy as np, passband as pb
        >>> x = np.linspace(0, 10, 200)  # metres, say
        >>> model = pb.fit(x, np.sin(x), mapping="gaussian:2", steps=300)
        >>> bool(abs(model(x) - np.sin(x)[:, None]).max() < 0.1)
        True
    """

    field: Field
    """The network itself, a plain pytree; its coordinates are the unit domain's."""
    about: dict[str, Any]
    """What the model file says: kind, mapping, shape, range, metrics, ..."""
    metrics: dict[str, float] = dataclasses.field(default_factory=dict)
    """How good it is, by name; PSNR in dB."""
    history: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    """Columns `step`, `seconds`, `loss`, ... of the training; empty after `pb.load`."""
    result: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What `passband fit --json` prints: metrics, baselines, seconds, device."""
    choice: "Choice | None" = None
    """How sigma was chosen, where it was."""
    evaluation: Evaluation | None = None
    config: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of data it was fitted to: image, ct, points, ..."""
        return str(self.about.get("task", "field"))

    @property
    def mapping(self) -> str:
        """The word of its mapping, with its scale."""
        return str(self.about.get("mapping", ""))

    @property
    def baselines(self) -> dict[str, dict[str, float]]:
        """Metrics of other methods on the same data."""
        return self.result.get("baselines", {})

    def __call__(self, coords: Any) -> np.ndarray:
        """Values at points, both in the user's units; the same as `predict`."""
        return self.predict(coords)

    def predict(self, coords: Any) -> np.ndarray:
        """Values (n, c) at points (n, d), any number of them.

        Args:
            coords: in the coordinates of the data: those that were given, column and
                row of a picture, number of a sample, x, y, z of a mesh or a scene;
                `model.coords` says it in words. (n,) where d is 1.
        """
        return self._mean_and_spread(coords)[0]

    def spread(self, coords: Any) -> np.ndarray:
        """How far the members differ, (n, c) at points (n, d): the standard deviation
        over them, in the units of the values. Where it is large, they cannot all be
        right; a model of one network has none.

        Args:
            coords: as `predict` takes them.
        """
        if self.members == 1:
            raise InputError(
                "a model of one network has no spread; `members` of 2 or more have"
            )
        found = self._mean_and_spread(coords)[1]
        assert found is not None
        return found

    @property
    def members(self) -> int:
        """Networks that the model is the mean of."""
        return self.field.members

    def _mean_and_spread(self, coords: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """In the user's units, of which a scene's are no multiple of the field's."""
        points, kind = self._unit_points(coords), self._kind

        def values(one: Field) -> np.ndarray:
            raw = one.predict(points)
            return raw if kind is None else kind.in_units(raw, self.about)

        return mean_and_spread(self.field, values)

    def _unit_points(self, coords: Any) -> np.ndarray:
        """The user's coordinates as the field has them."""
        try:
            points = np.asarray(coords, np.float64)
        except (TypeError, ValueError):
            raise InputError("`coords` must be an array of numbers") from None
        d = self.field.encoding.dims
        if points.ndim == 1 and d == 1:
            points = points[:, None]
        if points.ndim != 2 or points.shape[1] != d:
            raise InputError(
                f"`coords` has shape {points.shape}; this model takes (n, {d}): "
                f"{self.coords}"
            )
        units = self._units
        return (points - units.center) * units.scale + units.shift

    @property
    def coords(self) -> str:
        """What the coordinates are, in words."""
        return self._units.coords

    def render(self, **options: Any) -> Any:
        """The data at any resolution, as NumPy has them: a picture (rows, columns,
        channels), samples, a volume, a mesh with `vertices` and `faces`, views.

        Args:
            size: (rows, columns) of a picture.
            resolution: samples along the longest side.
            options: the others of `passband render`, such as `crop` and `orbit`.
        """
        size = options.get("size")
        if isinstance(size, tuple | list):
            options = {**options, "size": "x".join(map(str, size))}
        crop = options.get("crop")
        if isinstance(crop, tuple | list):
            options = {**options, "crop": ",".join(map(str, crop))}
        return render_values(
            self.field, self.about, make_options(RenderOptions, options)
        )

    def measure(self, **options: Any) -> np.ndarray:
        """What the instrument would see of the model, in the units of the data: all
        that was measured, what was held out, and what was never measured.

        Args:
            angles: of the views of a CT scan, in degrees: numbers, or as `passband fit
                ct` takes them; those of the fit by default.
        """
        angles = options.get("angles")
        if angles is not None and not isinstance(angles, str):
            found = np.asarray(angles, np.float64).ravel()
            options = {**options, "angles": ",".join(map(repr, found.tolist()))}
        asked = make_options(RenderOptions, {**options, "what": "measurements"})
        return render_values(self.field, self.about, asked)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report: one HTML page with metrics, curves and pictures."""
        from .export.report import write_report

        if self.evaluation is None:
            raise InputError(
                "a model that was loaded has no data to report on; `pb.fit` gives one"
            )
        write_report(
            path,
            title=str(self.config.get("title", self.kind)),
            config=self.config,
            result=self.result,
            figures=figures_of(self.evaluation, self.mapping),
            history=self.history,
            layers=layers_of(self.evaluation, self.mapping),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which `pb.load` and `passband render` take."""
        save(self.field, path, **self.about)

    @property
    def _kind(self) -> type[Kind] | None:
        return kind_of(self.about)

    @property
    def _units(self) -> Units:
        kind = self._kind
        if kind is None:
            return own_units(self.field.encoding.dims)
        return kind.units(self.field, self.about)

    def page(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML file that evaluates the model wherever it is opened."""
        text = page_of(self._kind, self.field, self.about, self._title)
        write_bytes(Path(path), text.encode(errors="replace"))

    @property
    def _title(self) -> str:
        return str(self.config.get("title") or f"{self.kind}, {self.mapping}")

    def _repr_html_(self) -> str:
        """In a notebook: what it is, how good it is, and a picture if there is one."""
        about = self.about | {"metrics": self.metrics}
        parts = [notebook.heading(self._title)]
        parts.append(notebook.table(page_facts(self.field, about, None)))
        shown = _preview(self)
        if shown is not None:
            parts.append(notebook.picture(shown, "the model's preview"))
        return "".join(parts)

    def __repr__(self) -> str:
        scores = ", ".join(f"{k} {v:.4g}" for k, v in self.metrics.items())
        many = f", {self.members} members" if self.members > 1 else ""
        return f"Model({self.kind}, {self.mapping}{many}; {scores})"


def load(path: str | os.PathLike[str]) -> Model:
    """The model of a file, or of a run folder: units, coordinates, kind and all.

    Args:
        path: a model.safetensors, or the folder of a run.

    Example:
        >>> import numpy as np, passband as pb
        >>> x = np.linspace(0, 1, 50)
        >>> fitted = pb.fit(x, 5 + x, mapping="gaussian:1", steps=50, width=32)
        >>> fitted.save("m.safetensors")
        >>> bool((pb.load("m.safetensors")(x) == fitted(x)).all())
        True
    """
    path = Path(path)
    if os.path.isdir(path):
        path = path / "model.safetensors"
    field, about = load_with_info(path)
    return model_of(field, about, path.parent)


def model_of(field: Field, about: dict[str, Any], folder: Path) -> Model:
    """The model of a field and what its file says about it."""
    metrics = about.get("metrics")
    found = metrics if isinstance(metrics, Mapping) else {}
    facts = {k: v for k, v in about.items() if k not in _OF_THE_FILE}
    return Model(field, facts | {"folder": str(folder)}, dict(found))


def _preview(model: Model) -> bytes | None:
    """A small PNG of a model, if one is at hand."""
    from .export.normals import png_of
    from .plot.style import png_bytes

    if model.evaluation is not None:
        found = model.evaluation.preview()
        if not isinstance(found, np.ndarray):
            return png_bytes(found)
    elif model.kind in ("image", "ct"):
        low, high = range_of(model.about)
        found = (model.render(resolution=PREVIEW) - low) / (high - low)
    else:
        return None
    byte = quantise(found, 8)
    if byte.ndim == 3 and byte.shape[2] not in (3, 4):
        byte = byte[..., 0]
    return png_of(byte)


_OF_THE_FILE = ("format", "output", "trains", "gains", "activation", "members")
