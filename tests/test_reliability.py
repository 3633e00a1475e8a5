"""Hostile files, faults and strange places: each found once, each mended for good."""

import contextlib
import gzip
import io
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from nibabel.nifti1 import Nifti1Image
from PIL import Image

import passband as pb
from passband.atomic_write import atomic_write, part_of
from passband.cli.console import Console
from passband.cli.main import main
from passband.data import camera_file, images, meshes, scenes, sinograms, volumes
from passband.data.store import cache_folder
from passband.data.store_fetch import fetch
from passband.domain import check_count
from passband.errors import LONGEST_MESSAGE, InputError, one_line
from passband.export.mesh import write_mesh
from passband.field import make_field
from passband.file_gate import BEHIND, allowing, read_npy
from passband.json_text import from_json
from passband.kinds.ct import CTKind
from passband.kinds.ct_options import CTOptions
from passband.kinds.resume import resumed_options
from passband.labels.pool import load_labels, make_labels
from passband.model_file import load, save
from passband.paper import results
from passband.paper.item import Outcome, Preset
from passband.tuning.choose import choose
from passband.tuning.problem import Problem

SMALL = ("--steps", "25", "--layers", "2", "--width", "16", "--batch", "128")
FIT = (*SMALL, "--mapping", "gaussian:4,m=8", "--quiet")
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run folder of a fitted picture."""
    folder = tmp_path_factory.mktemp("reliability")
    y, x = np.mgrid[0:24, 0:32]
    picture = np.stack([8 * x, 10 * y, 4 * (x + y)], axis=-1).astype(np.uint8)
    Image.fromarray(picture).save(folder / "photo.png")
    words = ["fit", "image", str(folder / "photo.png"), *FIT]
    assert main([*words, "--out", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture
def fails(capfd):
    """Runs a command that must be refused in one line."""

    def refused(*words: object) -> str:
        assert main([str(word) for word in words]) == 2
        out, err = capfd.readouterr()
        assert (out, err.count("\n")) == ("", 1) and err.startswith("passband: ")
        return err

    return refused


def peak() -> int:
    """The most bytes that this process has had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# Two owners.


def test_a_run_in_use_is_refused_and_its_owner_named(run, fails):
    program = (
        "import fcntl, json, os, sys\n"
        "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "fcntl.flock(fd, fcntl.LOCK_EX)\n"
        "os.write(fd, json.dumps({'pid': 17, 'host': 'h', 'since': 't'}).encode())\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    words = [sys.executable, "-c", program, str(run / ".lock")]
    before = (run / "metrics.jsonl").read_bytes()
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == b"ready\n"
        for how in ("--resume", "--overwrite"):
            said = fails("fit", "image", run.parent / "photo.png", *FIT, how,
                         "--out", run)  # fmt: skip
            assert "is in use by process 17 on h since t" in said
        other.kill()
    assert (run / "metrics.jsonl").read_bytes() == before
    assert main(["fit", "image", "--resume", "--out", str(run), "--quiet"]) == 0


# Nothing is overwritten unasked.


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "docs/report.html",
            ["tune", "image", "photo.png", "--guess", "--out", "docs"],
        ),
        ("docs/demo.png", ["demo", "--out", "docs"]),
        ("docs/bench.json", ["bench", "--out", "docs/bench.json"]),
    ],
)
def test_what_is_there_stays_and_nothing_is_trained(
    run, tmp_path, monkeypatch, fails, name, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "photo.png").write_bytes((run.parent / "photo.png").read_bytes())
    Path(name).write_text("mine")
    assert f"`{name}` exists; `--overwrite` replaces it" in fails(*words)
    assert Path(name).read_text() == "mine"


def test_tune_refuses_a_file_for_a_folder_before_its_trials(run, tmp_path, fails):
    (tmp_path / "file").write_text("mine")
    words = ("tune", "image", run.parent / "photo.png", "--out", tmp_path / "file")
    assert "is a file; give a folder" in fails(*words)
    assert "is a file, or below one" in fails("fit", *words[1:])
    assert "`--steps` (=0) must be at least 1" in fails("bench", "--steps", "0")


# Files that claim more than they have, or are damaged.


def nifti(path: Path, **fields: Any) -> Path:
    """A small volume whose header is then changed."""
    values = np.random.default_rng(0).random((4, 5, 6), np.float32)
    image = Nifti1Image(values, np.eye(4))
    data = image.to_bytes()
    header = bytearray(data[:348])
    for name, value in fields.items():
        at, form = {"dim": (40, "<8h"), "datatype": (70, "<h")}[name]
        struct.pack_into(form, header, at, *np.atleast_1d(value).tolist())
    data = bytes(header) + data[348:]
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_damaged_nifti_files_are_one_line(tmp_path):
    cut = nifti(tmp_path / "z.nii.gz")
    data = bytearray(cut.read_bytes())
    data[200:220] = b"\xff" * 20
    cut.write_bytes(data)
    with pytest.raises(InputError, match=r"z\.nii\.gz` is damaged"):
        volumes.read_volume(cut)
    for value in (7, -1, 4096):
        with pytest.raises(InputError):
            volumes.read_volume(nifti(tmp_path / "type.nii", datatype=value))


@pytest.mark.parametrize("sides", [(1000, 1000, 1500), (32767,) * 3, (-5, 4, 4)])
@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_a_nifti_that_claims_gigabytes_takes_none(tmp_path, name, sides):
    path = nifti(tmp_path / name, dim=(3, *sides, 1, 1, 1, 1))
    before = peak()
    with pytest.raises(InputError, match="claims"):
        volumes.read_volume(path)
    assert peak() - before < 2**28


def test_a_packed_volume_is_bounded_and_the_bound_can_be_raised(tmp_path):
    image = Nifti1Image(np.zeros((300, 300, 300), np.uint8), np.eye(4))
    (tmp_path / "v.nii.gz").write_bytes(gzip.compress(image.to_bytes(), 1))
    with allowing("100MiB"), pytest.raises(InputError, match="`max_input=1GiB` allows"):
        volumes.read_volume(tmp_path / "v.nii.gz")
    with allowing("1GiB"):
        assert volumes.read_volume(tmp_path / "v.nii.gz").values.shape == (300,) * 3
    with pytest.raises(InputError, match="`max_input` \\(=much\\) must be a size"):
        pb.read(tmp_path / "v.nii.gz", kind="mri", simulate="x", max_input="much")


def npz(path: Path, change=None, **arrays: np.ndarray) -> Path:
    np.savez_compressed(path, **arrays)  # pyright: ignore[reportArgumentType]
    data = bytearray(path.read_bytes())
    if change is not None:
        change(data)
    path.write_bytes(data)
    return path


def encrypted(data: bytearray) -> None:
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.find(magic)
        while start >= 0:
            data[start + at] |= 1
            start = data.find(magic, start + 4)


def other_method(data: bytearray) -> None:
    for magic, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = data.find(magic)
        while start >= 0:
            data[start + at] = 97
            start = data.find(magic, start + 4)


def scrambled(data: bytearray) -> None:
    data[60:90] = b"\xff" * 30


DAMAGE = {"encrypted": encrypted, "method": other_method, "zlib": scrambled}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_meshes_and_results_are_one_line(tmp_path, damage):
    arrays = {"vertices": CORNERS, "faces": TETRAHEDRON}
    path = npz(tmp_path / "m.npz", DAMAGE[damage], **arrays)
    with pytest.raises(InputError, match=r"m\.npz` is damaged"):
        meshes.read_mesh(path)
    outcome = Outcome((), (), {"x": np.arange(9.0)}, {})
    results.save(tmp_path, results.Result("fig2", Preset.SMOKE, outcome, {}))
    npz(tmp_path / "smoke" / "fig2.npz", DAMAGE[damage], **arrays)
    with pytest.raises(InputError, match="makes it anew"):
        results.load(tmp_path, Preset.SMOKE, "fig2")


def test_a_mesh_archive_that_claims_gigabytes_takes_none(tmp_path):
    claim = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        claim, {"descr": "<f8", "fortran_order": False, "shape": (10**10, 3)}
    )
    with zipfile.ZipFile(tmp_path / "claim.npz", "w") as archive:
        for name in ("vertices", "faces"):
            archive.writestr(f"{name}.npy", claim.getvalue())
    faces = np.zeros((4_000_000, 3), np.int8)
    npz(tmp_path / "zeros.npz", vertices=CORNERS, faces=faces)
    before = peak()
    for name in ("claim", "zeros"):
        with pytest.raises(InputError, match="faces: reading it takes"):
            meshes.read_mesh(tmp_path / f"{name}.npz")
    assert peak() - before < 2**28


def test_an_array_shorter_than_its_header_says(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((100, 100)))
    data = (tmp_path / "a.npy").read_bytes()
    longer = data.replace(b"(100, 100)", b"(10000000000,)")
    (tmp_path / "a.npy").write_bytes(longer)
    with pytest.raises(InputError, match="is cut short"):
        read_npy(tmp_path / "a.npy")


def test_a_picture_is_bounded_by_the_memory_it_takes(tmp_path):
    header = b"IHDR" + struct.pack(">IIBBBBB", 13333, 13333, 16, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    rest = b"\0\0\0\0IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))
    path = tmp_path / "deep.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk + rest)
    with pytest.raises(InputError, match=r"13333 x 13333 pixels.*`max_input=4GiB`"):
        images.read_image(path)


# A whole disk, an unwritable cache, no home.


def test_a_mesh_is_whole_or_not_there(tmp_path):
    path = tmp_path / "m.ply"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(InputError, match=r"m\.ply` cannot be written"):
            write_mesh(path, CORNERS, TETRAHEDRON)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_is_named():
    with (
        pytest.raises(InputError, match="No space left on the disk at `/dev"),
        atomic_write("/dev/shm/x.npy") as part,
        open("/dev/full", "wb", buffering=0) as full,
    ):
        part.write_bytes(b"half")
        full.write(b"x")
    assert not [p for p in os.listdir("/dev/shm") if part_of(p) == "x.npy"]


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path):
    left = tmp_path / ".a.0123abcd.part.bin"
    mine = tmp_path / ".a.0123abcd.bin"
    for path in (left, mine):
        path.write_text("half")
    with atomic_write(tmp_path / "a.bin") as first:
        first.write_text("first")
        with atomic_write(tmp_path / "a.bin") as second:  # the first is alive
            second.write_text("second")
            assert first.exists()
    assert {p.name for p in tmp_path.iterdir()} == {"a.bin", mine.name}


def test_a_cache_that_cannot_be_written_costs_a_warning(tmp_path):
    (tmp_path / "file").write_text("")
    problem = Problem("none", None, blank=1.0, d=2, out=1, output="none", guess=2.0)
    said: list[str] = []
    found = choose(problem, cache=tmp_path / "file" / "tune", warn=said.append)
    assert found.sigma == 2.0
    assert len(said) == 1 and "the choice is not kept" in said[0]


def test_a_damaged_label_cache_is_made_again(tmp_path):
    mesh, _ = meshes.normalise(meshes.make_mesh(CORNERS, TETRAHEDRON))
    sizes = {"blocks": 1, "block": 64, "test_points": 32, "cache_dir": tmp_path}
    first = make_labels(mesh, **sizes)
    (path,) = tmp_path.glob("*.safetensors")
    whole = path.read_bytes()
    for word in (b"odd_edges", b"undecided", b"digest", b"passband labels"):
        path.write_bytes(whole.replace(word, word[:-1] + b"z"))
        with pytest.raises(InputError):
            load_labels(path)
        again = make_labels(mesh, **sizes)
        assert np.array_equal(again.pool.bits, first.pool.bits)
        assert load_labels(path).about == first.about
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="labels are not kept"):
        make_labels(mesh, **sizes | {"cache_dir": tmp_path / "file"})


def test_without_a_home(monkeypatch, capsys):
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", none)
    assert main(["data", "list"]) == 0
    with pytest.raises(InputError, match="set XDG_CACHE_HOME"):
        cache_folder()
    capsys.readouterr()


# Going on elsewhere.


def test_a_simulated_run_goes_on_from_another_folder(tmp_path, monkeypatch):
    pixels = np.zeros((16, 16), np.uint8)
    pixels[4:9, 5:12] = 200
    Image.fromarray(pixels).save(tmp_path / "s.png")
    Image.fromarray(pixels.T).save(tmp_path / "t.png")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    fit = ("--mapping", "none", "--prior", "none", "--layers", "2", "--width", "8")
    fit += ("--views", "4")
    words = ["fit", "ct", "--simulate", "s.png", *fit, "--quiet", "--out", "ct"]
    assert main([*words, "--steps", "2"]) == 0
    config = json.loads(Path("ct/config.json").read_text())
    assert config["simulate"] == str(tmp_path / "s.png")
    assert config["inputs"] == {config["simulate"]: config["sha256"]}
    assert set(config["environment"]) == {
        "passband", "jax", "jaxlib", "device", "precision",
    }  # fmt: skip
    report = Path("ct/report.html").read_text()
    assert "passband fit ct --resume --out . --steps 4" in report
    monkeypatch.chdir(tmp_path / "other")
    for word in (None, "../s.png", str(tmp_path / "s.png")):
        given = set() if word is None else {"simulate"}
        asked = CTOptions(simulate=word)
        found = resumed_options(asked, given, config, "ct")
        assert len(CTKind.read(found).data.values) == 4
    with pytest.raises(InputError, match=r"\(=../t.png\) disagrees"):
        resumed_options(CTOptions(simulate="../t.png"), {"simulate"}, config, "ct")


def test_going_on_with_another_version_is_said(run, capsys):
    path = run / "config.json"
    text = path.read_text()
    config = json.loads(text)
    config["passband"] = config["environment"]["passband"] = "9.9.9"
    config["environment"] |= {"jax": "0.0.1", "precision": "bfloat16"}
    path.write_text(json.dumps(config))
    assert main(["fit", "image", "--resume", "--out", str(run)]) == 0
    said = capsys.readouterr().err
    for part in ("passband 9.9.9 is", "jax 0.0.1 is", "bfloat16 is float32 now"):
        assert part in said
    again = json.loads(path.read_text())
    assert again["earlier"] == [config["environment"]]
    assert main(["fit", "image", "--resume", "--out", str(run)]) == 0
    assert "made elsewhere" not in capsys.readouterr().err
    assert json.loads(path.read_text())["earlier"] == [config["environment"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_term_and_hup_save_the_state_as_an_interrupt_does(tmp_path, number):
    # Under nohup a hangup is ignored, and stays so.
    before = signal.signal(number, signal.SIG_DFL)

    def stop(entry: dict[str, float]) -> None:
        os.kill(os.getpid(), number)

    x = np.linspace(0, 1, 64)
    with pytest.raises(KeyboardInterrupt):
        pb.fit(x, np.sin(x), mapping="none", steps=10**6, layers=2, width=8, batch=64,
               out=tmp_path / "run", on_log=stop)  # fmt: skip
    signal.signal(number, before)
    assert (tmp_path / "run" / "checkpoint" / "state.safetensors").exists()
    assert not (tmp_path / "run" / ".lock").exists()


# Text is text.


def test_what_a_file_says_does_not_steer_a_terminal(capsys):
    evil = "a\x1b]0;owned\x07\x1b[2Jb\u202ec"
    console = Console()
    console.say(evil)
    console.result({}, f"{evil}\nsecond line")
    out, err = capsys.readouterr()
    assert err == "a?]0;owned??[2Jb?c\n"
    assert out == "a?]0;owned??[2Jb?c\nsecond line\n"


def test_a_stdout_that_lacks_a_letter_keeps_the_result(run, tmp_path, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    out = tmp_path / "\U0001f600.png"
    assert main(["render", str(run), "--out", str(out)]) == 0
    assert out.exists() and rb"\U0001f600.png" in raw.getvalue()


def test_messages_are_one_line_of_bounded_length():
    said = str(InputError("begin " + "x\n\x1b[1m" * 10**6 + " end"))
    assert len(said) <= LONGEST_MESSAGE
    assert said.startswith("begin ") and said.endswith(" end")
    assert said.isprintable()
    assert len(one_line("y" * 10**7)) <= 200


def scene(folder: Path, **changes: object) -> Path:
    """A camera file of two pictures."""
    Image.new("RGB", (8, 8)).save(folder / "a.png")
    pose = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 4], [0, 0, 0, 1]]
    frame = {"file_path": "a.png", "transform_matrix": pose}
    content = {"fl_x": 8, "frames": [frame, frame], "near": 2, "far": 6} | changes
    (folder / "transforms.json").write_text(json.dumps(content))
    return folder / "transforms.json"


def test_numbers_of_400_digits_are_refused(tmp_path, run):
    huge = 10**400
    for change in ({"w": huge, "h": 4}, {"fl_x": huge}, {"cx": huge}):
        with pytest.raises(InputError, match="not a finite number"):
            camera_file.read_cameras(scene(tmp_path, **change))
    path = scene(tmp_path, aabb=[[-huge] * 3, [huge] * 3])
    with pytest.raises(InputError, match="`aabb` is not finite"):
        scenes.read_scene(path, near=2, far=6)
    assert from_json(str(huge)) == float("inf")
    config = (run / "config.json").read_text()
    (tmp_path / "run").mkdir()
    bad = config.replace('"seed": 0', f'"seed": {huge}')
    assert bad != config
    (tmp_path / "run" / "config.json").write_text(bad)
    assert main(["fit", "image", "--resume", "--out", str(tmp_path / "run")]) == 2
    save(load(run), tmp_path / "m.safetensors", task="signal", rate=huge)
    model, out = tmp_path / "m.safetensors", tmp_path / "a.wav"
    assert main(["render", str(model), "--out", str(out)]) == 2


def test_pictures_outside_the_folder_are_asked_for(tmp_path):
    (tmp_path / "scene" / "x").mkdir(parents=True)
    path = scene(tmp_path / "scene")
    for name in ("../a.png", str(tmp_path / "a.png"), "x/../../a"):
        path.write_text(path.read_text().replace('"a.png"', json.dumps(name)))
        Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
        with pytest.raises(InputError, match="`allow_outside` reads it"):
            scenes.scene_files(path)
        assert len(scenes.scene_files(path, allow_outside=True)) == 3
        scene(tmp_path / "scene")


# Odd names and arguments.


@pytest.mark.parametrize("kind", ["image", "signal", "shape", "ct", "mri", "nerf"])
def test_names_that_are_too_long(kind, fails):
    ends = {"image": ".png", "signal": ".wav", "shape": ".ply"}.get(kind, ".npy")
    words = ("--angles", "0:180:4") if kind == "ct" else ()
    said = fails("fit", kind, "x" * 300 + ends, *words)
    assert "File name too long" in said or "does not exist" in said


def test_odd_arguments_are_one_line(tmp_path, run, fails, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PASSBAND_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fails("info", "x" * 300)
    assert "must be at most" in fails("fit", "image", "a.png", "--batch", "9" * 400)
    os.symlink("loop", "loop")
    fails("fit", "nerf", "loop")
    assert "the most views" in fails(
        "fit", "ct", "--simulate", run.parent / "photo.png", "--angles", "0:180:9999999"
    )
    fails("data", "fetch", "natural", "--url", "http://[::1")
    fails("data", "fetch", "natural", "--url", "https://[::1")
    mesh = meshes.make_mesh(CORNERS, TETRAHEDRON)
    with pytest.raises(InputError, match="scale the mesh"):
        meshes.make_mesh(1e150 * mesh.vertices, mesh.faces)
    facts = {"task": "shape", "center": [0] * 3, "scale": 1, "box": [[0] * 3, [1] * 3]}
    key = jax.random.key(0)
    field = make_field("none", d=3, out=1, key=key, layers=1, output="sigmoid")
    save(field, "shape.safetensors", **facts)
    for out in ("x.png", "x.ply"):
        said = fails("render", "shape.safetensors", "--out", out, "--resolution", 10**8)
        assert "this machine has" in said


def test_more_pixels_than_indices_tell_apart():
    check_count(2**31 - 1, "`x`")
    with pytest.raises(InputError, match="2,147,483,648 points"):
        check_count(2**31, "`x`")


def test_downloads_are_encrypted_unless_asked(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PASSBAND_DATA", raising=False)
    with pytest.raises(InputError, match="`allow_http` takes it"):
        fetch("natural", base_url="http://127.0.0.1:1/x")


@pytest.mark.parametrize("name", ["pipe.png", "pipe.json", "pipe.npy"])
def test_pipes_and_devices_are_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    readers = {".png": images.read_image, ".json": camera_file.read_cameras,
               ".npy": volumes.read_array}  # fmt: skip
    with pytest.raises(InputError, match="is a pipe"):
        readers[Path(name).suffix](tmp_path / name)
    with pytest.raises(InputError, match="is a device"):
        camera_file.read_cameras("/dev/zero")


# Other libraries are quiet.


def test_libraries_print_nothing_of_their_own(tmp_path, capfd):
    noisy = np.random.default_rng(0).integers(0, 255, (40, 40, 3), np.uint8)
    Image.fromarray(noisy).save(tmp_path / "a.tif", compression="jpeg")
    data = bytearray((tmp_path / "a.tif").read_bytes())
    for at in range(700, 1400, 7):
        data[at] ^= 0xFF
    (tmp_path / "a.tif").write_bytes(data)
    text = "solid a\n" + "".join(
        "facet normal 0 0 1\n outer loop\n"
        + "".join(f"  vertex {x} {y} {z}\n" for x, y, z in CORNERS[face].tolist())
        + " endloop\nendfacet\n"
        for face in TETRAHEDRON
    )
    broken = text.replace("normal 0 0 1", "normal 0 x", 1)
    (tmp_path / "a.stl").write_text(broken + "endsolid a\n")
    nifti(tmp_path / "a.nii", datatype=2304)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for read, name in (
            (images.read_image, "a.tif"),
            (meshes.read_mesh, "a.stl"),
            (volumes.read_volume, "a.nii"),
        ):
            with contextlib.suppress(InputError):
                read(tmp_path / name)
    assert capfd.readouterr() == ("", "")


def test_every_reader_of_files_is_behind_the_gate():
    from passband.data import (
        bart,
        dicom,
        fastmri_file,
        ismrmrd_file,
        kspace_files,
        matlab,
        raster,
        signals,
        tiff,
    )

    rooms = (bart, camera_file, dicom, fastmri_file, images, ismrmrd_file, kspace_files,
             matlab, meshes, raster, signals, sinograms, tiff, volumes)  # fmt: skip
    for room in rooms:
        for name, found in vars(room).items():
            if name.startswith("read_") and found.__module__ == room.__name__:
                gated = hasattr(found, BEHIND) or name == "read_array"
                assert gated, f"{room.__name__}.{name}"
