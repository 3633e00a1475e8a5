"""`passband view`: the page with Python behind it, for this machine alone."""

import http.client
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devtools import Page
from test_model_pages import SCENE, canvas, draw

import passband as pb
from passband.errors import InputError
from passband.kinds.viewing import Viewed, ViewServer
from passband.kinds.views import scene_view
from passband.model_file import save


@contextmanager
def serving(path: Path) -> Iterator[ViewServer]:
    with ViewServer(Viewed(path)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def saved(folder: Path, field: Any = None, **about: Any) -> Path:
    facts = {"task": "image", "shape": [30, 40, 3], "low": 0.0, "high": 1.0, "bits": 8}
    folder.mkdir(exist_ok=True)
    path = folder / "model.safetensors"
    save(draw(2, 3) if field is None else field, path, **facts | about)
    return path


def ask(
    server: ViewServer, path: str, body: str | None = None, host: str | None = None
) -> tuple[int, bytes]:
    to = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    headers = {} if host is None else {"Host": host}
    to.request("GET" if body is None else "POST", path, body, headers)
    answer = to.getresponse()
    return answer.status, answer.read()


def test_only_who_knows_the_token_by_this_machines_name_is_answered(tmp_path):
    with serving(saved(tmp_path)) as server:
        assert server.server_address[0] == "127.0.0.1" and len(server.token) >= 16
        own = f"/{server.token}/"
        assert ask(server, own)[0] == 200
        assert ask(server, "/")[0] == ask(server, "/run")[0] == 404
        assert ask(server, f"/{server.token[:-1]}x/")[0] == 404
        assert ask(server, own, host="example.org")[0] == 404
        for name in ("../model.safetensors", "model.safetensors", "config.json"):
            assert ask(server, own + name)[0] == 404
        # A job that makes no sense is refused, and the next is served.
        for bad in ("{", "[]", '{"type": "plane"}', '{"type": "exec"}',
                    json.dumps({"type": "plane", "origin": [0, 0], "across": [1, 0],
                                "down": [0, 1], "columns": 10**6, "from": 0,
                                "to": 10**6})):  # fmt: skip
            assert ask(server, own + "job", bad)[0] == 400
        good = {"type": "points", "points": [0.1, 0.2, 0.3, 0.4]}
        status, data = ask(server, own + "job", json.dumps(good))
        want = pb.load(tmp_path).field.predict(np.reshape(good["points"], (2, 2)))
        assert status == 200
        assert np.frombuffer(data, "<f4") == pytest.approx(want.ravel(), abs=1e-6)


def test_python_evaluates_what_the_page_shows(page: Page, tmp_path):
    saved(tmp_path)
    model = pb.load(tmp_path)
    with serving(tmp_path) as server:
        page.open(server.address)
        page.wait("window.passband && passband.viewer")
        page.evaluate("passband.engine.settled()")
        seen = canvas(page)
        assert "Python" in page.evaluate(
            "document.getElementById('backend').textContent"
        )
        page.wait("window.followed > 0")
        page.leave()
    rows, columns, _ = seen.shape
    crop = (0, 0, 40 * (rows - 1) / columns, 40)  # its last row may lie beyond
    want = model.render(size=(rows - 1, columns), crop=crop)
    assert np.abs(seen[:-1, :, :3] - want).max() < 0.01


def test_a_scene_by_python_is_what_render_gives(tmp_path):
    field = draw(3, 4, "gaussian:1,m=12", output="identity")
    saved(tmp_path, field, **SCENE | {"task": "nerf", "shape": None})
    model, viewed = pb.load(tmp_path), Viewed(tmp_path)
    view = scene_view(model.field, model.about).geometry
    low, side, stretch = view["low"], view["side"], view["stretch"]
    pose = np.array(view["poses"][0])
    turn, place = pose[:, :3] / (side * stretch), (pose[:, 3] - low) / side
    job = {
        "type": "scene", "columns": 16, "from": 2, "to": 9, "step": 2.0,
        "pose": np.column_stack([turn, place]).ravel().tolist(),
        **{k: view[k] for k in ("lens", "ends", "samples", "background", "ndc")},
    }  # fmt: skip
    want = model.render(views="test", size=(12, 16))[0][2:9]
    assert np.abs(viewed.job(job).reshape(7, 16, 3) - want).max() < 1e-3


def test_a_run_is_followed_until_its_model_is_there(page: Page, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text(json.dumps({"task": "image", "steps": 100}))
    lines = [{"step": k, "loss": 1 / k, "seconds": 0.1 * k, "psnr": 10.0 + k}
             for k in (25, 50)]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (run / "metrics.jsonl").write_text(text + '{"step": 75, "lo')  # being written
    with serving(run) as server:
        page.open(server.address)
        page.wait("window.followed > 0")
        said = page.evaluate("document.body.innerText")
        assert "Step 50 of 100" in said and "60.00 dB" in said
        saved(run)
        page.wait("window.passband && passband.viewer")
        page.evaluate("passband.engine.settled()")
        assert page.evaluate("document.title") == "run"
        page.leave()


def test_what_is_neither_a_model_nor_a_run_is_one_line(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        Viewed(tmp_path / "nowhere")
    with pytest.raises(InputError, match="neither"):
        Viewed(tmp_path)


HEARS_CTRL_C = """
import signal, sys
from passband.cli.main import command
# A shell has what it runs in the background ignore it, tests among it.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(command())
"""


def test_the_command_prints_its_address_and_ends_at_ctrl_c(tmp_path):
    words = ["view", str(saved(tmp_path)), "--no-browser", "--device", "cpu"]
    command = [sys.executable, "-c", HEARS_CTRL_C, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()
    assert address.startswith("http://127.0.0.1:")
