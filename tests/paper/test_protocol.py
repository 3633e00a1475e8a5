"""The protocol, pinned once: what the full preset of every table trains, and how."""

import pytest

from passband.paper import (
    ct_study,
    image_study,
    mri_study,
    nerf_study,
    registry,
    shape_study,
)
from passband.paper.item import Preset
from passband.paper.seeds import Seeds

STUDIES = (image_study, shape_study, ct_study, mri_study, nerf_study)
# Scales of protocol 1.4, rates of 1.5; the others are of sections 0.9 and 5 to 9.
PROTOCOL = """
image natural   none                none                                      1e-2
image natural   basic               basic                                     1e-2
image natural   positional          positional:6,m=256                        1e-3
image natural   gaussian            gaussian:10,m=256                         1e-3
image text      none                none                                      1e-3
image text      basic               basic                                     1e-3
image text      positional          positional:5,m=256                        1e-3
image text      gaussian            gaussian:14,m=256                         1e-3
shape uniform   none                none:scale=2,shift=-1                     5e-4
shape uniform   basic               basic:norm=1                              5e-4
shape uniform   positional          positional:6,m=256,norm=1                 5e-4
shape uniform   gaussian            gaussian:12,m=256,norm=1                  5e-4
ct    shepp     none                none                                      1e-2
ct    shepp     basic               basic                                     1e-2
ct    shepp     positional          positional:3,m=256                        1e-3
ct    shepp     gaussian            gaussian:4,m=256                          1e-3
ct    atlas     none                none                                      1e-2
ct    atlas     basic               basic                                     1e-2
ct    atlas     positional          positional:5,m=256                        1e-3
ct    atlas     gaussian            gaussian:5,m=256                          1e-3
mri   volumes   none                none                                      2e-3
mri   volumes   basic               basic                                     2e-3
mri   volumes   positional          positional:4,m=256                        2e-3
mri   volumes   gaussian            gaussian:5,m=256                          2e-3
nerf  test      none                none                                      1e-2
nerf  test      basic               basic:units=rad                           5e-3
nerf  test      octaves:rotated     octaves:9,units=rad,rotate=zx45           5e-4
nerf  test      positional:rotated  positional:8,units=rad,m=256,rotate=zx45  5e-4
nerf  test      gaussian            gaussian:26,units=rad,m=256               5e-4
nerf  test      octaves             octaves:9,units=rad                       5e-4
nerf  test      positional          positional:8,units=rad,m=256              5e-4
"""
# By study: key, steps, width, layers, and what else is its own.
SIZES = {
    "image": (10, 1976, 256, 4, {"count": 16, "side": 512}),
    "shape": (0, 10_001, 256, 8, {"block": 32**3, "test_points": 64**3,
                                  "shapes": ("dragon", "armadillo", "buddha", "lucy")}),
    "ct": (10, 976, 256, 4, {"count": 8, "side": 512, "views": 20}),
    "mri": (10, 976, 256, 4, {"count": 6, "side": 96}),
    "nerf": (0, 50_000, 256, 4, {"rays": 1024, "samples": 128, "views": 100, "val": 7,
                                 "test": 13, "looks": (5_000, 20_000)}),
}  # fmt: skip


def test_rows_scales_and_rates_are_the_papers():
    found = []
    for module in STUDIES:
        study = module.STUDY
        sizes = study.sizes[Preset.FULL]
        columns = ("uniform",) if study.kind == "shape" else study.columns
        for column in columns:
            for row in study.rows:
                word, lr = study.word(row, column, sizes), study.lr(row, column, sizes)
                found.append((study.kind, column, row, word, lr))
    lines = [line.split() for line in PROTOCOL.strip().splitlines()]
    assert found == [(*words, float(lr)) for *words, lr in lines]


@pytest.mark.parametrize("module", STUDIES, ids=lambda module: module.STUDY.kind)
def test_sizes_and_keys_are_the_papers(module):
    study = module.STUDY
    key, steps, width, layers, more = SIZES[study.kind]
    sizes = study.sizes[Preset.FULL]
    assert sizes.full and not study.sizes[Preset.SMALL].full
    assert study.key == key
    assert (sizes.steps, sizes.width, sizes.layers) == (steps, width, layers)
    assert {name: getattr(sizes, name) for name in more} == more


def test_other_keys_begin_after_the_papers():
    seeds = [registry.get_item(f"table{k}-seeds") for k in range(3, 8)]
    keys = [item.keys for item in seeds if isinstance(item, Seeds)]
    assert keys == [[11, 12, 13], [1, 2], [11, 12, 13], [11, 12], [1, 2, 3, 4, 5]]


def test_sweeps_are_those_of_the_notebooks():
    assert ct_study.GRIDS["gaussian"] == tuple(range(2, 11))
    assert ct_study.GRIDS["positional"] == tuple(range(1, 8))
    assert mri_study.GRIDS["gaussian"] == tuple(range(2, 7))
    assert mri_study.GRIDS["positional"] == tuple(range(1, 6))
