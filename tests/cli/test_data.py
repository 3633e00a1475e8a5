"""`passband data`, as a user calls it."""

import functools
import hashlib
import http.server
import json
import threading

import pytest

from passband.cli.main import main
from passband.data import store
from passband.data.store import DataFile, DataSet


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PASSBAND_DATA", raising=False)
    return tmp_path


def test_list_tells_of_every_set(nowhere, capsys):
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    for name in ("natural", "text", "lego", "meshes", "brain"):
        assert f"{name:9s} not here" in out
    assert out.count("licence: ") == out.count("source: ") == 5


def test_list_as_json_is_one_object(nowhere, monkeypatch, capsys):
    (nowhere / "data" / "text" / "test_data").mkdir(parents=True)
    (nowhere / "data" / "text" / "test_data" / "00.png").touch()
    monkeypatch.setenv("PASSBAND_DATA", str(nowhere / "data"))
    assert main(["data", "--json", "list"]) == 0
    sets = {
        entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["sets"]
    }
    assert len(sets) == 5
    assert sets["natural"]["where"] is None
    assert sets["text"]["where"] == str(nowhere / "data" / "text")
    assert sets["text"]["complete"] is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "takes list, path NAME or fetch NAME, not nothing"),
        (["lsit"], "not `lsit`"),
        (["list", "text"], "takes no name, not `text`"),
        (["path"], "needs one NAME, not 0"),
        (["fetch", "text", "lego"], "needs one NAME, not 2"),
        (["path", "texd"], "did you mean `text`"),
        (["path", "text"], "`text` is not on this machine"),
        (["path", "text", "--url", "http://x"], "`--url` goes with"),
        (["fetch", "meshes"], "published in another form"),
        (["fetch", "text", "--url", "file:///x"], "must begin with http"),
    ],
)
def test_mistakes_are_one_line_and_status_2(nowhere, capsys, words, message):
    assert main(["data", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.splitlines()[-1].startswith("passband: ")


def test_fetch_then_path(nowhere, monkeypatch, capsys):
    published = nowhere / "published"
    (published / "deep").mkdir(parents=True)
    data = b"0123456789" * 50
    (published / "deep" / "a.bin").write_bytes(data)
    file = DataFile("deep/a.bin", len(data), hashlib.sha256(data).hexdigest())
    small = DataSet("small", "a file", "CC0", "here", "nothing", None, "how", (file,))
    monkeypatch.setattr(store, "known_sets", lambda: {"small": small})
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format, *args):
            pass

    handler = functools.partial(Quiet, directory=str(published))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        assert main(["data", "fetch", "small", "--url", url, "--allow-http"]) == 0
        server.shutdown()
        thread.join()
    folder = nowhere / "cache" / "passband" / "small"
    assert capsys.readouterr().out == f"{folder}\n"
    assert (folder / "deep" / "a.bin").read_bytes() == data
    assert main(["data", "path", "small", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"name": "small", "path": str(folder)}
