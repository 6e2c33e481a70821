"""The calibration section of a report has a matrix and measures for each source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.exporters.report_sections import (
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


def make_pair(item: int, automatic: Any, human: Any, **fields: Any) -> VerdictPair:
    known: dict[str, Any] = {"source": "judge", "judge": "oak", "criterion": "correct", "is_random": False}
    return VerdictPair(
        item=item, automatic=automatic, human=human, **(known | {"benchmark": "bfcl", "category": "simple"} | fields)
    )


def make_section(cases: Sequence[VerdictPair]) -> Section:
    measures = list(compute_calibrations(cases, CALIBRATION_SCOPES))
    return calibration_section(
        CalibrationResult(
            describe_selection(cases), measures, list(find_error_groups(cases)), ("benchmark", "category")
        )
    )


def list_tables(section: Section) -> Iterator[Table]:
    yield from (block for block in section.blocks if isinstance(block, Table))
    for inner in section.sections:
        yield from list_tables(inner)


def list_texts(section: Section) -> list[str]:
    return [block.text for block in section.blocks if isinstance(block, Paragraph)]


def list_cells(table: Table) -> list[list[str]]:
    return [list(row.cells) for row in table.rows]


def test_source_has_a_matrix_and_measures() -> None:
    found = make_section(
        [make_pair(at, True, True) for at in range(6)] + [make_pair(6, True, False), make_pair(7, False, False)]
    )
    (one, wrong) = found.sections
    assert one.title == "judge oak · correct"
    matrix, measures = list_tables(one)
    assert (matrix.heads, list_cells(matrix)) == (
        ["", "human: pass", "human: fail"],
        [["verdict pass", "6", "1"], ["verdict fail", "0", "1"]],
    )
    assert list_cells(measures)[:2] == [["TPR", "100.0 %", "[61.0, 100.0]", "6"], ["TNR", "50.0 %", "[9.5, 90.5]", "2"]]
    assert [row[0] for row in list_cells(measures)] == ["TPR", "TNR", "precision", "F1", "kappa", "agreement"]
    assert list_cells(next(list_tables(wrong))) == [
        ["category simple", "judge oak · correct", "pass, human fail", "1 of 7"]
    ]


def test_section_states_how_items_were_selected() -> None:
    by_hand, random = make_pair(1, True, True), make_pair(2, True, True, is_random=True)
    assert list_texts(make_section([by_hand]))[:2] == ["1 reviewed item, 0 of them in a random sample", BY_HAND]
    assert BY_HAND not in list_texts(make_section([by_hand, random]))
    chosen = [list_texts(make_section(cases).sections[0])[0] for cases in ([by_hand], [random], [by_hand, random])]
    assert [each.rpartition(": ")[2] for each in chosen] == ["by hand.", "random.", "1 of 2 random."]


def test_several_groups_have_a_table() -> None:
    found = make_section(
        [
            make_pair(1, True, True),
            make_pair(2, False, True, category="live"),
            make_pair(3, True, True, category="live"),
        ]
    )
    (by_category,) = (each for each in found.sections if each.title.startswith("by "))
    assert by_category.title == "by category"
    assert [row[:4] for row in list_cells(next(list_tables(by_category)))] == [
        ["live", "judge oak · correct", "2", "by hand"],
        ["simple", "judge oak · correct", "1", "by hand"],
    ]


def test_smallest_of_many_groups_are_counted_but_not_shown() -> None:
    pairs = [make_pair(at, True, True, category=f"c{at:02}") for at in range(MAX_CALIBRATION_GROUPS + 3)]
    found = make_section([*pairs, *(make_pair(100 + at, True, True, category="c00") for at in range(3))])
    by_category = next(each for each in found.sections if each.title == "by category")
    assert len(next(list_tables(by_category)).rows) == MAX_CALIBRATION_GROUPS
    assert list_texts(by_category) == [
        "3 smaller groups not shown. For all groups: `fcreview calibrate --by category`."
    ]


def test_scores_have_a_matrix_and_labels_a_list() -> None:
    scores = [make_pair(1, 2, 2.0, criterion="completeness"), make_pair(2, 2, 0, criterion="completeness")]
    matrix = next(list_tables(make_section(scores)))
    assert list_cells(matrix) == [["verdict 0", "0", "0"], ["verdict 2", "1", "1"]]
    labels = [make_pair(at, [f"a{at}"], [f"b{at}"], criterion="dialog_act") for at in range(25)]
    listed = next(list_tables(make_section(labels)))
    assert list(listed.heads) == ["verdict", "human", "n"]
    assert list_cells(listed)[-1] == ["others", "", "5"]


def test_section_without_reviews() -> None:
    found = calibration_section(CalibrationResult())
    assert list_texts(found) == ["Nothing to compare: no item has both an automatic and a human verdict."]
    assert not list(list_tables(found))
