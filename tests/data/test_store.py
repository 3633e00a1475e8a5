"""Named sets are found, checked, and told about when they are missing."""

import hashlib
import re

import numpy as np
import pytest
from PIL import Image as Pillow

from passband.data import store
from passband.data.standins import PHOTOGRAPHS, standin_images
from passband.data.store import DataFile, DataSet
from passband.errors import InputError


@pytest.fixture
def places(tmp_path, monkeypatch):
    """An empty PASSBAND_DATA and an empty cache."""
    monkeypatch.setenv("PASSBAND_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data", tmp_path / "cache" / "passband"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A set of 2 + 2 small pictures, and their files outside every place."""
    folder = tmp_path / "published"
    rng = np.random.default_rng(0)
    files = []
    for split in ("train_data", "test_data"):
        (folder / split).mkdir(parents=True)
        for i in range(2):
            path = folder / split / f"{i:02d}.png"
            Pillow.fromarray(rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)).save(
                path
            )
            data = path.read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            files.append(DataFile(f"{split}/{i:02d}.png", len(data), digest))
    sets = {
        "small": DataSet(
            name="small",
            what="four pictures",
            licence="CC0",
            source="made here",
            standin="nothing",
            url="http://127.0.0.1/none",
            how=None,
            files=tuple(files),
        )
    }
    monkeypatch.setattr(store, "known_sets", lambda: sets)
    return folder


def test_five_sets_are_known_with_source_and_licence():
    sets = store.known_sets()
    assert list(sets) == ["natural", "text", "lego", "meshes", "brain"]
    for data_set in sets.values():
        assert data_set.what and data_set.licence and data_set.source
        assert (data_set.url is None) != (data_set.how is None)
        for file in data_set.files:
            assert file.size > 0
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert ".." not in file.path and not file.path.startswith("/")
    for name in ("natural", "text"):
        paths = [file.path for file in sets[name].files]
        expected = [
            f"{s}/{i:02d}.png" for s in ("test_data", "train_data") for i in range(16)
        ]
        assert paths == expected


def test_a_missing_set_is_explained(places):
    _, cache = places
    with pytest.raises(InputError) as caught:
        store.find("natural")
    message = str(caught.value)
    for part in (
        "`natural` is not on this machine",
        "DIV2K",
        "licence: none stated",
        "liuzhen0212/FINER",
        "passband data fetch natural",
        "PASSBAND_DATA",
        "scikit-image's photographs can stand in",
    ):
        assert part in message
    with pytest.raises(InputError, match=re.escape(f"put it under `{cache / 'lego'}`")):
        store.find("lego")


def test_an_unknown_set_names_the_nearest():
    with pytest.raises(InputError, match="did you mean `natural`"):
        store.find("naturel")
    with pytest.raises(InputError, match="natural, text, lego, meshes, brain"):
        store.find("q")


def test_the_users_folder_comes_before_the_cache(places, small):
    data, cache = places
    (cache).mkdir(parents=True)
    (cache / "small").symlink_to(small)
    assert store.find("small") == cache / "small"
    data.mkdir()
    (data / "small").symlink_to(small)
    assert store.find("small") == data / "small"


def test_an_incomplete_folder_is_passed_over_or_named(places, small):
    data, cache = places
    (data / "small" / "train_data").mkdir(parents=True)
    with pytest.raises(InputError, match="is not on this machine"):
        store.find("small")
    (data / "small" / "train_data" / "00.png").touch()
    with pytest.raises(InputError, match=r"lacks 3 of 4 files, such as `.*01.png`"):
        store.find("small")
    (status,) = store.list_sets()
    assert (status.where, status.complete) == (data / "small", False)
    cache.mkdir(parents=True)
    (cache / "small").symlink_to(small)
    assert store.find("small") == cache / "small"
    (status,) = store.list_sets()
    assert (status.where, status.complete) == (cache / "small", True)


def test_nothing_anywhere_is_listed_so(places):
    for status in store.list_sets():
        assert (status.where, status.complete) == (None, False)


def test_the_cache_is_where_xdg_says(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store.cache_folder() == tmp_path / "passband"
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    for ignored in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert store.cache_folder() == tmp_path / "me" / ".cache" / "passband"


def test_pictures_come_in_the_order_of_their_names(places, small):
    data, _ = places
    data.mkdir()
    (data / "small").symlink_to(small)
    pictures = store.load_images("small", "test_data")
    assert pictures.shape == (2, 8, 8, 3)
    for i in range(2):
        truth = np.asarray(Pillow.open(small / "test_data" / f"{i:02d}.png"))
        np.testing.assert_array_equal(pictures[i], truth)
    with pytest.raises(InputError, match=r"`split` \(=val\).*test_data, train_data"):
        store.load_images("small", "val")


@pytest.mark.parametrize("damage", ["cut", "changed", "emptied"])
def test_a_corrupted_file_is_named(places, small, damage):
    data, _ = places
    data.mkdir()
    (data / "small").symlink_to(small)
    assert store.check("small") == data / "small"
    hurt = small / "test_data" / "01.png"
    whole = bytearray(hurt.read_bytes())
    whole[-20] ^= 1
    hurt.write_bytes({"cut": whole[:-9], "changed": whole, "emptied": b""}[damage])
    message = r"test_data/01\.png` is corrupted: it"
    with pytest.raises(InputError, match=message):
        store.check("small")
    with pytest.raises(InputError, match=message):
        store.load_images("small", "test_data")
    assert store.load_images("small", "train_data").shape == (2, 8, 8, 3)


@pytest.mark.parametrize("kind", ["natural", "text"])
def test_standins_need_no_data_set(kind):
    pictures = standin_images(kind, 3, size=128)
    assert (pictures.shape, pictures.dtype) == ((3, 128, 128, 3), np.uint8)
    np.testing.assert_array_equal(pictures[:2], standin_images(kind, 2, size=128))
    assert len({picture.tobytes() for picture in pictures}) == 3


def test_the_photographs_are_those_of_scikit_image():
    from skimage import data

    pictures = standin_images("natural", len(PHOTOGRAPHS), size=256)
    assert pictures.shape[0] == 8
    np.testing.assert_array_equal(
        standin_images("natural", 1, size=512)[0], data.astronaut()
    )
    cat = data.chelsea()[:, (451 - 300) // 2 : (451 - 300) // 2 + 300]
    shrunk = pictures[2].mean(axis=(0, 1))
    np.testing.assert_allclose(shrunk, cat.mean(axis=(0, 1)), atol=1.0)


def test_bad_standins_are_refused():
    with pytest.raises(InputError, match=r"`count` \(=9\) is more than the 8"):
        standin_images("natural", 9)
    with pytest.raises(InputError, match=r"`count` \(=0\)"):
        standin_images("natural", 0)
    with pytest.raises(InputError, match=r"`kind` \(=lego\)"):
        standin_images("lego", 1)
