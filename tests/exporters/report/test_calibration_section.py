"""Calibration as a section of a report: every source with its matrix and figures, and how cases were chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.exporters.report.sections import (
    MAX_CALIBRATION_GROUPS,
    CalibrationResult,
    Paragraph,
    Section,
    Table,
    calibration_section,
)
from fcreview.stats.calibration import (
    BY_HAND,
    CALIBRATION_SCOPES,
    VerdictPair,
    compute_calibrations,
    describe_selection,
    find_error_groups,
)


def case(item: int, said: Any, settled: Any, **fields: Any) -> VerdictPair:
    known: dict[str, Any] = {"source": "judge", "judge": "oak", "criterion": "correct", "is_random": False}
    return VerdictPair(
        item=item, automatic=said, human=settled, **(known | {"benchmark": "bfcl", "category": "simple"} | fields)
    )


def section(cases: Sequence[VerdictPair]) -> Section:
    figures = list(compute_calibrations(cases, CALIBRATION_SCOPES))
    return calibration_section(
        CalibrationResult(describe_selection(cases), figures, list(find_error_groups(cases)), ("benchmark", "category"))
    )


def tables(of: Section) -> Iterator[Table]:
    yield from (block for block in of.blocks if isinstance(block, Table))
    for inner in of.sections:
        yield from tables(inner)


def texts(of: Section) -> list[str]:
    return [block.text for block in of.blocks if isinstance(block, Paragraph)]


def cells(of: Table) -> list[list[str]]:
    return [list(row.cells) for row in of.rows]


def test_a_source_has_its_matrix_and_figures() -> None:
    found = section([case(at, True, True) for at in range(6)] + [case(6, True, False), case(7, False, False)])
    (one, wrong) = found.sections
    assert one.title == "judge oak · correct"
    matrix, figures = tables(one)
    assert (matrix.heads, cells(matrix)) == (
        ["", "human: pass", "human: fail"],
        [["verdict pass", "6", "1"], ["verdict fail", "0", "1"]],
    )
    assert cells(figures)[:2] == [["TPR", "100.0 %", "[61.0, 100.0]", "6"], ["TNR", "50.0 %", "[9.5, 90.5]", "2"]]
    assert [row[0] for row in cells(figures)] == ["TPR", "TNR", "precision", "F1", "kappa", "agreement"]
    assert cells(next(tables(wrong))) == [["category simple", "judge oak · correct", "pass, human fail", "1 of 7"]]


def test_it_says_how_cases_were_chosen() -> None:
    by_hand, random = case(1, True, True), case(2, True, True, is_random=True)
    assert texts(section([by_hand]))[:2] == ["1 reviewed item, 0 of them in a random sample", BY_HAND]
    assert BY_HAND not in texts(section([by_hand, random]))
    chosen = [texts(section(cases).sections[0])[0] for cases in ([by_hand], [random], [by_hand, random])]
    assert [each.rpartition(": ")[2] for each in chosen] == ["by hand.", "random.", "1 of 2 random."]


def test_groups_stand_in_a_table_where_there_are_several() -> None:
    found = section([case(1, True, True), case(2, False, True, category="live"), case(3, True, True, category="live")])
    (by_category,) = (each for each in found.sections if each.title.startswith("by "))
    assert by_category.title == "by category"
    assert [row[:4] for row in cells(next(tables(by_category)))] == [
        ["live", "judge oak · correct", "2", "by hand"],
        ["simple", "judge oak · correct", "1", "by hand"],
    ]


def test_the_smallest_of_many_groups_are_told_not_shown() -> None:
    some = [case(at, True, True, category=f"c{at:02}") for at in range(MAX_CALIBRATION_GROUPS + 3)]
    found = section([*some, *(case(100 + at, True, True, category="c00") for at in range(3))])
    by_category = next(each for each in found.sections if each.title == "by category")
    assert len(next(tables(by_category)).rows) == MAX_CALIBRATION_GROUPS
    assert texts(by_category) == ["3 smaller groups not shown. For all groups: `fcreview calibrate --by category`."]


def test_scores_are_a_matrix_and_many_labels_a_list() -> None:
    scores = [case(1, 2, 2.0, criterion="completeness"), case(2, 2, 0, criterion="completeness")]
    matrix = next(tables(section(scores)))
    assert cells(matrix) == [["verdict 0", "0", "0"], ["verdict 2", "1", "1"]]
    labels = [case(at, [f"a{at}"], [f"b{at}"], criterion="dialog_act") for at in range(25)]
    listed = next(tables(section(labels)))
    assert list(listed.heads) == ["verdict", "human", "n"]
    assert cells(listed)[-1] == ["others", "", "5"]


def test_without_reviews_it_says_so() -> None:
    found = calibration_section(CalibrationResult())
    assert texts(found) == ["Nothing to compare: no item has both an automatic and a human verdict."]
    assert not list(tables(found))
