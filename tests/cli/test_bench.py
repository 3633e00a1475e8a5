"""`passband bench` on a small network: numbers that hang together."""

import json

import numpy as np

from passband.cli.main import main
from passband.train.throughput import Shape


def test_flop_count_is_that_of_the_paper_network():
    products = [512 * 256, 256 * 256, 256 * 256, 256 * 3]
    forward = 2 * sum(products)
    backward = 4 * sum(products) - 2 * products[0]
    assert Shape().flop == 65_536 * (forward + backward)


def test_bench_reports_rates_that_agree(capsys, tmp_path):
    out = tmp_path / "bench.json"
    flags = ["--points", "256", "--runs", "1,2", "--steps", "1", "--repeats", "1"]
    assert (
        main(["bench", *flags, "--no-torch", "--sizes", "--json", "--out", str(out)])
        == 0
    )
    content = json.loads(capsys.readouterr().out)
    assert json.loads(out.read_text()) == content
    assert [row["runs"] for row in content["rows"]] == [1, 2]
    for row in content["rows"]:
        want = row["runs"] * content["flop_per_step"] / row["seconds"] / 1e12
        np.testing.assert_allclose(row["tflops"], want)
        np.testing.assert_allclose(
            row["points_per_second"], row["runs"] * 256 / row["seconds"]
        )
    assert [row["points"] for row in content["sizes"]] == [64, 128, 256, 512]


def test_wrong_counts_are_refused(capsys):
    assert main(["bench", "--runs", "one"]) == 2
    assert "must be whole numbers" in capsys.readouterr().err
