"""From a scanner's file to a sinogram in the user's units, and back from a model."""

import json
from typing import Any

import h5py
import jax
import numpy as np
import pytest
from skimage.transform import radon as skimage_radon

from passband.data.ct_geometry import settle
from passband.data.sinograms import Sinogram
from passband.errors import InputError
from passband.field import make_field
from passband.kinds.ct import CTKind
from passband.kinds.ct_options import CTOptions
from passband.kinds.ct_scan import asked_geometry, measure, with_axis
from passband.kinds.render_options import RenderOptions
from passband.model import Model

SIDE, ANGLES = 48, np.linspace(0, 180, 25)


def density() -> np.ndarray:
    """Per pixel, of a disc off the middle in a larger one."""
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE // 2
    return 0.02 * (np.hypot(x, y) < 19) + 0.03 * (np.hypot(x - 6, y + 4) < 7)


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """A Data Exchange file of two rows whose axis is at column 20.5, not 24."""
    path = tmp_path_factory.mktemp("scan") / "disc.h5"
    whole = skimage_radon(density(), theta=ANGLES, circle=True).T
    at = np.arange(SIDE) + 3.5
    lines = np.stack([np.interp(at, np.arange(SIDE), row) for row in whole])
    gain = np.linspace(900, 1100, SIDE)
    with h5py.File(path, "w") as file:
        file["exchange/data"] = np.stack(
            [5 + gain * np.exp(-lines), 5 + 0 * lines + gain], 1
        )
        file["exchange/data_white"] = np.broadcast_to(5 + gain, (3, 2, SIDE))
        file["exchange/data_dark"] = np.full((3, 2, SIDE), 5.0)
        file["exchange/theta"] = ANGLES
    return path, lines


def test_counts_come_out_as_lines_with_their_axis_found(counts):
    path, lines = counts
    found = measure(CTOptions(file=str(path), rows=0), path)
    np.testing.assert_allclose(found.data.values, lines, atol=1e-3)
    assert found.data.geometry is not None
    assert found.data.geometry.axis == pytest.approx(20.5, abs=0.15)
    assert any("found by opposite views" in note for note in found.notes)
    assert found.data.weights is None
    weighed = measure(CTOptions(file=str(path), rows=0, weights="counts"), path)
    assert weighed.data.weights is not None
    assert weighed.data.weights.shape == lines.shape


def test_an_axis_of_the_users_is_kept(counts):
    path, _ = counts
    given: dict[str, Any]
    for given in ({"axis": 20.0}, {"offset": -4.0}):
        found = measure(CTOptions(file=str(path), rows=0, **given), path)
        assert found.data.geometry is not None and found.data.geometry.axis == 20.0


def test_a_wrong_axis_is_noticed():
    """Of 64 columns or more, which tell."""
    angles = np.linspace(0, 180, 25)
    y, x = np.mgrid[:72, :72] - 36
    disc = 0.02 * (np.hypot(x - 5, y) < 18) + 0.05 * (np.hypot(x + 8, y - 9) < 6)
    lines = skimage_radon(disc, theta=angles, circle=True).T.astype(np.float32)
    data = Sinogram(lines, angles, "disc", geometry=settle({}, 72))
    right, said, warned = with_axis(data, settle({"axis": 36.0}, 72))
    assert right.axis == 36.0 and said == () and warned == ()
    _, _, warned = with_axis(data, settle({"axis": 40.0}, 72))
    assert len(warned) == 1 and "`axis` (=40) looks wrong: with 36" in warned[0]


def test_single_options_go_before_the_geometry_file(tmp_path):
    said = {"source_origin": 410.66, "source_detector": 553.74, "pitch": 0.2,
            "size": 99, "offset": 1.0, "angles": "angles.txt"}  # fmt: skip
    (tmp_path / "g.json").write_text(json.dumps(said))
    (tmp_path / "angles.txt").write_text("0 10 20")
    options = CTOptions(geometry=str(tmp_path / "g.json"), size=128, axis=30.0)
    found = asked_geometry(options)
    assert found["size"] == 128 and found["axis"] == 30.0 and "offset" not in found
    assert found["angles"] == str(tmp_path / "angles.txt")
    assert found["pitch"] == 0.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 2}, "has 2, the first is 0"),
        ({"axis": 1.0, "offset": 1.0}, "say the same"),
        ({"offset": 30.0}, "must be less than half of the 48 bins"),
        ({"axis": 99.0}, "beside the 48 columns"),
        ({"source_origin": 50.0}, "`source_detector` is missing"),
        ({"angles": "0:180:7"}, "gives 7"),
        ({"array": "exchange/nothing"}, "has no `exchange/nothing`"),
    ],
)
def test_what_does_not_go_together_is_one_line(counts, options, message):
    path, _ = counts
    with pytest.raises(InputError, match=message):
        measure(CTOptions(file=str(path), **{"rows": 0, **options}), path)


def test_a_fan_is_simulated_wide_enough(tmp_path):
    np.save(tmp_path / "disc.npy", density().astype(np.float32))
    options = CTOptions(
        simulate=str(tmp_path / "disc.npy"), source_origin=120.0, source_detector=200.0,
        views=6,
    )  # fmt: skip
    found = measure(options, tmp_path / "disc.npy")
    assert found.data.angles[-1] == 300.0  # of a whole turn
    values = found.data.values
    assert values[:, [0, -1]].max() == 0 < values[:, values.shape[1] // 2].min()
    # The chord through the middle of the larger disc, and of the smaller one.
    assert values.max() == pytest.approx(0.02 * 38 + 0.03 * 14, rel=0.1)


def test_a_model_is_measured_as_scikit_image_would():
    """An untrained field, through the scanner that its file describes."""
    field = make_field("gaussian:1", d=2, out=1, output="sigmoid", width=16, layers=2,
                       key=jax.random.key(0))  # fmt: skip
    geometry = settle({"pixel": 0.5, "unit": "mm"}, SIDE)
    about = {"task": "ct", "shape": [SIDE, SIDE, 1], "low": 0.0, "high": 3.0,
             "geometry": geometry.about(), "bins": SIDE,
             "angles": [0.0, 45.0]}  # fmt: skip
    model = Model(field, about)
    degrees = [0.0, 45.0]
    seen = model.measure()
    np.testing.assert_array_equal(seen, model.measure(angles=degrees))
    assert seen.shape == (len(degrees), SIDE)
    shown = model.render()[..., 0]
    theirs = 0.5 * skimage_radon(shown, theta=degrees, circle=False).T
    begin = (theirs.shape[1] - SIDE) // 2
    inner = slice(SIDE // 4, -SIDE // 4)
    theirs = theirs[:, begin : begin + SIDE][:, inner]
    assert np.abs(seen[:, inner] - theirs).max() < 0.05 * theirs.max()
    assert "per mm" in CTKind.units(field, about).values


def test_only_instruments_measure():
    field = make_field("none", d=2, out=1, width=4, layers=2, key=jax.random.key(0))
    about = {"task": "image", "shape": [4, 4, 1], "low": 0.0, "high": 1.0}
    with pytest.raises(InputError, match="was measured by no instrument"):
        Model(field, about).measure()
    with pytest.raises(InputError, match="goes with `what=measurements`"):
        Model(field, about).render(angles="0:180:2")
    assert RenderOptions().what is None
