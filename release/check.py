"""`make package`: the wheel and the source archive, built, looked into and installed.

python release/check.py DIST            # look into what is in the folder DIST
python release/check.py DIST --install  # and install the wheel into a new environment
"""

import email.parser
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRY = """
import numpy as np, passband as pb, sys
x = np.linspace(0, 1, 50)
model = pb.fit(x, x**2, mapping="gaussian:1,m=4", steps=5, width=8)
model.save(sys.argv[1]); assert pb.load(sys.argv[1]).mapping == model.mapping
print(pb.__file__)
"""


def version() -> str:
    """The one place that has it."""
    text = (ROOT / "src" / "passband" / "version.py").read_text()
    found = re.search('__version__ = "(.+?)"', text)
    assert found is not None
    return found[1]


def faults(dist: Path) -> list[str]:
    """What is wrong with the archives of this version in a folder."""
    wheels = list(dist.glob(f"passband-{version()}-*.whl"))
    sources = list(dist.glob(f"passband-{version()}.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1:
        return [f"`{dist}` has {len(wheels)} wheels and {len(sources)} source archives"]
    return [*_of_wheel(wheels[0]), *_of_source(sources[0])]


def _of_wheel(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        names, told = set(archive.namelist()), []
        about = f"passband-{version()}.dist-info/"
        meta = email.parser.Parser().parsestr(archive.read(about + "METADATA").decode())
        entries = archive.read(about + "entry_points.txt").decode()
    package = ROOT / "src"
    ours = {
        str(p.relative_to(package)) for p in (package / "passband").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }  # fmt: skip
    told += [f"the wheel lacks {name}" for name in sorted(ours - names)]
    strange = {n for n in names - ours if not n.startswith(about)}
    told += [f"the wheel has {name} too" for name in sorted(strange)]
    if "passband = passband.cli.main:command" not in entries:
        told.append("the wheel has no command")
    if path.stat().st_size > 5e6:
        told.append(f"the wheel has {path.stat().st_size} bytes")
    return told + _of_metadata(meta)


def _of_metadata(meta: Message) -> list[str]:
    """What a registry of packages asks for, and what a reader of its page needs."""
    told = []
    for name, wanted in (("Name", "passband"), ("Version", version()),
                         ("License-Expression", "MIT"), ("Requires-Python", ">=3.11"),
                         ("Description-Content-Type", "text/markdown")):  # fmt: skip
        if meta[name] != wanted:
            told.append(f"{name} is {meta[name]}, not {wanted}")
    for name in ("Summary", "License-File", "Project-URL", "Classifier"):
        if not meta.get_all(name):
            told.append(f"{name} is missing")
    extras = set(meta.get_all("Provides-Extra") or ())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    if extras != set(project["optional-dependencies"]):
        told.append(f"the extras are {sorted(extras)}")
    if len(str(meta.get_payload())) < 1000:
        told.append("there is no description")
    return told


def _of_source(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    needed = ("pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "Makefile",
              "src/passband/version.py", "tests/conftest.py", "mkdocs.yml")  # fmt: skip
    told = [f"the source archive lacks {n}" for n in needed if n not in names]
    if path.stat().st_size > 20e6:
        told.append(f"the source archive has {path.stat().st_size} bytes")
    return told


def try_out(dist: Path) -> str:
    """Install the wheel and all that it needs into a new environment, and fit there."""
    [wheel] = dist.glob(f"passband-{version()}-*.whl")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = f"{folder}/bin/python"
        for words in (
            [
                python,
                "-m",
                "pip",
                "install",
                "--quiet",
                "-c",
                "constraints.txt",
                str(wheel),
            ],
            [python, "-m", "pip", "check"],
            [f"{folder}/bin/passband", "--version"],
        ):
            subprocess.run(words, check=True, cwd=ROOT, env=env)
        words = [python, "-c", TRY, f"{folder}/model.safetensors"]
        ran = subprocess.run(
            words, check=True, cwd=folder, env=env, stdout=subprocess.PIPE, text=True
        )
        assert ran.stdout.startswith(folder), ran.stdout
        words = [python, "-m", "pip", "list", "--format", "json"]
        listed = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        return f"installed and fitted, with {len(json.loads(listed.stdout))} packages"


def main(words: list[str]) -> int:
    dist = Path(words[0])
    told = faults(dist)
    print(
        "\n".join(told) or f"passband {version()}: wheel and source archive are whole"
    )
    if told:
        return 1
    if "--install" in words:
        print(try_out(dist))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
