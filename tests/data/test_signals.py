"""Signals are read in their own units, and bad files give one clear line."""

import struct
import wave
from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

from passband.data.signals import read_signal, write_signal
from passband.errors import InputError

TONE = np.sin(np.arange(200) / 9.0) * 0.7
STEREO = np.stack([TONE, TONE[::-1] * 0.5], axis=1)


def pcm(path: Path, values: np.ndarray, width: int, rate: int = 8000) -> Path:
    """A WAV file of whole numbers by the standard library, bytes made by hand."""
    scale = 2 ** (8 * width - 1)
    whole = np.clip(np.rint(values * scale), -scale, scale - 1).astype(int)
    if width == 1:
        data = (whole + 128).astype(np.uint8).tobytes()
    else:
        low_bytes = (whole[..., None] >> (8 * np.arange(width))) & 255
        data = low_bytes.astype(np.uint8).tobytes()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1 if values.ndim == 1 else values.shape[1])
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(data)
    return path


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("values", [TONE, STEREO], ids=["mono", "stereo"])
def test_wav_of_every_width_has_full_scale_one(tmp_path, width, values):
    signal = read_signal(pcm(tmp_path / "a.wav", values, width, rate=44100))
    assert signal.rate == 44100.0
    assert signal.values.dtype == np.float32
    expected = values.reshape(200, -1)
    step = max(2.0 ** (1 - 8 * width), 1e-7)
    np.testing.assert_allclose(signal.values, expected, atol=step)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_wav_is_kept_as_it_is(tmp_path, dtype):
    wavfile.write(tmp_path / "a.wav", 8000, (3 * STEREO).astype(dtype))
    values = read_signal(tmp_path / "a.wav").values
    np.testing.assert_array_equal(values, (3 * STEREO).astype(np.float32))


def test_wav_with_other_chunks_is_read_in_silence(tmp_path, capfd):
    data = pcm(tmp_path / "a.wav", TONE, 2).read_bytes()
    extra = b"junk" + struct.pack("<I", 6) + b"hello!"
    data = data[:12] + extra + data[12:]
    data = data[:4] + struct.pack("<I", len(data) - 8) + data[8:]
    (tmp_path / "a.wav").write_bytes(data)
    assert read_signal(tmp_path / "a.wav").values.shape == (200, 1)
    assert capfd.readouterr() == ("", "")


def test_npy_vector_and_channels(tmp_path):
    np.save(tmp_path / "a.npy", TONE)
    signal = read_signal(tmp_path / "a.npy")
    assert (signal.values.shape, signal.rate, signal.name) == ((200, 1), None, "a")
    assert (signal.low, signal.high) == (signal.values.min(), signal.values.max())
    np.save(tmp_path / "b.npy", (STEREO * 1000).astype(np.int16))
    np.testing.assert_array_equal(
        read_signal(tmp_path / "b.npy").values, np.trunc(STEREO * 1000)
    )


@pytest.mark.parametrize("mark", [",", ";", "\t", " ", ", "])
@pytest.mark.parametrize("head", ["", "left{}right\n", "# made by hand\n\n"])
def test_csv_marks_and_headers(tmp_path, mark, head):
    rows = "\n".join(f"{a:.17g}{mark}{b:.17g}" for a, b in STEREO)
    (tmp_path / "a.csv").write_text(head.format(mark) + rows + "\n")
    np.testing.assert_array_equal(
        read_signal(tmp_path / "a.csv").values, STEREO.astype(np.float32)
    )


def test_csv_of_one_column_with_a_byte_order_mark(tmp_path):
    (tmp_path / "a.csv").write_text("\ufeffvolts\r\n1\r\n2e-1\r\n-3\r\n4\r\n")
    values = read_signal(tmp_path / "a.csv").values
    np.testing.assert_array_equal(values[:, 0], np.array([1, 0.2, -3, 4], np.float32))


def test_normalised_fills_zero_to_one_and_returns(tmp_path):
    np.save(tmp_path / "a.npy", STEREO * 40 + 1000)
    signal = read_signal(tmp_path / "a.npy")
    x = signal.normalised()
    assert (x.min(), x.max(), x.dtype) == (0.0, 1.0, np.float32)
    np.testing.assert_allclose(signal.to_user(x), signal.values, rtol=1e-6)


def test_a_constant_signal_divides_by_nothing(tmp_path):
    np.save(tmp_path / "a.npy", np.full(9, 5.0))
    signal = read_signal(tmp_path / "a.npy")
    np.testing.assert_array_equal(signal.to_user(signal.normalised()), signal.values)


BAD = {
    "folder": ("a.wav", lambda p: p.mkdir(), "is a folder"),
    "empty": ("a.wav", lambda p: p.write_bytes(b""), "is empty"),
    "suffix": ("a.mp3", lambda p: p.write_bytes(b"ID3"), r"ends in `\.mp3`"),
    "text wav": ("a.wav", lambda p: p.write_text("hello world"), "not a WAV"),
    "short wav": (
        "a.wav",
        lambda p: p.write_bytes(pcm(p, TONE, 2).read_bytes()[:-90]),
        "cut short",
    ),
    "wav head only": (
        "a.wav",
        lambda p: p.write_bytes(pcm(p, TONE, 2).read_bytes()[:30]),
        "a.wav`",
    ),
    "three samples": ("a.npy", lambda p: np.save(p, [1, 2, 3]), "3 samples"),
    "cube": ("a.npy", lambda p: np.save(p, np.zeros((5, 5, 5))), "shape"),
    "scalar": ("a.npy", lambda p: np.save(p, 3.0), "shape"),
    "transposed": ("a.npy", lambda p: np.save(p, STEREO.T), "2 samples"),
    "wide": ("a.npy", lambda p: np.save(p, np.zeros((5, 99))), "transpose"),
    "nan": ("a.npy", lambda p: np.save(p, [1, 2, np.nan, 3]), r"1 NaN.*\(2, 0\)"),
    "csv nan": ("a.csv", lambda p: p.write_text("1\n2\nnan\n4\n"), "NaN"),
    "csv word": ("a.csv", lambda p: p.write_text("v\n1\n2\nx\n"), "line 4 holds 'x'"),
    "csv two heads": ("a.csv", lambda p: p.write_text("v\nw\n1\n2\n"), "line 2"),
    "csv ragged": (
        "a.csv",
        lambda p: p.write_text("1,2\n3,4\n5\n6,7\n"),
        "line 3 holds 1 numbers and the first row 2",
    ),
    "csv gap": ("a.csv", lambda p: p.write_text("1,2\n3,\n5,6\n7,8\n"), "line 2"),
    "csv head only": ("a.csv", lambda p: p.write_text("volts\n"), "no line of numbers"),
    "csv bytes": ("a.csv", lambda p: p.write_bytes(b"\xff\xfe\x00"), "no text file"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named_in_one_line(tmp_path, case):
    name, make, message = BAD[case]
    make(tmp_path / name)
    with pytest.raises(InputError, match=message) as caught:
        read_signal(tmp_path / name)
    assert f"`{tmp_path / name}`" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv` does not exist"):
        read_signal(tmp_path / "none.csv")


def test_damaged_wav_gives_samples_or_an_input_error(tmp_path):
    whole = np.frombuffer(pcm(tmp_path / "a.wav", TONE, 2).read_bytes(), np.uint8)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(400):
        hurt = whole.copy()
        hurt[rng.integers(0, 44, 2)] = rng.integers(0, 256, 2)
        (tmp_path / "a.wav").write_bytes(hurt.tobytes())
        try:
            read_signal(tmp_path / "a.wav")
        except InputError:
            refused += 1
    assert refused > 40


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".wav"])
@pytest.mark.parametrize("values", [TONE[:, None], STEREO], ids=["mono", "stereo"])
def test_what_is_written_reads_back(tmp_path, suffix, values):
    write_signal(tmp_path / f"a{suffix}", values, 22050.0)
    signal = read_signal(tmp_path / f"a{suffix}")
    step = 2.0**-16 if suffix == ".wav" else 0.0
    np.testing.assert_allclose(
        signal.values, values.astype(np.float32), rtol=0, atol=step + 1e-7 * (step > 0)
    )
    assert signal.rate == (22050.0 if suffix == ".wav" else None)
    assert [p.name for p in tmp_path.iterdir()] == [f"a{suffix}"]


def test_a_16_bit_wav_comes_back_to_the_bit(tmp_path):
    noise = np.random.default_rng(0).integers(-32768, 32768, (500, 2)).astype(np.int16)
    wavfile.write(tmp_path / "a.wav", 8000, noise)
    write_signal(tmp_path / "b.wav", read_signal(tmp_path / "a.wav").values, 8000)
    np.testing.assert_array_equal(wavfile.read(tmp_path / "b.wav")[1], noise)


def test_wav_clips_at_full_scale(tmp_path):
    write_signal(tmp_path / "a.wav", np.array([[-9.0], [9.0], [1.0], [0.0]]), 8000)
    _, samples = wavfile.read(tmp_path / "a.wav")
    np.testing.assert_array_equal(samples, [-32768, 32767, 32767, 0])


def test_bad_outputs_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"`rate` \(=None\)"):
        write_signal(tmp_path / "a.wav", STEREO)
    with pytest.raises(InputError, match=r"ends in `\.mp3`"):
        write_signal(tmp_path / "a.mp3", STEREO)
    with pytest.raises(InputError, match="is a folder"):
        write_signal(tmp_path, STEREO)
    with pytest.raises(InputError, match="cannot be written: No such file"):
        write_signal(tmp_path / "no" / "a.npy", STEREO)
    with pytest.raises(InputError, match="NaN"):
        write_signal(tmp_path / "a.npy", STEREO * np.nan)
    with pytest.raises(InputError, match=r"shape \(200,\)"):
        write_signal(tmp_path / "a.npy", TONE)
    assert list(tmp_path.iterdir()) == []
