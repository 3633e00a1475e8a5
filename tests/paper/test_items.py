"""Items, their verdicts, the printed numbers and the registry."""

import pytest

from passband.errors import InputError
from passband.paper import published
from passband.paper.item import Outcome, judge, ordered
from passband.paper.published import Printed, missed, table
from passband.paper.registry import get_item


def outcome(*holds: bool | None) -> Outcome:
    return Outcome(claims=tuple(judge("it holds", h, "so") for h in holds))


def test_reproduced_needs_a_claim_that_can_be_judged():
    assert outcome().verdict == "not comparable"
    assert outcome(None).verdict == "not comparable"
    assert outcome(True, None).verdict == "reproduced"


def test_one_failed_claim_is_a_difference():
    assert outcome(True, False, None).verdict == "differs"


def test_a_figure_is_ordered_in_the_mean_of_its_panels_and_tells_each():
    scores = {"none": [20.0, 21.0], "basic": [26.3, 24.0], "gaussian": [26.0, 26.5]}
    claim = ordered("as in its table", scores, judged=True)
    assert claim.verdict == "reproduced"
    assert "basic 25.15 (26.30, 24.00), gaussian 26.25" in claim.detail
    scores["gaussian"] = [24.0, 26.0]
    assert ordered("", scores, judged=True).verdict == "differs"
    assert ordered("", scores, judged=False).verdict == "not comparable"
    alone = ordered("", {"none": [20.0], "gaussian": [19.9]}, judged=True)
    assert (alone.verdict, alone.detail) == ("differs", "none 20.00, gaussian 19.90")


@pytest.mark.parametrize(
    ("text", "unit"), [("14", 1), ("5.519", 1e-3), ("1.225e-2", 1e-5), ("-0.030", 1e-3)]
)
def test_the_last_digit_sets_the_unit(text: str, unit: float):
    assert Printed(text, "somewhere").unit == pytest.approx(unit)


def test_a_number_holds_to_its_printed_digits():
    printed = Printed("5.519", "somewhere")
    assert printed.holds(5.5194) and printed.holds(5.5186)
    assert not printed.holds(5.5197)
    assert printed.holds(5.6, within=0.02) and not printed.holds(5.7, within=0.02)


def test_a_table_reads_as_it_is_printed():
    cells = table(
        "Table 9",
        """
        image    none         gaussian
        natural  19.32+-2.48  -
        text     18.40        30.47+-2.11
        """,
    )
    assert set(cells) == {("natural", "none"), ("text", "none"), ("text", "gaussian")}
    assert cells["natural", "none"] == Printed("19.32", "Table 9", "2.48")
    assert cells["text", "gaussian"].spread == 2.11
    assert cells["text", "none"].spread is None


def test_missed_names_the_cells_that_differ():
    cells = table("Table 9", "row a b\nx 1.00 2.00")
    ours = {("x", "a"): 1.004, ("x", "b"): 2.1}
    assert missed(cells, ours) == ["x b: 2.1, not 2.00"]
    assert missed(cells, ours, within=0.06) == []


def test_ragged_tables_are_refused():
    with pytest.raises(ValueError, match="zip"):
        table("Table 9", "row a b\nx 1.00")


def test_every_published_table_says_where_it_stands():
    tables = {k: v for k, v in vars(published).items() if k.isupper()}
    assert {"FIG2", "FIG3_TRAIN", "FIG7_ONE"} <= set(tables)
    for name, content in tables.items():
        if isinstance(content, dict):
            for cell in content.values():
                assert isinstance(cell, Printed) and cell.place, name


def test_an_unknown_id_names_the_nearest():
    with pytest.raises(InputError, match=r"`fig22` is unknown; did you mean `fig2`\?"):
        get_item("fig22")
