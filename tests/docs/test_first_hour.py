"""The first hour, as its page has it."""

import re
import warnings
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "first-hour.md"


def test_the_first_hour_runs_in_60_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    code = "\n".join(blocks)
    assert len([line for line in code.splitlines() if line.strip()]) <= 60
    found: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, str(PAGE), "exec"), found)
    assert found["model"].metrics["psnr"] > 30
    assert found["large"].shape == (128, 128, 3) and found["large"].max() > 100
    assert {"FBP", "SART"} <= set(found["density"].baselines)
    assert found["ball"].metrics["iou_uniform"] > 0.8
    error = found["deblurred"].render().ravel() - found["truth"]
    assert abs(error).mean() < 0.2
    assert found["scene"].metrics["psnr_test"] > 8
