"""Scenes of COLMAP and LLFF: bent lenses, near and far from points, and wrong files."""

import os
import struct
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

from passband.data.frustum import Frustum
from passband.data.scenes import read_scene, scene_files
from passband.errors import InputError
from passband.forward.render import ndc, ray, undistorted

OPENCV = (20.0, 21.0, 12.0, 8.0, 0.12, -0.03, 0.01, -0.02)  # fx fy cx cy k1 k2 p1 p2
SIMPLE_RADIAL = (20.0, 12.0, 8.0, 0.1)
ROWS, COLUMNS, VIEWS = 16, 24, 10


def shown_by_opencv(x, y, k1, k2, p1, p2):
    """OpenCV's documented model: where a point at (x, y), depth 1, is shown."""
    r2 = x**2 + y**2
    radial = 1 + k1 * r2 + k2 * r2**2
    return (
        x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x**2),
        y * radial + p1 * (r2 + 2 * y**2) + 2 * p2 * x * y,
    )


def world(forward: bool = True):
    """Points around (0, 0, 10), and cameras about the origin that look at them:
    COLMAP's world to camera, y down, z ahead."""
    rng = np.random.default_rng(5)
    points = rng.normal(size=(60, 3)) * [2.0, 1.5, 1.0] + [0, 0, 10]
    turns = Rotation.from_euler("yx", rng.normal(size=(VIEWS, 2)) * 0.05)
    eyes = rng.normal(size=(VIEWS, 3)) * 0.3
    if not forward:
        angles = 2 * np.pi * np.arange(VIEWS) / VIEWS
        around = Rotation.from_rotvec(angles[:, None] * np.array([0.0, 1.0, 0.0]))
        eyes = np.array([0, 0, 10]) + around.inv().apply([0, 0, -10])
        turns = around
    return points, turns, -turns.apply(eyes)


def write_model(folder: Path, text: bool, model=(4, "OPENCV", OPENCV), forward=True):
    points, turns, shifts = world(forward)
    folder.mkdir(parents=True)
    quaternions = np.roll(turns.as_quat(), 1, axis=1)
    number, name, params = model
    names = [f"p{k:02d}.JPG" for k in range(VIEWS)]
    order = [3, 1, 2, 0, *range(4, VIEWS)]  # COLMAP keeps none
    if text:
        words = " ".join(map(repr, params))
        (folder / "cameras.txt").write_text(
            f"# a comment\n7 {name} {COLUMNS} {ROWS} {words}\n"
        )
        lines = []
        for k in order:
            place = " ".join(f"{x!r}" for x in (*quaternions[k], *shifts[k]))
            place = place.replace("np.float64(", "").replace(")", "")
            lines += [f"{k + 1} {place} 7 {names[k]}", "" if k % 2 else "1.5 2.5 -1"]
        (folder / "images.txt").write_text("# two lines each\n" + "\n".join(lines))
        (folder / "points3D.txt").write_text(
            "".join(f"{k} {x} {y} {z} 1 2 3 0.5 1 2 3 4\n"
                    for k, (x, y, z) in enumerate(points))
        )  # fmt: skip
        return folder
    camera = struct.pack("<IiQQ", 7, number, COLUMNS, ROWS)
    camera += struct.pack(f"<{len(params)}d", *params)
    (folder / "cameras.bin").write_bytes(struct.pack("<Q", 1) + camera)
    images = struct.pack("<Q", VIEWS)
    for k in order:
        images += struct.pack("<I7dI", k + 1, *quaternions[k], *shifts[k], 7)
        images += names[k].encode() + b"\0" + struct.pack("<Q", 1)
        images += struct.pack("<ddq", 1.5, 2.5, -1)
    (folder / "images.bin").write_bytes(images)
    cloud = struct.pack("<Q", len(points))
    for k, point in enumerate(points):
        cloud += struct.pack("<Q3d3BdQ", k, *point, 1, 2, 3, 0.5, 2)
        cloud += struct.pack("<4I", 1, 2, 3, 4)
    (folder / "points3D.bin").write_bytes(cloud)
    return folder


def write_pictures(folder: Path, suffix=".png", shrink=1):
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(VIEWS):
        pixels = np.full((ROWS // shrink, COLUMNS // shrink, 3), 10 * k, np.uint8)
        Image.fromarray(pixels).save(folder / f"p{k:02d}{suffix}")


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    write_model(tmp_path / "sparse" / "0", text=False)
    write_pictures(tmp_path / "images")
    return tmp_path


@pytest.mark.parametrize("text", [False, True])
def test_rays_through_the_pixels_of_points_meet_them(tmp_path: Path, text: bool):
    """Points are shown where OpenCV's model says; the rays from there lead back."""
    write_model(tmp_path / "sparse" / "0", text)
    write_pictures(tmp_path / "images")
    views = read_scene(tmp_path).train
    assert views.names == tuple(f"p{k:02d}.JPG" for k in range(VIEWS) if k % 8)
    assert views.pixels[0, 0, 0, 0] == 10
    points, turns, shifts = world()
    kept = [k for k in range(VIEWS) if k % 8]
    away = np.stack([turns[k].apply(points) + shifts[k] for k in kept])
    fx, fy, cx, cy, *bent = OPENCV
    x, y = shown_by_opencv(*np.moveaxis(away[..., :2] / away[..., 2:], -1, 0), *bent)
    pixels = jnp.stack([fx * x + cx - 0.5, fy * y + cy - 0.5], -1)
    rays = jax.jit(jax.vmap(jax.vmap(ray, (None, None, 0))))
    o, d = rays(jnp.asarray(views.poses), jnp.asarray(views.lens), pixels)
    found = np.asarray(o) + np.asarray(d) * away[..., 2:]
    np.testing.assert_allclose(found, np.broadcast_to(points, found.shape), atol=2e-4)


def test_undistorting_solves_opencvs_equations():
    bent = (-0.25, 0.08, 0.003, -0.002)
    grid = np.linspace(-0.7, 0.7, 7)
    x, y = (a.ravel() for a in np.meshgrid(grid, 0.75 * grid))
    u, v = jax.vmap(lambda a, b: undistorted(a, b, jnp.array(bent)))(x, y)
    for k in range(0, x.size, 6):
        there: Any = fsolve(
            lambda p, k=k: np.subtract(
                shown_by_opencv(p[0], p[1], *bent), (x[k], y[k])
            ),
            (x[k], y[k]), xtol=1e-12,
        )  # fmt: skip
        np.testing.assert_allclose((u[k], v[k]), there, atol=2e-6)


def test_near_and_far_come_from_the_points(scene: Path):
    found = read_scene(scene)
    points, turns, shifts = world()
    depths = np.concatenate([
        (turns[k].apply(points) + shifts[k])[:, 2] for k in range(VIEWS) if k % 8
    ])  # fmt: skip
    assert 0.85 * depths.min() < found.space.near < depths.min()
    assert depths.max() < found.space.far < 1.15 * depths.max()
    assert any("points of the model" in note for note in found.notes)
    assert read_scene(scene, near=2.0).space.near == 2.0


def test_forward_facing_cameras_are_in_ndc_and_others_in_a_box(tmp_path: Path):
    write_model(tmp_path / "front" / "sparse" / "0", True)
    write_pictures(tmp_path / "front" / "images")
    write_model(tmp_path / "round" / "sparse" / "0", True, forward=False)
    write_pictures(tmp_path / "round" / "images")
    assert read_scene(tmp_path / "front").space.frustum is not None
    assert read_scene(tmp_path / "front", rays="box").space.frustum is None
    around = read_scene(tmp_path / "round").space
    assert around.frustum is None
    points, _, _ = world()
    assert (np.abs(points - around.centre) < around.side / 2).all(axis=1).mean() > 0.9
    with pytest.raises(InputError, match="all look one way"):
        read_scene(tmp_path / "round", rays="ndc")


def test_ndc_rays_are_the_projections_of_the_worlds(scene: Path):
    """A point of a ray, projected by the definition, lies on the straight NDC ray."""
    space = read_scene(scene).space
    frustum = space.frustum
    assert isinstance(frustum, Frustum) and space.ndc is not None
    rng = np.random.default_rng(2)
    o, d = rng.normal(size=3) * 0.2, np.array([0.3, -0.2, -1.0])
    start, way = map(np.asarray, ndc(*map(jnp.asarray, (o, d, space.ndc))))
    for depth in (space.near, 9.7, space.far):
        x, y, z = o + d * (depth + o[2])
        assert z == pytest.approx(-depth)
        s, n, f = frustum.scale, space.near, space.far
        v = np.array([0.5 + s * x / depth, 0.5 + s * y / depth,
                      (1 - n / depth) / (1 - n / f)])  # fmt: skip
        t = v[2] * (space.ends[1] - space.ends[0])
        np.testing.assert_allclose(start + t * way, v, atol=1e-5)
        assert space.depth(np.array(t)) == pytest.approx(depth)


def write_llff(folder: Path, bounds=(8.0, 12.0)) -> Path:
    """The cameras of `world` as LLFF has them: [down, right, back, place, size]."""
    _, turns, shifts = world()
    rows = []
    for turn, shift in zip(turns.as_matrix(), shifts, strict=True):
        right, down, ahead = turn
        matrix = np.column_stack(
            [down, right, -ahead, -turn.T @ shift, [ROWS, COLUMNS, 20.0]]
        )
        rows.append([*matrix.ravel(), *bounds])
    path = folder / "poses_bounds.npy"
    np.save(path, np.array(rows))
    return path


def test_llff_and_colmap_describe_the_same_cameras(scene: Path):
    colmap = read_scene(scene)
    llff = read_scene(write_llff(scene))
    np.testing.assert_allclose(llff.train.poses, colmap.train.poses, atol=1e-12)
    np.testing.assert_allclose(llff.train.lens[0], [20, 20, 11.5, 7.5])
    assert llff.space.near == pytest.approx(7.2)
    assert llff.space.far == pytest.approx(13.2)
    assert llff.space.frustum is not None


def test_smaller_pictures_are_taken_where_they_are_enough(scene: Path):
    write_pictures(scene / "images_2", shrink=2)
    write_pictures(scene / "images_4", ".jpg", shrink=4)
    views = read_scene(scene, most=12).train
    assert views.size == (8, 12)
    np.testing.assert_allclose(views.lens[0, :4], [10, 10.5, 5.5, 3.5])
    np.testing.assert_allclose(views.lens[0, 4:], OPENCV[4:])
    files = scene_files(scene, most=12)
    assert scene / "images_2" / "p00.png" in files
    assert scene / "sparse" / "0" / "points3D.bin" in files


def test_pictures_of_other_names_go_by_their_order(scene: Path):
    for k, path in enumerate(sorted((scene / "images").iterdir())):
        path.rename(path.with_name(f"image{k:03d}.png"))
    found = read_scene(scene)
    assert found.train.pixels[0, 0, 0, 0] == 10
    assert any("taken in order" in note for note in found.notes)


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def repack(path: Path, at: int, form: str, *values) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into(form, data, at, *values)
    path.write_bytes(bytes(data))


WRONG = {
    "cameras cut short": (lambda f: cut(f / "cameras.bin", 60), "cut short"),
    "images cut short": (lambda f: cut(f / "images.bin", 300), "cut short"),
    "points cut short": (lambda f: cut(f / "points3D.bin", 999), "cut short"),
    "a count of 2^60": (
        lambda f: repack(f / "images.bin", 0, "<Q", 2**60), "claims 1,152,921,504"),
    "a track of 2^60": (
        lambda f: repack(f / "points3D.bin", 43 + 8, "<Q", 2**60), "cut short"),
    "bytes after the end": (
        lambda f: (f / "cameras.bin").write_bytes(
            (f / "cameras.bin").read_bytes() + b"more"), "after its end"),
    "a fisheye": (
        lambda f: repack(f / "cameras.bin", 12, "<i", 5), "FISHEYE; .*undistort"),
    "an unknown model": (
        lambda f: repack(f / "cameras.bin", 12, "<i", 99), "model 99"),
    "no focal length": (
        lambda f: repack(f / "cameras.bin", 32, "<d", -3.0), "focal length of -3"),
    "a quaternion of 0": (
        lambda f: repack(f / "images.bin", 12, "<4d", 0, 0, 0, 0), "no rotation"),
    "a camera that is not there": (
        lambda f: repack(f / "cameras.bin", 8, "<I", 8), "camera 7, which"),
    "a name outside": (
        lambda f: (f / "images.bin").write_bytes(
            (f / "images.bin").read_bytes().replace(b"p00.JPG", b"../.JPG")),
        "outside its folder"),
    "no images": (lambda f: os.remove(f / "images.bin"), "no cameras"),
    "a NaN": (
        lambda f: repack(f / "points3D.bin", 16, "<d", float("nan")), "NaN"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_models_say_what_is_wrong_in_one_line(scene: Path, name: str):
    spoil, match = WRONG[name]
    spoil(scene / "sparse" / "0")
    with pytest.raises(InputError, match=match) as caught:
        read_scene(scene)
    assert "\n" not in str(caught.value)


WRONG_TEXT = {
    "a word for a number": ("cameras.txt", "20.0", "wide", "line 2, has no number"),
    "too few parameters": ("cameras.txt", " -0.02", "", "7 parameters; it takes 8"),
    "a fisheye": ("cameras.txt", "OPENCV", "OPENCV_FISHEYE", "undistort"),
    "a line cut short": ("images.txt", " 7 p00.JPG", "", "words; an image is"),
    "a point cut short": ("points3D.txt", " 1 2 3 0.5 1 2 3 4\n", "\n", "a point is"),
}


@pytest.mark.parametrize("name", WRONG_TEXT)
def test_wrong_text_models_name_the_line(tmp_path: Path, name: str):
    folder = write_model(tmp_path / "sparse" / "0", True)
    write_pictures(tmp_path / "images")
    file, old, new, match = WRONG_TEXT[name]
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=match):
        read_scene(tmp_path)


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (lambda a: a[:, :15], "17 numbers"),
        (lambda a: a[:3], "3 cameras and `images` beside it 10 pictures"),
        (lambda a: a * np.nan, "NaN"),
        (lambda a: a * np.where(np.arange(17) == 1, 2, 1), "no rotation"),
        (lambda a: a[:, [*range(15), 16, 15]], "near is positive and below far"),
    ],
)
def test_wrong_poses_bounds_say_what_is_wrong(scene: Path, edit, match: str):
    path = write_llff(scene)
    np.save(path, edit(np.load(path)))
    with pytest.raises(InputError, match=match):
        read_scene(path)


def test_the_real_fern_is_read_alike_from_both():
    """20 photographs of a phone; COLMAP's points are where LLFF's bounds say."""
    root = Path(os.environ.get("PASSBAND_DATA", "")) / "real" / "nerf_fern_8"
    if not (root / "poses_bounds.npy").is_file():
        pytest.skip("needs real/nerf_fern_8 under PASSBAND_DATA")
    colmap, llff = (read_scene(p, most=64) for p in (root, root / "poses_bounds.npy"))
    np.testing.assert_allclose(colmap.train.poses, llff.train.poses, atol=1e-9)
    np.testing.assert_array_equal(colmap.train.pixels, llff.train.pixels)
    assert colmap.space.near == pytest.approx(llff.space.near, rel=0.05)
    assert colmap.space.far == pytest.approx(llff.space.far, rel=0.05)
