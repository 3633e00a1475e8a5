"""`passband tune`, and a fit whose mapping says `auto`."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from passband.cli.main import main
from passband.forward.radon import radon
from passband.kinds import choose as choose_module

QUICK = ("--layers", "2", "--width", "8", "--quiet")


@pytest.fixture(autouse=True)
def cache(here, monkeypatch):
    """A cache of its own."""
    monkeypatch.setattr(choose_module, "kept_folder", lambda name: here / name)


def test_a_choice_leaves_curve_json_and_report(here, capsys):
    words = ["tune", "image", "photo.png", "--out", "chosen", "--steps", "24",
             "--mapping", "gaussian:auto,m=8", *QUICK]  # fmt: skip
    assert main([*words, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["task"] == "image"
    assert content["mapping"] == f"gaussian:{content['scale']:g},m=8"
    assert content["nyquist"] == 16
    assert len(content["scales"]) == 8
    assert [c["steps"] for c in content["curves"]] == [6, 12, 24]
    last = [-np.inf if m is None else m for m in content["curves"][2]["mean"]]
    assert sum(np.isfinite(last)) >= 3
    best = int(np.argmax(last))
    assert np.isfinite(last[max(0, best - 1) : best + 2]).all()
    assert content["untried"] == []
    assert (here / "chosen" / "curve.png").read_bytes().startswith(b"\x89PNG")
    page = (here / "chosen" / "report.html").read_text()
    assert "Which scale" in page
    assert "Every scale" in page
    command = "passband fit image photo.png --layers 2 --width 8 --mapping"
    assert f"{command} {content['mapping']}" in page
    assert "model.safetensors" not in page  # there is none
    assert main([*words[:-1], "--overwrite"]) == 0  # known from the first time
    out = capsys.readouterr().out
    assert "known from an earlier choice" in out
    assert "passband fit image photo.png --layers 2 --width 8 --mapping " in out


def test_the_kernel_predicts_rays_beside_the_trials(here, capsys):
    y, x = np.mgrid[:10, :10] - 5
    angles = 18.0 * np.arange(10)
    disc = jnp.asarray((x + 1) ** 2 + y**2 < 9, jnp.float32)
    np.save(here / "disc.npy", np.asarray(radon(angles, 10)(disc)))
    words = ["tune", "ct", "disc.npy", "--angles", "0:180:10", "--kernel", "--steps",
             "8", "--mapping", "gaussian:auto,m=24", "--json", *QUICK]  # fmt: skip
    assert main(words) == 0
    content = json.loads(capsys.readouterr().out)
    assert len(content["predicted"]) == len(content["scales"])
    assert sum(level is not None for level in content["predicted"]) >= 3
    assert -1 <= content["kernel_agreement"] <= 1
    assert content["seconds"]["kernel"] > 0
    assert content["held"] == "rays"


def test_a_fit_records_what_it_chose_and_resumes(here, capsys):
    words = ["fit", "image", "photo.png", "--out", "run", "--mapping",
             "positional:auto,m=8", "--batch", "64", *QUICK]  # fmt: skip
    assert main([*words, "--steps", "8"]) == 0
    config = json.loads((here / "run" / "config.json").read_text())
    assert config["mapping_given"] == "positional:auto,m=8"
    assert config["mapping"].startswith("positional:")
    result = json.loads((here / "run" / "result.json").read_text())
    assert result["mapping"] == config["mapping"] == result["tuned"]["mapping"]
    assert "Which scale" in (here / "run" / "report.html").read_text()
    assert main([*words, "--steps", "12", "--resume"]) == 0
    again = json.loads((here / "run" / "config.json").read_text())
    assert again["mapping"] == config["mapping"]
    assert again["mapping_given"] == config["mapping_given"]
    capsys.readouterr()


def test_a_guess_takes_no_training(here, capsys):
    assert main(["tune", "image", "photo.png", "--guess", "--json", "--quiet"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["curves"] == []
    assert content["sigma"] == content["guess"]


def test_a_missing_file_is_told_with_the_verb_that_was_given(here, fails):
    assert "see `passband tune image --help`" in fails("tune", "image")


def test_a_mapping_with_its_scale_is_refused(here, fails):
    assert "`--mapping` (=gaussian:4)" in fails(
        "tune", "image", "photo.png", "--mapping", "gaussian:4"
    )
