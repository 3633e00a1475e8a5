"""Docstrings of the public names: every argument is told, and examples run."""

import doctest
import inspect
from typing import Any

import pytest

import passband as pb
from passband import units
from passband.auto import Auto
from passband.mappings import MAPPINGS

NAMES: dict[str, Any] = {
    **{cls.__name__: cls for cls in MAPPINGS.values()},
    "FourierFeatures": pb.FourierFeatures,
    "Grids": pb.Grids,
    "Identity": pb.Identity,
    "Auto": Auto,
    "Field": pb.Field,
    "make_field": pb.make_field,
    "parse_mapping": pb.parse_mapping,
    **{name: f for name, f in vars(units).items() if inspect.isfunction(f)},
    **{n: getattr(pb, n) for n in ("compare", "fit", "fit_many", "read", "tune")},
    **{n: getattr(pb, n) for n in ("load", "load_many", "distributed", "grid")},
    **{n: getattr(pb.metrics, n) for n in ("psnr", "ssim", "iou")},
    **{n: getattr(pb.forward, n) for n in ("radon", "KSpace", "linear")},
    "measured": pb.measured,
}
KNOWN = {*NAMES, "InputError", "Model", "ModelSet", "__version__"}
MODULES = {"forward", "metrics", "theory", "tuning", "units"}
EVERY = pytest.mark.parametrize("name", NAMES)


@EVERY
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestFinder(recurse=False).find(NAMES[name], name)
    (test,) = (test for test in found if test.examples)
    test.globs = {}
    said: list[str] = []
    failed, tried = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert tried and not failed, "".join(said)


@EVERY
def test_every_argument_is_told(name):
    doc = inspect.getdoc(NAMES[name])
    assert doc
    missing = [
        argument
        for argument in inspect.signature(NAMES[name]).parameters
        if f"\n    {argument}: " not in doc
    ]
    assert not missing


def test_no_public_name_is_left_out():
    assert set(dir(pb)) == (KNOWN & set(dir(pb))) | MODULES
    assert pb.Model.__doc__ and ">>>" in pb.Model.__doc__


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some examples write a file
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
