"""Run lists are sorted, grouped and filtered by words."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.item import Run
from fcreview.store.queries.runs import (
    GROUP_LABELS,
    SORT_KEYS,
    find_run_date_or_folder,
    group_runs,
    search_runs,
    sort_runs,
)
from fcreview.store.rows import RunRow


def make_row(
    number: int, model: str, path: str = "a/b", generation: str = "V1", **counts: Any
) -> RunRow:
    fields = {
        "official_pass": 0,
        "official_known": 0,
        "rule_pass": 0,
        "rule_known": 0,
        "effective_pass": 0,
    }
    fields |= {"effective_known": 0, "reviewed": 0, "n_issues": 0, "n_items": 100, **counts}
    return RunRow(number, Run("bfcl", generation, "en", model, path, title="BFCL"), model, **fields)


RUNS = [
    make_row(
        1, "maple", "x/2024-08-01/result/maple", official_pass=50, official_known=100, reviewed=3
    ),
    make_row(2, "Birch", "x/2024-07-24/result/birch", official_pass=9, official_known=10),
    make_row(3, "maple", "x/2024-07-24/result/maple", generation="V3"),
    make_row(4, "oak", "x/2024-08-01/result/oak", official_pass=90, official_known=100, reviewed=7),
]


def list_numbers(runs: list[RunRow]) -> list[int]:
    return [run.run for run in runs]


@pytest.mark.parametrize(
    ("sort", "order", "reversed_"),
    [
        ("run", [1, 2, 3, 4], [4, 3, 2, 1]),
        ("model", [2, 1, 3, 4], [4, 3, 1, 2]),
        ("date", [2, 3, 1, 4], [4, 1, 3, 2]),
        ("official", [2, 4, 1, 3], [1, 4, 2, 3]),
        ("reviewed", [4, 1, 2, 3], [3, 2, 1, 4]),
        ("generation", [1, 2, 4, 3], [3, 4, 2, 1]),
    ],
)
def test_runs_without_a_rate_are_last_in_both_directions(
    sort: str, order: list[int], reversed_: list[int]
) -> None:
    assert list_numbers(sort_runs(RUNS, sort)) == order
    assert list_numbers(sort_runs(RUNS, sort, reverse=True)) == reversed_


@pytest.mark.parametrize(
    ("sort", "counts"),
    [
        ("items", [{"n_items": 1}, {"n_items": 3}, {"n_items": 2}]),
        ("yours", [{"yours": 0}, {"yours": 2}, {"yours": 1}]),
        ("issues", [{"n_issues": 0}, {"n_issues": 2}, {"n_issues": 1}]),
        ("rule", [{}, {"rule_pass": 2, "rule_known": 2}, {"rule_pass": 2, "rule_known": 4}]),
        (
            "corrected",
            [
                {},
                {"effective_pass": 2, "effective_known": 2},
                {"effective_pass": 2, "effective_known": 4},
            ],
        ),
    ],
)
def test_runs_with_the_highest_count_or_rate_are_first(
    sort: str, counts: list[dict[str, int]]
) -> None:
    runs = [make_row(number, "maple", **each) for number, each in enumerate(counts, 1)]
    assert list_numbers(sort_runs(runs, sort)) == [2, 3, 1]


def test_all_orders_work_on_all_runs() -> None:
    for sort in SORT_KEYS:
        assert sorted(list_numbers(sort_runs(RUNS, sort))) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("", {"": [1, 2, 3, 4]}),
        ("model", {"maple": [1, 3], "Birch": [2], "oak": [4]}),
        ("generation", {"BFCL V1": [1, 2, 4], "BFCL V3": [3]}),
        ("date", {"2024-08-01": [1, 4], "2024-07-24": [2, 3]}),
    ],
)
def test_groups_are_ordered_by_their_first_run(by: str, groups: dict[str, list[int]]) -> None:
    made = group_runs(RUNS, by)
    assert {group.name: list_numbers(group.runs) for group in made} == groups
    assert [group.name for group in made] == list(groups)
    assert by in ("", *GROUP_LABELS)


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("archive/2024-07-24/result/gpt-4", "2024-07-24"),
        ("archive/BFCL_20250825/result/gpt-4", "2025-08-25"),
        ("panel/result/gpt-4o-2024-08-06", "panel"),
        ("result/gpt-4", "result"),
        ("gpt-4", ""),
        ("a/12024-07-245/result/m", "12024-07-245"),
    ],
)
def test_date_is_read_from_the_folder_not_the_model(path: str, folder: str) -> None:
    assert find_run_date_or_folder(make_row(1, "m", path)) == folder


def test_all_words_must_match() -> None:
    assert list_numbers(search_runs(RUNS, "")) == [1, 2, 3, 4]
    assert list_numbers(search_runs(RUNS, "MAPLE")) == [1, 3]
    assert list_numbers(search_runs(RUNS, "maple v3")) == [3]
    assert list_numbers(search_runs(RUNS, "07-24 bfcl")) == [2, 3]
    assert list_numbers(search_runs(RUNS, "maple elm")) == []
