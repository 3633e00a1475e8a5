"""Sensitivities of coils from k-space, against SigPy's and against the true ones."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import sigpy.mri.app

from passband.data.masks import uniform_mask
from passband.data.volumes import head_phantom
from passband.errors import InputError
from passband.forward.kspace import KSpace, to_centred
from passband.reconstruct.baselines import (
    recipes,
    sense,
    zero_filled,
)
from passband.reconstruct.coil_maps import calibration_box, espirit, in_box
from passband.reconstruct.learned_maps import learned_maps
from passband.tasks.mri import MriTask
from passband.tasks.primal_dual import gradient

SIDE = 40


def coils(sides: tuple[int, ...]) -> np.ndarray:
    """Smooth maps that hear best from four sides, of unit length at every place."""
    axes = np.meshgrid(*[np.linspace(-1, 1, n) for n in sides], indexing="ij")
    x, y, *_ = axes
    maps = np.stack([
        np.exp(a * x + b * y) * np.exp(1j * (b * x - a * y + c * axes[-1]))
        for a, b, c in ((1, 0, 0.3), (-1, 0, 0), (0, 1, 0), (0, -1, -0.3))
    ])  # fmt: skip
    return (maps / np.linalg.norm(maps, axis=0)).astype(np.complex64)


def measured(sides: tuple[int, ...], fraction: float):
    """A head with a phase, its maps, samples and mask; frequency 0 at index 0."""
    head = head_phantom(max(sides), dims=len(sides))[tuple(map(slice, sides))]
    rows = np.linspace(-1, 1, sides[0]).reshape(-1, *[1] * (len(sides) - 1))
    image = (head * np.exp(1j * rows)).astype(np.complex64)
    maps, mask = coils(sides), uniform_mask(sides, fraction, centre=0.5)
    axes = tuple(range(1, len(sides) + 1))
    samples = np.fft.fftn(maps * image, axes=axes, norm="ortho")
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(2, *samples.shape)) * 1e-3
    return image, maps, np.where(mask, samples + noise[0] + 1j * noise[1], 0), mask


def agreement(one: np.ndarray, two: np.ndarray, where: np.ndarray) -> np.ndarray:
    """|<s, s'>| of unit vectors over the coils: 1 where they differ by a phase."""
    return np.abs(np.sum(one.conj() * two, axis=0))[where]


def test_espirit_is_sigpys():
    image, _, samples, mask = measured((SIDE, SIDE - 4), 0.4)
    widths = calibration_box(np.fft.fftshift(mask))
    assert widths == (20, 18)
    box = np.fft.ifftshift(in_box(mask.shape, (18, 18)))  # SigPy's is a square
    ours = espirit(samples, box, kernel=5)
    theirs: Any = sigpy.mri.app.EspiritCalib(
        to_centred(samples, mask.shape), calib_width=18, thresh=0.02,
        kernel_width=5, crop=0.9, max_iter=80, show_pbar=False,
    ).run()  # fmt: skip
    inside = (np.linalg.norm(theirs, axis=0) > 0.5) & (np.abs(image) > 0.05)
    assert inside.mean() > 0.3
    # At a few places two maps fit nearly as well, and theirs has not settled.
    assert np.quantile(agreement(ours.maps, theirs, inside), 0.02) > 0.9999


@pytest.mark.parametrize("sides", [(SIDE, SIDE - 4), (18, 17, 16)])
def test_maps_are_those_that_measured(sides):
    image, maps, samples, mask = measured(sides, 0.4)
    found = espirit(samples, mask, kernel=4)
    inside = np.abs(image) > 0.05
    assert np.quantile(agreement(found.maps, maps, inside), 0.01) > 0.97
    np.testing.assert_allclose(np.linalg.norm(found.maps, axis=0), 1, rtol=1e-4)
    # Where nothing is heard the patches contain nothing of any map.
    assert found.certainty[inside].mean() > found.certainty[~inside].mean()


def test_maps_are_learned_without_a_whole_centre():
    image, maps, samples, mask = measured((SIDE, SIDE - 4), 0.4)
    mask = mask & (np.random.default_rng(1).random(mask.shape) < 0.8)
    mask[0, 0] = True
    with pytest.raises(InputError, match="`sens=learn`"):
        espirit(samples, mask)
    found = learned_maps(samples, mask)
    inside = np.abs(image) > 0.05
    assert np.quantile(agreement(found.maps, maps, inside), 0.02) > 0.98
    few = learned_maps(samples, mask, rounds=1)
    assert np.mean(agreement(few.maps, maps, inside)) < np.mean(
        agreement(found.maps, maps, inside)
    )


def test_the_box_is_the_largest_whole_one():
    mask = in_box((12, 9), (4, 3))
    assert calibration_box(mask) == (4, 3) and mask[6, 4] and mask.sum() == 12
    assert calibration_box(np.ones((12, 9), bool), widest=7) == (7, 7)
    mask[6, 4] = False
    assert calibration_box(mask) == (1, 1)


def test_sense_sees_what_zero_filling_folds():
    """Every second line of several coils' k-space folds the image; SENSE unfolds it."""
    image, maps, samples, mask = measured((24, 20), 1.0)
    every = np.zeros_like(mask)
    every[::2] = True
    held = every & (np.random.default_rng(2).random(mask.shape) < 0.05)
    held[:3, :3] = False
    forward = KSpace(jnp.asarray(every & ~held), jnp.asarray(maps), pair=True)
    task = MriTask(forward, jnp.asarray(samples, jnp.complex64), jnp.asarray(held))
    pair = np.stack([image.real, image.imag], axis=-1)

    def off(values: np.ndarray) -> float:
        return float(np.linalg.norm(values - pair) / np.linalg.norm(pair))

    assert list(recipes(task)) == [
        "zero-filled", "SENSE", "total variation", "free grid",
    ]  # fmt: skip
    assert off(zero_filled(task)) > 0.2
    assert off(sense(task, iterations=12)) < 0.06


def test_total_variation_of_a_complex_image_turns_with_its_phase():
    """A factor of unit length before the measurements is one before the image."""
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(2, 6, 5))
    pair = jnp.stack([jnp.asarray(part, jnp.float32) for part in parts], axis=-1)
    image = parts[0] + 1j * parts[1]
    length = [
        float(jnp.sum(jnp.sqrt(jnp.sum(gradient(x, 2) ** 2, axis=(0, -1)))))
        for x in (pair, jnp.stack([-pair[..., 1], pair[..., 0]], axis=-1))
    ]
    rows = np.diff(image, axis=0, append=image[-1:])
    columns = np.diff(image, axis=1, append=image[:, -1:])
    want = np.sum(np.sqrt(np.abs(rows) ** 2 + np.abs(columns) ** 2))
    assert length == pytest.approx([want, want], rel=1e-5)
