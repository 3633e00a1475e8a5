"""Videos: four kinds of files give the same frames, and what goes wrong."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from passband.data.videos import read_video, video_files
from passband.errors import InputError

RNG = np.random.default_rng(3)
FRAMES = np.repeat(np.repeat(RNG.integers(0, 4, (12, 5, 6, 3)), 2, 1), 2, 2)
FRAMES = (FRAMES * 85).astype(np.uint8)  # 12 frames of 10 x 12, of 64 colours


def write(folder: Path, what: str) -> Path:
    if what == "npy":
        np.save(folder / "film.npy", FRAMES)
    elif what == "npz":
        np.savez(folder / "film.npz", frames=FRAMES, fps=25)
    elif what == "gif":
        shown = [Image.fromarray(f).quantize(64) for f in FRAMES]
        shown[0].save(folder / "film.gif", save_all=True, append_images=shown[1:],
                      duration=40)  # fmt: skip
    else:
        (folder / "film").mkdir()
        for k, frame in enumerate(FRAMES):
            Image.fromarray(frame).save(folder / "film" / f"f{k}.png")
        return folder / "film"
    return folder / f"film.{what}"


@pytest.mark.parametrize("what", ["npy", "npz", "gif", "folder"])
def test_every_kind_of_file_gives_the_same_frames(tmp_path: Path, what: str):
    path = write(tmp_path, what)
    video = read_video(path)
    np.testing.assert_array_equal(np.moveaxis(video.values, 2, 0), FRAMES)
    assert (video.low, video.high, video.name) == (0.0, 255.0, "film")
    assert video.rate == (25 if what in ("npz", "gif") else None)
    assert len(video_files(path)) == (12 if what == "folder" else 1)


def test_films_are_read_where_a_decoder_is(tmp_path: Path):
    """H.264 of ffmpeg: near to the frames that went in."""
    pytest.importorskip("imageio_ffmpeg")
    from passband.export.video import write_video

    y, x = np.mgrid[:32, :48] / 48
    smooth = [255 * np.stack([x, y, 0 * x + k / 8], -1) for k in range(6)]
    frames = [frame.astype(np.uint8) for frame in smooth]
    write_video(tmp_path / "film.mp4", frames, rate=20)
    video = read_video(tmp_path / "film.mp4")
    assert video.values.shape == (32, 48, 6, 3) and video.rate == 20
    off = np.moveaxis(video.values, 2, 0).astype(float) - frames
    assert np.sqrt(np.mean(off**2)) < 6


def test_frames_are_chosen_and_reduced(tmp_path: Path):
    path = write(tmp_path, "npz")
    video = read_video(path, frames="2:6", longest=6)
    means = FRAMES[2:6].reshape(4, 5, 2, 6, 2, 3).mean(axis=(2, 4))
    np.testing.assert_array_equal(np.moveaxis(video.values, 2, 0), np.rint(means))


WRONG = {
    "none there": (lambda f: f / "film.gif", "does not exist"),
    "a text": (lambda f: put(f / "film.txt", b"frames"), "ends in `.txt`"),
    "a cut GIF": (lambda f: cut(write(f, "gif"), 900), "damaged, cut short|no frame"),
    "no GIF": (lambda f: put(f / "film.gif", b"GIF89a"), "damaged, cut short"),
    "an empty file": (lambda f: put(f / "film.npz", b""), "is empty"),
    "a cut NPY": (lambda f: cut(write(f, "npy"), 999), "cut short"),
    "an array of rank 2": (
        lambda f: save(f / "film.npy", np.zeros((4, 4))), r"shape \(4, 4\)"),
    "seven channels": (
        lambda f: save(f / "film.npy", np.zeros((4, 4, 4, 7))), "1 to 4 channels"),
    "one frame": (lambda f: save(f / "film.npy", np.zeros((1, 4, 4))), "at least 2"),
    "NaN": (lambda f: save(f / "film.npy", np.full((3, 4, 4), np.nan)), "NaN"),
    "complex": (lambda f: save(f / "film.npy", np.ones((3, 4, 4), complex)), "complex"),
    "an empty folder": (lambda f: f, "has no frames"),
    "no film": (lambda f: put(f / "film.mp4", b"not a film" * 9), "damaged|not inst"),
}  # fmt: skip


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def cut(path: Path, size: int) -> Path:
    return put(path, path.read_bytes()[:size])


def save(path: Path, values: np.ndarray) -> Path:
    np.save(path, values)
    return path


@pytest.mark.parametrize("name", WRONG)
def test_wrong_videos_say_what_is_wrong_in_one_line(tmp_path: Path, name: str):
    spoil, match = WRONG[name]
    with pytest.raises(InputError, match=match) as caught:
        read_video(spoil(tmp_path))
    assert "\n" not in str(caught.value)


def test_archives_and_folders_that_do_not_fit_are_told(tmp_path: Path):
    np.savez(tmp_path / "two.npz", a=FRAMES, b=FRAMES, fps=25)
    with pytest.raises(InputError, match="no array `frames`; it has `a`"):
        read_video(tmp_path / "two.npz")
    folder = write(tmp_path, "folder")
    Image.fromarray(FRAMES[0, :4]).save(folder / "f3.png")
    with pytest.raises(InputError, match=r"f3.png.* alike"):
        read_video(folder)
    for span, match in (("3", "FIRST:STOP"), ("11:", "fewer than 2")):
        with pytest.raises(InputError, match=match):
            read_video(write(tmp_path, "npy"), frames=span)


def test_a_frame_larger_than_its_picture_takes_no_memory(tmp_path: Path):
    path = write(tmp_path, "gif")
    data = bytearray(path.read_bytes())
    at = data.rindex(b"\x2c\0\0\0\0")  # the last frame: its place, then its size
    data[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    with pytest.raises(InputError, match="4294836225 pixels"):
        read_video(path)
