"""Runs beside each other: best first, each dataset apart, no part as if it were all."""

from __future__ import annotations

from fcreview.exporters.report.sections import RunPassCounts, Table, run_ranking_section

RUNS = [
    RunPassCounts("run 1: birch", "bfcl V1 en", 100, (50, 100), (52, 100), (51, 100)),
    RunPassCounts("run 2: oak", "bfcl V4 en", 10, (0, 0), (3, 4), (2, 10)),
    RunPassCounts("run 3: maple", "bfcl V1 en", 100, (70, 100), (40, 90), (45, 60)),
    RunPassCounts("run 4: elm", "bfcl V4 en", 0, (0, 0), (0, 0), (0, 0), stated=(86, 100)),
]


def tables() -> list[Table]:
    return [block for block in run_ranking_section(RUNS).blocks if isinstance(block, Table)]


def test_each_dataset_has_a_table_with_the_best_run_first() -> None:
    found = tables()
    assert [table.heads[0] for table in found] == ["bfcl V1 en", "bfcl V4 en"]
    assert [[row.cells[0] for row in table.rows] for table in found] == [
        ["run 3: maple", "run 1: birch"],
        ["run 2: oak", "run 4: elm"],
    ]
    assert list(found[0].rows[1].cells) == ["run 1: birch", "100", "50.0 %", "52.0 %", "51.0 %"]


def test_what_is_known_of_a_part_says_so_and_has_no_bar() -> None:
    maple, (oak, elm) = tables()[0].rows[0], tables()[1].rows
    assert list(maple.cells)[2:] == ["70.0 %", "· (90 of 100)", "75.0 % of 60"]
    assert [(bar.source, bar.value) for bar in maple.bars] == [("official", 0.7)]
    assert list(oak.cells)[2:] == ["·", "· (4 of 10)", "20.0 %"]
    assert list(elm.cells)[2:] == ["86.0 % stated", "·", "·"]
    assert list(elm.bars) == []
