"""Many runs in one program: each is what it would have been alone."""

import os
import subprocess
import sys
import threading
from typing import Any

import jax
import numpy as np
import pytest

from passband.data.images import Image
from passband.field import make_field
from passband.ops.mlp import Precision
from passband.tasks.image import image_task
from passband.train import driver, programs
from passband.train.driver import Config, start, train
from passband.train.haste import AUTOTUNE_FLOP, Haste, haste_of
from passband.train.memory import bytes_of_run
from passband.train.optimisers import adam
from passband.train.programs import chunk, program
from passband.train.stack import _cut, stack, together, unstack
from passband.train.work import counted, flop_of

RNG = np.random.default_rng(0)
PICTURES = [
    Image(RNG.integers(0, 256, (16, 16, 3), dtype=np.uint8), 0.0, 255.0, str(k))
    for k in range(3)
]
TASKS = [image_task(p, holdout="quarter") for p in PICTURES]
WORDS = ["gaussian:2,m=32", "gaussian:4,m=32", "gaussian:8,m=32"]
RATES = [1e-3, 2e-3, 5e-3]


def _fields(words=WORDS):
    return [
        make_field(w, d=2, out=3, key=jax.random.key(k), width=32)
        for k, w in enumerate(words)
    ]


KEYS = [jax.random.key(k) for k in range(3)]


def test_runs_are_what_they_are_alone():
    config = Config(steps=60, every=20)
    fields, histories = train(TASKS, _fields(), config, keys=KEYS, lrs=RATES)
    for k in range(3):
        [alone], [history] = train(
            [TASKS[k]], [_fields()[k]], Config(60, RATES[k], 20), keys=[KEYS[k]]
        )
        np.testing.assert_allclose(histories[k]["loss"], history["loss"], rtol=1e-3)
        scores = [TASKS[k].metrics(f)["psnr"] for f in (fields[k], alone)]
        assert abs(scores[0] - scores[1]) < 0.1
        drawn, kept = (jax.tree.leaves(f.encoding) for f in (fields[k], alone))
        for a, b in zip(drawn, kept, strict=True):
            np.testing.assert_array_equal(a, b)


def test_initial_bits_are_equal_and_20_losses_agree():
    states = [
        start(f, Config(lr=r), key=k)
        for f, r, k in zip(_fields(), RATES, KEYS, strict=True)
    ]
    stacked = together(states)
    for k in range(3):
        mine = jax.tree.leaves(states[k].field)
        for a, b in zip(jax.tree.leaves(stacked.field), mine, strict=True):
            np.testing.assert_array_equal(a[k], b)
    task, axes = stack(TASKS)
    many = task, stacked, axes, adam(), 20
    _, losses = program(chunk, *many)(*many)
    for k in range(3):
        one = TASKS[k], states[k], None, adam(), 20
        _, alone = program(chunk, *one)(*one)
        np.testing.assert_allclose(losses[:, k], alone, rtol=1e-4)


def test_what_the_stack_shares_is_held_once():
    shared = [image_task(p) for p in PICTURES]
    one = [t.low for t in shared]
    for t in shared[1:]:
        object.__setattr__(t, "low", one[0])
    task, axes = stack(shared)
    assert task.low.shape == () and axes.low is None
    assert task.pixels.shape == (3, 16, 16, 3) and axes.pixels == 0


def test_a_bad_run_stops_and_its_neighbours_go_on():
    fields, histories = train(
        TASKS,
        _fields(),
        Config(steps=60, every=20),
        keys=KEYS,
        lrs=[1e-3, 1e30, 1e-3],
    )
    assert "stopped" in histories[1]
    assert "stopped" not in histories[0] and "stopped" not in histories[2]
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(fields[1]))
    [alone], _ = train(TASKS[2:], _fields()[2:], Config(60, 1e-3, 20), keys=KEYS[2:])
    np.testing.assert_allclose(
        TASKS[2].metrics(fields[2])["psnr"], TASKS[2].metrics(alone)["psnr"], atol=0.1
    )


def test_different_shapes_are_separate_stacks_and_order_is_kept():
    words = ["gaussian:2,m=32", "none", "gaussian:8,m=32"]
    fields, _ = train(TASKS, _fields(words), Config(steps=5), keys=KEYS)
    features = [f.encoding.features for f in fields]
    assert features == [64, 2, 64]


def test_a_stack_is_cut_to_fit_and_changes_nothing():
    config = Config(steps=10, every=10)
    each = bytes_of_run(_fields()[0], TASKS[0].step_points)
    whole, _ = train(TASKS, _fields(), config, keys=KEYS)
    cut, _ = train(TASKS, _fields(), config, keys=KEYS, max_memory=2 * each)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(cut), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize(("points", "width"), [(1024, 64), (4096, 64), (4096, 128)])
def test_memory_is_as_planned(points, width):
    side = int(np.sqrt(points))
    picture = Image(RNG.integers(0, 256, (side, side, 3), np.uint8), 0.0, 255.0, "p")
    task = image_task(picture)
    field = make_field("gaussian:4,m=64", d=2, out=3, key=KEYS[0], width=width)
    state = start(field, Config(), key=KEYS[0])
    used: Any = program(chunk, task, state, None, adam(), 10).compiled.memory_analysis()
    real = used.temp_size_in_bytes + used.argument_size_in_bytes
    assert 0.5 < bytes_of_run(field, task.microbatch_points) / real < 2


SHARDED = """
import functools, sys
import jax, numpy as np
import passband.field
from passband.data.images import Image
from passband.field import make_field
from passband.ops.fused import fused_field
from passband.tasks.image import image_task
from passband.train import driver, stack
from passband.train.driver import Config, train

devices = jax.devices()
assert len(devices) == 4
fused, calls = sys.argv[1] == "fused", []

def interpreted(*arguments, still):
    calls.append(1)
    return fused_field(*arguments, still=still, interpret=True)

if fused:
    passband.field.fits = lambda *_: True
    passband.field.fused_field = interpreted
rng = np.random.default_rng(0)
tasks = [image_task(Image(rng.integers(0, 256, (8, 8, 3), np.uint8), 0., 255., ""))
         for _ in range(8)]
fields = [make_field("gaussian:2,m=16", d=2, out=3, key=jax.random.key(k), layers=2,
                     width=128 if fused else 16) for k in range(8)]
keys = [jax.random.key(k) for k in range(8)]
seen, unstack = [], driver.unstack

def spy(field, count):
    seen.append(len(field.mlp.weights[0].sharding.device_set))
    return unstack(field, count)

def runs(count, on):
    stack.jax.local_devices = lambda: on
    steps = Config(steps=2 if fused else 20, every=10)
    return train(tasks[:count], fields[:count], steps, keys=keys[:count])[0]

driver.unstack = spy
four, one = runs(8, devices), runs(8, devices[:1])
assert seen == [4, 1], seen
assert bool(calls) == fused
for a, b in zip(jax.tree.leaves(four), jax.tree.leaves(one), strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5)
print("equal")
"""


@pytest.mark.parametrize("path", ["plain", "fused"])
def test_four_devices_share_a_stack_and_change_nothing(path):
    """Eight runs on four devices are those on one, by the fused op as by the plain."""
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [sys.executable, "-c", SHARDED, path], capture_output=True, text=True,
        env={**os.environ, "XLA_FLAGS": flags},
    )  # fmt: skip
    assert done.stdout.strip() == "equal", done.stderr[-2000:]


def test_a_long_training_has_patience_and_a_short_one_haste():
    field = make_field("gaussian:4", d=2, out=3, key=KEYS[0])
    half = field.with_precision(Precision.BFLOAT16)
    assert haste_of(field, 65_536, 100) is Haste.BRIEF
    assert haste_of(field, 65_536, 10**6) is Haste.USUAL
    assert haste_of(half, 262_144, 2000) is Haste.USUAL
    assert haste_of(half, 131_072, 50_000) is Haste.PATIENT


def test_parts_are_of_one_size_where_that_takes_few_more():
    sizes = {n: [len(p) for p in _cut(list(range(n)), 64)]
             for n in (64, 68, 432, 800, 67)}  # fmt: skip
    assert sizes == {64: [64], 68: [34] * 2, 432: [54] * 8, 800: [50] * 16,
                     67: [34, 33]}  # fmt: skip


def test_programs_are_made_once_and_searched_only_where_that_pays(monkeypatch):
    made, lower = [], programs._lower
    monkeypatch.setattr(programs, "_PROGRAMS", {})
    monkeypatch.setattr(
        programs,
        "_lower",
        lambda call: (
            made.append((call.arguments[4], call.haste is Haste.BRIEF)) or lower(call)
        ),
    )
    config = Config(steps=7, every=7)
    train(TASKS, _fields(), config, keys=KEYS)
    train(TASKS, _fields(), config, keys=KEYS)
    assert made == [(7, True)]
    monkeypatch.setitem(AUTOTUNE_FLOP, False, 0)
    train(TASKS, _fields(), config, keys=KEYS)
    assert made == [(7, True), (7, False)]
    train(TASKS, _fields(), Config(steps=10, every=7), keys=KEYS)
    assert made[2:] == [(3, False)]


def test_a_stack_trains_while_the_programs_of_the_next_are_made(monkeypatch):
    trained, lower = threading.Event(), programs._lower
    monkeypatch.setattr(programs, "_PROGRAMS", {})
    made = []

    def slow(call):
        if made:
            assert trained.wait(60)  # or the first stack has waited for this
        made.append(call)
        return lower(call)

    monkeypatch.setattr(programs, "_lower", slow)
    fields = [*_fields(), *_fields(["gaussian:1,m=16"])]
    train(
        [*TASKS, TASKS[0]], fields, Config(steps=3, every=3), keys=[*KEYS, KEYS[0]],
        stops=(3,), on_stop=lambda step, places, field: trained.set(),
    )  # fmt: skip
    assert len(made) == 2


def test_what_was_being_made_when_a_training_ends_badly_is_not_kept(monkeypatch):
    monkeypatch.setattr(programs, "_PROGRAMS", {})

    def broken(call):
        raise RuntimeError("no such op")

    monkeypatch.setattr(programs, "_lower", broken)
    with pytest.raises(RuntimeError, match="no such op"):
        train(TASKS, _fields(), Config(steps=3, every=3), keys=KEYS)
    assert programs._PROGRAMS == {}


def test_a_program_that_is_to_compile_fast_lays_no_steps_side_by_side(monkeypatch):
    found, calls = [], []
    scan, make = programs._scan, programs.making
    monkeypatch.setattr(programs, "_PROGRAMS", {})
    monkeypatch.setattr(programs, "unroll", lambda task: 4)
    monkeypatch.setattr(
        programs,
        "_scan",
        lambda one, state, length, unroll: (
            found.append(unroll) or scan(one, state, length, 1)
        ),
    )
    monkeypatch.setattr(driver, "making", lambda some: calls.extend(some) or make(some))
    config = Config(steps=2, every=2)
    train(TASKS, _fields(), config, keys=KEYS)
    monkeypatch.setitem(AUTOTUNE_FLOP, False, 0)
    train(TASKS, _fields(), config, keys=KEYS)
    assert [call.haste for call in calls] == [Haste.BRIEF, Haste.USUAL]
    assert found == [1, 4]


def test_hooks_see_the_stack_and_stops_its_runs_by_their_places():
    words = ["gaussian:2,m=32", "none", "gaussian:8,m=32"]
    entries, stops = [], []

    def on_log(state, entry):
        entries.append((state.step.shape, entry["step"], len(entry["loss"])))
        return entry["step"] == 10

    def on_stop(step, places, field):
        stops.append((step, places))
        if step == 5:
            apart = unstack(field, len(places))
            kept.update(zip(places, map(jax.tree.leaves, apart), strict=True))

    kept: dict[int, Any] = {}
    config = Config(steps=20, every=10)
    fields, histories = train(
        TASKS, _fields(words), config, keys=KEYS, stops=(0, 5), on_stop=on_stop,
        on_log=on_log,
    )  # fmt: skip
    assert entries == [((2,), 10, 2), ((1,), 10, 1)]
    assert stops == [(0, [0, 2]), (5, [0, 2]), (0, [1]), (5, [1])]
    fifth, _ = train(TASKS, _fields(words), Config(steps=5), keys=KEYS)
    tenth, want = train(TASKS, _fields(words), Config(steps=10, every=10), keys=KEYS)
    for k in range(3):
        assert histories[k]["step"] == [10]
        assert histories[k]["psnr"] == pytest.approx(want[k]["psnr"], abs=1e-3)
        for a, b in zip(kept[k], jax.tree.leaves(fifth[k]), strict=True):
            np.testing.assert_array_equal(a, b)
        leaves = map(jax.tree.leaves, (fields[k], tenth[k]))
        for a, b in zip(*leaves, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


def test_time_is_shared_among_stacks():
    words = ["gaussian:2,m=32", "none", "gaussian:8,m=32"]
    config = Config(steps=10**6, every=5, minutes=1 / 60)
    _, histories = train(TASKS, _fields(words), config, keys=KEYS)
    assert histories[0]["step"] == histories[2]["step"]
    for history in histories:
        assert 5 <= history["step"][-1] < 10**6
        assert history["seconds"] == sorted(history["seconds"])


def test_all_training_is_counted():
    each = 64 * (6 * (64 * 32 + 32 * 32 + 32 * 32 + 32 * 3) - 2 * 64 * 32)
    before = counted()
    train(TASKS, _fields(), Config(steps=7, every=7), keys=KEYS)
    assert counted() - before == 3 * 7 * each
    train(TASKS[:1], _fields()[:1], Config(steps=5, every=3), keys=KEYS[:1])
    assert counted() - before == (3 * 7 + 5) * each
    trained = make_field("gaussian:2,m=32,train=b", d=2, out=3, key=KEYS[0], width=32)
    assert flop_of(trained, 64) == each + 64 * 2 * 64 * 32
