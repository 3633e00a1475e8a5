"""What a kind may add to be fast in stacks of hundreds: small networks, one judgement.

A kind without it is fitted in stacks all the same, with the network that a fit alone
has, and judged one field after the other.
"""

import abc
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from ..field import Field
from .options import TrainOptions
from .shown import Shown


class Judged(NamedTuple):
    """How good a field is, and what its model file says."""

    metrics: dict[str, float]
    about: dict[str, Any]


class InStacks(abc.ABC):
    """A kind whose data are often many and small."""

    @abc.abstractmethod
    def among_many(self, asked: Any, given: Collection[str]) -> TrainOptions:
        """What was asked for, and what data of this size need, where it was not.

        Args:
            given: the options that were asked for.
        """

    @abc.abstractmethod
    def host_task(self, training: Any) -> Any | None:
        """The task with arrays of NumPy's, which are made faster than JAX's; None where
        it is made as usual."""

    @classmethod
    @abc.abstractmethod
    def judge_stack(
        cls, kinds: Sequence[Any], tasks: Sequence[Any], field: Field
    ) -> Callable[[], list[Judged]] | None:
        """Begin to judge a stack of fields by one program, which is waited for where
        the result is asked for; None where these have to be judged one by one.

        Args:
            field: with a leading axis.
        """

    @abc.abstractmethod
    def pictured(self, field: Field) -> Shown:
        """The field on the data's own grid, beside the truth, and nothing else."""
