"""How models are looked at: every kind says it, and what has no page says so."""

import json

import numpy as np
import pytest

from passband.cli.main import main
from passband.errors import InputError
from passband.field import make_field
from passband.kinds.kind import Kind
from passband.kinds.page import page_of, title_of
from passband.kinds.points import PointsKind
from passband.kinds.table import IN_PYTHON, KINDS
from passband.kinds.views import measured_view, points_view, sampled_view
from passband.model_file import save


@pytest.mark.parametrize("name", [*KINDS, *IN_PYTHON])
def test_every_kind_has_a_view(name):
    assert (KINDS | IN_PYTHON)[name].load().view is not Kind.view


@pytest.mark.parametrize(
    ("d", "type"), [(1, "series"), (2, "plane"), (3, "volume"), (4, None)]
)
def test_points_are_a_curve_a_picture_or_a_volume(d, type):
    field = make_field("gaussian:2,m=8", d=d, out=2, key=0, width=8, layers=2)
    about = {"task": "points", "origin": [1.0] * d, "longest": 3.0}
    if type is None:
        with pytest.raises(InputError, match="1 to 3 coordinates"):
            points_view(field, about)
        return
    view = points_view(field, about)
    assert view.type == type
    # Its window holds all that the field has, and so everything can be seen.
    low, high = view.geometry["window"]
    seen = field.predict(np.random.default_rng(1).random((5000, d)))
    assert low <= np.quantile(seen, 0.01) and np.quantile(seen, 0.99) <= high
    assert page_of(PointsKind, field, about, "points").count("<canvas") == 0


@pytest.mark.parametrize(("sides", "type"), [([9], "series"), ([9, 7], "plane")])
def test_measurements_are_looked_at_by_their_axes(sides, type):
    field = make_field("none", d=len(sides), out=1, key=0, width=4, layers=2)
    about = {"shape": [*sides, 1], "low": 0.0, "high": 1.0}
    assert measured_view(field, about).type == type


def test_an_axis_of_the_array_is_where_the_field_has_it():
    view = sampled_view((4, 8, 2), 1, (0.0, 1.0), (1.0, 1.0, 3.0)).geometry
    json.dumps(view)
    # Lengths 4, 8 and 6; (axis 1, axis 0, axis 2) is (x, y, z).
    want = [[0, 1 / 8, 0], [1 / 8, 0, 0], [0, 0, 3 / 8]]
    assert np.allclose(view["axes"], want)


def test_a_page_is_named_for_its_model_or_its_run(tmp_path):
    assert title_of(tmp_path / "photo" / "model.safetensors") == "photo"
    assert title_of(tmp_path / "mine.safetensors") == "mine"


def test_what_means_nothing_to_a_page_is_refused(tmp_path, capsys):
    field = make_field("none", d=2, out=1, key=0, width=4, layers=2)
    path = str(tmp_path / "m.safetensors")
    save(field, path, task="image", shape=[4, 4, 1], low=0.0, high=1.0)
    out = str(tmp_path / "m.html")
    assert main(["render", path, "--out", out, "--resolution", "9"]) == 2
    assert "`--resolution` means nothing to a page" in capsys.readouterr().err
    save(field, path, task="mystery")
    assert main(["render", path, "--out", out]) == 2
    assert "mystery" in capsys.readouterr().err
    assert not (tmp_path / "m.html").exists()
