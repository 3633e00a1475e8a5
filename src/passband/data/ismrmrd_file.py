"""ISMRMRD files: every line of k-space with a header of its own, put in its place."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Complex64, Float, Shaped

from ..errors import InputError
from ..file_gate import LEAST_ROOM, check_cost, reader
from . import hdf5
from .mrd_header import Header, parse_header
from .raw_kspace import RawKSpace, which, without_oversampling

NOISE, CALIBRATION, CALIBRATION_TOO, REVERSED = 19, 20, 21, 22
OTHERS = {
    23: "navigator", 24: "phase correction", 26: "feedback", 27: "dummy",
    28: "feedback", 29: "surface coil correction", 30: "phase stabilisation",
    31: "phase stabilisation",
}  # fmt: skip
"""Lines that are no part of the image, by the number of their flag."""
AXES = ("contrast", "phase", "set")
"""Further images of one slice, of which the first is taken."""
_FIELDS = ("flags", "number_of_samples", "active_channels", "center_sample",
           "discard_pre", "discard_post", "encoding_space_ref", "idx")  # fmt: skip


@reader("an ISMRMRD file")
def read_ismrmrd(
    path: Path, *, slice_: int | None = None, frame: int | None = None
) -> RawKSpace:
    """One Cartesian image or volume of a file, (coils, x, y[, z]).

    x is the readout and y, z are the first and second phase encodings. Averages are
    averaged, coils are made equally noisy where there are noise scans, and twofold
    readout oversampling is taken off.

    Args:
        slice_: which of several, counted from 0; the middle one by default.
        frame: which repetition; the first one by default.
    """
    with hdf5.open_hdf5(path) as file:
        group = _group(path, file)
        text = hdf5.text(path, hdf5.entry(group, "xml"), "xml")
        header = parse_header(path, text)
        if header.trajectory != "cartesian":
            raise InputError(
                f"`{path}` has a {header.trajectory[:40]} trajectory; only Cartesian "
                "k-space is read: grid it first"
            )
        data = hdf5.checked(path, hdf5.entry(group, "data"), "data")
        if data.dtype.names is None or not {"head", "data"} <= set(data.dtype.names):
            raise InputError(f"`{path}`: `data` has no `head` and `data` of lines")
        _check_lists(path, data)
        head = data.fields("head")[:]
        if missing := set(_FIELDS) - set(head.dtype.names or ()):
            raise InputError(f"`{path}`: lines have no `{min(missing)}`")
        lines = _Lines(path, data, head)
        return _assembled(path, header, lines, slice_, frame)


def _check_lists(path: Path, data: Any) -> None:
    """Refuse a line that claims more samples than the file has bytes: HDF5 makes room
    for a list's length before it looks whether there is one."""
    kind, size = data.id.get_type(), path.stat().st_size
    if data.chunks is None or data.compression is not None:
        return
    lists = [name for name in ("traj", "data") if name in data.dtype.names]
    places = [kind.get_member_offset(kind.get_member_index(n.encode())) for n in lists]
    for k in range(data.id.get_num_chunks()):
        start = data.id.get_chunk_info(k).chunk_offset
        _, chunk = data.id.read_direct_chunk(start)
        for record in range(0, len(chunk), kind.get_size()):
            for place in places:
                at = record + place
                if int.from_bytes(chunk[at : at + 4], "little") > size:
                    raise InputError(
                        f"`{path}` is damaged: line {k} is longer than the file"
                    )


def _group(path: Path, file: Any) -> Any:
    """`dataset`, or the only group that looks like one."""
    for name in ("dataset", *file):
        group = hdf5.entry(file, name)
        inside = [hdf5.entry(group, part) for part in ("xml", "data")]
        if all(part is not None for part in inside):
            return group
    raise InputError(
        f"`{path}` has no group with `xml` and `data`, as ISMRMRD's `dataset` has"
    )


class _Lines:
    """The lines of a file, read as they are asked for."""

    def __init__(self, path: Path, data: Any, head: Shaped[np.ndarray, " n"]):
        self.path, self.data, self.head = path, data, head
        self.flags = head["flags"].astype(np.uint64)

    def flagged(self, flag: int) -> np.ndarray:
        return (self.flags >> np.uint64(flag - 1)) & np.uint64(1) == 1

    def read(self, chosen: np.ndarray) -> list[Complex64[np.ndarray, "coils samples"]]:
        """Those of these numbers, ascending."""
        head = self.head[chosen]
        counts = head["number_of_samples"].astype(int) * head["active_channels"]
        size = self.path.stat().st_size
        check_cost(self.path, 32 * int(counts.sum()), size, f"{len(chosen)} lines")
        # Each is at most as long as the file, whatever its header says.
        at_once = max(1, LEAST_ROOM // size)
        found, column = [], self.data.fields("data")
        start, rows = -at_once, []
        for k in map(int, chosen):
            if k >= start + at_once:  # a range is far faster than a list of numbers
                start, rows = k, column[k : k + at_once]
            found.append(rows[k - start])
        lines = []
        for number, one, values in zip(chosen, head, found, strict=True):
            coils, n = int(one["active_channels"]), int(one["number_of_samples"])
            values = np.asarray(values, np.float32)
            if values.size != 2 * coils * n or not values.size:
                raise InputError(
                    f"`{self.path}`: line {number} has {values.size} numbers and its "
                    f"header says {coils} coils of {n} samples"
                )
            lines.append(values.view(np.complex64).reshape(coils, n))
        return lines


def _assembled(
    path: Path, header: Header, lines: _Lines, slice_: int | None, frame: int | None
) -> RawKSpace:
    head, idx, notes = lines.head, lines.head["idx"], []
    use = head["encoding_space_ref"] == 0
    noise = lines.flagged(NOISE)
    alone = lines.flagged(CALIBRATION) & ~lines.flagged(CALIBRATION_TOO) & ~noise
    use &= ~noise
    for flag, word in OTHERS.items():
        drop = use & lines.flagged(flag)
        if drop.any():
            notes.append(f"{int(drop.sum())} {word} lines left out")
            use &= ~drop
    image = use & ~alone
    if not image.any():
        raise InputError(f"`{path}` has no line of an image among {len(head)}")
    image, chosen = _one_of_several(idx, image, slice_, frame, notes)
    alone = alone & use & (idx["slice"] == chosen)
    raw = _placed(path, header, lines, np.flatnonzero(image))
    if alone.any():
        notes.append(f"{int(alone.sum())} calibration lines used for the coils alone")
        both = _placed(path, header, lines, np.flatnonzero(image | alone))
        raw = replace(raw, calibration=both.samples)
    if noise.any():
        raw = _whitened(raw, lines.read(np.flatnonzero(noise)), notes)
    first = head[np.flatnonzero(image)[0]]
    spacing = header.spacing(path)
    affine = _affine(first, raw.sides, spacing)
    raw = replace(
        raw, spacing=spacing[: len(raw.sides)], affine=affine, centred=True,
        notes=tuple(notes),
    )  # fmt: skip
    if header.oversampling > 1:
        raw = without_oversampling(raw, header.encoded.matrix[0] // header.oversampling)
    return raw


def _one_of_several(
    idx: np.ndarray, use: np.ndarray, slice_: int | None, frame: int | None,
    notes: list[str],
) -> tuple[np.ndarray, int]:  # fmt: skip
    """The lines of one slice, repetition and contrast, and the number of the slice."""
    slices = np.unique(idx["slice"][use])
    at = which("slice", slice_, len(slices), len(slices) // 2, "slices")
    if len(slices) > 1:
        notes.append(f"slice {at} of {len(slices)} (`slice` takes another)")
    use = use & (idx["slice"] == slices[at])
    frames = np.unique(idx["repetition"][use])
    now = which("frame", frame, len(frames), 0, "repetitions")
    if len(frames) > 1:
        notes.append(f"repetition {now} of {len(frames)} (`frame` takes another)")
    use = use & (idx["repetition"] == frames[now])
    for name in AXES:
        found = np.unique(idx[name][use])
        if len(found) > 1:
            notes.append(f"the first {name} of {len(found)}")
            use = use & (idx[name] == found[0])
    return use, int(slices[at])


def _placed(path: Path, header: Header, lines: _Lines, chosen: np.ndarray) -> RawKSpace:
    """The lines on the grid of k-space, frequency 0 in the middle; those measured more
    than once are averaged."""
    nx, ny, nz = header.encoded.matrix
    head, read = lines.head[chosen], lines.read(chosen)
    coils = {len(line) for line in read}
    if len(coils) > 1:
        raise InputError(f"`{path}` has lines of {sorted(coils)} coils; one is meant")
    (count,) = coils
    size = path.stat().st_size
    claims = f"{count} x {nx} x {ny} x {nz} samples"
    check_cost(path, 24 * count * nx * ny * nz, size, claims)
    total = np.zeros((count, nx, ny, nz), np.complex64)
    times = np.zeros((nx, ny, nz), np.int32)
    turned = lines.flagged(REVERSED)[chosen]
    limits = header.centres
    for one, line, back in zip(head, read, turned, strict=True):
        pre, post = int(one["discard_pre"]), int(one["discard_post"])
        n, centre = line.shape[1], int(one["center_sample"])
        if pre + post >= n or not 0 <= centre < n:
            raise InputError(
                f"`{path}` has a line of {n} samples whose middle is {centre}, with "
                f"{pre} and {post} to be discarded"
            )
        line, centre = line[:, pre : n - post], centre - pre
        if back:
            line, centre = line[:, ::-1], line.shape[1] - 1 - centre
        y = int(one["idx"]["kspace_encode_step_1"])
        z = int(one["idx"]["kspace_encode_step_2"])
        y += ny // 2 - limits.get("kspace_encoding_step_1", ny // 2)
        z += nz // 2 - limits.get("kspace_encoding_step_2", nz // 2)
        start = nx // 2 - centre
        if not (0 <= y < ny and 0 <= z < nz):
            raise InputError(
                f"`{path}` has a line at step ({y}, {z}) of an encoded grid of "
                f"{ny} x {nz}"
            )
        low, high = max(start, 0), min(start + line.shape[1], nx)
        # One sample may lie past an end, when an even line was read backwards.
        if line.shape[1] - (high - low) > 1:
            raise InputError(
                f"`{path}` has a line of {line.shape[1]} samples about {centre} for an "
                f"encoded grid of {nx}"
            )
        total[:, low:high, y, z] += line[:, low - start : high - start]
        times[low:high, y, z] += 1
    total /= np.maximum(times, 1)
    mask = times > 0
    if nz == 1:
        total, mask = total[..., 0], mask[..., 0]
    return RawKSpace(total, coils=True, mask=mask)


def _whitened(raw: RawKSpace, scans: list[np.ndarray], notes: list[str]) -> RawKSpace:
    """Coils mixed so that their noise is equal and independent, as large as it was."""
    count = len(raw.samples)
    noise = np.concatenate([scan for scan in scans if len(scan) == count] or [
        np.zeros((count, 0), np.complex64)], axis=1)  # fmt: skip
    if noise.shape[1] < 2 * count:
        notes.append(f"noise scans of {noise.shape[1]} samples: too few to use")
        return raw
    power = (noise @ noise.conj().T / noise.shape[1]).astype(np.complex128)
    power /= np.trace(power).real / count or 1.0
    try:
        mix = np.linalg.inv(np.linalg.cholesky(power)).astype(np.complex64)
    except np.linalg.LinAlgError:
        notes.append("noise scans that say nothing of some coils: not used")
        return raw
    notes.append(f"coils whitened by {len(scans)} noise scans")

    def mixed(samples: np.ndarray) -> np.ndarray:
        return np.einsum("ij,j...->i...", mix, samples)

    more = None if raw.calibration is None else mixed(raw.calibration)
    return replace(raw, samples=mixed(raw.samples), calibration=more)


def _affine(
    head: Any, sides: tuple[int, ...], spacing: tuple[float, float, float]
) -> Float[np.ndarray, "4 4"] | None:
    """From indices to mm by the directions of a line: patients' left, posterior and
    superior in the file, right, anterior and superior in a NIfTI file."""
    if not {"position", "read_dir", "phase_dir", "slice_dir"} <= set(head.dtype.names):
        return None
    turn = np.stack([head[f"{w}_dir"] for w in ("read", "phase", "slice")], axis=1)
    turn = turn.astype(np.float64)
    if not np.allclose(turn.T @ turn, np.eye(3), atol=1e-3):
        return None
    deep = spacing[2] if spacing[2] > 0 else 1.0
    affine = np.eye(4)
    affine[:3, :3] = turn * (*spacing[:2], deep)
    middle = [n // 2 for n in sides] + [0] * (3 - len(sides))
    affine[:3, 3] = head["position"].astype(np.float64) - affine[:3, :3] @ middle
    return np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine
