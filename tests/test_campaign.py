"""A few of each attack of benchmarks/campaign.py, whose long version has thousands."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def campaign():
    sys.path.insert(0, str(HOME))
    try:
        spec = importlib.util.spec_from_file_location("campaign", HOME / "campaign.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(HOME))


def test_mutated_files_give_input_errors_and_nothing_else(campaign, tmp_path):
    found = campaign.attack_files(200, 7, tmp_path)
    assert found["other"] == found["hangs"] == found["chatter"] == []
    assert found["long"] == 0
    assert found["rise_mib"] < 1024
    assert found["files"] == 200 and 40 < found["refused"] < 200


def test_bad_command_lines_end_in_one_line(campaign, tmp_path, monkeypatch):
    monkeypatch.chdir(os.getcwd())  # the campaign has its own folder; come back
    found = campaign.attack_commands(40, 7, tmp_path)
    assert found["tracebacks"] == found["hangs"] == found["wordy"] == []
    assert found["status"]["2"] > 20
