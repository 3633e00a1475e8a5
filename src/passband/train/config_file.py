"""config.json: everything needed to run a fit again."""

import os
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..file_gate import read_json

NEEDED = ("passband", "task", "sha256")  # texts that every config.json has


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The configuration in a config.json of a run, or in that of a run folder."""
    file = Path(path)
    if file.is_dir():
        file = file / "config.json"
    if not os.path.exists(file):
        raise InputError(f"`config` (={path}) is not there")
    config = config_of_run(file)
    if config is None:
        raise InputError(f"`config` (={path}) is not that of a run, or is damaged")
    return config


def config_of_run(file: Path) -> dict[str, Any] | None:
    """What a config.json holds, if a run of ours wrote it."""
    try:
        config = read_json(file)
    except InputError:
        return None
    if not isinstance(config, dict):
        return None
    ours = all(isinstance(config.get(name), str) for name in NEEDED)
    return config if ours else None
