"""`passband fit image` and `passband fit signal`, from a file to a run folder."""

import json
import shlex
import time

import numpy as np
import pytest
import tifffile
from PIL import Image
from scipy.io import wavfile

from passband.cli.main import main
from passband.data.images import read_image, write_image
from passband.kinds import image as image_kind
from passband.kinds.image import ImageKind
from passband.kinds.options import ImageOptions
from passband.mappings import NoMapping
from passband.model_file import load_with_info

RUN_FILES = ["checkpoint", "config.json", "metrics.jsonl", "model.safetensors",
             "preview.png", "report.html", "result.json"]  # fmt: skip


def test_json_is_one_object_with_the_promised_keys(here, quick, capfd):
    begun = time.perf_counter()
    assert main(["fit", "image", "photo.png", *quick, "--json"]) == 0
    elapsed = time.perf_counter() - begun
    out, err = capfd.readouterr()
    assert err == ""
    assert out.count("\n") == 1
    result = json.loads(out)
    assert list(result) == ["task", "mapping", "sigma", "recipe", "steps",
                            "step_points", "seconds", "device", "precision",
                            "metrics", "parameters", "bytes", "run", "model",
                            "baselines", "phases"]  # fmt: skip
    assert result["task"] == "image"
    assert result["mapping"] == "gaussian:4,m=8"
    assert (result["sigma"], result["steps"]) == (4.0, 25)
    assert (result["device"], result["precision"]) == ("cpu", "float32")
    assert list(result["metrics"]) == ["psnr", "psnr_train", "ssim"]
    assert result["run"] == "runs/photo-gaussian-4-m-8"
    assert json.loads((here / result["run"] / "result.json").read_text()) == result
    assert sorted(p.name for p in (here / result["run"]).iterdir()) == RUN_FILES
    phases = result["phases"]
    assert list(phases) == ["import", "read", "choose", "compile", "train",
                            "evaluate", "write"]  # fmt: skip
    assert 0.8 * elapsed < sum(phases.values()) < elapsed
    assert phases["compile"] > 0
    page = (here / result["run"] / "report.html").read_text()
    told = page[page.index("Where the time went") :]
    assert [name in told for name in phases] == [True] * 6 + [False]


def test_words_on_stdout_and_silence_when_quiet(here, quick, capfd):
    words = ["fit", "image", "photo.png", *quick, "--out", "run"]
    assert main(words) == 0
    out, err = capfd.readouterr()
    assert err == ""  # a pipe gets no progress of what is quick
    assert out.startswith("gaussian:4,m=8: psnr ")
    assert "; 25 steps of 128 points in 0:" in out
    assert "model   run/model.safetensors\nreport  run/report.html\n" in out
    assert main([*words, "--overwrite", "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")


def test_without_a_mapping_the_run_folder_says_so_and_is_found_again(here, capsys):
    words = ["fit", "image", "photo.png", "--width", "16", "--layers", "2", "--json"]
    quick = ["--steps", "4", "--batch", "64"]
    assert main([*words, *quick]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == "runs/photo-auto"
    assert main([*words, "--resume", "--steps", "6"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 6


def test_metrics_are_those_of_the_saved_model(image_run, picture):
    """PSNR worked out from the model file with nothing of the fit's own code."""
    result = json.loads((image_run / "result.json").read_text())
    field, about = load_with_info(image_run / "model.safetensors")
    h, w, c = picture.shape
    assert about["shape"] == [h, w, c]
    y, x = np.mgrid[0:h, 0:w]
    coords = np.stack([x.ravel(), y.ravel()], axis=1) / max(h, w)
    error = field.predict(coords).reshape(h, w, c) - picture / 255
    assert result["metrics"]["psnr"] == pytest.approx(
        -10 * np.log10(np.mean(error**2)), abs=1e-4
    )
    assert about["metrics"] == result["metrics"]


def test_preview_is_the_prediction(image_run, picture):
    field, _ = load_with_info(image_run / "model.safetensors")
    h, w, c = picture.shape
    y, x = np.mgrid[0:h, 0:w]
    seen = field.predict(np.stack([x.ravel(), y.ravel()], axis=1) / max(h, w))
    preview = read_image(image_run / "preview.png").values
    assert np.abs(preview - 255 * seen.reshape(h, w, c)).max() <= 0.5001


def test_config_leaves_nothing_to_be_chosen(here, capsys):
    words = ["fit", "image", "photo.png", "--steps", "3", "--layers", "1", "--quiet"]
    assert main([*words, "--out", "a", "--mapping", "none"]) == 0
    config = json.loads((here / "a" / "config.json").read_text())
    said = [config[k] for k in ("recipe", "optimiser", "schedule", "lr")]
    assert said == ["modern", "muon", "cosine", 2e-3]
    assert config["batch"] == 24 * 32
    assert config["file"] == str(here / "photo.png")
    given = [f"--{name}={config[name]}" for name in ("mapping", "lr", "batch", "seed")]
    assert main([*words, *given, "--out", "b"]) == 0
    a, b = (
        (here / name / "model.safetensors").read_bytes().split(b"}}")[-1]
        for name in "ab"
    )
    assert a == b
    asked = ImageOptions(file="photo.png", recipe="paper")
    training = ImageKind.read(asked).training(asked, NoMapping())
    found = training.optimiser, training.schedule, training.lr, training.leak
    assert found == ("adam", "constant", 1e-2, 0.0)  # the paper's for no mapping


def test_holdout_names_both_scores(here, quick, capsys):
    words = ["fit", "image", "photo.png", *quick, "--json", "--out"]
    for share in ("quarter", "0.2"):
        assert main([*words, share, "--holdout", share]) == 0
        result = json.loads(capsys.readouterr().out)
        metrics = result["metrics"]
        assert list(metrics) == ["psnr", "psnr_train", "psnr_test", "ssim"]
        beside = {"quarter": "bicubic", "0.2": "cubic"}[share]
        assert list(result["baselines"][beside]) == ["psnr", "psnr_test", "ssim"]
        logged = (here / share / "metrics.jsonl").read_text().splitlines()
        # Few pixels are held out here: all of them are looked at on the way.
        end = json.loads(logged[-1])["psnr_test"]
        assert end == pytest.approx(metrics["psnr_test"], abs=1e-3)


def test_the_run_keeps_the_command_its_size_and_that_of_its_file(here, quick, capsys):
    words = ["fit", "image", "photo.png", *quick, "--out", "my run", "--json"]
    assert main(words) == 0
    result = json.loads(capsys.readouterr().out)
    config = json.loads((here / "my run" / "config.json").read_text())
    assert config["command"] == shlex.join(["passband", *words])
    source = (here / "photo.png").stat().st_size
    model = (here / "my run" / "model.safetensors").stat().st_size
    assert result["bytes"]["source"] == source
    assert 0 < model - result["bytes"]["model"] < 3000  # its header
    fixed = 3 * 8  # a and B of eight frequencies
    assert result["bytes"]["model"] == 4 * (result["parameters"] + fixed)


def test_nyquist_warning_has_both_numbers(here, quick, capsys):
    words = ["fit", "image", "photo.png", *quick, "--out", "run"]
    assert main([*words, "--mapping", "gaussian:99,m=8", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("passband: warning: `gaussian:99,m=8` reaches 99 cycles")
    assert "Nyquist frequency of 16" in err
    assert json.loads(out)["sigma"] == 99


def test_minutes_end_a_run_early(here, quick, capsys):
    words = ["fit", "image", "photo.png", *quick, "--steps", "100000", "--json"]
    assert main([*words, "--minutes", "0.001", "--out", "run"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert 0 < result["steps"] < 100000
    assert result["steps"] % 25 == 0


def test_large_pictures_are_evaluated_on_a_thinner_grid(
    here, quick, picture, capsys, monkeypatch
):
    words = ["fit", "image", "photo.png", *quick, "--holdout", "quarter", "--json"]
    assert main([*words, "--out", "whole"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert "evaluated" not in whole
    monkeypatch.setattr(image_kind, "MOST_PIXELS", 100)  # 24 x 32 -> 8 x 10
    assert main([*words, "--out", "thin"]) == 0
    thin = json.loads(capsys.readouterr().out)
    assert thin["evaluated"] == "one row and one column in 3"
    field, about = load_with_info(thin["model"])
    assert about["shape"] == [24, 32, 3]
    y, x = np.mgrid[0:24:3, 0:30:3]
    coords = np.stack([x.ravel(), y.ravel()], axis=1) / 32
    error = field.predict(coords).reshape(8, 10, 3) - picture[::3, :30:3] / 255
    trained, held = error[::2, ::2], error[1::2, 1::2]  # rows 0, 6...; rows 3, 9...
    for name, part in (("psnr", error), ("psnr_train", trained), ("psnr_test", held)):
        want = -10 * np.log10(np.mean(part**2))
        assert thin["metrics"][name] == pytest.approx(want, abs=1e-4)
    assert read_image(here / "thin" / "preview.png").values.shape == (8, 10, 3)


@pytest.mark.parametrize(
    "kind", ["grey8", "rgb16", "rgba8", "grey16.tif", "float.tif", "wild.npy", "exif"]
)
def test_every_kind_of_picture_returns_in_its_own_units(
    here, quick, picture, capsys, kind
):
    """What is rendered is as far from the file as the PSNR says, in its own units."""
    path = here / (kind if "." in kind else f"{kind}.png")
    share = picture / np.float32(255)
    if kind == "grey8":
        Image.fromarray(picture[..., 0]).save(path)
    elif kind == "rgb16":
        write_image(path, share, high=65535.0, bits=16)
    elif kind == "rgba8":
        alpha = np.full((24, 32, 1), 200, np.uint8)
        Image.fromarray(np.concatenate([picture, alpha], axis=2)).save(path)
    elif kind == "grey16.tif":
        write_image(path, share[..., :1], high=65535.0, bits=16)
    elif kind == "float.tif":
        values = (40 * share - 20).astype(np.float32)
        tifffile.imwrite(path, values, photometric="rgb")
    elif kind == "wild.npy":
        np.save(path, 1e6 * share - 3e5)
    else:
        path = here / "exif.jpg"
        turned = Image.Exif()
        turned[0x0112] = 6  # a quarter turn: 24 x 32 stored, 32 x 24 seen
        Image.fromarray(picture).save(path, exif=turned, quality=95)
    source = read_image(path)
    assert main(["fit", "image", path.name, *quick, "--out", "run", "--json"]) == 0
    psnr = json.loads(capsys.readouterr().out)["metrics"]["psnr"]
    model = "run/model.safetensors"
    suffix = ".png" if path.suffix == ".jpg" else path.suffix
    for name in ("out.npy", f"again{suffix}"):
        assert main(["render", model, "--out", name, "--quiet"]) == 0
        back = read_image(here / name)
        assert back.values.shape == source.values.shape
        error = (back.values.astype(float) - source.values) / (source.high - source.low)
        assert -10 * np.log10(np.mean(error**2)) == pytest.approx(psnr, abs=5e-3)
    assert back.values.dtype == source.values.dtype
    assert read_image(here / "run" / "preview.png").values.dtype == np.uint8


@pytest.mark.parametrize("suffix", ["npy", "csv", "wav"])
def test_every_kind_of_signal(here, capsys, suffix):
    t = np.arange(160) / 160
    values = np.stack([np.sin(9 * t), 0.3 * np.cos(14 * t)], axis=1)
    path = here / f"signal.{suffix}"
    if suffix == "npy":
        np.save(path, 1000 * values)
    elif suffix == "csv":
        np.savetxt(path, 1000 * values, delimiter=",", header="left,right", comments="")
    else:
        wavfile.write(path, 8000, np.round(32767 * values).astype(np.int16))
    words = ["fit", "signal", path.name, "--steps", "100", "--layers", "2", "--json"]
    assert main([*words, "--lr", "0.01", "--out", "run"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["task"] == "signal"
    assert result["tuned"]["given"] == "gaussian:auto"  # a sixteenth of Nyquist, 80
    assert result["metrics"]["psnr"] > 20
    assert main(["render", "run/model.safetensors", "--out", f"back.{suffix}"]) == 0
    if suffix == "wav":
        rate, back = wavfile.read(here / "back.wav")
        assert rate == 8000
        back, want = back / 32767, values
    else:
        back = np.loadtxt(here / "back.csv", delimiter=",") if suffix == "csv" else \
            np.load(here / "back.npy")  # fmt: skip
        want = 1000 * values
    assert back.shape == want.shape
    psnr = 10 * np.log10(np.ptp(want) ** 2 / np.mean((back - want) ** 2))
    assert psnr == pytest.approx(result["metrics"]["psnr"], abs=1e-2)


def test_names_that_are_no_text_or_no_shell_words(here, quick, capsys):
    for name in (b"no text \xff.png", b"a 'quoted' <b>&.png", b"-dash.png"):
        path = here / name.decode("utf-8", "surrogateescape")
        (here / "photo.png").rename(path)
        words = ["fit", "image", *quick, "--quiet", "--overwrite", "--out", "run"]
        assert main([*words, f"./{path.name}"]) == 0
        assert "<b>&" not in (here / "run" / "report.html").read_text()
        path.rename(here / "photo.png")


def test_a_page_that_is_nearly_white_is_learned_from_the_first_steps(here):
    page = np.full((32, 32), 255, np.uint8)
    page[8, 4:28] = page[20, 10:22] = 0
    Image.fromarray(page).save("page.png")
    words = ["fit", "image", "page.png", "--mapping", "gaussian:4,m=64", "--width",
             "64", "--steps", "60", "--out", "page", "--quiet"]  # fmt: skip
    assert main(words) == 0
    found = json.loads((here / "page" / "result.json").read_text())["metrics"]["psnr"]
    assert found > 30  # 19 dB from a grey page, 14.7 for a constant one
