"""The package: one version, a wheel and a source archive that are whole, and run."""

import importlib
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import yaml

from passband.version import __version__

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    return folder


def test_both_archives_have_what_they_must_and_nothing_else(dist, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "release"))
    check = importlib.import_module("check")

    assert check.faults(dist) == []
    assert check.version() == __version__
    sys.modules.pop("check")


def test_the_wheel_runs_in_an_environment_of_its_own(dist, tmp_path):
    """Its dependencies are those of this environment, passband is the wheel's."""
    place = tmp_path / "env"
    venv.create(place, with_pip=False)
    [packages] = place.glob("lib/python*/site-packages")
    [wheel] = dist.glob("*.whl")
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
             "--no-index", "--disable-pip-version-check", "--target", str(packages),
             str(wheel)]  # fmt: skip
    subprocess.run(words, check=True, capture_output=True)
    theirs = [path for path in sys.path if path.endswith("-packages")]
    (packages / "others.pth").write_text("\n".join(theirs))
    code = "import passband as pb; print(pb.__file__, pb.grid((2, 2)).shape)"
    alone = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    ran = subprocess.run(
        [place / "bin" / "python", "-c", code],
        cwd=tmp_path, env=alone, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert ran.split() == [
        str(packages / "passband" / "__init__.py"),
        "(2,",
        "2,",
        "2)",
    ]
    command = [place / "bin" / "python", packages / "bin" / "passband", "--version"]
    told = subprocess.run(
        command, env=alone, check=True, capture_output=True, text=True
    )
    assert told.stdout == f"passband {__version__}\n"


def test_the_citation_has_the_version_and_the_paper():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    for part in (cited, cited["preferred-citation"]):
        assert part["version"] == __version__
        assert part["authors"] and part["title"]
    [paper] = cited["references"]
    assert paper["year"] == 2020 and len(paper["authors"]) == 9
