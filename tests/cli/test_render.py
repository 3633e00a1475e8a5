"""`passband render` and `passband info`: a model at any resolution, what it says."""

import json
import struct

import jax
import numpy as np
import pytest
import tifffile
from scipy.io import wavfile

from passband.cli.main import main
from passband.data.images import read_image
from passband.field import make_field
from passband.model_file import load, save


@pytest.fixture
def model(here, image_run) -> str:
    return str(image_run / "model.safetensors")


@pytest.fixture
def sound(here, signal_run) -> str:
    return str(signal_run / "model.safetensors")


def render(*words: object) -> None:
    assert main(["render", *map(str, words)]) == 0


def test_own_size_is_the_fits_own_prediction(here, image_run, model):
    render(model, "--out", "again.png")
    again, preview = read_image("again.png"), read_image(image_run / "preview.png")
    np.testing.assert_array_equal(again.values, preview.values)


def test_other_resolutions_sample_the_same_field(here, model, capsys):
    render(model, "--out", "own.npy")
    render(model, "--resolution", "64", "--out", "double.npy")  # 24 x 32 -> 48 x 64
    render(model, "--size", "12x16", "--out", "half.npy")
    own, double, half = (np.load(f"{n}.npy") for n in ("own", "double", "half"))
    assert double.shape == (48, 64, 3)
    np.testing.assert_allclose(double[::2, ::2], own, atol=2e-3)
    np.testing.assert_allclose(half, own[::2, ::2], atol=2e-3)


def test_crop_is_a_window_of_the_picture(here, model, capsys):
    render(model, "--out", "own.npy")
    render(model, "--crop", "4,6,20,30", "--out", "part.npy")
    own, part = np.load("own.npy"), np.load("part.npy")
    np.testing.assert_allclose(part, own[4:20, 6:30], atol=2e-3)
    words = ["--crop", "4,6,20,30", "--resolution", "48", "--out", "fine.npy"]
    render(model, *words)
    np.testing.assert_allclose(np.load("fine.npy")[::2, ::2], part, atol=2e-3)


def test_bits_and_formats(here, model, capsys):
    render(model, "--out", "own.npy")
    share = np.load("own.npy") / 255
    render(model, "--bits", "16", "--out", "deep.png")
    render(model, "--bits", "16", "--out", "deep.tif")
    render(model, "--bits", "32", "--out", "float.tiff")
    deep = tifffile.imread("deep.tif")
    assert deep.dtype == np.uint16
    np.testing.assert_allclose(deep, 65535 * share, atol=0.51)
    np.testing.assert_allclose(tifffile.imread("float.tiff"), 255 * share, rtol=1e-6)
    header = (here / "deep.png").read_bytes()[16:26]
    assert struct.unpack(">IIBB", header) == (32, 24, 16, 2)
    render(model, "--out", "UPPER.PNG")
    assert read_image("UPPER.PNG").values.dtype == np.uint8


def test_sound_keeps_its_duration_at_twice_the_resolution(here, sound, capsys):
    render(sound, "--out", "own.wav")
    render(sound, "--resolution", "400", "--out", "double.wav")
    rate, own = wavfile.read("own.wav")
    double_rate, double = wavfile.read("double.wav")
    assert (rate, double_rate) == (800, 1600)
    assert (own.shape, double.shape) == ((200, 2), (400, 2))
    np.testing.assert_allclose(double[::2], own, atol=20)


def test_json_says_what_was_written(here, model, sound, capsys):
    render(model, "--out", "a.png", "--json")
    assert json.loads(capsys.readouterr().out) == {"out": "a.png", "shape": [24, 32, 3]}
    render(sound, "--out", "a.csv", "--json")
    assert json.loads(capsys.readouterr().out) == {"out": "a.csv", "shape": [200, 2]}
    render(sound, "--out", "b.csv")
    assert capsys.readouterr().out == "b.csv: 200 x 2\n"
    render(sound, "--out", "c.csv", "--quiet")
    assert capsys.readouterr().out == ""


def test_existing_files_are_kept_unless_asked(here, model, fails):
    said = fails("render", model, "--out", "photo.png")
    assert "`photo.png` exists; `--overwrite` replaces it" in said
    before = (here / "photo.png").read_bytes()
    render(model, "--out", "photo.png", "--overwrite", "--quiet")
    assert (here / "photo.png").read_bytes() != before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "`--out` is missing"),
        ("--out x.jpg", "must end in .png, .tif, .tiff, .npy, .onnx, .html"),
        ("--out x", "must end in"),
        ("--out no/x.png", "`no` is not a folder"),
        ("--out photo.png/x.png", "`photo.png` is not a folder"),
        ("--size 5", "must be ROWSxCOLUMNS"),
        ("--size 0x5", "must be ROWSxCOLUMNS"),
        ("--size ²x5", "must be ROWSxCOLUMNS"),
        ("--size 5x5x5", "must be ROWSxCOLUMNS"),
        ("--size 4x4 --resolution 4", "exclude each other"),
        ("--size 1000000x1000000", "take a smaller `--size`"),
        ("--resolution 0", "`--resolution` (=0) must be at least 1"),
        ("--crop 0,0,25,32", "must lie inside the picture of 24 x 32"),
        ("--crop=-1,0,5,5", "must lie inside"),
        ("--crop 3,3,3,3 --resolution 9", "must lie inside"),
        ("--crop nan,0,1,1", "must lie inside"),
        ("--crop 0,0,inf,1", "must lie inside"),
        ("--crop 1,2,3", "must be TOP,LEFT,BOTTOM,RIGHT"),
        ("--bits 12", "`--bits` (=12) must be one of 8, 16 for .png"),
        ("--bits 32", "`--bits` (=32) must be one of 8, 16 for .png"),
    ],
)
def test_mistakes_with_pictures(model, fails, words, message):
    given = words.split()
    if words and "--out" not in given:
        given += ["--out", "x.png"]
    assert message in fails("render", model, *given)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--out x.png", "must end in .npy, .csv, .wav"),
        ("--out x.npy --size 4x4", "`--size` is for pictures"),
        ("--out x.npy --crop 0,0,1,1", "`--crop` is for pictures"),
        ("--out x.npy --bits 8", "`--bits` is for pictures"),
        ("--out x.npy --resolution 99999999999999", "take a smaller"),
    ],
)
def test_mistakes_with_signals(sound, fails, words, message):
    assert message in fails("render", sound, *words.split())


def test_models_that_say_nothing_of_their_task(here, fails):
    field = make_field("gaussian:3,m=4", d=2, out=3, key=jax.random.key(0), layers=1)
    save(field, "bare.safetensors")
    words = ("render", "bare.safetensors", "--out", "x.png")
    assert "is of task `None`" in fails(*words)
    good = {"task": "image", "shape": [8, 8, 3], "low": 0.0, "high": 1.0}
    save(field, "bare.safetensors", **good)
    render(*words[1:], "--quiet")
    words = (*words, "--overwrite")
    for shape in (None, 8, [8, 8], [8, 8, 4], [8, -8, 3], [8, 8.5, 3], ["8", 8, 3]):
        save(field, "bare.safetensors", **good | {"shape": shape})
        assert "does not fit its network" in fails(*words)
    save(field, "bare.safetensors", **good | {"shape": [2**30, 2**30, 3]})
    assert "take a smaller" in fails(*words)
    for low in (None, "0", 1.0, 2.0, float("nan"), [0]):
        save(field, "bare.safetensors", **good | {"low": low})
        assert "make no sense" in fails(*words)
    save(field, "bare.safetensors", **good | {"task": ["image"]})
    assert "is of task" in fails(*words)


def test_wav_needs_a_rate(here, fails):
    field = make_field("gaussian:3,m=4", d=1, out=1, key=jax.random.key(0), layers=1)
    about = {"task": "signal", "shape": [9, 1], "low": 0.0, "high": 1.0}
    words = ("render", "s.safetensors", "--out", "x.wav")
    save(field, "s.safetensors", **about, rate=None)
    assert "a WAV file needs a sample rate" in fails(*words)
    for rate in (-1, 0, "8000", float("inf")):
        save(field, "s.safetensors", **about, rate=rate)
        assert "rate" in fails(*words)


def test_info_says_what_a_model_holds(model, capsys):
    assert main(["info", model]) == 0
    said = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert said["task"] == "image"
    assert said["mapping"] == "gaussian:4,m=8"
    assert said["shape"] == "24 x 32 x 3"
    assert said["layers"] == "16-16-3"
    assert main(["info", "--json", model]) == 0
    content = json.loads(capsys.readouterr().out)
    weights = load(model).mlp
    assert content["parameters"] == sum(
        a.size for a in (*weights.weights, *weights.biases)
    )
    assert content["coordinates"] == 2


def test_info_shows_no_control_characters(here, capsys):
    field = make_field("none", d=2, out=3, key=jax.random.key(0), layers=1)
    save(field, "m.safetensors", task="image", mapping="\x1b[2J\nfake")
    assert main(["info", "m.safetensors"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\nfake" not in out


def test_info_on_what_is_no_model(here, fails, image_run):
    assert "`x` does not exist" in fails("info", "x")
    assert "MODEL is missing" in fails("info")
    assert "is not a passband model" in fails("info", "photo.png")
    assert "is not a passband model: it does not begin with a header" in fails(
        "info", "photo.png"
    )
    (here / "begun").mkdir()
    assert "folder `begun` has no model.safetensors; give" in fails("info", "begun")
    (here / "begun" / "config.json").write_text("{}")
    assert "yet: its fit has not ended" in fails("info", "begun")


def test_a_run_folder_stands_for_the_model_in_it(image_run, tmp_path, capsys):
    assert main(["info", str(image_run), "--json"]) == 0
    by_folder = capsys.readouterr().out
    assert main(["info", str(image_run / "model.safetensors"), "--json"]) == 0
    assert capsys.readouterr().out == by_folder
    assert main(["render", str(image_run), "--out", str(tmp_path / "a.npy")]) == 0
    assert np.load(tmp_path / "a.npy").shape == (24, 32, 3)


def test_info_says_nothing_of_what_a_model_does_not_have(image_run, capsys):
    assert main(["info", str(image_run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert not any(line.startswith(("gains", "trains")) for line in lines)
    assert not any(line.endswith(" -") for line in lines)
