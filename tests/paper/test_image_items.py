"""What the image items share, and a small run of each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.cli.main import main
from passband.data.standins import standin_images
from passband.domain import grid_coords
from passband.paper import published, registry
from passband.paper.fig6 import SETTINGS as FIG6_SETTINGS
from passband.paper.fig6 import features_needed
from passband.paper.fig10 import SCALES, _claims
from passband.paper.fig15 import detailed_square
from passband.paper.image_study import (
    FULL_CURVES,
    STEPS,
    picture_tasks,
    scaled_word,
    train_runs,
)
from passband.paper.item import Item, Number, Outcome, Preset
from passband.paper.packed_pictures import packed, unpacked
from passband.paper.sweeps import Curve, near_the_best
from passband.paper.training import Run, chunk_length, draw_fields
from passband.plot.style import new_figure
from passband.train.work import counted


def test_scores_are_those_of_the_task():
    pictures = standin_images("natural", 2, 32)
    runs = [Run(1, "gaussian:2,m=8"), Run(0, "gaussian:1,m=8", lr=1e-2)]
    trained = train_runs(pictures, runs, steps=12, width=16)
    tasks = picture_tasks(pictures)
    for k, run in enumerate(runs):
        found = tasks[run.signal].metrics(trained.fields[k])
        ours = trained.test[k], trained.train[k], trained.all[k]
        names = "psnr_test", "psnr_train", "psnr"
        assert ours == pytest.approx([found[name] for name in names], abs=1e-3)


@pytest.mark.parametrize("word", ["gaussian:10,m=256", "positional:6,m=256"])
def test_table3s_features_are_those_of_2020_in_their_order(word: str):
    """Protocol 1.2 and 1.3 in float64: x is the column, sines stand before cosines; for
    positional, all of x before all of y."""
    [field] = draw_fields([Run(0, word)], d=2, out=3, width=8, output="sigmoid")
    if word.startswith("gaussian"):
        with jax.threefry_partitionable(False):
            B = 10 * np.asarray(jax.random.normal(jax.random.PRNGKey(10), (256, 2)))
    else:
        f = 2.0 ** np.linspace(0, 6, 128) - 1
        B = np.concatenate([np.outer(f, [1, 0]), np.outer(f, [0, 1])])
    row, column = np.divmod(np.array([5, 3 * 512 + 7, 511 * 512 + 510]), 512)
    phase = 2 * np.pi * np.stack([column, row], -1) / 512 @ B.T.astype(float)
    coords = grid_coords(jnp.asarray(512 * row + column), (512, 512))
    ours = jax.vmap(field.encoding)(coords)
    expected = np.concatenate([np.sin(phase), np.cos(phase)], -1)
    # What is left is the frequencies' own rounding to float32, over 400 radians.
    np.testing.assert_allclose(ours, expected, atol=5e-5)


def test_one_key_of_2020_gives_frequencies_and_weights():
    runs = [Run(0, "gaussian:10"), Run(1, "gaussian:10")]
    one, other = draw_fields(runs, d=2, out=3, width=256, output="sigmoid")
    # Protocol 16 and 0.10.
    first = np.asarray(one.encoding.frequencies)[0]  # type: ignore[attr-defined]
    assert first == pytest.approx([-5.4172, -10.4791], abs=1e-4)
    weights = np.asarray(one.mlp.weights[0])[0, :3]
    assert weights == pytest.approx([-0.06890, 0.06145, 0.05388], abs=1e-5)
    assert one is other


@pytest.mark.parametrize("steps", [STEPS, 976, 10_001, 300, 40, 101])
def test_chunks_divide_the_steps(steps: int):
    length = chunk_length(steps)
    assert steps % length == 0 and (length % 4 == 0 or steps % 4)
    assert 100 <= length <= 250 or steps < 100


def test_smaller_pictures_take_their_share_of_a_scale():
    assert scaled_word("gaussian", 10) == "gaussian:10,m=256"
    assert scaled_word("gaussian", 10, m=8, side=128) == "gaussian:2.5,m=8"
    # A quarter of the side is two octaves less.
    assert scaled_word("positional", 6, side=128) == "positional:4,m=256"


def test_features_needed_is_linear_in_log_m():
    m = np.asarray([8, 16, 32, 64])
    means = 20 + np.log2(m)
    for wanted in (8, 12.5, 40, 64):
        level = 20 + np.log2(wanted)
        assert features_needed(m, means, level) == pytest.approx(wanted)
    assert features_needed(m, means, 30) == float("inf")


def test_the_best_scale_comes_with_those_as_good():
    scales, means = np.asarray([1.0, 2, 4, 8]), np.asarray([20.0, 24.9, 25.0, 24.7])
    claim = near_the_best(0.2, as_good=True)
    found = claim(Curve("it", scales, means[:, None], 8.0), Preset.FULL)
    assert found.verdict == "differs"
    assert found.detail == "8 is 0.30 dB below 4; 2 to 4 are as good"
    near = claim(Curve("it", scales, means[:, None], 3.0), Preset.FULL)
    assert near.verdict == "reproduced"


def test_the_sweep_is_the_issues_size():
    sizes = [(count, len(scales)) for count, scales in FULL_CURVES.values()]
    assert sizes == [(16, 16), *[(8, 8)] * 3]


def test_a_second_rise_is_no_single_best_scale():
    arch = 25 - np.abs(np.arange(len(SCALES)) - 4.0)
    train = arch + 2.0 ** np.arange(len(SCALES))
    assert {c.verdict for c in _claims(arch, train, Preset.SMALL)} == {"reproduced"}
    arch[-1] = 24.5
    verdicts = [c.verdict for c in _claims(arch, train, Preset.SMALL)]
    assert verdicts == ["differs", *["reproduced"] * 3]


def test_the_detailed_square_is_where_the_detail_is():
    picture = np.full((40, 50, 3), 90, np.uint8)
    picture[20:30:2, 33:43] = 200
    rows, columns = detailed_square(picture, 14)
    assert rows.stop - rows.start == columns.stop - columns.start == 14
    assert rows.start <= 20 and rows.stop >= 29
    assert columns.start <= 33 and columns.stop >= 43


def test_packed_pictures_come_back():
    picture = standin_images("natural", 1, 64)[0]
    error = unpacked(packed(picture)).astype(float) - picture
    assert np.sqrt(np.mean(error**2)) < 6
    assert len(packed(picture)) < picture.size / 2


@pytest.mark.parametrize(
    ("id", "numbers", "panels"),
    [
        ("table3-sweep", 4 + 2 * 4, 4),
        ("fig6", len(published.FIG6), 1),
        ("fig10", 2 * len(SCALES), 6),
    ],
)
def test_a_small_run_of_every_line(id: str, numbers: int, panels: int):
    item = registry.get_item(id)
    outcome = item.run(Preset.SMOKE, lambda text: None)
    assert len(outcome.numbers) == numbers
    finite = [n.ours for n in outcome.numbers if n.ours is not None]
    assert finite and np.isfinite(finite).all()
    assert outcome.verdict != "differs"
    assert len(item.draw(outcome)[id].axes) == panels


def test_fig6_has_every_reading():
    full = FIG6_SETTINGS[Preset.FULL]
    cells = {(f"{d}", f"{m}") for d in full.depths for m in full.features}
    assert cells == set(published.FIG6)


def test_an_item_reports_its_companions(monkeypatch, tmp_path, capsys):
    class Fake(Item):
        section, title = "9", "made up"

        def __init__(self, id: str, *companions: str):
            self.id, self.companions = id, companions

        def run(self, preset, progress):
            return Outcome((Number("best scale", 10, 9.5), Number("other", None, 3)))

        def draw(self, outcome):
            return {self.id: new_figure(1, 1)}

    more = Fake("table9-more")
    items = {"table9": Fake("table9", more.id), more.id: more}
    monkeypatch.setattr(registry, "get_item", items.__getitem__)
    options = ["--preset", "smoke", "--out", str(tmp_path)]
    assert main(["paper", "run", "table9", *options]) == 0
    said = capsys.readouterr().out
    assert "not run: `passband paper run table9-more --preset smoke`" in said
    assert main(["paper", "run", "table9-more", *options]) == 0
    capsys.readouterr()
    assert main(["paper", "draw", "table9", *options]) == 0
    _, _, beside = capsys.readouterr().out.partition("table9-more  made up")
    assert "best scale" in beside and "other" not in beside


def test_a_network_is_trained_once_in_a_process():
    pictures = np.random.default_rng(7).integers(0, 256, (2, 16, 16, 3), np.uint8)
    runs = [Run(0, "gaussian:2,m=8"), Run(1, "gaussian:2,m=8"), Run(0, "none")]
    first = train_runs(pictures, runs, steps=8, width=16)
    before = counted()
    known = [Run(1, "gaussian:2.0,m=8")]
    again = train_runs(pictures[::-1], known, steps=8, width=16)
    assert counted() == before and again.fields[0] is first.fields[0]
    assert again.test[0] == first.test[0] != first.test[1]
    for other in (Run(0, "none", lr=2e-3), Run(0, "none", key=11), Run(1, "none")):
        before = counted()
        train_runs(pictures, [other], steps=8, width=16)
        assert counted() > before, other
    before = counted()
    train_runs(pictures, runs[:1], steps=9, width=16)
    assert counted() - before == 9 * 64 * (6 * (3 * 256 + 48) - 2 * 256)


def test_fig6_takes_what_rounding_does_for_no_fall():
    """On the flat end of a curve; a fall beyond it is one."""
    item, full = registry.get_item("fig6"), FIG6_SETTINGS[Preset.FULL]
    rise = np.arange(len(full.features)) + 10 * np.arange(len(full.depths))[:, None]

    def verdict(last: float) -> str:
        psnr = np.repeat(rise[:, :, None].astype(float), full.images, axis=2)
        psnr[-1, -1] = psnr[-1, -2] + last
        outcome = Outcome((), (), {"psnr": psnr})
        claims = item.judged(outcome, Preset.FULL)
        assert claims is not None
        [found] = (c for c in claims if "more features" in c.claim)
        return found.verdict

    assert verdict(0.1) == verdict(-0.1) == "reproduced"
    assert verdict(-0.2) == "differs"
