"""k-space of a model: what was held out, or never measured, can be scored by anyone."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from nibabel.loadsave import load

import passband as pb
from passband.cli.main import main
from passband.data.volumes import head_phantom
from passband.errors import InputError
from passband.kinds.fit import fit, model_facts
from passband.kinds.mri import MriKind
from passband.kinds.mri_measurement import measurement
from passband.kinds.mri_options import MriOptions
from passband.model import Model

SIDES = (20, 18)
TINY = {"steps": 3, "layers": 2, "width": 8, "mapping": "gaussian:2,m=8"}


def scan() -> tuple[np.ndarray, np.ndarray]:
    """Centred k-space of three coils, and their images."""
    y, x = np.meshgrid(*[np.linspace(-1, 1, n) for n in SIDES], indexing="ij")
    maps = np.stack([np.exp(a * x + b * y + 1j * b * x) for a, b in
                     ((1, 0), (-1, 0.5), (0, -1))])  # fmt: skip
    images = 70 * maps * head_phantom(20, dims=2)[: SIDES[0], : SIDES[1]]
    axes = (1, 2)
    shifted = np.fft.fftn(np.fft.ifftshift(images, axes), axes=axes)
    return np.fft.fftshift(shifted, axes).astype(np.complex64), images


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a model of k-space without the factor 1/sqrt(N), every third line
    of it outside a centre."""
    folder = tmp_path_factory.mktemp("measured")
    samples, _ = scan()
    mask = np.zeros(SIDES, bool)
    mask[::3], mask[5:15, 4:14] = True, True
    np.save(folder / "k.npy", samples)
    np.save(folder / "mask.npy", mask)
    options = MriOptions(
        file=str(folder / "k.npy"), axes="cxy", mask=str(folder / "mask.npy"),
        norm="none", truth="rss", holdout=0.1, spacing="2,3", **TINY,
    )  # fmt: skip
    kind = dataclasses.replace(MriKind.read(options), beside=False)
    fitted = fit(kind, options)
    facts = model_facts(fitted.result, fitted.evaluation)
    Model(fitted.field, facts).save(folder / "model.safetensors")
    return folder


def test_anyone_scores_what_was_held_out(run):
    """The two errors of the fit together are the error of all that was measured."""
    samples, mask = np.load(run / "k.npy"), np.load(run / "mask.npy")
    out = run / "again.npy"
    words = ["render", str(run), "--what", "measurements", "--out", str(out)]
    assert main([*words, "--quiet"]) == 0
    seen = np.load(out)
    assert seen.shape == samples.shape and seen.dtype == np.complex64
    np.testing.assert_array_equal(seen, pb.load(run).measure())
    off, there = (np.linalg.norm(x[:, mask]) for x in (seen - samples, samples))
    found = pb.load(run).metrics
    errors = sorted([found["error_train"], found["error_test"]])
    assert errors[0] <= off / there <= errors[1]
    # Nearly all of the power is in the centre, which trains.
    assert off / there == pytest.approx(found["error_train"], rel=0.02)


def test_k_space_is_that_of_the_image_through_the_maps(run):
    model = pb.load(run)
    image = model.render()
    maps = model.about["maps"][..., 0] + 1j * model.about["maps"][..., 1]
    np.testing.assert_allclose(np.linalg.norm(maps, axis=0), 1, rtol=1e-4)
    axes = (1, 2)
    shifted = np.fft.fftn(np.fft.ifftshift(maps * image, axes), axes=axes)
    want = np.fft.fftshift(shifted, axes)
    top = np.abs(want).max()
    np.testing.assert_allclose(model.measure(), want, atol=1e-4 * top)
    with pytest.raises(InputError, match="`angles` are those of a CT scan"):
        model.measure(angles=[0.0])


def test_an_image_goes_to_nifti_with_its_pixels(run, capfd):
    out = run / "slice.nii.gz"
    assert main(["render", str(run), "--out", str(out), "--quiet"]) == 0
    image: Any = load(out)
    assert image.shape == (*SIDES, 1)
    assert np.allclose(np.diag(image.affine), [2, 3, 1, 1])
    np.testing.assert_allclose(
        np.asarray(image.dataobj)[..., 0], np.abs(pb.load(run).render()), rtol=1e-5
    )
    assert main(["info", str(run), "--json"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert said["maps"] == [3, *SIDES, 2]


def test_the_truth_of_rss_is_the_length_of_all_coils(run):
    samples, images = scan()
    del samples
    words: dict[str, Any] = {"axes": "cxy", "norm": "none", "truth": "rss"}
    found = measurement(MriOptions(file=str(run / "k.npy"), **words)).truth
    want = np.linalg.norm(images, axis=0)
    assert found is not None
    np.testing.assert_allclose(found, want, rtol=1e-3, atol=1e-2)
    part = run / "part.npy"
    np.save(part, np.load(run / "k.npy") * np.load(run / "mask.npy"))
    with pytest.raises(InputError, match="needs all of k-space, and the fil"):
        measurement(MriOptions(file=str(part), **words))
