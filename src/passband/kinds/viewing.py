"""A model, or a run as it goes, in the browser of this machine.

The page is the one that `passband render MODEL --out model.html` writes, and Python
evaluates what it shows. It is served on 127.0.0.1 alone, behind a random word in its
address, to nobody who came by another name.
"""

import functools
import json
import math
import secrets
import threading
from collections.abc import Mapping
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import InputError, one_line
from ..export.web.page import facts, page
from ..field import Field
from ..file_gate import open_file, read_json
from ..forward.empty_space import Occupied, render_rays_of
from ..forward.render import Rendered, ndc, on_background, ray, render
from ..members import Members
from ..model_file import load_with_info
from ..tasks.nerf import FieldRadiance
from ..train.device import device_name
from .page import page_of, title_of
from .render import kind_of
from .render_scene import occupied_of

MOST_POINTS = 2**23
"""Of one job: what a page asks for at once is far below."""
MOST_BYTES = 2**22
"""Of a request's body."""
RAYS = 256
"""That are evaluated together."""
ENTRIES = 500
"""Of a run's history that a page is given."""
CONFIG = {
    "task": "Kind",
    "mapping": "Mapping",
    "steps": "Steps",
    "optimiser": "Optimiser",
    "lr": "Learning rate",
    "batch": "Batch",
}
"""What the page of a run states of its configuration."""
FOOTER = "served by `passband view` on this machine, to this machine alone."


class Viewed:
    """A model file or a run folder, as it is at the moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path if path.is_dir() else path.parent
        self.model = path / "model.safetensors" if path.is_dir() else path
        if not path.exists():
            raise InputError(f"`{path}` does not exist; give a model or a run's folder")
        if path.is_dir() and not (self.model.exists() or self._config()):
            raise InputError(
                f"folder `{path}` holds neither a model.safetensors nor a run"
            )
        self._lock = threading.Lock()
        self._loaded: tuple[float | None, Field, dict[str, Any]] | None = None
        self._looked: list[Any] = [None, None]
        """The field of a scene that was looked at, and where it is not empty."""
        if self.model.exists():
            self.field()  # what is wrong with it is said now

    def made(self) -> float | None:
        """When the model was written; None where it has not been yet."""
        try:
            return self.model.stat().st_mtime
        except OSError:
            return None

    def field(self) -> tuple[Field, dict[str, Any]]:
        """The model as its file has it now."""
        made = self.made()
        if self._loaded is None or self._loaded[0] != made:
            field, about = load_with_info(self.model)
            about = about | {"folder": str(self.folder)}
            self._loaded = made, field, about
        return self._loaded[1], self._loaded[2]

    def html(self) -> str:
        """The page of the model, or of the run that will leave one."""
        more = {"model": self.made()}
        if self.made() is None:
            return self._run_page(more)
        field, about = self.field()
        server = {
            "url": "job",
            "jobs": ["plane", "points", "scene"],
            "name": f"Python on {device_name()}",
            "gpu": jax.default_backend() != "cpu",
        }
        return page_of(
            kind_of(about), field, about, title_of(self.model),
            self.model.stat().st_size, options={"server": server}, connect="'self'",
            footer=FOOTER, scripts=("plots.js", "follow.js"), data=more,
        )  # fmt: skip

    def _run_page(self, data: Mapping[str, Any]) -> str:
        config = self._config() or {}
        said = [
            (words, str(config[name]))
            for name, words in CONFIG.items()
            if config.get(name) is not None
        ]
        title = f"{self.folder.absolute().name}, while it trains"
        body = [
            f"<h1>{escape(title)}</h1>",
            '<p id="following" class="lead" aria-live="polite">Looking at the run.</p>',
            '<div class="plots"><figure><figcaption><b>The run.</b> The model follows '
            'here when it has ended.</figcaption><svg id="history"></svg></figure>'
            '<figure><img id="preview" alt="a preview of the run" hidden></figure>'
            "</div>",
            '<dl class="facts"><div><dt>Loss</dt><dd id="loss">–</dd></div>'
            '<div><dt>PSNR</dt><dd id="psnr">–</dd></div></dl>',
            facts(said),
        ]
        scripts = ("panel.js", "plots.js", "follow.js")
        return page(title, body, data, scripts, connect="'self'", footer=FOOTER)

    def run(self) -> dict[str, Any]:
        """How far a run has come: its history, thinned, and what there is to see."""
        config, preview = self._config() or {}, self.folder / "preview.png"
        columns: dict[str, list[float]] = {"step": [], "loss": [], "seconds": []}
        entries = _entries(self.folder / "metrics.jsonl")
        thin = max(1, math.ceil(len(entries) / ENTRIES))
        kept = [*entries[:-1:thin], *entries[-1:]]
        names = {*columns, *(["psnr"] if all("psnr" in e for e in kept) else [])}
        for name in names if kept else columns:
            columns[name] = [float(entry[name]) for entry in kept]
        return {
            "model": self.made(),
            "steps": config.get("steps"),
            "history": columns,
            "preview": preview.stat().st_mtime if preview.exists() else None,
        }

    def _config(self) -> dict[str, Any] | None:
        try:
            return read_json(self.folder / "config.json")
        except InputError:
            return None

    def job(self, asked: Mapping[str, Any]) -> np.ndarray:
        """What a worker of the page would give for a job, float32."""
        with self._lock:  # one after the other: each takes all cores
            field, about = self.field()
            if asked["type"] == "scene":
                return scene(field, asked, self._occupied(field, about))
            return JOBS[asked["type"]](field, asked)

    def _occupied(self, field: Field, about: dict[str, Any]) -> Occupied | None:
        """Where a scene is not empty, as soon as a thread has found out."""
        if self._looked[0] is field:
            return self._looked[1]
        looked = self._looked = [field, None]

        def look() -> None:
            looked[1] = occupied_of(field, about)

        if not isinstance(field, Members):
            threading.Thread(target=look, daemon=True, name="passband-look").start()
        return None


def _entries(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a run's metrics."""
    found = []
    try:
        with open_file(path, "metrics.jsonl") as stream:
            lines = stream.read().split(b"\n")
    except InputError:
        return []
    for line in lines:
        try:
            entry = json.loads(line)
            if all(math.isfinite(entry[k]) for k in ("step", "loss", "seconds")):
                found.append(entry)
        except (ValueError, KeyError, TypeError):
            continue  # a line that is being written
    return found


def plane(field: Field, job: Mapping[str, Any]) -> np.ndarray:
    """Values on rows of a plane: origin + column * across + row * down."""
    d, columns = field.encoding.dims, int(job["columns"])
    rows = np.arange(int(job["from"]), int(job["to"]), dtype=np.float64)
    _check(len(rows) * columns)
    origin, across, down = (
        np.asarray(job[name], np.float64).reshape(d)
        for name in ("origin", "across", "down")
    )
    points = origin + rows[:, None, None] * down
    points = points + np.arange(columns)[:, None] * across
    return field.predict(points.reshape(-1, d).astype(np.float32))


def points(field: Field, job: Mapping[str, Any]) -> np.ndarray:
    """Values at points of the field."""
    found = np.asarray(job["points"], np.float32).reshape(-1, field.encoding.dims)
    _check(len(found))
    return field.predict(found)


def scene(
    field: Field, job: Mapping[str, Any], occupied: Occupied | None = None
) -> np.ndarray:
    """Colours of rows of pixels; of members, the mean of what each shows. With
    `occupied` the field is asked only there."""
    columns, samples = int(job["columns"]), int(job["samples"])
    rows, step = np.arange(int(job["from"]), int(job["to"])), float(job["step"])
    _check(len(rows) * columns * samples // 16)
    across, down = np.meshgrid(np.arange(columns), rows)
    pixels = (np.stack([across, down], -1).reshape(-1, 2) + 0.5) * step - 0.5
    pose = jnp.asarray(np.reshape(job["pose"], (3, 4)), jnp.float32)
    lens, ends = jnp.float32(job["lens"]), jnp.float32(job["ends"])
    frustum = None if job.get("ndc") is None else jnp.float32(job["ndc"])
    background = jnp.full(3, float(job["background"]), jnp.float32)
    fields = field.each() if isinstance(field, Members) else [field]
    out = np.zeros((len(pixels), 3), np.float32)
    for start in range(0, len(pixels), RAYS):
        some = pixels[start : start + RAYS]
        whole = np.pad(some, ((0, RAYS - len(some)), (0, 0)), mode="edge")
        rays = _rays(pose, lens, frustum, jnp.float32(whole))
        for one in fields:
            if occupied is None:
                seen = _seen(one, *rays, ends, samples)
            else:
                seen = render_rays_of(
                    occupied, FieldRadiance(one), *rays, *ends, samples=samples
                )
            colours = np.asarray(on_background(seen, background))
            out[start : start + len(some)] += colours[: len(some)]
    return out / len(fields)


@jax.jit
def _rays(
    pose: jax.Array, lens: jax.Array, frustum: jax.Array | None, pixels: jax.Array
) -> tuple[jax.Array, jax.Array]:
    o, d = jax.vmap(ray, (None, None, 0))(pose, lens, pixels)
    if frustum is not None:
        o, d = jax.vmap(ndc, (0, 0, None))(o, d, frustum)
    return o, d


@functools.partial(jax.jit, static_argnums=4)
def _seen(
    field: Field, o: jax.Array, d: jax.Array, ends: jax.Array, samples: int
) -> Rendered:
    return render(FieldRadiance(field), o, d, ends[0], ends[1], samples=samples)


JOBS = {"plane": plane, "points": points, "scene": scene}


def _check(count: int) -> None:
    if not 0 < count <= MOST_POINTS:
        raise ValueError(f"{count} points")


class ViewServer(ThreadingHTTPServer):
    """Serves one model or run; `address` is where."""

    daemon_threads = True

    def __init__(self, viewed: Viewed, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.viewed, self.token = viewed, secrets.token_urlsafe(16)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server_version, sys_version = "passband", ""

    @property
    def _of(self) -> ViewServer:
        assert isinstance(self.server, ViewServer)
        return self.server

    def do_GET(self) -> None:
        what = self._what()
        viewed = self._of.viewed
        if what is None:
            self._answer(404, b"", "text/plain")
        elif what == "":
            text = viewed.html().encode(errors="replace")
            self._answer(200, text, "text/html; charset=utf-8")
        elif what == "run":
            self._answer(200, json.dumps(viewed.run()).encode(), "application/json")
        elif what == "preview.png" and (viewed.folder / what).exists():
            with open_file(viewed.folder / what, "a preview") as stream:
                self._answer(200, stream.read(), "image/png")
        else:
            self._answer(404, b"", "text/plain")

    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "")
        if self._what() != "job" or not size.isdecimal() or int(size) > MOST_BYTES:
            self._answer(404, b"", "text/plain")
            return
        try:
            found = self._of.viewed.job(json.loads(self.rfile.read(int(size))))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as why:
            self._answer(400, one_line(why).encode(), "text/plain")
            return
        data = np.ascontiguousarray(found, "<f4").tobytes()
        self._answer(200, data, "application/octet-stream")

    def _what(self) -> str | None:
        """What is asked for behind the token; None to whoever does not know it, or
        comes by a name that is not this machine's."""
        own = {f"{name}:{self._of.server_port}" for name in ("127.0.0.1", "localhost")}
        head = f"/{self._of.token}/"
        path = self.path.partition("?")[0]
        known = secrets.compare_digest(path[: len(head)].encode(), head.encode())
        if not known or self.headers.get("Host") not in own:
            return None
        return path[len(head) :]

    def _answer(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is said of requests."""
