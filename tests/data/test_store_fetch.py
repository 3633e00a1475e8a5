"""Downloads against servers on this machine that behave, and that do not."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from passband.data import store, store_fetch
from passband.data.store import DataFile, DataSet
from passband.data.store_fetch import fetch as fetch_by_any_way
from passband.errors import InputError

CONTENT = {
    "train_data/a b.bin": np.random.default_rng(0).bytes(200_000),
    "one.bin": np.random.default_rng(1).bytes(3_000),
}


def fetch(name, **options):
    """The servers here speak without encryption."""
    return fetch_by_any_way(name, allow_http=True, **options)


class Server:
    """Serves CONTENT under /copy/, in the manner that `answer` says."""

    def __init__(self):
        self.requests: list[tuple[str, str | None]] = []
        self.answer = self.well
        self.away = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests.append((self.path, self.headers["Range"]))
                path = self.path.removeprefix("/copy/").replace("%20", " ")
                server.answer(self, CONTENT[path])

            def log_message(self, format, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/copy/"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self):
        self.away.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    @staticmethod
    def well(request, data: bytes, *, ranges: bool = True, share: float = 1.0):
        start = 0
        if ranges and request.headers["Range"]:
            start = int(request.headers["Range"].removeprefix("bytes=").rstrip("-"))
            request.send_response(206)
            request.send_header(
                "Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}"
            )
        else:
            request.send_response(200)
        body = data[start:]
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: int(len(body) * share)])


@pytest.fixture
def server():
    running = Server()
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A set `small` with the files of CONTENT, and where it will be cached."""
    sets = {
        "small": DataSet(
            name="small",
            what="two files",
            licence="CC0",
            source="made here",
            standin="nothing",
            url=None,
            how="write them yourself",
            files=tuple(
                DataFile(path, len(data), hashlib.sha256(data).hexdigest())
                for path, data in CONTENT.items()
            ),
        )
    }
    monkeypatch.setattr(store, "known_sets", lambda: sets)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PASSBAND_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "passband" / "small"


def names(folder) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def assert_whole(folder):
    assert names(folder) == sorted(CONTENT)
    for path, data in CONTENT.items():
        assert (folder / path).read_bytes() == data


def test_a_set_arrives_whole_and_only_once(server, folder):
    said = []
    assert (
        fetch("small", base_url=server.url, progress=lambda *a: said.append(a))
        == folder
    )
    assert_whole(folder)
    assert store.check("small") == folder
    done = [d for _, d, _ in said]
    assert done == sorted(done) and done[-1] == 203_000
    assert {total for *_, total in said} == {203_000}
    before = len(server.requests)
    fetch("small", base_url=server.url)
    assert len(server.requests) == before


def test_what_cannot_be_reached_leaves_no_folder_behind(server, folder):
    server.stop()
    with pytest.raises(InputError, match="could not be fetched"):
        fetch("small", base_url=server.url)
    assert not folder.parent.exists()


def test_what_is_whole_under_passband_data_is_not_fetched(
    server, folder, tmp_path, monkeypatch
):
    fetch("small", base_url=server.url)
    (tmp_path / "mine").mkdir()
    folder.rename(tmp_path / "mine" / "small")
    monkeypatch.setenv("PASSBAND_DATA", str(tmp_path / "mine"))
    assert fetch("small") == tmp_path / "mine" / "small"


def test_a_transfer_that_breaks_off_goes_on_by_itself(server, folder):
    def once(request, data):
        broken = len(data) == 200_000 and request.headers["Range"] is None
        server.well(request, data, share=0.5 if broken else 1.0)

    server.answer = once
    fetch("small", base_url=server.url)
    assert_whole(folder)
    assert [r for _, r in server.requests] == [None, "bytes=100000-", None]


def test_a_broken_fetch_is_resumed_by_the_next_call(server, folder):
    def dying(request, data):
        if request.headers["Range"] is None:
            server.well(request, data, share=0.25)
        else:
            request.send_error(503)

    server.answer = dying
    with pytest.raises(InputError, match=r"HTTP 503.*50000 of 200000 bytes are kept"):
        fetch("small", base_url=server.url)
    assert names(folder) == ["train_data/a b.bin.part"]
    server.answer = server.well
    server.requests.clear()
    fetch("small", base_url=server.url)
    assert server.requests[0][1] == "bytes=50000-"
    assert_whole(folder)


def test_a_server_that_ignores_ranges_starts_over(server, folder):
    def whole_only(request, data):
        first = len(server.requests) == 1
        server.well(request, data, ranges=False, share=0.5 if first else 1.0)

    server.answer = whole_only
    fetch("small", base_url=server.url)
    assert server.requests[1][1] == "bytes=100000-"
    assert_whole(folder)


def test_wrong_bytes_never_get_the_files_name(server, folder):
    server.answer = lambda request, data: server.well(request, bytes(len(data)))
    with pytest.raises(InputError, match=r"than the one published.*sha256"):
        fetch("small", base_url=server.url)
    assert names(folder) == []


@pytest.mark.parametrize("size", [10, 500_000])
def test_a_file_of_another_size_is_refused_at_once(server, folder, size):
    server.answer = lambda request, data: server.well(request, bytes(size))
    with pytest.raises(InputError, match=f"it has {size} bytes, not 200000"):
        fetch("small", base_url=server.url)
    assert names(folder) == []
    assert len(server.requests) == 1


def test_an_endless_answer_is_cut(server, folder):
    def endless(request, data):
        request.send_response(200)
        request.end_headers()
        try:
            while not server.away.is_set():
                request.wfile.write(bytes(100_000))
        except OSError:
            pass

    server.answer = endless
    with pytest.raises(InputError, match=r"it has \d+ bytes, not 200000"):
        fetch("small", base_url=server.url)
    assert names(folder) == []


def test_stale_bytes_are_thrown_away(server, folder):
    part = folder / "train_data" / "a b.bin.part"
    part.parent.mkdir(parents=True)
    for stale in (bytes(70_000), bytes(200_000), bytes(300_000)):
        part.write_bytes(stale)
        fetch("small", base_url=server.url)
        assert_whole(folder)
        (folder / "train_data" / "a b.bin").unlink()


def test_a_range_that_is_refused_starts_over(server, folder):
    def no_range(request, data):
        if request.headers["Range"]:
            request.send_error(416)
        else:
            server.well(request, data)

    server.answer = no_range
    part = folder / "one.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 2_000)
    fetch("small", base_url=server.url)
    assert_whole(folder)


def test_a_corrupted_file_is_replaced_only_by_the_right_one(server, folder):
    fetch("small", base_url=server.url)
    (folder / "one.bin").write_bytes(b"hurt")
    server.answer = lambda request, data: request.send_error(404)
    with pytest.raises(InputError, match=r"one\.bin` could not be fetched: HTTP 404"):
        fetch("small", base_url=server.url)
    assert (folder / "one.bin").read_bytes() == b"hurt"
    assert len(server.requests) == 3  # a refusal is not asked again
    server.answer = server.well
    fetch("small", base_url=server.url)
    assert_whole(folder)


def test_a_server_that_is_away_is_named(server, folder):
    gone = Server()
    gone.stop()
    with pytest.raises(InputError, match=r"could not be fetched: .*refused"):
        fetch("small", base_url=gone.url)
    assert names(folder) == []


def test_a_server_that_falls_silent_is_given_up(server, folder, monkeypatch):
    monkeypatch.setattr(store_fetch, "TIMEOUT", 0.1)

    def silent(request, data):
        request.send_response(200)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data[:1000])
        request.wfile.flush()
        server.away.wait(2.0)

    server.answer = silent
    with pytest.raises(InputError, match="timed out; 1000 of 200000 bytes are kept"):
        fetch("small", base_url=server.url)


def test_a_converted_set_says_how_it_is_made(folder):
    with pytest.raises(InputError, match=r"made here.*write them yourself"):
        fetch("small")


@pytest.mark.parametrize("url", ["file:///etc", "ftp://host/x", "data"])
def test_only_web_addresses_are_taken(url):
    with pytest.raises(InputError, match="must begin with http"):
        fetch("small", base_url=url)


def test_an_unwritable_cache_is_named(server, tmp_path):
    (tmp_path / "passband").write_text("a file where the folder should be")
    with pytest.raises(InputError, match="cannot be written"):
        fetch("small", base_url=server.url)
