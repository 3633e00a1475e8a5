"""What is wrong with the user's input is said in one line, before anything is lost."""

import resource

import numpy as np
import pytest
from PIL import Image

from passband.cli.main import main


@pytest.fixture
def damaged(here):
    """Files that cannot be fitted, by name."""
    whole = (here / "photo.png").read_bytes()
    (here / "empty.png").touch()
    (here / "cut.png").write_bytes(whole[: len(whole) // 2])
    (here / "text.png").write_text("dear reader\n")
    (here / "folder.png").mkdir()
    Image.new("RGB", (1, 1)).save(here / "pixel.png")
    np.save(here / "nan.npy", np.where(np.eye(8) > 0, np.nan, 1.0))
    np.save(here / "rank.npy", np.zeros((2, 3, 4, 5)))
    np.save(here / "objects.npy", np.array([{}]), allow_pickle=True)
    np.save(here / "short.npy", np.zeros(3))
    return here


@pytest.mark.parametrize(
    ("task", "file", "message"),
    [
        ("image", "missing.png", "`missing.png` does not exist"),
        ("image", "folder.png", "folder.png` holds nothing that ends in .png"),
        ("image", "empty.png", "`empty.png` is empty (0 bytes)"),
        ("image", "cut.png", "`cut.png` is damaged, cut short"),
        ("image", "text.png", "`text.png` is no PNG, JPEG, TIFF or NPY file"),
        ("image", "pixel.png", "`pixel.png` has 1 x 1 pixels"),
        ("image", "nan.npy", "`nan.npy` holds 8 NaN or infinite values"),
        ("image", "rank.npy", "`rank.npy` has shape (2, 3, 4, 5)"),
        ("image", "objects.npy", "`objects.npy` holds Python objects"),
        ("image", "", "FILE is missing; see `passband fit image --help`"),
        ("signal", "photo.png", "`photo.png` ends in `.png`"),
        ("signal", "nan.npy", "NaN or infinite"),
        ("signal", "rank.npy", "shape (2, 3, 4, 5)"),
        ("signal", "short.npy", "`short.npy` has 3 samples"),
        ("signal", "missing.wav", "`missing.wav` does not exist"),
    ],
)
def test_files_that_cannot_be_fitted(quick, damaged, fails, task, file, message):
    assert message in fails("fit", task, file, *quick)
    assert not (damaged / "runs").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--mapping gausian:10", "did you mean `gaussian`?"),
        ("--mapping zzz", "mapping `zzz` is unknown; known: none, basic"),
        ("--mapping=", "mapping `` is unknown"),
        ("--mapping gaussian", "needs its scale, such as `gaussian:10`"),
        ("--mapping gaussian:0", "scale (=0) must be positive"),
        ("--mapping gaussian:-3", "scale (=-3) must be positive"),
        ("--mapping gaussian:nan", "must be a number, not nan"),
        ("--mapping gaussian:10/10/3", "names 3 axes but the data have 2"),
        ("--mapping dense:p=1", "`dense` is for 1 dimension, not 2"),
        ("--mapping gaussian:3,m=0", "`m` (=0) must be at least 1"),
        (
            "--mapping octaves:5000",
            "`octaves` (=5000) must be a whole number from 1 to",
        ),
        ("--mapping positional:5000", "`positional` (=5000) must be at most 100"),
        ("--mapping octaves:3,rotate=zx4.4.4", "must be axes and degrees"),
        ("--maping gaussian:3", "did you mean `--mapping`?"),
        ("--steps 0", "`--steps` (=0) must be at least 1"),
        ("--steps 2147483648", "`--steps` (=2147483648) must be at most 2147483647"),
        ("--layers 100000", "`--layers` (=100000) must be at most 1000"),
        ("--lr -1", "`--lr` (=-1) must be more than 0"),
        ("--lr nan", "`--lr` (=nan) must be a finite number"),
        ("--lr 1e39", "`--lr` (=1e39) must be at most 1e+30"),
        ("--batch 0", "`--batch` (=0) must be at least 1"),
        ("--width 0", "`--width` (=0) must be at least 1"),
        ("--layers 0", "`--layers` (=0) must be at least 1"),
        ("--seed -1", "`--seed` (=-1) must be at least 0"),
        ("--seed 99999999999", "`--seed` (=99999999999) must be at most 4294967295"),
        ("--minutes 0", "`--minutes` (=0) must be more than 0"),
        ("--save-every -1", "`--save-every` (=-1) must be at least 0"),
        ("--precision tf23", "float32, tf32, bfloat16; did you mean `tf32`?"),
        (
            "--device gpu",
            "finds no GPU here; install passband with its CUDA parts, `pip "
            'install ".[cuda]"`',
        ),
        ("--max-memory lots", "must be a size such as 1GiB"),
        ("--max-memory 2MiB --batch 9999", "needs"),
        ("--width 1000000000", "may be used"),
        ("--mapping gaussian:3,m=1000000000", "may be used"),
        ("--holdout 1.5", "must be `none`, `quarter` or a share below 1"),
        ("--holdout nan", "must be `none`, `quarter` or a share below 1"),
        ("--resume --overwrite --out x", "exclude each other"),
        ("--resume --out nowhere", "`nowhere` has no config.json"),
    ],
)
def test_options_out_of_bounds(here, fails, words, message):
    assert message in fails("fit", "image", "photo.png", *words.split())
    assert sorted(path.name for path in here.iterdir()) == ["photo.png"]


def test_resume_without_a_name(here, fails):
    assert "needs FILE or `--out`" in fails("fit", "image", "--resume")


def test_outputs_that_cannot_be_written(quick, here, fails):
    (here / "file").write_text("mine")
    words = ("fit", "image", "photo.png", *quick, "--out")
    assert "`file` is a file, or below one" in fails(*words, "file")
    assert "`file/run` is a file, or below one" in fails(*words, "file/run")
    assert "`file/deep/run` is a file, or below" in fails(*words, "file/deep/run")
    assert "cannot be" in fails(*words, "x" * 300)
    assert "cannot be made" in fails("demo", "--out", "file")
    assert (here / "file").read_text() == "mine"


def test_folders_of_others_are_left_alone(quick, here, fails):
    mine = here / "mine"
    mine.mkdir()
    (mine / "preview.png").write_text("holiday")
    words = ("fit", "image", "photo.png", *quick, "--overwrite", "--out", "mine")
    assert "holds files that are not a run's" in fails(*words)
    for config in ("{}", "[]", "no JSON", '{"task": "image"}', "[" * 100_000):
        (mine / "config.json").write_text(config)
        assert "holds files that are not a run's" in fails(*words)
        assert "is not that of a run" in fails(
            "fit", "image", "--resume", "--out", "mine"
        )
    assert (mine / "preview.png").read_text() == "holiday"
    assert len(list(mine.iterdir())) == 2


def test_existing_runs_are_kept(quick, image_run, fails):
    before = {path: path.read_bytes() for path in image_run.iterdir() if path.is_file()}
    photo = image_run.parent / "photo.png"
    said = fails("fit", "image", photo, *quick, "--out", image_run)
    assert "exists; `--resume` goes on with it, `--overwrite` starts anew" in said
    assert all(path.read_bytes() == data for path, data in before.items())


def test_overwriting_replaces_the_run_and_nothing_else(quick, here, capsys):
    words = ["fit", "image", "photo.png", *quick, "--out", "run", "--json"]
    assert main(words) == 0
    (here / "run" / "notes.txt").write_text("mine")
    first = (here / "run" / "model.safetensors").read_bytes()
    assert main([*words, "--overwrite", "--seed", "1"]) == 0
    assert (here / "run" / "model.safetensors").read_bytes() != first
    assert (here / "run" / "notes.txt").read_text() == "mine"
    assert len((here / "run" / "metrics.jsonl").read_text().splitlines()) == 1


def test_full_disk_is_one_line(quick, here, fails):
    """A limit on the size of files stands in for a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, hard))
    try:
        said = fails("fit", "image", "photo.png", *quick, "--out", "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "state.safetensors` cannot be written: File too large" in said
    names = sorted(p.name for p in (here / "run").rglob("*") if p.is_file())
    assert names == ["config.json", "metrics.jsonl"]
