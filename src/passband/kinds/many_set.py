"""A set of fits as a whole: its folder, its shares, its index, its summary."""

import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import write_bytes
from ..errors import InputError
from ..export.set_page import set_page
from ..train.device import device_name
from ..train.processes import ALONE, Processes
from ..train.set_folder import Part, SetFolder
from ..train.shares import Share, new_run, told_lost
from .kind import SILENT, Kind, Listener
from .many import fit_sources
from .many_inputs import Source, in_parts, short
from .many_options import ManyOptions
from .many_pictures import pictures_of
from .many_plan import SetPlan, settle
from .options import TrainOptions
from .resume import resumed_options

MAIN_METRICS = ("psnr", "iou_uniform", "psnr_test", "error_test")
"""What fields are ranked by: the first that there is."""


def fit_set(
    cls: type[Kind],
    sources: Sequence[Source],
    asked: TrainOptions,
    given: Collection[str],
    place: Path,
    *,
    many: ManyOptions | None = None,
    resume: bool = False,
    overwrite: bool = False,
    processes: Processes = ALONE,
    listener: Listener = SILENT,
    said: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Fit inputs of one kind and leave a set of fields; what came of it, in numbers.

    Args:
        given: the names of the options that were asked for.
        resume: go on with the set in the folder: what is there stays.
        processes: which share of the inputs is this process's.
        said: how the inputs were named, for a resume without them.
    """
    many = many or ManyOptions()
    begun = time.perf_counter()
    sources = in_parts(cls, sources, asked, listener)
    folder = SetFolder(place)
    if resume and overwrite:
        raise InputError("`resume` and `overwrite` exclude each other")

    def begin() -> dict[str, Any]:
        if resume:
            config = folder.config()
            if config is None:
                raise InputError(f"`{place}` has no set of fields to resume")
            resumed_options(asked, given, config, cls.name)  # checked
            if (place / "index.jsonl").exists():
                (place / "index.jsonl").unlink()  # it is no longer the whole
        else:
            SetFolder.create(place, overwrite=overwrite)
            plan = settle(
                cls.name, sources, asked, given, own_mappings=many.own_mappings,
                each=many.auto == "each", listener=listener,
            )  # fmt: skip
            config = plan.config({"inputs": len(sources), "said": short(said)})
            folder.write_json("config.json", config)
        return {"config": config, "run": new_run(place)}

    found = processes.agreed(begin)
    config, run = found["config"], found["run"]
    plan = SetPlan.of_config(config, resumed_options(asked, given, config, cls.name))
    there = folder.fitted()
    left = processes.share([s for s in sources if s.name not in there])
    if there:
        listener.say(f"{len(there)} fields are there; {len(left)} are left here")
    with (
        Part(folder, processes.index) as part,
        Share(place, processes, run, many.lost_after) as share,
    ):
        progress = fit_sources(left, plan, part, stack=many.stack, listener=listener)
        steady = progress.steady()
        mine = {"fitted": progress.done, "failed": len(progress.failed)}
        share.done(mine)
        if processes.index:
            return mine | {"process": processes.index}
        done, lost = share.wait(listener.progress)
        for silent in lost:
            listener.warn(told_lost(silent))
        seconds = time.perf_counter() - begun
        fitted = sum(one["fitted"] for one in done)
        listener.progress("writing the index and the summary", often=False)
        rows = folder.merge()
        result = _result(rows, plan, sources, lost) | {
            "seconds": round(time.perf_counter() - begun, 3),
            "fitted_now": fitted,
            "steady_fields_per_second": steady,
            "processes": processes.count,
            "out": str(place),
        }
        result["fields_per_second"] = round(fitted / max(seconds, 1e-9), 3)
        folder.write_json("result.json", result)
        ranked, metric = _ranked(rows, result), result["metric"]
        pictures = pictures_of(plan, sources, folder, ranked, metric)
        page = set_page(place.name, result, rows, pictures)
        write_bytes(place / "summary.html", page.encode())
        return result


def _result(
    rows: Sequence[dict[str, Any]],
    plan: SetPlan,
    sources: Sequence[Source],
    lost: list[str],
) -> dict[str, Any]:
    """What `passband fit --json` prints of a set."""
    good = [row for row in rows if "error" not in row]
    bad = [row for row in rows if "error" in row]
    scores: dict[str, list[float]] = {}
    for row in good:
        for name, value in row["metrics"].items():
            scores.setdefault(name, []).append(np.inf if value is None else value)
    metric = next((name for name in MAIN_METRICS if name in scores), None)
    return {
        "task": plan.kind,
        "mapping": str(plan.mapping or plan.asked.mapping),
        "fields": len(good),
        "failed": len(bad),
        "missing": len(sources) - len(good) - len(bad),
        "lost": lost,
        "metric": metric or next(iter(scores), None),
        "metrics": {name: _spread(values) for name, values in scores.items()},
        "device": device_name(),
        "failures": {row["name"]: row["error"] for row in bad[:100]},
    }


def _spread(values: list[float]) -> dict[str, float]:
    found = np.asarray(values, np.float64)
    return {
        "mean": float(found.mean()),
        "median": float(np.median(found)),
        "least": float(found.min()),
        "most": float(found.max()),
    }


def _ranked(
    rows: Sequence[dict[str, Any]], result: dict[str, Any]
) -> list[dict[str, Any]]:
    """The fields from worst to best."""
    name = result["metric"]
    good = [r for r in rows if "error" not in r and name in r["metrics"]]

    def score(row: dict[str, Any]) -> float:
        value = row["metrics"][name]
        return np.inf if value is None else value

    turned = -1 if name and name.startswith("error") else 1
    return sorted(good, key=lambda row: turned * score(row))
