"""Which fits behind an instrument are split, and what that changes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from skimage.data import camera
from skimage.transform import resize

from passband.data.phantoms import paper_phantoms
from passband.errors import InputError
from passband.forward.radon import radon
from passband.kinds.ct import CTKind
from passband.kinds.ct_options import CTOptions
from passband.kinds.fit import fit
from passband.kinds.measured import measured
from passband.kinds.mri import MriKind
from passband.kinds.mri_options import MriOptions
from passband.kinds.resume import resumed_options
from passband.kinds.session import Collapse
from passband.tuning.prior import _smooth, climb
from passband.words import parse_mapping

SIDE, ANGLES = 48, np.arange(0, 180, 9.0)
MAPPING = parse_mapping("gaussian:4,m=32")
SMALL = {"mapping": "gaussian:4,m=32", "width": 32, "steps": 120}


def scan() -> np.ndarray:
    forward = radon(ANGLES, SIDE, pixel=1 / SIDE)
    return SIDE * np.asarray(forward(jnp.asarray(paper_phantoms(SIDE, 1)[0])))


@pytest.fixture
def ct(tmp_path):
    np.save(tmp_path / "scan.npy", scan())

    def read(**options) -> CTKind:
        file = str(tmp_path / "scan.npy")
        asked = CTOptions(file=file, angles="0:180:20", **(SMALL | options))
        return dataclasses.replace(CTKind.read(asked), beside=False)

    return read


@pytest.fixture
def mri(tmp_path):
    np.save(tmp_path / "volume.npy", paper_phantoms(SIDE, 1)[0].astype(np.float32))

    def read(**options) -> MriKind:
        file = str(tmp_path / "volume.npy")
        asked = MriOptions(simulate=file, fraction=0.4, **(SMALL | options))
        return dataclasses.replace(MriKind.read(asked), beside=False)

    return read


@pytest.mark.parametrize("kind", ["ct", "mri"])
def test_steps_of_fewer_points_than_the_grid_are_split(kind, request):
    read = request.getfixturevalue(kind)

    def how(**options) -> str:
        kind = read(**options)
        return kind.training(kind.options, MAPPING).descent

    assert how() == "direct"  # all of so small a grid has room in a step
    assert how(batch=300) == "split"
    assert how(batch=300, recipe="paper") == "direct"
    assert how(batch=300, descent="direct") == "direct"
    assert how(descent="split") == "split"


def test_a_volume_of_a_cpu_is_split_where_it_has_no_time_for_all_of_it(tmp_path):
    """Steps, points and width follow from what was decided, whatever else was asked."""
    np.save(tmp_path / "volume.npy", np.random.default_rng(0).random((45, 45, 45)))

    def how(**options) -> tuple:
        asked = MriOptions(simulate=str(tmp_path / "volume.npy"), **options)
        kind = MriKind.read(asked)
        word = asked.mapping or kind.default_mapping().replace("auto", "5")
        found = kind.training(asked, parse_mapping(word))
        return found.descent, found.batch, found.width, "m=128" in word

    assert how() == ("direct", 45**3, 128, True)
    large = ("split", 8192, 256, False)
    assert how(width=256) == large
    assert how(width=256, descent="split") == large
    assert how(mapping="gaussian:5,m=512")[:2] == ("split", 8192)
    assert how(layers=12)[:2] == ("split", 8192)
    assert how(width=256, recipe="paper")[0] == "direct"


def test_more_points_never_make_a_slice_coarser(tmp_path):
    """From many views a CPU has no time to split a fine grid: steps are direct then."""
    np.save(tmp_path / "slice.npy", np.zeros((512, 512), np.float32) + paper_512())

    def grid(**options) -> tuple[str, int]:
        asked = CTOptions(simulate=str(tmp_path / "slice.npy"), views=180, **options)
        kind = CTKind.read(asked)
        training = kind.training(asked, MAPPING)
        return training.descent, kind.task(training).forward.input_shape[0]

    assert grid() == ("direct", 88)
    assert grid(batch=2000) == ("split", 86)
    assert grid(batch=50_000) == ("direct", 223)
    assert grid(batch=50_000, descent="split") == ("split", 223)


def paper_512() -> np.ndarray:
    return np.kron(paper_phantoms(64, 1)[0], np.ones((8, 8), np.float32))


@pytest.mark.parametrize("kind", ["ct", "mri"])
def test_a_split_fit_that_dies_is_noticed(kind, request):
    data = request.getfixturevalue(kind)(
        batch=300, descent="split", recipe="paper", lr=300.0, prior="none"
    )
    with pytest.raises(Collapse, match="at an end of its output"):
        fit(data, data.options)


@pytest.mark.parametrize("kind", ["ct", "mri"])
def test_a_split_fit_learns_from_the_whole_grid_by_few_points(kind, request):
    """Direct steps of as many points see a grid as coarse, and end far below."""
    read, found = request.getfixturevalue(kind), {}
    for descent in ("split", "direct"):
        data = read(batch=300, steps=300, descent=descent, truth=None)
        training = data.training(data.options, MAPPING)
        task = data.task(training)
        grid = task.forward.input_shape
        assert (grid == (SIDE, SIDE)) == (descent == "split")
        assert task.step_points <= 300
        remark = " ".join(data.remarks(task))
        assert ("48 x 48" in remark and "300 points" in remark) == (descent == "split")
        fitted = fit(data, data.options)
        found[descent] = fitted.evaluation.metrics["error_test"]
        assert ("grid" in fitted.result) == (descent == "direct")
    assert found["split"] < 0.7 * found["direct"]


def test_runs_of_before_go_on_as_they_began(ct):
    kind = ct(batch=300)
    fitted = fit(kind, kind.options)
    assert fitted.config["descent"] == "split"
    config = {k: v for k, v in fitted.config.items() if k != "descent"}
    old = resumed_options(CTOptions(), (), config, "ct")
    assert old.descent == "direct"
    with pytest.raises(InputError, match=r"`descent` .*disagrees with the run"):
        resumed_options(CTOptions(descent="split"), ("descent",), config, "ct")


def test_several_rows_are_not_split(tmp_path):
    rows = np.stack([scan(), scan(), scan()], axis=1)
    np.save(tmp_path / "rows.npy", rows)
    asked = CTOptions(
        file=str(tmp_path / "rows.npy"), angles="0:180:20", rows="all", **SMALL
    )
    kind = CTKind.read(asked)
    small = dataclasses.replace(asked, batch=500)
    assert kind.training(small, MAPPING).descent == "direct"
    with pytest.raises(InputError, match=r"`descent` .*several rows"):
        kind.training(dataclasses.replace(asked, descent="split"), MAPPING)


def test_an_operator_of_ones_own_is_split_where_that_is_asked_for():
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(80, 144)), paper_phantoms(12, 1)[0]
    given = SMALL | {"steps": 200, "batch": 40, "holdout": 0.0}
    data = measured(A, A @ x.ravel(), (12, 12), low=0.0, high=1.0, **given)
    assert data.training(data.options, MAPPING).descent == "direct"
    data = measured(
        A, A @ x.ravel(), (12, 12), low=0.0, high=1.0, descent="split", **given
    )
    task = data.task(data.training(data.options, MAPPING))
    assert task.splitting is not None and task.step_points == 40
    fitted = fit(dataclasses.replace(data, beside=False), data.options)
    assert fitted.evaluation.metrics["error_train"] < 0.1


def test_members_learn_one_picture(ct):
    kind = ct(batch=300, members=2, descent="split")
    fitted = fit(kind, kind.options)
    assert fitted.evaluation.spread is not None
    assert np.isfinite(jax.tree.leaves(fitted.field)[0]).all()
    assert fitted.evaluation.metrics["error_test"] < 0.3


def test_the_first_weight_of_a_prior_is_judged_when_it_is_through(tmp_path):
    """And not by how far it has come, where the others go on from it."""
    y, x = np.mgrid[-1:1:64j, -1:1:64j]
    picture = resize(camera() / 255.0, (64, 64), anti_aliasing=True)
    np.save(tmp_path / "a.npy", picture * (x**2 + y**2 < 0.8))
    file = str(tmp_path / "a.npy")
    asked = CTOptions(simulate=file, batch=300, descent="split", **SMALL)
    kind = CTKind.read(asked)
    task, start = kind.task(kind.training(asked, MAPPING)), 2e-5
    weight, errors = climb(task, start)
    assert weight == start and errors[start] == min(errors.values())

    split, prior = task.splitting, task.with_prior(start).prior
    assert split is not None
    grey = jnp.full(task.forward.input_shape, 0.5, jnp.float32)

    def error(times: int) -> float:
        return task.held_out_error(_smooth(task, prior, grey, times * split.iterations))

    assert error(4) > 1.1 * error(60)  # 200 iterations are too few
    assert errors[start] < 1.02 * error(60)
