"""BART's arrays: complex64 in NAME.cfl, first axis fastest, the sizes in NAME.hdr."""

import math
import os
from pathlib import Path

import numpy as np
from jaxtyping import Complex64

from ..errors import InputError
from ..file_gate import check_cost, check_file, open_file, read_text, reader

DIMS = 16
READ, PHASE1, PHASE2, COIL, SLICE, AVERAGE = 0, 1, 2, 3, 13, 14
"""What the axes are, by number."""
_HDR = "a BART header (NAME.hdr beside NAME.cfl)"


def pair(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """The two files of an array: sizes, and numbers."""
    path = Path(path)
    return path.with_suffix(".hdr"), path.with_suffix(".cfl")


@reader("a BART file (NAME.cfl with NAME.hdr)")
def read_cfl(path: Path) -> Complex64[np.ndarray, "..."]:
    """The array, of 16 axes."""
    header, numbers = pair(path)
    sizes = _sizes(header)
    size = check_file(numbers, "the numbers of a BART file (NAME.cfl)")
    claims = f"{' x '.join(map(str, sizes))} complex numbers"
    count = math.prod(sizes)
    if 8 * count != size:
        kind = "is cut short" if 8 * count > size else "is too long"
        raise InputError(
            f"`{numbers}` {kind}: `{header}` claims {claims}, {8 * count:,} bytes, and "
            f"it has {size:,}"
        )
    check_cost(numbers, 3 * size, size, claims)
    with open_file(numbers) as stream:
        flat = np.frombuffer(stream.read(size), "<c8")
    full = sizes + (1,) * (DIMS - len(sizes))
    return flat.astype(np.complex64, copy=False).reshape(full, order="F")


def _sizes(header: Path) -> tuple[int, ...]:
    check_file(header, _HDR)
    lines = read_text(header, _HDR, 2**20).splitlines()
    after = [line.strip() for line in lines]
    if "# Dimensions" in after:
        after = after[after.index("# Dimensions") + 1 :]
    line = next((line for line in after if line and not line.startswith("#")), "")
    words = line.split()
    good = words and all(w.isdecimal() and 0 < int(w) < 2**31 for w in words)
    if not good or len(words) > DIMS:
        raise InputError(
            f"`{header}` says `{line[:60]}` below `# Dimensions`; give 1 to {DIMS} "
            "positive numbers"
        )
    return tuple(int(word) for word in words)
