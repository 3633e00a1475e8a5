"""`passband data list | path NAME | fetch NAME`."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError
from ..options import argument, option
from .options import Output

ACTIONS = ("list", "path", "fetch")


@dataclasses.dataclass(frozen=True)
class Options(Output):
    """Named data sets: list them, say where one is, fetch one."""

    words: Sequence[str] | None = argument(
        "list; path NAME (its folder); fetch NAME (download what is missing)",
        metavar="ACTION",
        many=True,
        default=None,
    )
    url: str | None = option(
        None,
        "fetch: a folder on the web that holds the set's files, instead of its source",
        metavar="URL",
    )
    allow_http: bool = option(False, "fetch: take http:// too, without encryption")


def run(options: Options, given: set[str]) -> int:
    """Do what the words ask for."""
    del given
    action, *names = options.words or [""]
    if action not in ACTIONS:
        found = f"`{action}`" if action else "nothing"
        raise InputError(
            f"`passband data` takes list, path NAME or fetch NAME, not {found}"
        )
    if options.url is not None and action != "fetch":
        raise InputError("`--url` goes with `passband data fetch NAME` only")
    if action == "list":
        if names:
            raise InputError(f"`passband data list` takes no name, not `{names[0]}`")
        return _list(options)
    if len(names) != 1:
        raise InputError(
            f"`passband data {action}` needs one NAME, not {len(names)}, such as "
            f"`passband data {action} natural`"
        )
    return _path(names[0], options) if action == "path" else _fetch(names[0], options)


def _list(options: Options) -> int:
    from ..data.store import known_set, list_sets
    from .console import Console

    content, lines = [], []
    for status in list_sets():
        standin = known_set(status.name).standin
        content.append(
            {
                "name": status.name,
                "what": status.what,
                "licence": status.licence,
                "source": status.source,
                "standin": standin,
                "where": None if status.where is None else str(status.where),
                "complete": status.complete,
            }
        )
        state = str(status.where) if status.complete else "not here"
        if status.where is not None and not status.complete:
            state = f"{status.where} (incomplete)"
        lines += [
            f"{status.name:9s} {state}",
            f"{'':9s} {status.what}",
            f"{'':9s} source: {status.source}",
            f"{'':9s} licence: {status.licence}",
        ]
        if standin is not None:
            lines.append(f"{'':9s} without it: {standin}")
    Console(json=options.json).result({"sets": content}, "\n".join(lines))
    return 0


def _path(name: str, options: Options) -> int:
    from ..data.store import find
    from .console import Console

    folder = find(name)
    content = {"name": name, "path": str(folder)}
    Console(json=options.json).result(content, str(folder))
    return 0


def _fetch(name: str, options: Options) -> int:
    from ..data.store import known_set
    from ..data.store_fetch import fetch
    from .console import Console

    console = Console(json=options.json, quiet=options.quiet)
    if options.url is None:
        data_set = known_set(name)
        console.say(f"source: {data_set.source}; licence: {data_set.licence}")

    def progress(path: str, done: int, total: int) -> None:
        console.progress(f"{done / 1e6:.1f} of {total / 1e6:.1f} MB  {path}")

    folder: Path = fetch(
        name,
        base_url=options.url,
        allow_http=options.allow_http,
        progress=progress,
    )
    console.result({"name": name, "path": str(folder)}, str(folder))
    return 0
