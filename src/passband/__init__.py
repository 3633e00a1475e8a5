"""passband: Fourier-feature coordinate networks, fitted, explained and tuned."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from .version import __version__ as __version__

if TYPE_CHECKING:
    from . import forward as forward
    from . import theory as theory
    from . import tuning as tuning
    from . import units as units
    from .api import compare as compare
    from .api import fit as fit
    from .api import fit_many as fit_many
    from .api import read as read
    from .api import tune as tune
    from .domain import grid as grid
    from .errors import InputError as InputError
    from .field import Field as Field
    from .field import make_field as make_field
    from .kinds.measured import measured as measured
    from .mappings import *  # noqa: F403  (its `__all__`)
    from .model import Model as Model
    from .model import load as load
    from .model_set import ModelSet as ModelSet
    from .model_set import load_many as load_many
    from .tasks import metrics as metrics
    from .train.processes import distributed as distributed
    from .words import parse_mapping as parse_mapping

_HOMES = {
    "api": ("compare", "fit", "fit_many", "read", "tune"),
    "domain": ("grid",),
    "errors": ("InputError",),
    "field": ("Field", "make_field"),
    "kinds.measured": ("measured",),
    "model": ("Model", "load"),
    "model_set": ("ModelSet", "load_many"),
    "train.processes": ("distributed",),
    "words": ("parse_mapping",),
}  # fmt: skip
_WHERE = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = {"forward": "forward", "metrics": "tasks.metrics", "theory": "theory",
            "tuning": "tuning", "units": "units"}  # fmt: skip


def __getattr__(name: str):
    if name in _WHERE:
        return getattr(import_module(f"passband.{_WHERE[name]}"), name)
    if name in _MODULES:
        return import_module(f"passband.{_MODULES[name]}")
    if name == "__all__":
        return __dir__()
    if name[:1].isupper() and name in _mappings().__all__:
        return getattr(_mappings(), name)
    raise AttributeError(f"module `passband` has no attribute `{name}`")


def __dir__() -> list[str]:
    return sorted({"__version__", *_MODULES, *_WHERE, *_mappings().__all__})


def _mappings() -> ModuleType:
    return import_module("passband.mappings")
