"""The survey: what it says of a mapping is what the dynamics say of waves."""

import json
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from passband.cli.main import main
from passband.cli.ntk import octave_bands
from passband.errors import InputError
from passband.plot.kernels import kernel_figure
from passband.theory import composed_ntk, linear_dynamics, survey
from passband.words import parse_mapping

KEY = jax.random.key(0)
NET: Any = {"layers": 3, "width": 64}


def draw(word: str, d: int = 1):
    return parse_mapping(word).draw(KEY, d)


@pytest.mark.parametrize("word", ["dense:p=1,m=8", "gaussian:3,m=8", "none:shift=-0.5"])
def test_missing_share_is_that_of_waves_under_the_linear_dynamics(word):
    n, t = 24, np.array([0.0, 0.01, 0.2, np.inf])
    found = survey(draw(word), n, **NET)
    x = np.arange(n) / n
    k = composed_ntk(draw(word), x, **NET)
    for f in (1, 3, n // 2):
        wave = np.stack([np.cos(2 * np.pi * f * x), np.sin(2 * np.pi * f * x)], 1)
        missing = linear_dynamics(k, wave).train(t) - wave
        expected = np.linalg.norm(missing, axis=(1, 2)) / np.linalg.norm(wave)
        np.testing.assert_allclose(found.error(t)[:, f], expected, atol=1e-9)
    np.testing.assert_allclose(found.kernel, k[n // 2], rtol=1e-10)
    assert found.largest == pytest.approx(float(np.linalg.eigvalsh(k)[-1]))


def test_half_of_a_wave_is_learned_at_its_half_time():
    smooth = survey(draw("gaussian:3,m=8"), 16, **NET)
    at_half = np.diagonal(smooth.error(smooth.half_time()))
    np.testing.assert_allclose(at_half, 0.5, rtol=1e-9)
    np.testing.assert_array_equal(smooth.half_time([4, 1]), smooth.half_time()[[4, 1]])
    whole = survey(draw("dense:p=0,m=4"), 16, **NET)
    np.testing.assert_allclose(whole.half_time(), np.log(2) / whole.power, rtol=1e-9)


def test_a_plain_network_never_learns_high_frequencies():
    found = survey(draw("none:shift=-0.5"), 64, **NET)
    assert np.isfinite(found.half_time([0])).all()
    assert np.isinf(found.half_time([16, 32])).all()
    assert found.matrix is not None


def test_bad_surveys_are_refused():
    with pytest.raises(InputError, match="`encoding` has 2 dimensions"):
        survey(draw("basic", 2), 8, **NET)
    with pytest.raises(InputError, match=r"`points` \(=1\) must be at least 2"):
        survey(draw("basic"), 1, **NET)
    with pytest.raises(InputError, match=r"`points` \(=5000\) must be at most 4096"):
        survey(draw("gaussian:3"), 5000, **NET)
    with pytest.raises(InputError, match="`bands` must be whole numbers from 0 to 4"):
        survey(draw("basic"), 8, **NET).half_time([5])


def test_command_prints_json_and_draws(tmp_path, capsys):
    target = tmp_path / "ntk.png"
    words = ["ntk", "--mapping", "dense:p=1,m=16,norm=1", "--width", "1024"]
    words += ["--points", "32", "--out", str(target), "--json"]
    assert main(words) == 0
    content = json.loads(capsys.readouterr().out)
    # Protocol 2.3, p = 1.
    assert content["diagonal"] == pytest.approx(14, abs=1e-5)
    assert content["spectrum"]["power"][1] == pytest.approx(41.185, abs=6e-4)
    assert [band["frequency"] for band in content["bands"]] == [0, 1, 2, 4, 8, 16]
    assert target.read_bytes().startswith(b"\x89PNG")
    assert main(words) == 2
    assert "`--overwrite` replaces it" in capsys.readouterr().err


def test_command_speaks_to_people(capsys):
    assert main(["ntk", "--mapping", "none:shift=-0.5", "--points", "16"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^ +8 .* never +never$", out, re.MULTILINE)


def test_command_warns_above_nyquist(capsys):
    assert main(["ntk", "--mapping", "dense:p=1,m=32", "--points", "16"]) == 0
    assert "above the data's Nyquist frequency of 8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mapping", "gausian:10"], "did you mean `gaussian`?"),
        (["--activation", "sine"], "activation `sine` has no closed-form kernel"),
        (["--activation", "rel"], "did you mean `relu`?"),
        (["--points", "1"], "`--points` (=1) must be at least 2"),
        (["--layers", "0"], "`--layers` (=0) must be at least 1"),
        (["--out", "ntk.jpg"], "`--out` (=ntk.jpg) must end in .png or .svg"),
        (["--parameterization", "mup"], "mup"),
    ],
)
def test_command_refuses_in_one_line(words, message, capsys):
    assert main(["ntk", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("nyquist", "bands"),
    [(1, [0, 1]), (2, [0, 1, 2]), (5, [0, 1, 2, 4, 5]), (8, [0, 1, 2, 4, 8])],
)
def test_bands_are_octaves_and_nyquist(nyquist, bands):
    assert octave_bands(nyquist) == bands


def test_figure_refuses_columns_that_are_not_the_bands():
    with pytest.raises(ValueError, match=r"`missing` has shape \(2, 3\)"):
        kernel_figure(
            [0.0], [1.0], [0.0], [1.0], [1.0, 2.0], np.ones((2, 3)), bands=[0, 1],
            mapping="basic", network="",
        )  # fmt: skip


def test_the_how_to_page_runs(capsys):
    page = Path(__file__).parents[2] / "docs" / "which-frequencies.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    train, test = names["train_mse"], names["test_mse"]
    assert len(train) == len(test) == 21
    assert (np.diff(train) < 0).all()
    assert train[0] == pytest.approx(np.mean(names["y"][names["train"]] ** 2))
    assert test[-1] < 0.01 * test[0]
    assert capsys.readouterr().out == "(64, 45)\n"
