"""Scenes: camera files of three kinds, pictures on backgrounds, and what goes wrong."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from passband.data.cameras import focus, look_at, orbit, orbit_of
from passband.data.scenes import read_scene, scene_files, subset, turned_scene
from passband.errors import InputError

UP = np.array([0.0, 0.0, 1.0])
ANGLE = 0.6911112070083618


def pose(k: int, distance: float = 4.0) -> list[list[float]]:
    turn = 0.7 * k
    eye = distance * np.array([0.8 * np.cos(turn), 0.8 * np.sin(turn), 0.6])
    return [*look_at(eye, np.zeros(3), UP).tolist(), [0, 0, 0, 1]]


def picture(path: Path, size: tuple[int, int] = (8, 10), channels: int = 4, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(seed).integers(0, 256, (*size, channels), np.uint8)
    Image.fromarray(values).save(path)
    return values


def write(folder: Path, split: str, count: int, **more) -> Path:
    """A Blender-style split of `count` views."""
    frames = [
        {"file_path": f"./{split}/r_{k}", "transform_matrix": pose(k)}
        for k in range(count)
    ]
    path = folder / f"transforms_{split}.json"
    path.write_text(json.dumps({"camera_angle_x": ANGLE, "frames": frames} | more))
    for k in range(count):
        picture(folder / split / f"r_{k}.png", seed=k)
    return path


@pytest.fixture
def blender(tmp_path: Path) -> Path:
    for split in ("train", "val", "test"):
        write(tmp_path, split, 6 if split == "train" else 2)
    return tmp_path


def change(path: Path, edit) -> None:
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def test_a_blender_scene_is_read_whole(blender: Path):
    scene = read_scene(blender)
    assert len(scene.train.names) == 6
    assert scene.val is not None and scene.val.names == ("val/r_0", "val/r_1")
    assert scene.test is not None and scene.test.pixels.shape == (2, 8, 10, 3)
    assert scene.train.pixels.shape == (6, 8, 10, 3)
    focal = 5 / np.tan(ANGLE / 2)
    np.testing.assert_allclose(scene.train.lens[0], [focal, focal, 4.5, 3.5])
    np.testing.assert_allclose(scene.train.poses[3], np.array(pose(3))[:3])
    assert len(scene_files(blender)) == 3 + 10 == len(scene.files)


def test_near_far_and_box_come_from_what_the_cameras_look_at(blender: Path):
    scene = read_scene(blender)
    radius = 4 * np.hypot(5, 4) * np.tan(ANGLE / 2) / 5
    assert scene.space.near == pytest.approx(4 - radius, rel=1e-3)
    assert scene.space.far == pytest.approx(4 + radius, rel=1e-3)
    assert scene.space.side == pytest.approx(2 * radius, rel=1e-3)
    np.testing.assert_allclose(scene.space.centre, 0, atol=1e-3)
    assert sum("estimated" in note for note in scene.notes) == 3
    change(blender / "transforms_train.json",
           lambda c: c.update(near=1.5, aabb=[[-1, -1, -2], [1, 1, 2]]))  # fmt: skip
    space = read_scene(blender, far=7).space
    assert (space.near, space.far, space.side) == (1.5, 7, 4)


def test_rays_are_the_same_in_the_fields_coordinates(blender: Path):
    scene = read_scene(blender, near=2, far=7, box=(1, 2, 3, 5))
    space, poses = scene.space, scene.train.poses
    camera = np.array([0.3, -0.2, -1.0])  # a direction, and a depth of 3.3
    world = poses[:, :, 3] + 3.3 * poses[:, :, :3] @ camera
    placed = space.place(poses)
    ours = placed[:, :, 3] + space.stretch * 3.3 * placed[:, :, :3] @ camera
    np.testing.assert_allclose(ours, (world - np.array([-1.5, -0.5, 0.5])) / 5)
    assert np.diff(space.ends) == pytest.approx(4)


def test_the_papers_coordinates_are_the_worlds(blender: Path):
    scene = read_scene(blender, near=2, far=6, box=(0.5, 0.5, 0.5, 1), offset=0)
    np.testing.assert_allclose(scene.space.place(scene.train.poses), scene.train.poses)
    assert scene.space.ends == (2, 6)
    np.testing.assert_allclose(scene.train.lens[0, 2:], [5, 4])


@pytest.mark.parametrize(("background", "paper"), [("black", 0), ("white", 1)])
def test_transparent_pixels_show_the_background(blender: Path, background, paper):
    values = picture(blender / "train/r_0.png", seed=9) / 255
    seen = read_scene(blender, background=background).train.pixels[0]
    alpha = values[..., 3:]
    wanted = values[..., :3] * alpha + paper * (1 - alpha)
    assert np.abs(seen - 255 * wanted).max() <= 0.501


def test_without_a_background_colours_are_as_stored(blender: Path):
    values = picture(blender / "train/r_0.png", seed=9)
    seen = read_scene(blender, background="none").train.pixels[0]
    np.testing.assert_array_equal(seen, values[..., :3])


def test_reduced_pictures_are_means_and_keep_their_view(blender: Path):
    whole = read_scene(blender, background="none")
    half = read_scene(blender, background="none", most=5)
    first = whole.train.pixels[0].astype(float).reshape(4, 2, 5, 2, 3).mean(axis=(1, 3))
    assert np.abs(half.train.pixels[0] - first).max() <= 0.501
    np.testing.assert_allclose(half.train.lens[0, :2] * 2, whole.train.lens[0, :2])
    # The centre of the first reduced pixel is between the first two.
    np.testing.assert_allclose(
        2 * half.train.lens[0, 2:] + 0.5, whole.train.lens[0, 2:]
    )


def test_nerfstudio_and_instant_ngp_files(tmp_path: Path):
    frames = []
    for k in range(9):
        picture(tmp_path / f"images/{k}.jpg", channels=3, seed=k)
        frames.append({"file_path": f"images/{k}.jpg", "transform_matrix": pose(k)})
    content = {"fl_x": 24.0, "fl_y": 26.0, "cx": 9.0, "cy": 8.5, "w": 20, "h": 16,
               "applied_transform": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
               "aabb_scale": 16, "k1": 0.1, "frames": frames}  # fmt: skip
    path = tmp_path / "transforms.json"
    path.write_text(json.dumps(content))
    scene = read_scene(path)
    # Pictures half as large as the file says: half the focal length, half the centre.
    np.testing.assert_allclose(scene.train.lens[0], [12, 13, 4, 3.75, 0.1, 0, 0, 0])
    assert scene.test is not None
    assert len(scene.train.names) == 7 and len(scene.test.names) == 2
    assert any("every 8th of its 9 is held out" in note for note in scene.notes)
    change(path, lambda c: c.update(train_filenames=["images/0.jpg", "images/1.jpg"],
                                    val_filenames=["images/2.jpg"]))  # fmt: skip
    scene = read_scene(tmp_path)
    assert scene.train.names == ("images/0.jpg", "images/1.jpg")
    assert scene.test is not None and scene.test.names == ("images/2.jpg",)


def test_missing_pictures_are_counted_and_left_out(blender: Path):
    (blender / "train/r_1.png").unlink()
    scene = read_scene(blender)
    assert len(scene.train.names) == 5
    assert scene.notes[0] == (
        "`transforms_train.json` names 6 pictures and 5 of them are there; the first "
        "missing is `./train/r_1`"
    )


def test_a_split_without_pictures_is_an_error(blender: Path):
    for path in (blender / "test").iterdir():
        path.unlink()
    with pytest.raises(InputError, match=r"_test.json` names 2 pictures and 0 of them"):
        read_scene(blender)


def test_pictures_of_two_sizes_are_refused(blender: Path):
    picture(blender / "train/r_3.png", size=(6, 10))
    with pytest.raises(InputError, match=r"r_3.png` has 6 x 10 pixels and .* 8 x 10"):
        read_scene(blender)


def bad_pose(matrix):
    def edit(content):
        content["frames"][2]["transform_matrix"] = matrix

    return edit


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (bad_pose(np.zeros((4, 4)).tolist()), r"frame 2 .*r_2.* cannot be inverted"),
        (bad_pose(np.diag([1, 1, -1, 1]).tolist()), "mirrors the world"),
        (bad_pose(np.diag([1, 2, 0.5, 1]).tolist()), "is no rotation"),
        (bad_pose([[1, 2], [3, 4]]), "no 4 x 4 `transform_matrix`"),
        (lambda c: c.pop("camera_angle_x"), "neither `fl_x` nor `camera_angle_x`"),
        (lambda c: c.update(camera_angle_x="wide"), "'wide', not a number"),
        (lambda c: c.update(camera_model="OPENCV_FISHEYE"), "only pinhole cameras"),
        (lambda c: c.update(frames=[]), "no list of `frames`"),
    ],
)  # fmt: skip
def test_bad_camera_files_say_what_is_wrong(blender: Path, edit, match: str):
    change(blender / "transforms_train.json", edit)
    with pytest.raises(InputError, match=match):
        read_scene(blender)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"near": 20, "far": 30}, r"misses the scene: .* lies 2\.\d+ to 5\.\d+ from"),
        ({"near": 5, "far": 3}, r"`near` \(=5\) must be positive and below `far`"),
        ({"background": "grey"}, "must be one of black, white, none"),
        ({"box": (0, 0, 0, -1)}, "a positive side"),
    ],
)
def test_options_that_cannot_be_are_refused(blender: Path, options, match: str):
    with pytest.raises(InputError, match=match):
        read_scene(blender, **options)


def test_parallel_cameras_need_near_and_far(blender: Path):
    def edit(content):
        for k, frame in enumerate(content["frames"]):
            frame["transform_matrix"] = np.eye(4).tolist()
            frame["transform_matrix"][0][3] = k

    change(blender / "transforms_train.json", edit)
    with pytest.raises(InputError, match="cannot be told; give `near`"):
        read_scene(blender)
    with pytest.raises(InputError, match="give `box`"):
        read_scene(blender, near=1, far=5)
    assert read_scene(blender, near=1, far=5, box=(0, 0, -3, 4)).space.side == 4


def test_a_folder_without_cameras_is_an_error(tmp_path: Path):
    with pytest.raises(InputError, match="neither transforms_train"):
        read_scene(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        read_scene(tmp_path / "none")


def test_an_orbit_looks_at_the_centre_from_where_the_cameras_were(blender: Path):
    scene = read_scene(blender)
    circle = orbit_of(scene.train.poses, np.zeros(3))
    assert circle["up"] == [0, 0, 1] and circle["radius"] == pytest.approx(4)
    assert circle["elevation"] == pytest.approx(np.degrees(np.arcsin(0.6)))
    poses = orbit(np.array([1.0, 2, 3]), UP, 4.0, 30.0, 12)
    found = focus(poses, np.tile(scene.train.lens[0], (12, 1)), (8, 10))
    assert found is not None
    np.testing.assert_allclose(found.centre, [1, 2, 3], atol=1e-9)
    np.testing.assert_allclose(poses[:, 2, 3], 3 + 4 * 0.5)


def test_a_turned_scene_is_seen_alike(blender: Path):
    scene = read_scene(blender)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned = turned_scene(scene, turn)
    point, camera = np.array([0.1, 0.2, 0.3]), scene.train.poses[1]
    there = turned.train.poses[1]
    np.testing.assert_allclose(
        there[:, :3].T @ (turn @ point - there[:, 3]),
        camera[:, :3].T @ (point - camera[:, 3]),
        atol=1e-12,
    )


def test_a_subset_keeps_the_order_asked_for(blender: Path):
    train = read_scene(blender).train
    few = subset(train, ["train/r_4", "train/r_0"])
    np.testing.assert_array_equal(few.pixels, train.pixels[[4, 0]])
    with pytest.raises(InputError, match="`train/r_9` is no view"):
        subset(train, ["train/r_9"])
