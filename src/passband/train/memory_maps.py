"""The maps of memory that a process has: Linux gives it 65,530, and XLA ends a process
that asks for one more. A program compiled for a CPU holds some 300."""

from pathlib import Path

MOST, HELD = Path("/proc/sys/vm/max_map_count"), Path("/proc/self/maps")
FULL = 0.5
"""The share of them from which programs that were kept are given back."""


def few_left() -> bool:
    """Whether most of them are held; False where the system does not tell."""
    try:
        return maps_held() > FULL * int(MOST.read_text())
    except (OSError, ValueError):
        return False


def maps_held() -> int:
    """How many this process holds."""
    return HELD.read_bytes().count(b"\n")
