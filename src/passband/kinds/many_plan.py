"""What is settled once for a set of fits, from a sample of its inputs."""

import dataclasses
import math
from collections.abc import Collection, Sequence
from typing import Any

from ..auto import Auto
from ..errors import InputError
from ..mappings import Mapping
from ..tuning.choice import Choice
from ..version import __version__
from ..words import parse_mapping
from .fit import FREE, choose_mapping
from .in_stacks import InStacks
from .kind import SILENT, Kind, Listener, Network, Training
from .many_inputs import Source
from .options import TrainOptions
from .prior import choose_prior
from .provenance import environment
from .table import row_of

SAMPLE = 3
"""Inputs from which the size of the network and the scale are settled."""


@dataclasses.dataclass(frozen=True)
class SetPlan:
    """How every input of a set is fitted."""

    kind: str
    asked: Any
    """Options of the kind, the size of the network settled."""
    mapping: Mapping | None
    """None where every input has its own scale chosen."""
    start: float | None
    """Where all fields begin (`make_field`); None leaves it to each."""
    prior: str = "none"
    own_mappings: bool = False
    tuned: dict[str, Any] | None = None
    """How the scale was chosen, where it was."""

    def asked_for(self, source: Source) -> TrainOptions:
        """The options of one input: the seed is the set's, or its own."""
        seed = self.asked.seed + (source.place if self.own_mappings else 0)
        return dataclasses.replace(self.asked, seed=seed % 2**32)

    def training(self, kind: Kind, asked: TrainOptions) -> Training:
        mapping = self.mapping
        if mapping is None:
            mapping, _ = choose_mapping(kind, asked)
        return dataclasses.replace(kind.training(asked, mapping), prior=self.prior)

    def network(self, kind: Kind, training: Training) -> Network:
        """The kind's, beginning where all others do."""
        own = kind.network(training)
        if self.own_mappings or own.start is None:
            return own
        return dataclasses.replace(own, start=self.start)

    def config(self, more: dict[str, Any]) -> dict[str, Any]:
        """Everything needed to go on with the set, as config.json has it."""
        options = {
            f.name: getattr(self.asked, f.name)
            for f in dataclasses.fields(row_of(self.kind).options)
            if f.name not in FREE
        }
        config = {"passband": __version__, "set": True, "task": self.kind, **options}
        config["mapping_given"] = options["mapping"]
        if self.mapping is not None:
            config["mapping"] = str(self.mapping)
        config |= {"start": self.start, "prior": self.prior, "file": None}
        config |= {"own_mappings": self.own_mappings, "tuned": self.tuned}
        return config | {"environment": environment(self.asked.precision)} | more

    @classmethod
    def of_config(cls, config: dict[str, Any], asked: TrainOptions) -> "SetPlan":
        """The plan that a set was begun with; `asked` are its options."""
        try:
            mapping = parse_mapping(str(config["mapping"]))
            start = config["start"]
            return cls(
                str(config["task"]), asked,
                None if isinstance(mapping, Auto) else mapping,
                None if start is None else float(start),
                str(config["prior"]), bool(config["own_mappings"]), config["tuned"],
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"config.json of the set is damaged ({error}); `overwrite` starts anew"
            ) from None


def settle(
    name: str,
    sources: Sequence[Source],
    asked: TrainOptions,
    given: Collection[str],
    *,
    own_mappings: bool = False,
    each: bool = False,
    listener: Listener = SILENT,
) -> SetPlan:
    """Look at a few inputs and settle what holds for all.

    Args:
        given: the options that were asked for.
        each: leave the scale to every input.
    """
    sample = _sample(sources, asked)
    first = sample[len(sample) // 2]
    if isinstance(first, InStacks):
        asked = first.among_many(asked, given)
    word = first.default_mapping() if asked.mapping is None else asked.mapping
    asked = dataclasses.replace(asked, mapping=word, file=None)
    mapping, tuned = parse_mapping(word), None
    if isinstance(mapping, Auto):
        if each:
            prior = choose_prior(first, asked, mapping.base, listener)
            start = _start(sample, asked, mapping.base)
            return SetPlan(name, asked, None, start, prior.word, own_mappings)
        mapping, tuned = _scale_for_all(sample, asked, mapping, listener)
    prior = choose_prior(first, asked, mapping, listener)
    start = _start(sample, asked, mapping)
    return SetPlan(name, asked, mapping, start, prior.word, own_mappings, tuned)


def _start(
    sample: Sequence[Kind], asked: TrainOptions, mapping: Mapping
) -> float | None:
    """The mean of where the inputs of a sample would begin."""
    found = [kind.network(kind.training(asked, mapping)).start for kind in sample]
    known = [start for start in found if start is not None]
    return sum(known) / len(known) if known else None


def _scale_for_all(
    sample: Sequence[Kind], asked: TrainOptions, auto: Auto, listener: Listener
) -> tuple[Mapping, dict[str, Any]]:
    """The scale in the middle of those that the inputs of a sample would choose."""
    found: list[tuple[Mapping, Choice | None]] = []
    for k, kind in enumerate(sample):
        listener.progress(f"choosing a scale for all: {k + 1}/{len(sample)}")
        own = dataclasses.replace(kind, options=asked)
        found.append(choose_mapping(own, asked))
    ordered = sorted(found, key=lambda pair: _size(pair[0]))
    mapping, choice = ordered[len(ordered) // 2]
    words = [str(one) for one, _ in found]
    listener.say(f"{mapping} for all: a sample of {len(words)} asked for {words}")
    return mapping, {"given": str(auto), "chosen": str(mapping), "sample": words,
                     "summary": "" if choice is None else choice.summary()}  # fmt: skip


def _size(mapping: Mapping) -> float:
    """The scale of a mapping; of several axes their product."""
    scale = getattr(mapping, "scale", getattr(mapping, "octaves", 0.0))
    return math.prod(scale) if isinstance(scale, tuple) else float(scale)


def _sample(sources: Sequence[Source], asked: TrainOptions) -> list[Kind]:
    """A few inputs, from all over the list, that can be read."""
    count = len(sources)
    places = {round(k * (count - 1) / max(1, SAMPLE - 1)) for k in range(SAMPLE)}
    order = [*sorted(places), *(k for k in range(count) if k not in places)]
    found, errors = [], []
    for place in order:
        try:
            found.append(sources[place].read(asked))
        except Exception as error:  # it will be a row of the index
            errors.append(error)
        if len(found) == min(SAMPLE, count) or len(errors) > 100:
            break
        if found and place not in places and len(found) + len(errors) >= SAMPLE:
            break
    if not found:
        raise InputError(f"no input can be read; the first: {errors[0]}")
    return found
