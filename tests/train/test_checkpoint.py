"""Checkpoints: every bit comes back, and nothing else is taken for one."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from passband.errors import InputError
from passband.field import make_field
from passband.train.checkpoint import read_checkpoint, write_checkpoint
from passband.train.driver import Config, start
from passband.train.state import State


def state_of(seed: int = 0, width: int = 6) -> State:
    first, second = jax.random.split(jax.random.key(seed))
    field = make_field("none", d=2, out=3, key=first, layers=2, width=width)
    return start(field, Config(), key=second)


def bits(state: State) -> list[bytes]:
    leaves = jax.tree.map(
        lambda x: (
            jax.random.key_data(x)
            if jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
            else x
        ),
        state,
    )
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(leaves)]


def test_every_bit_comes_back(tmp_path):
    path = tmp_path / "checkpoint" / "state.safetensors"
    state = state_of(1)
    write_checkpoint(path, state, seconds=12.5)
    found, seconds = read_checkpoint(path, state_of(2))
    assert seconds == 12.5
    assert bits(found) == bits(state)
    assert bits(found) != bits(state_of(2))
    assert jax.tree.structure(found) == jax.tree.structure(state)


def test_old_style_keys_come_back_as_they_were(tmp_path):
    path = tmp_path / "state.safetensors"
    state = {"key": jax.random.PRNGKey(10), "new": jax.random.key(10)}
    write_checkpoint(path, state, seconds=0.0)
    found, _ = read_checkpoint(path, state)
    assert found["key"].dtype == jnp.uint32
    assert jnp.issubdtype(found["new"].dtype, jax.dtypes.prng_key)
    np.testing.assert_array_equal(found["key"], state["key"])
    assert jax.random.bits(found["new"]) == jax.random.bits(state["new"])


def test_another_runs_checkpoint_is_refused(tmp_path):
    path = tmp_path / "state.safetensors"
    write_checkpoint(path, state_of(width=6), seconds=0.0)
    with pytest.raises(InputError, match="is of another run: array"):
        read_checkpoint(path, state_of(width=7))
    with pytest.raises(InputError, match="is of another run: 21 arrays"):
        read_checkpoint(path, state_of().field)


def test_damaged_checkpoints_are_refused(tmp_path):
    path = tmp_path / "state.safetensors"
    state = state_of()
    write_checkpoint(path, state, seconds=0.0)
    whole, tensors = path.read_bytes(), load_file(path)
    for data in (b"", whole[:7], whole[:200], whole[:-1], whole + b"x", b"\xff" * 99):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"be read: .*; `overwrite` starts"):
            read_checkpoint(path, state)
    with pytest.raises(InputError, match=r"cannot be read: .*No such file"):
        read_checkpoint(tmp_path / "none", state)
    for said in (None, "3", "[]", "{}", '{"seconds": "long"}', '{"seconds": null}'):
        info = None if said is None else {"passband": said}
        save_file(tensors, path, metadata=info)
        with pytest.raises(InputError, match="cannot be read"):
            read_checkpoint(path, state)
    save_file(tensors, path, metadata={"passband": json.dumps({"seconds": 1})})
    assert bits(read_checkpoint(path, state)[0]) == bits(state)
