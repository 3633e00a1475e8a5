"""PNG and JPEG files, with all 16 bits of those PNGs that have them."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import Shaped
from PIL import Image as Pillow
from PIL import ImageFile

from ..file_gate import check_cost, read_bytes, reader
from ..quiet import any_size, without_stderr

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_LONGEST = 2**32  # bytes of a packed picture
_ROWS = 256  # that are copied at a time
_GREY, _RGB, _GREY_ALPHA, _RGBA = 0, 2, 4, 6  # PNG's colour types


@reader("a PNG or JPEG file")
def read_raster(path: Path) -> Shaped[np.ndarray, "h w c"]:
    """The pixels of a PNG or JPEG file as uint8 or uint16, turned the way EXIF says."""
    data = read_bytes(path, "a PNG or JPEG file", _LONGEST)
    with without_stderr(), any_size():
        image = _open(data)
        deep = data.startswith(_SIGNATURE) and data[24] == 16
        check_pixels(path, len(data), image, deep=deep)
        orientation = image.getexif().get(0x0112, 1)
        values = _decode_png16(data, image) if deep else pillow_pixels(image)
    return oriented(values, orientation)


def check_pixels(
    path: Path, size: int, image: Pillow.Image, *, deep: bool = False
) -> None:
    """Refuse a picture whose pixels, once unpacked, take too much memory."""
    # Pillow's own four bytes a pixel, the samples, and a copy where they are turned.
    each = 4 + 2 * len(image.getbands()) * (3 if deep else 1)
    claims = f"{image.width} x {image.height} pixels"
    check_cost(path, size + each * image.width * image.height, size, claims)


def _open(data: bytes) -> ImageFile.ImageFile:
    return Pillow.open(io.BytesIO(data), formats=("PNG", "JPEG"))


def pillow_pixels(image: Pillow.Image) -> Shaped[np.ndarray, "h w c"]:
    """8-bit grey, grey + alpha, RGB or RGBA of any picture that Pillow decodes to it.

    Palettes are expanded, a transparent colour becomes an alpha channel, CMYK and the
    like become RGB, 1 bit becomes 0 and 255.
    """
    image.load()
    clear = "transparency" in image.info or image.mode in ("PA", "La", "RGBa")
    grey = image.mode in ("1", "L", "LA", "La")
    mode = ("LA" if clear else "L") if grey else ("RGBA" if clear else "RGB")
    if image.mode not in ("L", "LA", "RGB", "RGBA") or (
        clear and image.mode in ("L", "RGB")
    ):
        image = image.convert(mode)
    return _samples(image)


def _samples(image: Pillow.Image) -> Shaped[np.ndarray, "h w c"]:
    """What Pillow decoded, one byte a sample."""
    # By bands of rows, so that Pillow's copy of the bytes stays small.
    values = np.empty((image.height, image.width, len(image.getbands())), np.uint8)
    for top in range(0, image.height, _ROWS):
        bottom = min(top + _ROWS, image.height)
        band = np.asarray(image.crop((0, top, image.width, bottom)))
        values[top:bottom] = band.reshape(bottom - top, image.width, -1)
    return values


def _decode_png16(data: bytes, image: Pillow.Image) -> Shaped[np.ndarray, "h w c"]:
    """The 16-bit samples of a PNG: Pillow alone would keep the high bytes only."""
    colour = data[25]
    if colour == _GREY:
        values = np.asarray(image).astype(np.uint16)[..., None]
    elif colour == _GREY_ALPHA:
        # The same bytes, announced as 8-bit RGBA: high, low, high, low.
        pixels = np.asarray(_open(_announced_as_8bit_rgba(data)))
        values = pixels.view(">u2").astype(np.uint16)
    else:
        # The second decoding calls the samples little-endian and so keeps low bytes.
        values = _samples(image).astype(np.uint16)
        values <<= 8
        low = _open(data)
        tile = low.tile[0]
        low.tile = [tile._replace(args=str(tile.args).replace("16B", "16L"))]
        values |= _samples(low)
    key = _transparent_colour(data)
    if key is not None:
        opaque = (values != key).any(axis=2, keepdims=True)
        alpha = opaque.astype(np.uint16) * np.uint16(65535)
        values = np.concatenate([values, alpha], axis=2)
    return values


def _announced_as_8bit_rgba(data: bytes) -> bytes:
    header = b"IHDR" + data[16:24] + bytes([8, _RGBA]) + data[26:29]
    crc = struct.pack(">I", zlib.crc32(header))
    return data[:12] + header + crc + data[33:]


def _transparent_colour(data: bytes) -> Shaped[np.ndarray, " c"] | None:
    """The one colour that the tRNS chunk of a 16-bit grey or RGB file makes clear."""
    at = len(_SIGNATURE)
    while at + 8 <= len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind = data[at + 4 : at + 8]
        if kind == b"tRNS":
            return np.frombuffer(data[at + 8 : at + 8 + length], ">u2")
        if kind == b"IDAT":
            return None
        at += 12 + length
    return None


def oriented(
    values: Shaped[np.ndarray, "h w c"], orientation: int
) -> Shaped[np.ndarray, "h2 w2 c"]:
    """The picture upright, from the EXIF or TIFF tag 274 (1 to 8)."""
    if orientation in (5, 6, 7, 8):
        values = values.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        values = values[::-1]
    if orientation in (2, 3, 6, 7):
        values = values[:, ::-1]
    return np.ascontiguousarray(values)


def write_png_to(stream: io.BytesIO, values: Shaped[np.ndarray, "..."]) -> None:
    """Write uint8 pixels, (rows, cols) or (rows, cols, channels), into memory."""
    Pillow.fromarray(np.ascontiguousarray(values)).save(stream, format="PNG")


def write_png(path: Path, values: Shaped[np.ndarray, "h w c"]) -> None:
    """Write uint8 or uint16 pixels of 1 to 4 channels."""
    if values.dtype == np.uint8:
        grey = values.shape[2] == 1
        Pillow.fromarray(values[..., 0] if grey else values).save(path, format="PNG")
        return
    rows, columns, channels = values.shape
    colour = {1: _GREY, 2: _GREY_ALPHA, 3: _RGB, 4: _RGBA}[channels]
    header = struct.pack(">IIBBBBB", columns, rows, 16, colour, 0, 0, 0)
    # Filter 2 ("up") stores each byte's difference from the one above it.
    lines = values.astype(">u2").reshape(rows, -1).view(np.uint8)
    filtered = np.full((rows, 1 + lines.shape[1]), 2, np.uint8)
    filtered[0, 1:] = lines[0]
    filtered[1:, 1:] = lines[1:] - lines[:-1]
    with path.open("wb") as file:
        file.write(_SIGNATURE)
        file.write(_chunk(b"IHDR", header))
        file.write(_chunk(b"IDAT", zlib.compress(filtered.tobytes())))
        file.write(_chunk(b"IEND", b""))


def _chunk(kind: bytes, body: bytes) -> bytes:
    crc = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + crc
