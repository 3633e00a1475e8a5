"""The batch that a kind chooses does not depend on the steps that were asked for.

Before, `--steps 400` of a sound had batches of 22455 points where the default of 2000
steps had 4455, so that it took as long.
"""

import dataclasses

import jax
import numpy as np
import pytest
from PIL import Image
from scipy.io import wavfile

from passband.data.scene_space import Space
from passband.data.scenes import Photographs, Scene
from passband.kinds.ct import CTKind
from passband.kinds.ct_options import CTOptions
from passband.kinds.image import ImageKind
from passband.kinds.mri import MriKind
from passband.kinds.mri_options import MriOptions
from passband.kinds.nerf import NerfKind
from passband.kinds.options import (
    ImageOptions,
    NerfOptions,
    SignalOptions,
)
from passband.kinds.signal import SignalKind
from passband.words import parse_mapping


def image(folder):
    noise = np.random.default_rng(0).integers(0, 255, (512, 512, 3))
    Image.fromarray(noise.astype(np.uint8)).save(folder / "a.png")
    return ImageKind.read(ImageOptions(file=str(folder / "a.png")))


def signal(folder):
    sound = np.arange(220_500, dtype=np.int16)
    wavfile.write(folder / "a.wav", 44_100, sound)
    return SignalKind.read(SignalOptions(file=str(folder / "a.wav")))


def ct(folder):
    np.save(folder / "a.npy", np.ones((20, 200), np.float32))
    options = CTOptions(file=str(folder / "a.npy"), angles="0:180:20")
    return CTKind.read(options)


def mri(folder):
    volume = np.random.default_rng(0).random((48, 48, 48)).astype(np.float32)
    np.save(folder / "a.npy", volume)
    return MriKind.read(MriOptions(simulate=str(folder / "a.npy")))


def scene_of(train: int, test: int) -> Scene:
    """Views of noise from cameras on a circle, the test views between the others."""

    def views(count: int, shift: float) -> Photographs:
        angle = 2 * np.pi * (np.arange(count) + shift) / count
        poses = np.tile(np.eye(3, 4), (count, 1, 1))
        poses[:, :, 3] = 4 * np.stack(
            [np.cos(angle), np.sin(angle), np.zeros(count)], axis=1
        )
        pixels = np.random.default_rng(count).integers(0, 255, (count, 100, 100, 3))
        lens = np.tile([100.0, 100, 49.5, 49.5], (count, 1))
        names = tuple(map(str, range(count)))
        return Photographs(pixels.astype(np.uint8), poses, lens, names)

    space = Space(2.0, 6.0, np.zeros(3), 2.0)
    return Scene("toy", views(train, 0), None, views(test, 0.3), space, "black", (), ())


def nerf(folder):
    del folder
    return NerfKind(NerfOptions(file="toy"), "toy", scene_of(20, 4), 48)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="a CPU's choice")
@pytest.mark.parametrize(
    ("read", "steps", "batch"),
    [
        (image, 2000, 3947),
        (signal, 2000, 3955),
        (ct, 1000, 7984),
        (mri, 1296, 8192),  # of points drawn from the whole volume (`kinds.descent`)
        (nerf, 15497, 64),
    ],
)
def test_steps_leave_the_batch_alone(read, steps, batch, tmp_path):
    kind = read(tmp_path)
    mapping = parse_mapping("gaussian:5,m=128")
    asked = dataclasses.replace(kind.options)
    default = kind.training(asked, mapping)
    assert (default.steps, default.batch) == (steps, batch)
    for few in (1, steps // 5, 10 * steps):
        short = kind.training(dataclasses.replace(asked, steps=few), mapping)
        assert (short.steps, short.batch) == (few, batch)


def test_few_test_views_stand_for_all_by_their_distance_to_a_photograph(monkeypatch):
    """Every tenth view of Lego has 22.4 dB where the nearest photograph is shown, those
    taken now 17.1, and all fifty 18.2."""
    kind = NerfKind(NerfOptions(file="toy"), "toy", scene_of(7, 50), 48)
    monkeypatch.setattr("passband.kinds.nerf.CPU_MOST_PIXELS", 5 * 100 * 100)
    monkeypatch.setattr("passband.kinds.nerf.MOST_PIXELS", 5 * 100 * 100)
    scored, count = kind._scored()
    assert scored is not None and (len(scored.names), count) == (5, 50)
    test, train = kind.scene.test, kind.scene.train
    assert test is not None

    def far(views: Photographs) -> np.ndarray:
        between = views.poses[:, None, :, 3] - train.poses[None, :, :, 3]
        return np.sort(np.linalg.norm(between, axis=2).min(axis=1))

    assert far(scored).tolist() == far(test)[[5, 15, 25, 35, 45]].tolist()


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="a CPU's choice")
def test_a_scene_of_a_cpu_has_a_network_of_its_own_but_by_the_papers_recipe(tmp_path):
    """Smaller, for more steps; where more is asked of a step, fewer are taken."""
    kind = nerf(tmp_path)

    def sizes(**options) -> tuple:
        asked = dataclasses.replace(kind.options, **options)
        own = dataclasses.replace(kind, options=asked)
        word = own.default_mapping().replace("auto", "5")
        found = own.training(asked, parse_mapping(word))
        return word, found.width, found.steps, found.batch, found.skip_empty

    assert sizes() == ("gaussian:5,m=96", 96, 18095, 64, True)
    assert sizes(recipe="paper") == ("gaussian:5", 256, 1200, 125, False)
    *_, steps, batch, skips = sizes(width=256, members=2)
    assert (steps, batch, skips) == (3520, 64, False)
    assert sizes(optimiser="adam")[1:4] == sizes()[1:4]
