"""Compiled programs that are kept are found again, whole, and never in the way."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import compilation_cache, compiler

from passband.cli.device import prepare
from passband.train.program_cache import ProgramCache, keep_programs


@pytest.fixture
def keeping(monkeypatch, tmp_path):
    """JAX as a command finds it, with a home of its own."""
    for name in ("_cache", "_cache_initialized", "_cache_checked", "_cache_used"):
        monkeypatch.setattr(compilation_cache, name, getattr(compilation_cache, name))
    compilation_cache.reset_cache()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PASSBAND_CACHE", raising=False)
    before: Any = jax.config
    names = ("jax_enable_compilation_cache", "jax_traceback_in_locations_limit",
             "jax_persistent_cache_min_compile_time_secs")  # fmt: skip
    values = [getattr(before, name) for name in names]
    jax.config.update("jax_enable_compilation_cache", True)
    yield tmp_path / "passband" / "programs"
    for name, value in zip(names, values, strict=True):
        jax.config.update(name, value)


def compiled(x: np.ndarray) -> np.ndarray:
    """A new function each time: no cache but that of the disk can know it."""
    return np.asarray(jax.jit(lambda x: jnp.sin(x) @ x.T)(x))


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def cache() -> ProgramCache:
    found = compilation_cache._cache
    assert isinstance(found, ProgramCache)
    return found


TRACED = """
import hashlib, sys
import jax, jax.numpy as jnp
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh
from passband.ops.fused import fused_field
from passband.ops.newton_schulz import iterate
from passband.train.program_cache import keep_programs

shapes = [(256, 2), (32, 2), (32,), (64, 128), (128, 3), (128,), (3,)]
arrays = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]

def network(v, B, a, W, V, b, c):
    return jnp.sum(fused_field(v, B, a, [W, V], [b, c]))

gpu = AbstractDevice(device_kind="NVIDIA H200", num_cores=132, platform="gpu")

def turned(X):
    return iterate(X, [(3.0, -4.0, 2.0)] * 2)

def lowered(function, *arrays):
    with use_abstract_mesh(AbstractMesh((), (), abstract_device=gpu)):
        traced = jax.jit(function).trace(*arrays)
        return traced.lower(lowering_platforms=("cuda",)).as_text()

if "keep" in sys.argv:
    assert keep_programs() is None
if "after" in sys.argv:  # functions of JAX that both call are first traced elsewhere
    lowered(turned, jax.ShapeDtypeStruct((1, 128, 64), jnp.float32))
    lowered(jax.grad(lambda *x: 2 * network(*x)), *arrays)
text = lowered(jax.grad(network), *arrays)
text += lowered(turned, jax.ShapeDtypeStruct((2, 64, 64), jnp.float32))
print(hashlib.sha256(text.encode()).hexdigest())
"""


def test_a_program_is_the_same_whatever_was_traced_before_it(tmp_path, monkeypatch):
    """So that a second fit, which makes no trials, finds the training of the first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("PASSBAND_CACHE", "JAX_ENABLE_COMPILATION_CACHE"):
        monkeypatch.delenv(name, raising=False)

    script = tmp_path / "traced.py"
    script.write_text(TRACED)

    def digest(*words: str) -> str:
        run = [sys.executable, "-W", "ignore", str(script), *words]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout

    assert digest() != digest("after")  # as JAX has it
    assert digest("keep") == digest("keep", "after")


def test_a_program_is_kept_found_again_and_the_same(keeping, monkeypatch):
    assert keep_programs() is None
    x = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    first = compiled(x)
    cache().flush()
    there = files(keeping)
    assert there
    # Another process: JAX's own memory of programs is by function, and this is a new
    # one; it must not compile.
    monkeypatch.setattr(compiler, "backend_compile_and_load", lambda *a, **k: 1 / 0)
    assert compiled(x).tobytes() == first.tobytes()
    assert files(keeping) == there


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "folder"])
def test_a_damaged_file_is_made_again(keeping, damage):
    keep_programs()
    x = np.ones((3, 5), np.float32)
    expected = compiled(x)
    cache().flush()
    for path in files(keeping):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 4
        half = bytes(content[: len(content) // 2])
        path.write_bytes({"cut": half, "empty": b""}.get(damage, bytes(content)))
        if damage == "folder":
            path.unlink()
            path.mkdir()
    np.testing.assert_array_equal(compiled(x), expected)
    cache().flush()
    key = "a"
    cache().put(key, b"b")
    cache().flush()
    assert cache().get(key) == (None if damage == "folder" else b"b")


def test_the_folder_is_bounded_and_what_was_used_last_stays(tmp_path):
    small = ProgramCache(tmp_path, most_bytes=5000)
    for k in range(20):
        small.put(f"key {k}", bytes([k]) * 968)  # 1000 with the digest
        small.flush()
        os.utime(small._place(f"key {k}"), (k, k))
        small.get("key 0")  # used now
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 5000
    assert small.get("key 0") == bytes(968)
    assert small.get("key 1") is None
    assert small.get("key 18") is not None


def test_a_home_that_cannot_be_written_costs_a_warning(
    keeping, monkeypatch, tmp_path, capsys
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    prepare("cpu")
    said = capsys.readouterr().err
    assert "warning: compiled programs are not kept: " in said
    assert said.count("\n") == 1
    assert compilation_cache._cache is None


def test_programs_that_others_could_write_are_not_run(keeping):
    keeping.mkdir(parents=True)
    keeping.chmod(0o777)
    assert "others can write" in (keep_programs() or "")
    assert compilation_cache._cache is None


def test_it_is_turned_off_by_its_variable_and_left_to_who_set_up_jax(
    keeping, monkeypatch
):
    monkeypatch.setenv("PASSBAND_CACHE", "off")
    assert keep_programs() is None
    assert compilation_cache._cache is None
    monkeypatch.delenv("PASSBAND_CACHE")
    jax.config.update("jax_compilation_cache_dir", "/somewhere")
    try:
        assert keep_programs() is None
    finally:
        jax.config.update("jax_compilation_cache_dir", None)
    assert compilation_cache._cache is None
    keep_programs()
    assert keeping.stat().st_mode & 0o777 == 0o700
