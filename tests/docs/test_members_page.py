"""The page about members, as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "members.md"


def test_the_page_runs():
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    found: dict = {}
    exec(compile(code, str(PAGE), "exec"), found)
    assert found["model"].members == 4 and found["model"].metrics["psnr"] > 25
