"""Files are whole or not there, whatever happens on the way."""

import os
import resource
import subprocess
import sys

import pytest

from passband.atomic_write import atomic_write, make_folder, part_of, write_bytes
from passband.errors import InputError


def test_a_file_appears_whole(tmp_path):
    path = tmp_path / "deep" / "er" / "a.bin"
    write_bytes(path, b"first")
    write_bytes(path, b"second")
    assert path.read_bytes() == b"second"
    assert [p.name for p in path.parent.iterdir()] == ["a.bin"]


def test_the_name_is_taken_only_at_the_end(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(b"old")
    with atomic_write(path) as part:
        assert part.parent == path.parent
        assert part.suffix == ".npy"
        assert part_of(part.name) == "a.npy"
        part.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, InputError])
def test_a_failure_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(error), atomic_write(path) as part:
        part.write_bytes(b"half")
        raise error("on the way")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


def test_what_the_system_refuses_is_the_users_to_mend(tmp_path):
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "folder").mkdir()
    with pytest.raises(
        InputError, match="folder` is a folder; give the name of a file"
    ):
        write_bytes(tmp_path / "folder", b"")
    for name in ("file/a.bin", "file/deep/a.bin"):
        with pytest.raises(InputError, match=r"cannot be made: [NF]"):
            write_bytes(tmp_path / name, b"")
        refused = pytest.raises(InputError, match=r"a\.bin` cannot be written: Not a d")
        with refused, atomic_write(tmp_path / name) as part:
            part.write_bytes(b"")
    with pytest.raises(InputError, match="cannot be written: File name too long"):
        write_bytes(tmp_path / ("x" * 300), b"")
    with pytest.raises(InputError, match="file` cannot be made"):
        make_folder(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_a_full_disk_leaves_what_was_there(tmp_path):
    """A limit on the size of files stands in for a disk that is full."""
    path = tmp_path / "a.bin"
    write_bytes(path, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(InputError, match="cannot be written: File too large"):
            write_bytes(path, bytes(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_killed_while_writing(tmp_path):
    """The old file stays; what is left beside it is known by its name."""
    path = tmp_path / "state.safetensors"
    path.write_bytes(b"old")
    program = (
        "import os, signal, sys, pathlib\n"
        "from passband.atomic_write import atomic_write\n"
        "with atomic_write(pathlib.Path(sys.argv[1])) as part:\n"
        "    part.write_bytes(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, os.fspath(path)])
    assert ran.returncode == -9
    assert path.read_bytes() == b"old"
    (left,) = (p.name for p in tmp_path.iterdir() if p != path)
    assert part_of(left) == "state.safetensors"


def test_only_temporary_names_are_taken_for_such():
    assert part_of(".a.b.0123abcd.png") == "a.b.png"
    assert part_of(".noend.0123abcd") == "noend"
    for name in ("a.png", ".hidden", ".a.png", ".a.0123abc.png", "a.0123abcd.png"):
        assert part_of(name) is None
