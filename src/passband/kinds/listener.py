"""Who hears how far the work has come."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable


@runtime_checkable
class Listener(Protocol):
    """Hears how far the work has come; the command's console is one."""

    def say(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def progress(self, text: str, *, often: bool = True) -> None: ...


class Silent:
    """Hears nothing."""

    def say(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def progress(self, text: str, *, often: bool = True) -> None: ...


SILENT = Silent()


def share_told(listener: Listener) -> Callable[[float], None]:
    """Tells a listener what share of a field has been evaluated."""
    return lambda share: listener.progress(f"evaluating the field  {share:.0%}")
