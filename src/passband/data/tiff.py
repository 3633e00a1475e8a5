"""TIFF files: 8 and 16 bit, floating point, palettes, any layout on disk."""

import io
import itertools
import math
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import tifffile
from jaxtyping import Shaped
from PIL import Image as Pillow

from ..errors import InputError
from ..file_gate import check_cost, map_part, open_file, reader
from ..quiet import any_size, without_stderr
from .raster import oriented, pillow_pixels

_GREY_INVERTED, _GREY, _RGB, _PALETTE = 0, 1, 2, 3  # TIFF's photometric types
_KNOWN = (_GREY_INVERTED, _GREY, _RGB, _PALETTE)
_COPIES = 4  # of the samples, at most, while they are unpacked and turned
_LZW, _ZIP = 5, 8
MM = {
    "m": 1000.0, "cm": 10.0, "mm": 1.0, "um": 1e-3, "micron": 1e-3, "\\u00B5m": 1e-3,
    "\u00b5m": 1e-3, "nm": 1e-6, "pixel": 1.0,
}  # fmt: skip
"""Millimetres, by the names that lengths have in TIFF stacks."""


@reader("a TIFF file")
def read_tiff(path: Path) -> Shaped[np.ndarray, "h w c"]:
    """The pixels of a TIFF of one page, as the type of number they are stored in."""
    with (
        without_stderr(),
        any_size(),
        open_file(path, "a TIFF file") as stream,
        tifffile.TiffFile(stream) as file,
    ):
        # Previews are pages too, marked as reduced copies of another. The search
        # stops early, since a damaged file can claim any number of pages.
        pages = (page.aspage() for page in itertools.islice(file.pages, 64))
        full = itertools.islice((p for p in pages if not p.is_reduced), 2)
        page, *more = full
        if not more:
            return _read_page(path, file, page)
    raise InputError(
        f"`{path}` holds more than one page; save the page you mean as its own file"
    )


@reader("a TIFF file")
def map_tiff(path: Path) -> np.ndarray | None:
    """The pixels of a TIFF of one page whose samples lie in one piece, uncompressed, as
    a read-only map of the file; None where they do not."""
    with (
        without_stderr(),
        open_file(path, "a TIFF file") as stream,
        tifffile.TiffFile(stream) as file,
    ):
        page = file.pages[0].aspage()
        tag = page.tags.get(274)
        plain = (
            len(list(itertools.islice(file.pages, 2))) == 1
            and page.is_memmappable
            and page.photometric in (_GREY, _RGB)
            and page.axes in ("YX", "YXS")
            and (tag is None or int(tag.value) == 1)
        )
        if not plain:
            return None
        shape = (page.imagelength, page.imagewidth, page.samplesperpixel)
        dtype = np.dtype(page.dtype).newbyteorder(file.byteorder)
        at, size = page.dataoffsets[0], file.filehandle.size
        return map_part(path, stream, at, shape, dtype, size)


def _read_page(
    path: Path, file: tifffile.TiffFile, page: tifffile.TiffPage
) -> Shaped[np.ndarray, "h w c"]:
    _check_extent(path, file, page)
    tag = page.tags.get(274)
    orientation = 1 if tag is None else int(tag.value)
    if page.bitspersample not in (1, 2, 4, 8, 16, 32, 64):
        raise ValueError(f"{page.bitspersample} bits per sample; save it with 8 or 16")
    if page.bitspersample < 8 or page.photometric not in _KNOWN:
        return oriented(_by_pillow(file, page), orientation)
    if page.compression == _LZW:
        values = _without_lzw(file, page)
    elif page.compression in tifffile.TIFF.DECOMPRESSORS:
        values = page.asarray()
    else:
        return oriented(_by_pillow(file, page), orientation)
    if page.axes == "SYX":  # one plane per channel
        values = np.moveaxis(values, 0, -1)
    elif page.axes not in ("YX", "YXS"):
        raise ValueError(f"its axes are {page.axes}, not rows, columns, channels")
    if values.ndim == 2:
        values = values[..., None]
    return oriented(_levels(values, page), orientation)


def _check_extent(path: Path, file: tifffile.TiffFile, page: tifffile.TiffPage) -> None:
    """Refuse sizes that no file of this length holds, before memory is spent on them.

    libtiff would also tell of missing bytes on the terminal, past Python.
    """
    pixels = page.imagewidth * page.imagelength
    bits = max(8, page.bitspersample) * max(1, page.samplesperpixel)
    needed = _COPIES * pixels * bits // 8
    claims = f"{page.imagewidth} x {page.imagelength} pixels"
    check_cost(path, needed, file.filehandle.size, claims)
    listed = page.tags[324 if page.is_tiled else 273].count
    if len(_segment_bytes(page)) != listed:
        raise ValueError(f"it lists {listed} strips or tiles, not the number it needs")
    spans = zip(page.dataoffsets, page.databytecounts, strict=True)
    end = max((offset + count for offset, count in spans), default=0)
    if not 0 < end <= file.filehandle.size:
        raise ValueError(f"it has {file.filehandle.size} bytes of {end}")
    packed, plain = sum(page.databytecounts), page.nbytes
    if page.compression == 1 and page.bitspersample >= 8 and packed < plain:
        raise ValueError(f"it has {packed} bytes of pixels and needs {plain}")


def _levels(
    values: Shaped[np.ndarray, "h w c"], page: tifffile.TiffPage
) -> Shaped[np.ndarray, "h w _"]:
    """Samples as brightness: palettes looked up, white-is-zero turned."""
    if page.photometric == _PALETTE:
        colours = np.asarray(page.colormap).T  # 16 bits for each of red, green, blue
        return (colours[values[..., 0]] >> 8).astype(np.uint8)
    if page.photometric == _GREY_INVERTED and values.dtype.kind == "u":
        return np.iinfo(values.dtype).max - values
    return values


def _by_pillow(
    file: tifffile.TiffFile, page: tifffile.TiffPage
) -> Shaped[np.ndarray, "h w c"]:
    """What Pillow alone decodes (JPEG, fax, CMYK, YCbCr, few bits), all to 8 bits."""
    if page.bitspersample > 8:
        raise ValueError(
            f"{page.bitspersample} bits with {page.compression!s} compression; save it "
            "uncompressed, or with ZIP or LZW compression"
        )
    file.filehandle.seek(0)
    with Pillow.open(io.BytesIO(file.filehandle.read()), formats=("TIFF",)) as image:
        image.seek(page.index)
        return pillow_pixels(image)


def _without_lzw(
    file: tifffile.TiffFile, page: tifffile.TiffPage
) -> Shaped[np.ndarray, "..."]:
    """The samples of an LZW-compressed page, at any number of bits.

    tifffile has no LZW of its own and Pillow would squash 16-bit colour to 8. So
    Pillow unpacks the bytes of each strip or tile, and tifffile reads them back from
    a copy of the file that holds them in the ZIP compression it knows.
    """
    file.filehandle.seek(0)
    copy = io.BytesIO(file.filehandle.read())
    offsets, counts = [], []
    for offset, packed, size in zip(
        page.dataoffsets, page.databytecounts, _segment_bytes(page), strict=True
    ):
        copy.seek(offset)
        raw = _unpack_lzw(copy.read(packed), size)
        offsets.append(copy.seek(0, io.SEEK_END))
        counts.append(copy.write(zlib.compress(raw, 0)))
    copy.seek(0)
    with tifffile.TiffFile(copy, mode="r+") as plain:
        tags = plain.pages[page.index].aspage().tags
        tiled = page.is_tiled
        tags[324 if tiled else 273].overwrite(offsets)
        tags[325 if tiled else 279].overwrite(counts)
        tags[259].overwrite(_ZIP)
    copy.seek(0)
    with tifffile.TiffFile(copy) as plain:
        return plain.pages[page.index].aspage().asarray()


def _segment_bytes(page: tifffile.TiffPage) -> list[int]:
    """How many bytes each strip or tile has when unpacked."""
    together = page.samplesperpixel if page.planarconfig == 1 else 1
    planes = page.samplesperpixel // together
    if page.is_tiled:
        line = -(-page.tilewidth * together * page.bitspersample // 8)
        across = -(-page.imagewidth // page.tilewidth)
        down = -(-page.imagelength // page.tilelength)
        return [line * page.tilelength] * (across * down * planes)
    line = -(-page.imagewidth * together * page.bitspersample // 8)
    rows = min(page.rowsperstrip, page.imagelength)
    last = page.imagelength % rows or rows
    full = (page.imagelength - last) // rows
    return ([line * rows] * full + [line * last]) * planes


def _unpack_lzw(packed: bytes, size: int) -> bytes:
    """LZW by way of a TIFF of one row of `size` grey bytes, which libtiff unpacks."""
    entries = [
        (256, 4, size),  # width
        (257, 4, 1),  # height
        (258, 3, 8),  # bits per sample
        (259, 3, _LZW),
        (262, 3, _GREY),
        (273, 4, 8),  # where the strip starts
        (277, 3, 1),  # samples per pixel
        (278, 4, 1),  # rows per strip
        (279, 4, len(packed)),
    ]
    wrapped = struct.pack("<2sHI", b"II", 42, 8 + len(packed)) + packed
    wrapped += struct.pack("<H", len(entries))
    wrapped += b"".join(struct.pack("<HHII", t, k, 1, v) for t, k, v in entries)
    with Pillow.open(io.BytesIO(wrapped + bytes(4)), formats=("TIFF",)) as image:
        return image.tobytes()


def write_tiff(path: Path, values: Shaped[np.ndarray, "h w c"]) -> None:
    """Write uint8, uint16 or float32 pixels of 1 to 4 channels."""
    channels = values.shape[2]
    tifffile.imwrite(
        path,
        values[..., 0] if channels == 1 else values,
        photometric="minisblack" if channels < 3 else "rgb",
        planarconfig=None if channels == 1 else "contig",
        extrasamples=["unassalpha"] if channels in (2, 4) else None,
        compression="zlib",
        metadata=None,
    )


def write_tiff_stack(
    path: Path,
    slices: Iterable[Shaped[np.ndarray, "h w"]],
    shape: tuple[int, int, int],
    dtype: type,
    *,
    spacing: tuple[float, float, float],
    unit: str,
) -> None:
    """Write slices as the pages of one TIFF, one at a time, their spacing as ImageJ has
    it.

    Args:
        shape: pages, rows and columns.
        dtype: uint8, uint16 or float32.
        spacing: from page to page, row to row and column to column.
        unit: of these lengths.
    """
    apart, down, across = spacing
    # ImageJ's own stacks count their bytes in 32 bits.
    large = math.prod(shape) * np.dtype(dtype).itemsize > 2**31
    tifffile.imwrite(
        path,
        iter(slices),
        shape=shape,
        dtype=dtype,
        imagej=not large,
        bigtiff=large,
        photometric="minisblack",
        resolution=(1 / across, 1 / down),
        metadata={"axes": "ZYX", "spacing": apart, "unit": unit},
    )


@reader("a TIFF file")
def stack_spacing(path: Path) -> tuple[float, float, float] | None:
    """Millimetres (of another unit: that unit) from page to page, row to row and column
    to column, where ImageJ or `write_tiff_stack` has told."""
    with open_file(path, "a TIFF file") as stream, tifffile.TiffFile(stream) as file:
        told = file.imagej_metadata
        if told is None and file.shaped_metadata:
            told = file.shaped_metadata[0]
        page = file.pages[0].aspage()
        if not told or "spacing" not in told:
            return None
        x, y = (page.tags.get(tag) for tag in (282, 283))
        if x is None or y is None:
            return None
        unit = MM.get(str(told.get("unit", "mm")), 1.0)
        try:
            (over, one), (over_y, one_y) = x.value, y.value
            lengths = (float(told["spacing"]), one_y / over_y, one / over)
        except (TypeError, ValueError, ZeroDivisionError):
            return None
        apart, down, across = (unit * abs(length) for length in lengths)
    if not all(0 < s < math.inf for s in (apart, down, across)):
        return None
    return apart, down, across


@reader("a TIFF file")
def map_tiff_stack(path: Path) -> Shaped[np.ndarray, "pages h w"] | None:
    """The pages of a TIFF whose samples lie in one piece, uncompressed, as a read-only
    map of the file; None where they do not."""
    with (
        without_stderr(), open_file(path, "a TIFF file") as stream,
        tifffile.TiffFile(stream) as file,
    ):  # fmt: skip
        whole, page = file.series[0], file.pages[0].aspage()
        plain = page.is_memmappable and page.photometric == _GREY and page.axes == "YX"
        if not plain or whole.dataoffset is None or len(whole.shape) != 3:
            return None
        dtype = np.dtype(page.dtype).newbyteorder(file.byteorder)
        shape, size = (whole.shape[0], *page.shape), file.filehandle.size
        return map_part(path, stream, whole.dataoffset, shape, dtype, size)
