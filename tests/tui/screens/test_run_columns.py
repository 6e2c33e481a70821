"""Runs are listed with the columns that fit, and their groups fold."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.metric import OwnScore
from fcreview.model.run_name import build_run_names
from fcreview.store.rows import RunRow
from fcreview.tui.queue_state import ALL_RUNS
from fcreview.tui.screens.runs import (
    GROUPINGS,
    RUN_ORDERS,
    RunListState,
    available_run_orders,
    build_run_list_table,
)
from fcreview.tui.text.lines import line_width, plain_text
from tests.store.queries.test_runs import make_row

LONG = "deepseek-ai_deepseek-coder-6.7b-instruct"


def pass_counts(passed: int, **more: Any) -> dict[str, Any]:
    known = {"official_known": 100, "rule_known": 100, "effective_known": 100}
    return {**known, "official_pass": passed, "rule_pass": passed, "effective_pass": passed, **more}


RUNS = [
    make_row(1, LONG, "x/2024-08-01/result/a", **pass_counts(50)),
    make_row(2, "birch", "x/2024-08-01/result/b", **pass_counts(91)),
    make_row(3, LONG, "x/2024-07-24/result/a", "V3", **pass_counts(62)),
    make_row(4, "oak", "x/2024-07-24/result/o"),
]
NAMES = build_run_names({row.run: row.info for row in RUNS})
for row in RUNS:
    row.run_name = NAMES[row.run]


def run_lines(
    state: RunListState, cells: int = 80, runs: list[RunRow] = RUNS, *, blind: bool = False
) -> list[str]:
    heading, lines = build_run_list_table(runs, state, blind=blind).lines(cells)
    assert max(line_width(line) for line in lines) < cells
    return [plain_text(heading).strip(), *(plain_text(line).strip() for line in lines)]


def test_names_are_cut_after_other_columns_are_dropped() -> None:
    heading, *lines = run_lines(RunListState())
    assert heading.split() == ["name", "items", "official", "by", "you"]
    assert lines[1].startswith(LONG + " · V1  ") and "50.0 %" in lines[1]
    assert (
        "recomputed" in run_lines(RunListState(), 140)[0]
        and "folder" in run_lines(RunListState(), 140)[0]
    )
    assert (
        LONG in run_lines(RunListState(), 60)[2] and "official" in run_lines(RunListState(), 60)[0]
    )
    assert (
        "…" in run_lines(RunListState(), 45)[2] and "official" in run_lines(RunListState(), 45)[0]
    )


@pytest.mark.parametrize(
    ("sort", "column"), [("corrected", "corrected"), ("date", "folder"), ("reviewed", "reviewed")]
)
def test_sort_column_is_always_shown(sort: str, column: str) -> None:
    runs = [*RUNS, make_row(5, "elm", reviewed=3)]
    assert column in run_lines(RunListState(order=sort), 60, runs)[0]


def test_reviewed_runs_keep_the_corrected_rate() -> None:
    runs = [*RUNS, make_row(5, "elm", **pass_counts(40, reviewed=2, yours=2))]
    assert "corrected" in run_lines(RunListState(), 80, runs)[0]


def test_groups_fold_and_show_the_range_of_rates() -> None:
    state = RunListState(grouping="model")
    assert run_lines(state, 140)[2].split()[:6] == ["▸", LONG, "2", "runs", "200", "50.0-62.0"]
    assert [line.split()[0] for line in run_lines(state, 140)[1:]] == ["all", "▸", "birch", "oak"]
    state.unfolded.add(LONG)
    lines = run_lines(state, 140)
    assert lines[2].startswith("▾ ")
    assert lines[3].split()[:2] == ["V1", "100"] and "2024-08-01" in lines[3]
    assert lines[4].split()[:2] == ["V3", "100"] and "2024-07-24" in lines[4]
    values = build_run_list_table(RUNS, state).values
    assert values == [ALL_RUNS, LONG, 1, 3, 2, 4]


def test_groups_follow_the_order_of_their_runs() -> None:
    state = RunListState(order="official", grouping="date", unfolded={"2024-08-01", "2024-07-24"})
    assert build_run_list_table(RUNS, state).values == [
        ALL_RUNS,
        "2024-08-01",
        2,
        1,
        "2024-07-24",
        3,
        4,
    ]
    state.is_reversed = True
    assert build_run_list_table(RUNS, state).values == [
        ALL_RUNS,
        "2024-08-01",
        1,
        2,
        "2024-07-24",
        3,
        4,
    ]
    assert "by official reversed, grouped by date" in build_run_list_table(RUNS, state).note


def test_benchmarks_own_metric_has_a_column_beside_the_items_passed() -> None:
    own = OwnScore(
        "overall accuracy",
        value=0.3971,
        unit="share",
        digits=2,
        table="accuracy",
        name="overall",
    )
    table = build_run_list_table(RUNS, RunListState(), own_scores={2: own, 4: None})
    heading, *rows = [
        plain_text(line) for line in (table.lines(140).heading, *table.lines(140).rows)
    ]
    assert heading.index("overall accuracy") < heading.index("official")
    cells = {row.split()[0]: row.split() for row in rows}
    assert "39.71" in cells["birch"] and "91.0" in cells["birch"]
    assert "39.71" not in cells["oak"]
    assert "items passed" in table.note
    assert "overall" not in plain_text(
        build_run_list_table(RUNS, RunListState()).lines(140).heading
    )


def test_search_unfolds_matches() -> None:
    state = RunListState(grouping="date", search="deepseek")
    choices = build_run_list_table(RUNS, state)
    assert choices.values == ["2024-08-01", 1, "2024-07-24", 3] and choices.total == 2
    assert build_run_list_table(RUNS, RunListState(search="elm")).values == []


@pytest.mark.parametrize("by", GROUPINGS)
def test_blind_list_does_not_depend_on_verdicts(by: str) -> None:
    other = [
        make_row(each.run, each.info.model, each.info.path, each.info.generation, n_items=100)
        for each in RUNS
    ]
    for row in other:
        row.run_name = NAMES[row.run]
    for sort in available_run_orders(blind=True):
        state = RunListState(order=sort, grouping=by)
        assert run_lines(state, 140, blind=True) == run_lines(state, 140, other, blind=True)
        assert "official" not in run_lines(state, 140, blind=True)[0]


def test_keys_cycle_through_orders_and_groupings() -> None:
    state, orders = RunListState(), []
    for _ in available_run_orders(blind=False):
        orders.append(state.order)
        state.select_next_order(blind=False)
    assert orders == available_run_orders(blind=False) == list(RUN_ORDERS) and state.order == "run"
    by = [state.grouping]
    for _ in GROUPINGS:
        state.select_next_grouping()
        by.append(state.grouping)
    assert by == [*GROUPINGS, ""]
