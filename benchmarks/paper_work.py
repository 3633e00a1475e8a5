"""How much the paper's items train, counted from the shapes of their networks.

    python benchmarks/paper_work.py ID... [--preset full] [--write]

An item's own code runs, on any machine, but no network takes a step: programs that
train hand back what they are given, and networks are 0 everywhere, so that looking at
them costs nothing. What counts the steps is left as it is. Items named together share
networks as in one `passband paper run`. The count stands beside what the result notes;
`--write` adds it to a result of before there was a counter, whose commit must have
trained the same networks. Tables 4 and 6 first label meshes and reconstruct volumes
without a network, as ever, which takes its time.
"""

import argparse
import contextlib
import json
from pathlib import Path
from unittest import mock

import jax.numpy as jnp
import numpy as np

from passband.atomic_write import atomic_write
from passband.field import Field
from passband.json_text import to_json
from passband.ops.mlp import Precision
from passband.paper import plan, registry, results
from passband.paper.item import Preset
from passband.train import work

ORIGIN = "counted afterwards from the shapes of the networks (benchmarks/paper_work.py)"


def idle(calls):
    """Programs that train nothing."""
    return [lambda task, state, axes, optimiser, length:
            (state, jnp.ones((length, *state.step.shape)))] * len(calls)  # fmt: skip


def zeros(field: Field, coords):
    return jnp.zeros((len(coords), field.mlp.biases[-1].shape[-1]))


def as_on_gpu(word, platform, resolve=Precision.resolve):
    """Fig. 9 trains some networks twice where bfloat16 is the rule."""
    return resolve(word, "gpu")


def no_others(truth, sizes):
    """Table 5's columns without a network."""
    return dict.fromkeys(("FBP", "SART", "total variation", "free grid"), truth)


INSTEAD = {
    "field.Field.logits": zeros,
    "ops.mlp.Precision.resolve": as_on_gpu,
    "train.driver.programs": idle,
    "paper.ct_study.without_network": no_others,
}


def flop_of_item(id: str, preset: Preset) -> int:
    before = work.counted()
    with contextlib.ExitStack() as stack, np.errstate(all="ignore"):
        for name, other in INSTEAD.items():
            stack.enter_context(mock.patch(f"passband.{name}", other))
        plan.run_item(registry.get_item(id), preset, lambda text: None)
    return work.counted() - before


def write(path: Path, flop: int) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    noted = content["provenance"]
    noted["pflop"] = float(f"{flop / 1e15:.4g}")
    noted["tflops"] = float(f"{flop / 1e12 / noted['seconds']:.4g}")
    noted["work"] = ORIGIN
    with atomic_write(path) as part:
        part.write_text(to_json(content, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="PFLOP of the paper's items")
    parser.add_argument("ids", nargs="+", metavar="ID")
    parser.add_argument("--preset", default="full", choices=[p.value for p in Preset])
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--write", action="store_true", help="into results without it")
    args = parser.parse_args()
    preset = Preset(args.preset)
    for id in args.ids:
        flop = flop_of_item(id, preset)
        told = None
        if results.exists(args.results, preset, id):
            found = results.load(args.results, preset, id, arrays=False)
            told = found.provenance.get("pflop")
            if args.write and flop and told is None:
                write(results.path_of(args.results, preset, id), flop)
        print(f"{id}: {flop / 1e15:.4g} PFLOP; the result notes {told}", flush=True)


if __name__ == "__main__":
    main()
