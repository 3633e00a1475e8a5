"""Several networks as one field: means, spreads, training side by side, one file."""

import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import passband as pb
from passband.cli.main import main
from passband.errors import InputError
from passband.field import OUTPUTS, Field, make_field
from passband.kinds.defaults import stuck
from passband.members import Members, draw_members, mean_and_spread, stacked
from passband.model_file import load, load_with_info, save
from passband.ops.mlp import Precision
from passband.tasks.regression import regression_task
from passband.train.driver import Config, Diverged, train
from passband.train.memory import bytes_of_run
from passband.train.optimisers import optimiser
from passband.train.work import flop_of

POINTS = np.random.default_rng(0).random((7, 2)).astype(np.float32)
QUICK = {"mapping": "gaussian:1,m=8", "width": 8, "layers": 2, "steps": 5,
         "optimiser": "sgd"}  # fmt: skip


def one(key: Any = 0, **options: Any) -> Field:
    return make_field(
        "gaussian:2,m=6", d=2, out=2, key=key, layers=2, width=8, **options
    )


def three(**options: Any) -> tuple[Members, list[Field]]:
    fields = [one(k, **options) for k in range(3)]
    return stacked(fields), fields


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_query_is_the_mean_of_the_outputs(output):
    members, fields = three(output=output)
    want = np.mean([field.predict(POINTS) for field in fields], axis=0)
    near: Any = {"rtol": 1e-5, "atol": 1e-6}
    assert members.members == 3 and isinstance(members, Field)
    np.testing.assert_allclose(members.predict(POINTS), want, **near)  # by `batch`
    at = jax.jit(lambda field: (field(POINTS[0]), jax.jacrev(field)(POINTS[0])))
    value, slope = at(members)
    np.testing.assert_allclose(value, want[0], **near)
    mean = np.mean([at(field)[1] for field in fields], axis=0)
    np.testing.assert_allclose(slope, mean, rtol=1e-4, atol=1e-5)
    logits = members.predict(POINTS, logits=True)
    np.testing.assert_allclose(OUTPUTS[output](jnp.asarray(logits)), want, **near)


def test_log_odds_of_members_that_are_sure_stay_finite():
    sure = [one(output="sigmoid", start=1 / (1 + np.exp(-z))) for z in (30.0, -30.0)]
    both, same = stacked(sure), stacked([sure[1], sure[1]])
    np.testing.assert_allclose(both.logits(POINTS), 0, atol=3)  # one says in, one out
    np.testing.assert_allclose(
        same.logits(POINTS), sure[1].logits(POINTS), rtol=1e-5, atol=1e-4
    )


def test_the_spread_is_numpys_over_the_single_fields():
    members, fields = three()
    seen = np.stack([field.predict(POINTS) for field in fields])
    mean, spread = mean_and_spread(members, lambda field: field.predict(POINTS))
    np.testing.assert_allclose(mean, seen.mean(axis=0), rtol=1e-5)
    assert spread is not None
    np.testing.assert_allclose(spread, seen.std(axis=0), rtol=1e-4, atol=1e-7)
    wave = seen[..., :1] + 1j * seen[..., 1:]
    _, spread = mean_and_spread(
        members, lambda field: field.predict(POINTS) @ np.array([[1], [1j]])
    )
    assert spread is not None and spread.dtype == np.float64
    np.testing.assert_allclose(spread, wave.std(axis=0), rtol=1e-4, atol=1e-7)
    alone, none = mean_and_spread(fields[0], lambda field: field.predict(POINTS))
    assert none is None and (alone == seen[0]).all()


def test_the_first_member_is_the_network_that_would_be_alone():
    drawn = draw_members(one, jax.random.key(3), 3)
    assert isinstance(drawn, Members)
    first, second, _ = drawn.each()
    for mine, want in zip(
        jax.tree.leaves(first), jax.tree.leaves(one(jax.random.key(3))), strict=True
    ):
        np.testing.assert_array_equal(mine, want)
    B = [field.encoding.frequencies for field in (first, second)]  # pyright: ignore[reportAttributeAccessIssue]
    assert np.abs(B[0] - B[1]).min() > 0
    assert type(draw_members(one, jax.random.key(3), 1)) is Field


def test_each_member_trains_as_if_it_were_alone():
    members, fields = three(output="identity")
    x = np.random.default_rng(1).random((64, 2))
    task = regression_task(x, np.sin(9 * x), batch=16)
    key, moves = jax.random.key(5), optimiser("muon")
    config = Config(steps=6, every=3)
    [trained], [history] = train([task], [members], config, keys=[key], optimiser=moves)
    assert isinstance(trained, Members)
    lone = [
        train([task], [field], config, keys=[key], optimiser=moves) for field in fields
    ]
    for member, ([want], _) in zip(trained.each(), lone, strict=True):
        np.testing.assert_allclose(
            member.predict(POINTS), want.predict(POINTS), rtol=1e-3, atol=1e-4
        )
    losses = np.array([[*history["loss"]] for _, [history] in lone])
    np.testing.assert_allclose(history["loss"], losses.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(history["loss_worst"], losses.max(axis=0), rtol=1e-4)
    # One that turns bad holds all: the state is that of the step before.
    broken = [fields[0], jax.tree.map(lambda w: w * jnp.inf, fields[1]), fields[2]]
    with pytest.raises(Diverged) as caught:
        train([task], [stacked(broken)], config, keys=[key], optimiser=moves)
    assert caught.value.step == 0 and int(caught.value.state.step) == 0


def test_memory_and_work_are_those_of_all_members():
    members, (field, *_) = three()
    for precision in (Precision.FLOAT32, Precision.BFLOAT16):
        many, alone = (f.with_precision(precision) for f in (members, field))
        assert bytes_of_run(many, 1000) == 3 * bytes_of_run(alone, 1000)
    assert flop_of(members, 10) == 3 * flop_of(field, 10)


def test_a_member_that_is_stuck_is_seen_behind_the_others():
    entry = {"loss": 0.3, "loss_worst": 1.0}
    assert stuck(entry, {"loss": [0.4], "loss_worst": [1.0]}, lambda: 1.0)
    assert not stuck(entry, {"loss": [0.3], "loss_worst": [1.1]}, lambda: 1.0)


def test_a_file_of_members_says_so_and_is_checked(tmp_path, capsys):
    members, (field, *_) = three()
    path, single = tmp_path / "m.safetensors", tmp_path / "one.safetensors"
    save(members, path, task="image")
    save(field, single)
    back, about = load_with_info(path)
    assert (about["format"], about["members"], back.members) == (2, 3, 3)
    assert (back.predict(POINTS) == members.predict(POINTS)).all()
    assert "members" not in load_with_info(single)[1]
    assert load_with_info(single)[1]["format"] == 1
    assert main(["info", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["members"] == 3 and told["layers"] == [12, 8, 2]
    assert told["parameters"] == 3 * (12 * 8 + 8 + 8 * 2 + 2)
    tensors = load_file(path)
    for count, change in ((4, {}), (3, {"layer.0.bias": tensors["layer.0.bias"][:2]}),
                          ("many", {}), (True, {})):  # fmt: skip
        meta = {"passband": json.dumps(about | {"members": count})}
        save_file(tensors | change, path, metadata=meta)
        with pytest.raises(InputError, match=r"not those of .* members"):
            load(path)


def test_members_of_many_signals_go_on_and_are_refused_where_they_mean_nothing():
    x = np.linspace(0, 1, 20)
    signals = [(x, np.sin(5 * x)), (x, np.cos(4 * x))]
    models = pb.fit_many(signals, members=2, **QUICK)
    assert [model.members for model in models] == [2, 2]
    assert models[0].result["spread"] > 0 and "2 members" in repr(models[0])
    alone = pb.fit(*signals[0], members=2, **QUICK)
    np.testing.assert_allclose(models[0](x), alone(x), atol=1e-4)
    further = pb.fit(*signals[0], model=alone, steps=5, optimiser="sgd")
    assert further.members == 2 and (further(x) != alone(x)).any()
    single = pb.Model(alone.field.each()[0], alone.about)  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(InputError, match="one network has no spread; `members` of 2"):
        single.spread(x)
    for count in (0, 65):
        with pytest.raises(InputError, match=rf"`members` \(={count}\) must be at"):
            pb.fit(*signals[0], members=count)
    pb.tune(*signals[0], members=4, trials=False)  # its trials have one network
