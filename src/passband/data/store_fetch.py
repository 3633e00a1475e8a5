"""Downloads a named data set: checked, resumed, and never half there."""

import contextlib
import http.client
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..atomic_write import unwritable
from ..errors import InputError, one_line
from .store import DataFile, cache_folder, known_set, mismatch, whole_folder

Progress = Callable[[str, int, int], None]
"""Called with the file's name, the bytes of the set that are there, and all of them."""

Open = Callable[..., Any]
TRIES = 3
TIMEOUT = 30.0  # seconds without a byte
_BLOCK = 1 << 16


def fetch(
    name: str,
    *,
    base_url: str | None = None,
    allow_http: bool = False,
    progress: Progress | None = None,
) -> Path:
    """The folder of a set, after downloading what is missing or wrong of it.

    It goes to the user's cache, unless every file is right already under PASSBAND_DATA.
    A file that breaks off goes on where it stopped, now or at the next call. It gets
    its own name only once its size and sha256 are right.

    Args:
        base_url: a folder on the web with the set's files, instead of its source; one
            that holds the converted files of `lego`, `meshes` or `brain` works too.
        allow_http: also without encryption, in redirects too; the sha256 decides
            either way.
    """
    data_set = known_set(name)
    whole = whole_folder(name)
    if whole is not None:
        return whole
    base = data_set.url if base_url is None else base_url
    folder = cache_folder() / name
    if base is None:
        raise InputError(
            f"data set `{name}` is published in another form ({data_set.source}) and "
            f"cannot be fetched as it is used here; under `{folder}`, {data_set.how}; "
            "or give the address of a copy"
        )
    open_url = _opener(_check_address(base, allow_http))
    total = sum(file.size for file in data_set.files)
    done = 0
    for file in data_set.files:
        path = folder / file.path
        if mismatch(path, file) is not None:
            url = f"{base.rstrip('/')}/{urllib.parse.quote(file.path)}"

            def report(size: int, path: str = file.path, before: int = done) -> None:
                if progress is not None:
                    progress(path, before + size, total)

            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                _fetch_file(open_url, url, path, file, report)
            except OSError as error:
                raise unwritable(path, error) from error
            finally:
                _remove_empty(path.parent, cache_folder())
        done += file.size
        if progress is not None:
            progress(file.path, done, total)
    return folder


def _check_address(url: str, allow_http: bool) -> tuple[str, ...]:
    """The ways that an address may be fetched by, if it is one."""
    allowed = ("https", "http") if allow_http else ("https",)
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in allowed and bool(parts.hostname)
        http = parts.scheme == "http"
    except ValueError:  # half an IPv6 address
        good = http = False
    if not good:
        hint = "; `allow_http` takes it without encryption" if http else ""
        ways = " or ".join(f"{way}://" for way in allowed)
        raise InputError(f"address `{url}` must begin with {ways}{hint}")
    return allowed


def _opener(allowed: tuple[str, ...]) -> Open:
    """Opens addresses, and follows redirects only to others of these ways."""

    class Redirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, req, fp, code, msg, headers, newurl):
            try:
                way = urllib.parse.urlsplit(newurl).scheme
            except ValueError:
                way = "an address that is none"
            if way not in allowed:
                raise InputError(f"`{req.full_url}` leads to {way}; it is not followed")
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    return urllib.request.build_opener(Redirects()).open


def _remove_empty(inner: Path, outer: Path) -> None:
    """Leave no folder behind that nothing was fetched into, from `inner` to `outer`."""
    for place in (inner, *inner.parents):
        with contextlib.suppress(OSError):  # it holds something, or is not there
            place.rmdir()
        if place == outer:
            break


def _fetch_file(
    open_url: Open, url: str, path: Path, file: DataFile, report: Callable[[int], None]
) -> None:
    part = path.with_name(path.name + ".part")
    old = part.exists()
    for attempt in range(1, TRIES + 1):
        try:
            _download(open_url, url, part, file, report)
        except (urllib.error.URLError, http.client.HTTPException, _Broken) as error:
            # A refusal such as 404 will be the same next time.
            final = isinstance(error, urllib.error.HTTPError) and error.code < 500
            if final or attempt == TRIES:
                raise InputError(_why(url, part, file, error)) from error
        else:
            break
    problem = mismatch(part, file)
    if problem is None:
        os.replace(part, path)
        return
    part.unlink(missing_ok=True)
    if old:  # the bytes of an earlier call may be the wrong ones: start afresh, once
        _fetch_file(open_url, url, path, file, report)
        return
    raise InputError(
        f"`{url}` gave another file than the one published: {problem}; nothing was "
        "kept of it"
    )


class _Broken(Exception):
    """The connection ended before the file did."""


def _download(
    open_url: Open, url: str, part: Path, file: DataFile, report: Callable[[int], None]
) -> None:
    """Bring `part` to the full size, from where an earlier try left it."""
    have = part.stat().st_size if part.exists() else 0
    if have > file.size:
        have = 0
    if have == file.size:
        return
    headers = {"Range": f"bytes={have}-"} if have else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        answer = _open(open_url, request)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 416:
            raise
        part.unlink()  # no such range: what is kept is of another file
        raise _Broken("it does not go on where it broke off") from error
    with answer:
        # 200 to a request for a range means: here is everything, from the start.
        resumed = answer.status == 206 and _starts_at(answer, have)
        size = have if resumed else 0
        promised = answer.length  # None where the server does not say
        if promised is not None and size + promised != file.size:
            part.unlink(missing_ok=True)
            raise InputError(
                f"`{url}` gave another file than the one published: it has "
                f"{size + promised} bytes, not {file.size}"
            )
        with part.open("ab" if resumed else "wb") as out:
            # One block too many is enough to know; a wrong file must not fill a disk.
            while size <= file.size and (block := _read(answer)):
                out.write(block)
                size += len(block)
                report(min(size, file.size))
    if size < file.size:
        raise _Broken(f"it broke off after {size} of {file.size} bytes")


def _open(open_url: Open, request: urllib.request.Request) -> Any:
    try:
        return open_url(request, timeout=TIMEOUT)
    except (urllib.error.URLError, InputError):
        raise
    except ValueError as error:  # a redirect to an address that is none
        raise _Broken(one_line(error)) from error
    except OSError as error:  # a time-out or reset while the answer begins
        raise _Broken(one_line(error)) from error


def _read(answer: http.client.HTTPResponse) -> bytes:
    """What has come in so far; network trouble is told apart from the disk's."""
    try:
        return answer.read1(_BLOCK)
    except OSError as error:
        raise _Broken(one_line(error)) from error


def _starts_at(answer: http.client.HTTPResponse, offset: int) -> bool:
    return (answer.headers.get("Content-Range") or "").startswith(f"bytes {offset}-")


def _why(url: str, part: Path, file: DataFile, error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    if isinstance(error, urllib.error.HTTPError):
        reason = f"HTTP {error.code} {error.reason}"
    kept = part.stat().st_size if part.exists() else 0
    tail = ""
    if kept:
        tail = f"; {kept} of {file.size} bytes are kept, fetch again to go on"
    return f"`{url}` could not be fetched: {one_line(str(reason))}{tail}"
