"""A picture larger than the memory: drawn from its file, written as it is made."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import tifffile

import passband as pb
from passband.cli.main import main
from passband.data.images import Image, read_image
from passband.kinds.image import ImageKind
from passband.tasks.image import image_task
from passband.tasks.streamed import (
    SampleFile,
    StreamedTask,
    streamed_task,
    thinned_picture,
)

SMALL = ["--mapping", "gaussian:2,m=8", "--width", "8", "--layers", "2",
         "--steps", "30", "--batch", "64", "--quiet"]  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("passband.data.images.MAPPED_FROM", 1000)
    return tmp_path


def picture(rows: int = 40, columns: int = 30) -> np.ndarray:
    y, x = np.mgrid[:rows, :columns]
    waves = np.stack([np.sin(x / 5), np.cos(y / 7), np.sin((x + y) / 9)], axis=-1)
    return (127.5 + 127 * waves).astype(np.uint8)


def test_pixels_of_npy_and_tiff_stay_on_the_disk(here):
    values = picture()
    np.save("a.npy", values)
    tifffile.imwrite("a.tif", values, photometric="rgb")
    tifffile.imwrite("packed.tif", values, photometric="rgb", compression="zlib")
    for name in ("a.npy", "a.tif"):
        image = read_image(name)
        assert isinstance(image.values, np.memmap)
        np.testing.assert_array_equal(image.values, values)
    assert not isinstance(read_image("packed.tif").values, np.memmap)
    np.save("f.npy", np.asfortranarray(values))
    with pytest.raises(pb.InputError, match="C order"):
        read_image("f.npy")
    np.save("d.npy", values.astype(np.float64))
    with pytest.raises(pb.InputError, match="float64"):
        read_image("d.npy")
    cut = Path("a.npy").read_bytes()[:-1]
    Path("cut.npy").write_bytes(cut)
    with pytest.raises(pb.InputError, match="cut short"):
        read_image("cut.npy")
    wide = values.astype(np.float32) * 3 - 100
    np.save("w.npy", wide)
    found = read_image("w.npy")
    assert (found.low, found.high) == (wide.min(), wide.max())


def test_a_step_sees_the_pixels_that_memory_would_show(here):
    """Same key, same batch, same loss, with all of its gradient."""
    np.save("a.npy", picture())
    image = read_image("a.npy")
    streamed = streamed_task(image, 64)
    held = image_task(Image(np.array(image.values), 0.0, 255.0, "a"), batch=64)
    field = pb.make_field("gaussian:2,m=8", d=2, out=3, key=0, width=8)
    key = jax.random.key(3)
    one, two = (
        jax.jit(jax.value_and_grad(lambda f, t=t: t.loss(f, key)))(field)
        for t in (streamed, held)
    )
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-8)
    thin = thinned_picture(streamed, 3)
    np.testing.assert_array_equal(thin.pixels, picture()[:39:3, :30:3])


def test_a_file_on_the_disk_is_fitted_resumed_and_rendered(here, monkeypatch):
    np.save("a.npy", picture())
    assert main(["fit", "image", "a.npy", *SMALL, "--out", "whole"]) == 0
    part = ["--out", "parts", "--minutes", "1e-9"]
    assert main(["fit", "image", "a.npy", *SMALL, *part]) == 0
    assert main(["fit", "image", "--resume", "--out", "parts", "--quiet"]) == 0
    whole, parts = pb.load("whole"), pb.load("parts")
    for a, b in zip(whole.field.mlp.weights, parts.field.mlp.weights, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(pb.InputError, match="holdout"):
        pb.read("a.npy", holdout="quarter")
    # By bands of tiles, what one picture has; the last tiles are not whole.
    monkeypatch.setattr("passband.kinds.render_picture.TILE", 16)
    monkeypatch.setattr("passband.data.large_picture.TILE", 16)
    render = ["render", "whole", "--quiet", "--resolution", "50", "--crop", "3,2,39,30"]
    for name in ("one.tif", "one.npy", "many.tif", "many.npy"):
        if name == "many.tif":
            monkeypatch.setattr("passband.kinds.render_picture.BY_BANDS", 1)
        assert main([*render, "--out", name]) == 0
    seen = tifffile.imread("one.tif")
    assert seen.dtype == np.uint8 and seen.shape == (50, 39, 3)
    np.testing.assert_array_equal(tifffile.imread("many.tif"), seen)
    np.testing.assert_allclose(np.load("many.npy"), np.load("one.npy"), atol=1e-3)


def test_pages_are_given_back(here):
    np.save("a.npy", np.zeros((3000, 3000), np.uint8))
    values = read_image("a.npy").values
    file = SampleFile(values)

    def resident() -> int:
        text = Path("/proc/self/smaps").read_text()
        own = text.split(f"{here}/a.npy")[1]
        return int(own.split("Rss:")[1].split()[0])

    assert values.sum() == 0 and resident() > 8000  # kB
    file.give_back()
    assert resident() < 1000
    assert file.fetch(np.arange(9)).shape == (9, 1)


def test_a_mapped_picture_knows_its_scale_and_its_mean(here):
    np.save("a.npy", picture(400, 300))
    kind = pb.read("a.npy")
    assert isinstance(kind, ImageKind) and kind.mapped
    training = kind.training(kind.options, pb.parse_mapping("gaussian:2,m=8"))
    assert isinstance(kind.task(training), StreamedTask)
    start = kind.network().start
    assert start == pytest.approx(picture(400, 300).mean() / 255, abs=0.05)


TWO = """
import jax, numpy as np, equinox as eqx
import passband as pb
from passband.data.images import Image
from passband.tasks.image import image_task
from passband.train.driver import Config, train
from passband.train.optimisers import optimiser
import passband.tasks.image as module

module.SHARED_FROM = 64
assert jax.device_count() == 2
pixels = np.random.default_rng(0).integers(0, 255, (16, 16, 3)).astype(np.uint8)
task = image_task(Image(pixels, 0.0, 255.0, "a"), batch=64)
field = pb.make_field("gaussian:2,m=8", d=2, out=3, key=0, width=8, layers=2)
key = jax.random.key(5)
[found], [history] = train([task], [field], Config(steps=1, lr=1.0, every=1),
    keys=[key], optimiser=optimiser("sgd"))
halves = [task.share(2).loss for _ in range(2)]
keys = [jax.random.fold_in(jax.random.fold_in(key, 0), k) for k in range(2)]
def loss(field):
    return sum(one(field, k) for one, k in zip(halves, keys)) / 2
value, slope = eqx.filter_value_and_grad(loss)(field)
for a, b, g in zip(found.mlp.weights, field.mlp.weights, slope.mlp.weights):
    np.testing.assert_allclose(a, b - g, atol=1e-6)
np.testing.assert_allclose(history["loss"], [value], rtol=1e-5)
"""


def test_two_devices_take_the_mean_step_of_their_halves_of_a_batch():
    env = os.environ | {"JAX_NUM_CPU_DEVICES": "2"}
    subprocess.run([sys.executable, "-c", TWO], env=env, check=True, timeout=100)
