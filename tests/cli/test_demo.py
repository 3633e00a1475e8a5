"""`passband demo`, in small."""

import json

import numpy as np
from PIL import Image

from passband.cli.main import main
from passband.model_file import load_with_info


def test_demo_leaves_a_picture_and_two_models(here, capsys):
    words = ["demo", "--json", "--steps", "25", "--batch", "256", "--out", "shown"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    content = json.loads(out)
    assert (
        err
        == "fitting `none`: 25 steps on cpu\nfitting `gaussian:10`: 25 steps on cpu\n"
    )
    assert content["psnr"]["gaussian:10"] > content["psnr"]["none"] > 5
    with Image.open(content["picture"]) as picture:
        width, height = picture.size
    assert width > 1.5 * height
    for word, path in content["models"].items():
        _, about = load_with_info(path)
        assert about["mapping"] == word
        assert about["metrics"]["psnr"] == content["psnr"][word]
    model = content["models"]["gaussian:10"]
    assert main(["render", model, "--size", "9x9", "--out", "x.npy", "--quiet"]) == 0
    assert np.load("x.npy").shape == (9, 9, 3)
