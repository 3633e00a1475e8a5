"""A campaign against passband: mutated files, bad command lines, kills, full disks.

    python benchmarks/campaign.py [PART...] [--seed N] [--scale S] [--json FILE]

Parts: files, commands, kills, disk, owners. Without any, all of them at full length:
20,000 files, 1,500 command lines, 100 kills, 50 full disks. `--scale 0.01` takes a
hundredth of each. Everything is drawn from the seed. tests/test_campaign.py runs a few
of each part.

    python benchmarks/campaign.py cost --before OTHER/src

times the readers beside those of another source tree, in turns, in one run.
"""

import argparse
import collections
import contextlib
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(__file__))

from campaign_inputs import FITS, Sample, make_samples, make_tiny, mutated

LIMIT_SECONDS = 20.0
LIMIT_BYTES = 2**30
CHUNK = 2500
Found = dict[str, Any]


class Hang(BaseException):
    """A reader that took longer than it may."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `Hang` if it takes longer; alarms are the main thread's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def stderr_kept() -> Iterator[list[str]]:
    """Everything that is written to descriptor 2, past Python too."""
    said: list[str] = []
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 2)
        ours = os.fdopen(os.dup(2), "w", errors="backslashreplace")
        try:
            with contextlib.redirect_stderr(ours):
                yield said
        finally:
            ours.close()
            os.dup2(kept, 2)
            os.close(kept)
            sink.seek(0)
            said.append(sink.read().decode(errors="replace"))


def told(text: str) -> None:
    """How far it has come."""
    print(text, file=sys.stderr, flush=True)


# Mutated files.


def attack_files(count: int, seed: int, folder: Path) -> Found:
    """Change samples of every format and read them; only `InputError` may come out."""
    samples = make_samples(folder / "whole")
    found: Found = {"files": 0, "read": 0, "refused": 0, "formats": len(samples),
                    "other": [], "hangs": [], "chatter": [], "long": 0}  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        sample = samples[number % len(samples)]
        path = folder / sample.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(mutated(rng, sample.data))
        _read_one(sample, path, f"{seed}/{number} {sample.name}", found)
    now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found | {"peak_mib": now // 1024, "rise_mib": (now - before) // 1024}


def _read_one(sample: Sample, path: Path, name: str, found: Found) -> None:
    from passband.errors import LONGEST_MESSAGE, InputError

    found["files"] += 1
    with stderr_kept() as said:
        try:
            with within(LIMIT_SECONDS):
                sample.read(path)
            found["read"] += 1
        except InputError as error:
            found["refused"] += 1
            text = str(error)
            found["long"] += len(text) > LONGEST_MESSAGE or not text.isprintable()
        except Hang:
            found["hangs"].append(name)
        except Exception:
            found["other"].append(f"{name}: {traceback.format_exc(limit=-3)}")
    if said[0]:
        found["chatter"].append(f"{name}: {said[0][:200]}")


# Command lines.

WORDS = (
    "", "-1", "0", "nan", "inf", "-inf", "1e400", "9" * 400, "x" * 5000, "\x1b[2J",
    "../../..", "/dev/zero", "/dev/null", "/", ".", "\U0001f4a5", "1e-320", "-0",
    "\u0663", "1_0", "0x10", "None", ",", "::", "0:180:99999999999", "a=b=c", "1,2",
    "1x1", "99999x99999", "gaussian:1e300", "gaussian:auto,m=-1", "\udcff", "2**31",
    "4294967296", "18446744073709551616", "0.5", "3", "--help", "http://[::1",
    "x.png", "x.wav", "x.ply", "x.onnx", "missing/x.png",
)  # fmt: skip


def command_line(rng: random.Random, folder: Path) -> list[str]:
    """A command line with something wrong, or nearly."""
    files = sorted(str(p) for p in folder.iterdir())
    files += ["missing.png", "/dev/zero", "y" * 300, "", "\udcfe.png", "loop"]
    verb = rng.choice(("fit", "fit", "fit", "tune", "render", "info", "bench", "demo",
                       "ntk", "data", "paper", "fti", "--version"))  # fmt: skip
    words = [verb]
    if verb in ("fit", "tune"):
        words.append(rng.choice((*FITS, "imge")))
    if verb in ("fit", "tune", "render", "info") and rng.random() < 0.9:
        words.append(rng.choice(files))
    if verb == "data":
        words += rng.choice(
            (["list"], ["path", rng.choice(WORDS)], ["fetch", rng.choice(WORDS)])
        )
    if verb == "paper":
        words += rng.choice((["list"], ["run", rng.choice(WORDS)], ["draw", "fig2"]))
    for _ in range(rng.randrange(1, 4)):
        flag, alone = rng.choice(_flags(verb, words[1] if len(words) > 1 else ""))
        words.append(flag)
        if not alone and rng.random() < 0.97:
            words.append(rng.choice((*WORDS, *WORDS, *files)))
    # What would train or measure for long is refused by its output.
    if verb in ("fit", "tune", "bench", "demo", "ntk"):
        words += ["--out", files[0]]
    return words


def _flags(verb: str, kind: str) -> list[tuple[str, bool]]:
    """The flags of a verb, and whether they stand alone."""
    import dataclasses
    import importlib

    from passband.kinds.table import KINDS

    if verb not in ("fit", "tune", "render", "info", "bench", "demo", "ntk", "data",
                    "paper"):  # fmt: skip
        return [("--help", True), ("--nonsense", False)]
    module = importlib.import_module(f"passband.cli.{verb}")
    if verb in ("fit", "tune"):
        options = module.options_of(KINDS[kind if kind in KINDS else "image"])
    else:
        options = module.Options
    return [
        (f"--{f.name.replace('_', '-')}", f.default is False)
        for f in dataclasses.fields(options)
        if not f.metadata.get("positional") and f.name != "overwrite"
    ]


def attack_commands(count: int, seed: int, folder: Path) -> Found:
    """Run bad command lines; no traceback, one line for status 2."""
    from passband.cli.main import main

    place = folder / "inputs"
    make_tiny(place)
    samples = make_samples(folder / "whole")
    for sample in samples:
        (place / sample.name).write_bytes(mutated(random.Random(0), sample.data))
    os.chdir(folder)
    found: Found = {"lines": 0, "status": collections.Counter(), "tracebacks": [],
                    "hangs": [], "wordy": []}  # fmt: skip
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        words = command_line(rng, place)
        found["lines"] += 1
        if number % 75 == 74:  # a sample of them as processes of their own
            _as_process(words, found)
            continue
        out = io.StringIO()
        with stderr_kept() as said, contextlib.redirect_stdout(out):
            try:
                with within(120):
                    status = main(list(words))
            except SystemExit as end:  # --help
                status = end.code
            except Hang:
                status = "hang"
                found["hangs"].append(words)
            except Exception:
                status = "traceback"
                found["tracebacks"].append([words, traceback.format_exc(limit=-4)])
        found["status"][str(status)] += 1
        if status == 2 and said[0].count("\n") != 1 and "warning" not in said[0]:
            found["wordy"].append([words, said[0][:300]])
    return found | {"status": dict(found["status"])}


def _as_process(words: list[str], found: Found) -> None:
    command = [sys.executable, "-m", "passband"]
    command += [w.encode(errors="surrogateescape").replace(b"\0", b"") for w in words]
    ran = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    found["status"][str(ran.returncode)] += 1
    if b"Traceback" in ran.stderr or ran.returncode not in (0, 1, 2):
        found["tracebacks"].append([words, ran.stderr.decode(errors="replace")[-500:]])


# Kills.


def attack_kills(count: int, seed: int, folder: Path, only: list[str] | None = None):
    """Kill processes at random moments, go on, and compare with one never killed."""
    jobs = make_jobs(folder)
    names = only or list(jobs)
    found: Found = {"kills": 0, "equal": 0, "runs": {}, "different": [], "left": []}
    share = max(1, count // len(names))
    for place, name in enumerate(names):
        if found["kills"] >= count:
            break
        job = jobs[name]
        wanted = share if place < len(names) - 1 else count - found["kills"]
        whole, killed = folder / f"{name}-whole", folder / f"{name}-killed"
        begun = time.monotonic()
        assert forked(job.words(whole, False), whole).wait() == 0, name
        length = time.monotonic() - begun
        rng = random.Random(f"{seed}/{name}")
        done = again = 0
        while done < wanted:
            chain = min(wanted - done, 4)
            for _ in range(chain):
                run = forked(job.words(killed, again > 0), killed)
                time.sleep(rng.uniform(0, length))
                ended = run.kill()
                again, done = again + 1, done + 1
                if ended == 0:  # it was done before the kill: begin anew
                    break
            status = forked(job.words(killed, again > 0), killed).wait()
            same = status == 0 and job.content(whole) == job.content(killed)
            found["equal"] += same
            if not same:
                found["different"].append([name, done, status])
            found["left"] += [str(p) for p in killed.rglob(".*.part*")]
            job.clear(killed)
            again = 0
            told(f"{name}: {done} kills, {'equal' if same else 'DIFFERENT'}")
        found["kills"] += done
        found["runs"][name] = {"kills": done, "seconds": round(length, 2)}
    return found


class Job:
    """A command whose product can be compared."""

    def __init__(self, words: Callable[[Path, bool], list[str]], content: Any):
        self.words, self.content = words, content

    @staticmethod
    def clear(place: Path) -> None:
        import shutil

        shutil.rmtree(place, ignore_errors=True)


def make_jobs(folder: Path) -> dict[str, Job]:
    """A tiny fit of each kind, an item of the paper, a choice, and labels."""
    place = folder / "inputs"
    make_tiny(place)
    jobs = {}
    for kind, own in FITS.items():

        def words(
            out: Path, again: bool, kind: str = kind, own=tuple(own)
        ) -> list[str]:
            if again and (out / "config.json").exists():
                return ["fit", kind, "--resume", "--out", str(out), "--save-every", "0"]
            named = [w.replace("INPUTS", str(place)) for w in own]
            return ["fit", kind, *named, "--save-every", "0", "--out", str(out)]

        jobs[kind] = Job(words, tensors)
    jobs["paper"] = Job(
        lambda out, again: ["paper", "run", "fig2", "--preset", "smoke", "--resume",
                            "--out", str(out)],
        results_of,
    )  # fmt: skip
    jobs["tune"] = Job(
        lambda out, again: ["tune", "signal", str(place / "tone.wav"), "--steps", "16",
                            "--layers", "2", "--width", "16", "--overwrite",
                            "--out", str(out)],
        choice_of,
    )  # fmt: skip
    jobs["labels"] = Job(
        lambda out, again: ["labels", str(place / "ball.ply"), str(out)], labels_of
    )
    return jobs


def tensors(place: Path) -> Any:
    from safetensors.numpy import load_file

    found = load_file(place / "model.safetensors")
    lines = (place / "metrics.jsonl").read_text().splitlines()
    steps = [json.loads(line)["step"] for line in lines]
    return {name: value.tobytes() for name, value in found.items()} | {"steps": steps}


def results_of(place: Path) -> Any:
    import numpy as np

    content = json.loads((place / "smoke" / "fig2.json").read_text())
    with np.load(place / "smoke" / "fig2.npz") as arrays:
        kept = {name: arrays[name].tobytes() for name in arrays.files}
    return {k: v for k, v in content.items() if k != "provenance"}, kept


def choice_of(place: Path) -> Any:
    content = json.loads((place / "choice.json").read_text())
    return {k: v for k, v in content.items() if k not in ("seconds", "cached")}


def labels_of(place: Path) -> Any:
    from safetensors.numpy import load_file

    (path,) = place.glob("*.safetensors")
    return {name: value.tobytes() for name, value in load_file(path).items()}


class forked:
    """A command in a child of this process, which has imported what it needs."""

    def __init__(self, words: list[str], place: Path, said: Path | None = None):
        self.pid = os.fork()
        if self.pid:
            return
        status = 70
        try:
            sink = os.open(said or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            cache = place.with_name(f"{place.name}-cache")
            os.environ["XDG_CACHE_HOME"] = str(cache)
            status = _command(words)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> int:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return self.wait()


def _command(words: list[str]) -> int:
    from passband.cli.main import main

    if words[0] != "labels":
        return main(words)
    from passband.data.meshes import normalise, read_mesh
    from passband.labels.pool import make_labels

    mesh, _ = normalise(read_mesh(words[1]))
    make_labels(mesh, blocks=64, block=8192, test_points=4096, cache_dir=words[2])
    return 0


# Full disks.


def attack_disk(count: int, seed: int, folder: Path) -> Found:
    """Let disks run full at random moments: one line, nothing half, and it goes on."""
    jobs = make_jobs(folder)
    found: Found = {"moments": 0, "full": 0, "ended": 0, "equal": 0, "wrong": [],
                    "by": "tmpfs"}  # fmt: skip
    wholes = {}
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        name = rng.choice(("image", "signal", "paper", "tune", "labels"))
        job, disk, said = jobs[name], folder / "disk", folder / "said.txt"
        if name not in wholes:
            whole = folder / f"{name}-whole"
            assert forked(job.words(whole, False), whole).wait() == 0
            size = sum(p.stat().st_size for p in whole.rglob("*") if p.is_file())
            wholes[name] = whole, size
        whole, size = wholes[name]
        with tmpfs(disk, int(size * rng.uniform(0.02, 1.1)) // 1024) as grow:
            out = disk / "out"
            status = forked(job.words(out, False), out, said).wait()
            text = said.read_text()
            found["moments"] += 1
            found["full"] += status != 0
            found["ended"] += status == 0
            problem = broken_files(disk)
            # A cache that does not fit costs a warning, not the result.
            fine = status in (0, 2) and "Traceback" not in text
            if status == 2 and "No space left on the disk at" not in text:
                problem.append("the disk is not named")
            grow(64 * 1024)
            status = forked(job.words(out, True), out, said).wait()
            same = status == 0 and job.content(whole) == job.content(out)
            found["equal"] += same
            if problem or not fine or not same:
                end = said.read_text()[-300:]
                found["wrong"].append([name, number, problem, text[-400:], end])
            told(f"disk {number}, {name}: {found['equal']} of {found['moments']} equal")
    return found


@contextlib.contextmanager
def tmpfs(place: Path, kib: int) -> Iterator[Callable[[int], None]]:
    """A disk of so many KiB, and how it is made larger."""
    place.mkdir(exist_ok=True)

    def mount(*options: str) -> None:
        subprocess.run(["mount", "-t", "tmpfs", *options, "none", place], check=True)

    mount("-o", f"size={max(8, kib)}k")
    try:
        yield lambda more: mount("-o", f"remount,size={more}k")
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def broken_files(place: Path) -> list[str]:
    """Files that are half there, or leftovers."""
    import numpy as np
    from safetensors.numpy import load_file

    readers: dict[str, Callable[[Path], Any]] = {
        ".json": lambda p: json.loads(p.read_text()),
        ".safetensors": load_file,
        ".npz": lambda p: dict(np.load(p)),
        ".html": lambda p: p.read_text().rindex("</html>"),
    }
    wrong = []
    for path in place.rglob("*"):
        if "matplotlib" in path.parts:  # its font cache, which it makes again
            continue
        if path.name.startswith(".") and ".part" in path.name:
            wrong.append(f"{path.name} is left")
            continue
        if path.suffix not in readers or not path.is_file():
            continue
        try:
            readers[path.suffix](path)
        except Exception as error:
            wrong.append(f"{path.name}: {error}")
    return wrong


# Two owners.


def attack_owners(count: int, seed: int, folder: Path) -> Found:
    """Two processes on one run folder: one goes on, the other is told."""
    job, out = make_jobs(folder)["image"], folder / "two"
    found: Found = {"pairs": 0, "one": 0, "wrong": []}
    assert forked(job.words(out, False), out).wait() == 0
    whole = job.content(out)
    for number in range(count):
        for path in (out / "checkpoint", out / "model.safetensors"):
            subprocess.run(["rm", "-rf", path], check=True)
        texts = [folder / f"said-{k}.txt" for k in range(2)]
        runs = [forked(job.words(out, True), out, said) for said in texts]
        ended = [run.wait() for run in runs]
        said = [path.read_text() for path in texts]
        found["pairs"] += 1
        # The second may come when the first has ended; then both are right.
        good = ended == [0, 0] or (
            sorted(ended) == [0, 2] and "is in use by process" in said[ended.index(2)]
        )
        found["one"] += sorted(ended) == [0, 2]
        if not good or job.content(out) != whole:
            found["wrong"].append([number, ended, said])
    return found


# What the gate costs.

COST = """
import sys, time
from passband.data.images import read_image
from passband.data.meshes import read_mesh
from passband.data.volumes import read_volume
read = {"png": read_image, "jpg": read_image, "nii": read_volume, "gz": read_volume,
        "ply": read_mesh, "npz": read_mesh}[sys.argv[1].rsplit(".", 1)[1]]
times = []
for _ in range(6):
    begun = time.process_time(); read(sys.argv[1])
    times.append(time.process_time() - begun)
print(sorted(times[1:])[2])
"""


def measure_cost(before: str, folder: Path, repeats: int = 3) -> Found:
    """CPU seconds to read large files here and in another source tree, in turns."""
    import statistics

    from campaign_inputs import make_large

    here = os.path.join(os.path.dirname(__file__), "..", "src")
    found: Found = {}
    for path in make_large(folder):
        times: dict[str, list[float]] = {"before": [], "after": []}
        for _ in range(repeats):
            for name, source in (("before", before), ("after", here)):
                ran = subprocess.run(
                    [sys.executable, "-c", COST, str(path)], check=True, text=True,
                    stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": source},
                )  # fmt: skip
                times[name].append(float(ran.stdout))
        middle = {name: statistics.median(t) for name, t in times.items()}
        ratio = middle["after"] / middle["before"]
        found[path.name] = {k: round(v, 3) for k, v in middle.items()}
        found[path.name]["ratio"] = round(ratio, 3)
    return found


def apart(attack: Callable[..., Found], count: int, seed: int) -> Found:
    """A part in a child: JAX, once it runs, does not live through another fork."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.json"
        pid = os.fork()
        if not pid:
            try:
                (Path(place) / "work").mkdir()
                work = (Path(place) / "work").resolve()
                report.write_text(json.dumps(attack(count, seed, work)))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if not report.exists():
            return {"crashes": [[seed, ended]]}
        return json.loads(report.read_text())


def in_chunks(count: int, seed: int, folder: Path) -> Found:
    """The files, so many in a process of their own, whose memory tells of its files."""
    total: Found = {}
    for first in range(0, count, CHUNK):
        some = min(CHUNK, count - first)
        found = apart(attack_files, some, seed * 10**6 + first)
        for key, value in found.items():
            if key.endswith("_mib") or key == "formats":
                total[key] = max(total.get(key, 0), value)
            else:
                total[key] = total.get(key, type(value)()) + value
        told(f"{first + some} files")
    return total


PARTS: dict[str, tuple[int, Callable[[int, int, Path], Found]]] = {
    "files": (20_000, in_chunks),
    "commands": (1_500, attack_commands),
    "kills": (100, attack_kills),
    "disk": (50, attack_disk),
    "owners": (5, attack_owners),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "cost", []])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--before", default="")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found: Found = {"seed": given.seed}
    import passband.cli.fit
    import passband.cli.paper
    import passband.kinds.fit  # noqa: F401 - imported once, for every child

    for name in given.parts or PARTS:
        begun = time.monotonic()
        if name == "cost":
            with tempfile.TemporaryDirectory() as place:
                found[name] = measure_cost(given.before, Path(place))
        else:
            count, attack = PARTS[name]
            count = max(1, round(count * given.scale))
            found[name] = apart(attack, count, given.seed)
        found[name]["seconds_taken"] = round(time.monotonic() - begun, 1)
        print(json.dumps({name: found[name]}, indent=1), flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
