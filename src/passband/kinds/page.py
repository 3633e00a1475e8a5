"""A model of any kind as one HTML file."""

from pathlib import Path
from typing import Any

from ..atomic_write import write_bytes
from ..errors import InputError
from ..export.web.model_page import model_page
from ..field import Field
from .kind import Kind

METRICS = {
    "psnr": ("PSNR", "dB"),
    "psnr_test": ("PSNR, held out", "dB"),
    "psnr_train": ("PSNR, trained", "dB"),
    "ssim": ("SSIM", ""),
    "iou_uniform": ("IoU", ""),
    "iou_boundary": ("IoU near the surface", ""),
    "error_test": ("Error, held out", ""),
    "error_train": ("Error, trained", ""),
}
"""What a page states of a model's quality, in this order."""


def write_page(
    kind: type[Kind] | None,
    field: Field,
    about: dict[str, Any],
    out: Path,
    model: Path | None,
    name: str = "",
) -> dict[str, Any]:
    """Write the page of a model file, or of a model that has none, by its name."""
    bytes = None if model is None else model.stat().st_size
    title = name if model is None else title_of(model)
    page = page_of(kind, field, about, title, bytes)
    text = page.encode(errors="replace")  # a name may hold bytes that are no text
    write_bytes(out, text)
    layers = [field.encoding.features, *(b.shape[-1] for b in field.mlp.biases)]
    return {
        "shape": layers,
        "bytes": len(text),
        "text": f"a page of {len(text) / 1e6:.2f} MB that needs nothing else",
    }


def page_of(
    kind: type[Kind] | None,
    field: Field,
    about: dict[str, Any],
    title: str,
    bytes: int | None = None,
    **options: Any,
) -> str:
    """The HTML of a model.

    Args:
        bytes: of the model file, where there is one.
        options: those of `model_page`.
    """
    if kind is None:
        raise InputError(
            f"a model of task `{about.get('task')}` does not say how it looks; one of "
            "`passband fit` does"
        )
    view = kind.view(field, about)
    entries = page_facts(field, about, bytes)
    return model_page(title, field, view, entries, **options)


def title_of(model: Path) -> str:
    """The name of a model file, or of its run folder."""
    if model.name == "model.safetensors":
        return model.absolute().parent.name or "model"
    return model.stem


def page_facts(
    field: Field, about: dict[str, Any], bytes: int | None
) -> list[tuple[str, str]]:
    """Sigma, quality and size, as a page states them."""
    word = str(about.get("mapping") or "")
    family, _, rest = word.partition(":")
    entries = [("Kind", str(about.get("task"))), ("Mapping", word or "–")]
    if family == "gaussian":
        entries.append(("Sigma", f"{rest.partition(',')[0]} cycles"))
    metrics = about.get("metrics")
    metrics = metrics if isinstance(metrics, dict) else {}
    for name, (words, unit) in METRICS.items():
        value = metrics.get(name)
        if name == "psnr_train" and value == metrics.get("psnr"):
            continue
        if isinstance(value, int | float):
            digits = f"{value:.2f}" if unit else f"{value:.4g}"
            entries.append((words, f"{digits} {unit}".strip()))
    shape = about.get("shape")
    if isinstance(shape, list):
        entries.append(("Samples", " x ".join(map(str, shape))))
    layers = [field.encoding.features, *(b.shape[-1] for b in field.mlp.biases)]
    entries.append(("Layers", "-".join(map(str, layers))))
    if field.members > 1:
        entries.append(("Members", str(field.members)))
    entries.append(("Parameters", f"{field.parameters:,}"))
    if bytes is not None:
        entries.append(("Model file", f"{bytes:,} bytes"))
    return entries
