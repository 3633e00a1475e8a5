"""Debian's Chromium without a window, driven through its DevTools pipe."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
    "--no-first-run", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--mute-audio", "--hide-scrollbars", "--autoplay-policy=no-user-gesture-required",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
LOCAL = ("file:", "data:", "blob:", "about:", "http://127.0.0.1:")


def executable() -> str | None:
    """Where Chromium is, if it is here."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A tab: what it asks for, says and shows."""

    def __init__(self, browser: "Browser", session: str) -> None:
        self.browser, self.session = browser, session
        self.asked: list[str] = []
        """Addresses outside of the page that it wanted something from."""
        self.errors: list[str] = []
        """Of the console, and exceptions nobody caught."""

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, session=self.session, **params)

    def evaluate(self, script: str) -> Any:
        """The value of an expression; promises are awaited."""
        found = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"])[:2000])
        return found["result"].get("value")

    def wait(self, script: str, seconds: float = 20.0) -> Any:
        """Until an expression is true."""
        end = time.monotonic() + seconds
        while not (found := self.evaluate(script)):
            if time.monotonic() > end:
                raise TimeoutError(f"{script}; errors: {self.errors}")
            time.sleep(0.02)
        return found

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.wait(
            "location.protocol !== 'about:' && document.readyState === 'complete'"
        )

    def leave(self) -> None:
        """To an empty page: one that was served asks nothing more."""
        self.call("Page.navigate", url="about:blank")

    def look(self, width: int, height: int = 800, *, dark: bool = False) -> None:
        """A window of this size and scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path) -> None:
        """What is in the window, as a PNG."""
        found = self.call("Page.captureScreenshot")
        path.write_bytes(base64.b64decode(found["data"]))

    def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        moves = [("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)]
        for kind, (x, y) in moves:
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                buttons=1, clickCount=1,
            )  # fmt: skip


class Browser:
    """One process of Chromium."""

    def __init__(self, *flags: str) -> None:
        path = executable()
        assert path is not None
        self.folder = tempfile.mkdtemp(prefix="chromium-")
        there, self.writer = os.pipe()
        self.reader, back = os.pipe()
        # It takes commands from descriptor 3 and answers on 4.
        command = f'exec "$@" 3<&{there} 4>&{back}'
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", path, *FLAGS, *flags,
             f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=(there, back),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(there)
        os.close(back)
        self.numbers = itertools.count(1)
        self.buffer = b""
        self.pages: dict[str, Page] = {}

    def call(self, method: str, session: str | None = None, **params: Any) -> Any:
        number = next(self.numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            found = self._receive()
            if found.get("id") == number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                return found["result"]
            self._heard(found)

    def _receive(self, seconds: float = 120.0) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.reader], [], [], end - time.monotonic())
            data = os.read(self.reader, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("Chromium does not answer")
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(line)

    def _heard(self, message: dict[str, Any]) -> None:
        page = self.pages.get(message.get("sessionId", ""))
        if page is None:
            return
        params, method = message["params"], message["method"]
        if method == "Network.requestWillBeSent":
            address = params["request"]["url"]
            if not address.startswith(LOCAL):
                page.asked.append(address)
        elif method == "Runtime.exceptionThrown":
            page.errors.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            page.errors.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in (
            "error",
            "assert",
        ):
            page.errors.append(json.dumps(params["args"])[:500])

    @contextmanager
    def page(self) -> Iterator[Page]:
        """A new tab, whose requests, exceptions and console are listened to."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, session["sessionId"])
        self.pages[page.session] = page
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        try:
            yield page
        finally:
            self.call("Target.closeTarget", targetId=target)
            del self.pages[page.session]

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.writer)
        os.close(self.reader)
        shutil.rmtree(self.folder, ignore_errors=True)
