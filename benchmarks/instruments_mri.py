"""Real k-space of 8 coils: the network beside zero filling, SENSE and total variation.

    PASSBAND_DATA=DATA python benchmarks/instruments_mri.py [--json FILE]
                       [--pictures FOLDER] [--only NAME ...] [--steps N]

Three slices, each with maps of the coils estimated from the centre (ESPIRiT) and with
maps learned with the image:

- `2x2`: `real/mri_brain8ch_full`, all of whose k-space was measured, less what its mask
  of every second line along both axes leaves out (25.7 % left). PSNR and SSIM are of
  magnitudes against the root of the sum of squares of all coils, from all samples;
  `error_rest` is the relative error of the samples that the mask leaves out.
- `12%`: the same slice with the Poisson-disc mask of the other scan.
- `poisson`: `real/mri_brain8ch_poisson8x` as it was measured, 12.4 % of k-space.
  `error_test` is the relative error of the 10 % of its samples that are held out.

5 % of the samples (10 % of the last) are held out from every method; the scale of the
mapping, the weight of the prior, the iterations of SENSE and the weight of total
variation are chosen by held-out samples, never by what is reported of the first two.
The samples of the centre, which the maps are made from, always train.
"""

import argparse
import itertools
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from passband.forward.kspace import to_centred
from passband.kinds.fit import fit, model_facts
from passband.kinds.mri import MriKind
from passband.kinds.mri_options import MriOptions
from passband.model import Model
from passband.reconstruct.baselines import recipes
from passband.train.device import device_name

FULL, POISSON = "real/mri_brain8ch_full", "real/mri_brain8ch_poisson8x"


def cases(data: Path, scratch: Path) -> dict[str, dict[str, Any]]:
    """Options of `passband fit mri`, by the name of the case."""
    poisson = data / POISSON / "cartesian_ksp.npy"
    mask = scratch / "mask12.npy"
    np.save(mask, (np.load(poisson) != 0).any(axis=0))
    full = {"file": str(data / FULL / "full.cfl"), "truth": "rss"}
    return {
        "2x2": full | {"mask": str(data / FULL / "mask_und2x2.npy")},
        "12%": full | {"mask": str(mask)},
        "poisson": {"file": str(poisson), "axes": "cxy", "holdout": 0.1},
    }


def run(name: str, words: dict[str, Any], sens: str, place: Path | None) -> dict:
    options = MriOptions(**words, sens=sens)
    begun = time.perf_counter()
    kind = MriKind.read(options)
    read = time.perf_counter() - begun
    fitted = fit(kind, options, listener=Told())
    task: Any = fitted.task
    found = {"network": fitted.result["metrics"]} | fitted.result["baselines"]
    out: dict[str, Any] = {
        "case": name, "maps": sens, "read_seconds": round(read, 1),
        "mapping": fitted.result["mapping"], "steps": fitted.result["steps"],
        "prior": fitted.result.get("prior"), "seconds": fitted.result["seconds"],
    }  # fmt: skip
    if kind.data.truth is not None:
        rest = left_out(kind, options)
        model = Model(fitted.field, model_facts(fitted.result, fitted.evaluation))
        found["network"]["error_rest"] = error(model.measure(), *rest)
        for method, make in recipes(task, steps=kind._free_steps()).items():
            seen = task.forward.transform(jnp.asarray(make()))
            seen = kind.data.high * to_centred(np.asarray(seen), kind.data.sides)
            found[method]["error_rest"] = error(seen, *rest)
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
        shown = fitted.evaluation.figures()["Reconstructions"]
        shown.savefig(place / f"{name.replace('%', '')}-{sens}.png", dpi=110)
    out["methods"] = {k: {m: round(float(v), 5) for m, v in s.items()}
                      for k, s in found.items()}  # fmt: skip
    return out


def left_out(kind: MriKind, options: MriOptions) -> tuple[np.ndarray, np.ndarray]:
    """Every sample of the file, and which of them the mask leaves out."""
    from passband.data.kspace_files import read_kspace

    samples = read_kspace(str(options.file)).samples
    mask = np.load(str(options.mask)).astype(bool)
    return samples, ~mask


def error(seen: np.ndarray, samples: np.ndarray, rest: np.ndarray) -> float:
    there = samples[:, rest]
    return float(np.linalg.norm(seen[:, rest] - there) / np.linalg.norm(there))


class Told:
    """Progress on stderr, now and then."""

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    warn = say

    def progress(self, text: str, *, often: bool = True) -> None:
        if not often:
            self.say(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--maps", nargs="*", default=["estimate", "learn"])
    asked = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        found = cases(Path(os.environ["PASSBAND_DATA"]), Path(scratch))
        wanted = [name for name in found if not asked.only or name in asked.only]
        for sens, name in itertools.product(asked.maps, wanted):
            more = {} if asked.steps is None else {"steps": asked.steps}
            results.append(run(name, found[name] | more, sens, asked.pictures))
            print(json.dumps(results[-1]), flush=True)
            if asked.json:
                where = {"device": device_name(), "system": platform.platform()}
                text = json.dumps({"machine": where, "runs": results}, indent=1)
                Path(asked.json).write_text(text + "\n")


if __name__ == "__main__":
    main()
