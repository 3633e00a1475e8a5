"""What runs of the paper's items gave, on disk: JSON, arrays and figures.

results/<preset>/<id>.json   numbers, claims, settings, provenance
results/<preset>/<id>.npz    what the figures are drawn from, float32
results/<preset>/<id>.png
"""

import dataclasses
import datetime
import functools
import hashlib
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..atomic_write import atomic_write, make_folder, write_bytes
from ..data.store import known_set
from ..errors import InputError, one_line
from ..file_gate import check_file, decoding, read_json, read_npz
from ..json_text import to_json
from ..train.work import Work
from ..version import __version__
from .item import Claim, Item, Number, Outcome, Preset

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NOTHING = Work()


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """An outcome and how it came about."""

    id: str
    preset: Preset
    outcome: Outcome
    provenance: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The content of the result's JSON file."""
        content = {
            "id": self.id,
            "preset": self.preset.value,
            "verdict": self.outcome.verdict,
            "numbers": [dataclasses.asdict(n) for n in self.outcome.numbers],
            "claims": [_claim_json(c) for c in self.outcome.claims],
            "settings": self.outcome.settings,
            "provenance": self.provenance,
        }
        return _plain(content)


def path_of(folder: Path, preset: Preset, id: str, suffix: str = ".json") -> Path:
    """Where a result's file is."""
    return folder / preset.value / f"{id}{suffix}"


def save(folder: Path, result: Result) -> Path:
    """Write arrays, then JSON, each file whole or not at all; the path of the JSON."""
    path = path_of(folder, result.preset, result.id)
    make_folder(path.parent)
    arrays = {name: _narrow(a) for name, a in result.outcome.arrays.items()}
    with atomic_write(path.with_suffix(".npz")) as part, open(part, "wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)
    return save_claims(folder, result)


def save_figures(
    folder: Path, preset: Preset, figures: "dict[str, Figure]"
) -> list[Path]:
    """Write each figure as a PNG beside the result."""
    from ..plot.style import png_bytes

    paths = []
    for stem, figure in figures.items():
        paths.append(path_of(folder, preset, stem, ".png"))
        write_bytes(paths[-1], png_bytes(figure))
    return paths


def load(folder: Path, preset: Preset, id: str, *, arrays: bool = True) -> Result:
    """Read a result back; one that is missing or damaged is an `InputError`.

    Args:
        arrays: read them too; numbers and claims need no more than the JSON.
    """
    path = path_of(folder, preset, id)
    again = f"`passband paper run {id} --preset {preset.value}` makes it"
    for needed in (path, path.with_suffix(".npz")) if arrays else (path,):
        if not os.path.exists(needed):
            raise InputError(f"`{needed}` is not there; {again}")
        check_file(needed, "a result")
    try:
        with decoding(path, "a result"):
            content = read_json(path)
            outcome = Outcome(
                numbers=tuple(Number(**n) for n in content["numbers"]),
                claims=tuple(Claim(**c) for c in content["claims"]),
                arrays=read_npz(path.with_suffix(".npz")) if arrays else {},
                settings=dict(content["settings"]),
            )
            provenance = dict(content["provenance"])
            if (content["id"], content["preset"]) != (id, preset.value):
                raise ValueError(f"is of `{content['id']}`, preset {content['preset']}")
    except InputError as error:
        raise InputError(f"{one_line(error, 600)}; {again} anew") from None
    return Result(id, preset, outcome, provenance)


def exists(folder: Path, preset: Preset, id: str) -> bool:
    """Whether there is a result to read."""
    return os.path.isfile(path_of(folder, preset, id))


def provenance(
    outcome: Outcome,
    *,
    commit: str | None,
    command: str,
    device: str,
    seconds: float,
    work: Work = NOTHING,
    phases: dict[str, float] | None = None,
    data: dict[str, str] | None = None,
    parts: dict[str, Any] | None = None,
    jobs: int = 1,
) -> dict[str, Any]:
    """Where a result comes from; nothing in it names the machine's folders.

    Args:
        commit: from `commit_now` before the run, whose code is that of its start.
        work: of the networks that it trained.
        phases: seconds of each.
        data: `fingerprints` of the sets it read.
        parts: date and commit of the results it was put together from.
        jobs: processes that shared the device, and so the seconds.
    """
    import jax

    found = {
        "version": __version__,
        "commit": commit,
        "command": command,
        "seeds": outcome.settings.get("keys"),
        "data": data or {},
        "device": device,
        "precision": outcome.settings.get("precision", "float32"),
        "jax": jax.__version__,
        "date": today(),
        "seconds": round(seconds, 1),
    }
    if jobs > 1:
        found["jobs"] = jobs
    if phases:
        found["phases"] = {name: round(spent, 2) for name, spent in phases.items()}
    if work.flop:
        found["pflop"] = float(f"{work.flop / 1e15:.4g}")
        found["tflops"] = float(f"{work.flop / 1e12 / seconds:.4g}")
        found["steps"] = work.steps
        if work.seconds:
            speed = work.flop / 1e12 / work.seconds
            found["tflops of the steps"] = float(f"{speed:.4g}")
    if uncommitted():
        found["uncommitted"] = "the code had changes that this commit does not have"
    return found | ({"parts": parts} if parts else {})


def fingerprints(names: Iterable[str]) -> dict[str, str]:
    """One sha256 for each data set: that of its files' names and sha256 sums."""
    return {
        name: hashlib.sha256(
            "".join(f"{f.sha256}  {f.path}\n" for f in known_set(name).files).encode()
        ).hexdigest()
        for name in names
    }


def changed_data(result: Result, needs: Iterable[str]) -> list[str]:
    """The data sets that the result was run on and that are others now."""
    told, needs = result.provenance.get("data") or {}, set(needs)
    now = fingerprints(name for name in told if name in needs)
    return [name for name in told if told[name] != now.get(name)]


@functools.cache  # the code of a process is that of its start, whatever HEAD does
def commit_now() -> str | None:
    """The commit of the source tree this package runs from, if it runs from one.

    A copy of a tree without its history is told by `PASSBAND_COMMIT`, all 40 digits of
    it, so that a result leads to its code.
    """
    if told := os.environ.get("PASSBAND_COMMIT"):
        if not re.fullmatch("[0-9a-f]{40}", told):
            raise InputError(
                f"`PASSBAND_COMMIT` (={told}) must be the 40 digits that "
                "`git rev-parse HEAD` prints"
            )
        return told
    return _git("rev-parse", "HEAD") or None


@functools.cache
def uncommitted() -> bool:
    """Whether that tree's code differs from its commit's, as far as Git can tell."""
    if os.environ.get("PASSBAND_COMMIT"):
        return False
    return bool(_git("status", "--porcelain", "--", "src"))


def _git(*words: str) -> str:
    """What Git says of the source tree; nothing where there is none."""
    package = Path(__file__).resolve().parents[1]
    root = package.parents[1]
    if package != root / "src" / "passband" or not (root / ".git").exists():
        return ""
    try:
        answer = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


def judge_again(folder: Path, preset: Preset, item: Item) -> Result:
    """An item's result with its claims worked out from what is stored; where they are
    others than it had, its JSON is written again."""
    stored = load(folder, preset, item.id)
    claims = item.judged(stored.outcome, preset)
    if claims is None:
        raise InputError(
            f"`{item.id}` cannot be judged from what is stored; "
            f"`passband paper run {item.id}` runs it again"
        )
    if tuple(claims) == stored.outcome.claims:
        return stored
    anew = judged_anew(stored, claims)
    save_claims(folder, anew)
    return anew


def judged_anew(result: Result, claims: Iterable[Claim]) -> Result:
    """The result with other claims; numbers, arrays and where they come from stay, and
    the provenance says which version judged them."""
    told = {"version": __version__, "commit": commit_now(), "date": today()}
    return dataclasses.replace(
        result,
        outcome=dataclasses.replace(result.outcome, claims=tuple(claims)),
        provenance=result.provenance | {"judged anew": told},
    )


def save_claims(folder: Path, result: Result) -> Path:
    """Write the JSON alone: the arrays on disk stay the bytes they are."""
    path = path_of(folder, result.preset, result.id)
    text = to_json(result.as_json(), indent=2)
    write_bytes(path, (text + "\n").encode())
    return path


def _claim_json(claim: Claim) -> dict[str, Any]:
    """`aside` is told only where it is so."""
    found = dataclasses.asdict(claim)
    return found if claim.aside else {k: v for k, v in found.items() if k != "aside"}


def today() -> str:
    """In UTC."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")


def _narrow(array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python has them."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
