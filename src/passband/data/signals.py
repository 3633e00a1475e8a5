"""1D signals from the user's files: NPY, CSV and WAV, and back."""

import array
import io
import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32

from ..atomic_write import atomic_write
from ..errors import InputError, one_line
from ..file_gate import decoding, open_file, reader
from .arrays import finite, read_npy, widened, write_npy
from .images import to_user

SUFFIXES = (".npy", ".csv", ".wav")
LARGEST_RATE = 2**31 - 1  # samples a second of a WAV file


@dataclass(frozen=True)
class Signal:
    """Samples at equal distances, and the range they fill."""

    values: Float32[np.ndarray, "n c"]
    """In the file's units; of a WAV file with whole numbers, full scale is -1 to 1."""
    rate: float | None
    """Samples per second; None where the file does not say."""
    low: float
    high: float
    name: str

    def normalised(self) -> Float32[np.ndarray, "n c"]:
        """(values - low) / (high - low), inside [0, 1]."""
        scaled = np.subtract(self.values, self.low, dtype=np.float64)
        return (scaled / (self.high - self.low)).astype(np.float32)

    def to_user(self, x: Float[np.ndarray, "..."]) -> Float32[np.ndarray, "..."]:
        """low + x (high - low): the inverse of `normalised`."""
        return to_user(x, self.low, self.high)


@reader("an NPY, CSV or WAV file")
def read_signal(path: Path) -> Signal:
    """The samples of an NPY file (n,) or (n, c), a CSV of c columns, or a WAV file."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"`{path}` ends in `{path.suffix}`; signals are read from "
            f"{', '.join(SUFFIXES)}"
        )
    rate = None
    if suffix == ".npy":
        values = read_npy(path)
    elif suffix == ".csv":
        values = _read_csv(path)
    else:
        values, rate = _read_wav(path)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] < 1:
        raise InputError(
            f"`{path}` has shape {values.shape}; a signal is (samples,) or "
            "(samples, channels)"
        )
    n, channels = values.shape
    if n < 4:
        raise InputError(f"`{path}` has {n} samples; a signal needs at least 4")
    if channels > n:
        raise InputError(
            f"`{path}` has {n} samples of {channels} channels; save its transpose, "
            "(samples, channels)"
        )
    values = finite(values, f"`{path}`")
    low, high = widened(float(values.min()), float(values.max()))
    return Signal(values=values, rate=rate, low=low, high=high, name=path.stem)


def _read_csv(path: Path) -> Float[np.ndarray, "n c"]:
    """Numbers in columns between commas, semicolons, tabs or spaces.

    The first line may name the columns; empty lines and lines from # on are passed
    over.
    """
    numbers, columns = array.array("d"), 0  # 8 bytes each, where a list takes 32
    header_seen = False
    try:
        with io.TextIOWrapper(open_file(path, "a CSV file"), "utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                text = line.split("#", 1)[0].strip()
                if not text:
                    continue
                row = _row(text)
                if row is None:
                    if numbers or header_seen:
                        raise InputError(
                            f"`{path}` line {number} holds {text[:40]!r}; every line "
                            "after the names must hold numbers"
                        )
                    header_seen = True
                    continue
                columns = columns or len(row)
                if len(row) != columns:
                    raise InputError(
                        f"`{path}` line {number} holds {len(row)} numbers and the "
                        f"first row {columns}; every row needs as many"
                    )
                numbers.extend(row)
    except UnicodeDecodeError as error:
        raise InputError(f"`{path}` is no text file: {one_line(error)}") from error
    if not numbers:
        raise InputError(f"`{path}` holds no line of numbers")
    return np.frombuffer(numbers, np.float64).reshape(-1, columns)


def _row(text: str) -> list[float] | None:
    """The numbers of a line, None if it holds anything else."""
    try:
        return [float(cell) for cell in _split_cells(text)]
    except ValueError:
        return None


def _split_cells(text: str) -> list[str]:
    for mark in ",;\t":
        if mark in text:
            return text.split(mark)
    return text.split()


def _read_wav(path: Path) -> tuple[Float[np.ndarray, "..."], float]:
    """Samples and rate; whole numbers are divided by their full scale."""
    from scipy.io import wavfile

    what = "a WAV file"
    with (
        decoding(path, what),
        open_file(path, what) as stream,
        warnings.catch_warnings(record=True) as said,
    ):
        warnings.simplefilter("always")
        rate, values = wavfile.read(stream)
    # SciPy reads what there is of a file cut short, and says so in a warning.
    for warning in said:
        if re.search("EOF|prematurely", str(warning.message)):
            raise InputError(f"`{path}` is cut short: {one_line(warning.message)}")
    if rate <= 0:
        raise InputError(f"`{path}` has a sample rate of {rate}; it must be positive")
    if values.dtype == np.uint8:  # 8-bit WAV is the one kind that is unsigned
        return (values.astype(np.float64) - 128.0) / 128.0, float(rate)
    if values.dtype.kind == "i":
        # 24 bits come in the upper bytes of 32, so the type's full scale is right.
        return values / -float(np.iinfo(values.dtype).min), float(rate)
    return values, float(rate)


def write_signal(
    path: str | os.PathLike[str],
    values: Float[np.ndarray, "..."],
    rate: float | None = None,
) -> None:
    """Write samples to an NPY, CSV or WAV file, all or nothing.

    NPY and CSV keep the values in float32. WAV needs a `rate` and holds 16-bit samples
    with full scale -1 to 1, clipped there.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    values = np.asarray(values)
    if values.ndim != 2:
        raise InputError(
            f"`values` has shape {values.shape}; a signal is (samples, channels)"
        )
    if not np.isfinite(values).all():
        raise InputError("`values` holds NaN or infinite values; nothing was written")
    if suffix not in SUFFIXES:
        what = "is a folder" if os.path.isdir(path) else f"ends in `{suffix}`"
        raise InputError(
            f"`{path}` {what}; signals are written to .npy, .csv or .wav files"
        )
    if suffix == ".wav" and not 1 <= round(rate or 0) <= LARGEST_RATE:
        raise InputError(
            f"`rate` (={rate}) must be a number of samples per second to write a WAV "
            "file; write .npy or .csv without one"
        )
    with atomic_write(path) as part:
        if suffix == ".npy":
            write_npy(part, values.astype(np.float32))
        elif suffix == ".csv":
            np.savetxt(part, values.astype(np.float32), fmt="%.9g", delimiter=",")
        else:
            _write_wav(part, values, round(rate or 0))


def _write_wav(path: Path, values: Float[np.ndarray, "n c"], rate: int) -> None:
    from scipy.io import wavfile

    samples = np.clip(np.rint(values.astype(np.float64) * 32768.0), -32768, 32767)
    mono = samples.shape[1] == 1
    wavfile.write(path, rate, (samples[:, 0] if mono else samples).astype(np.int16))
