"""Runs as rows: which columns there are, what gives way where there is little room, and groups that fold."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.store.rows import RunRow
from fcreview.tui.queue.runs import GROUPINGS, RunListState, available_run_orders, run_choices
from fcreview.tui.queue.state import ALL_RUNS
from fcreview.tui.text.lines import line_width, plain_text
from tests.store.queries.test_run_lists import row

LONG = "deepseek-ai_deepseek-coder-6.7b-instruct"


def counted(passed: int, **more: Any) -> dict[str, Any]:
    known = {"official_known": 100, "rule_known": 100, "effective_known": 100}
    return {**known, "official_pass": passed, "rule_pass": passed, "effective_pass": passed, **more}


RUNS = [
    row(1, LONG, "x/2024-08-01/result/a", **counted(50)),
    row(2, "birch", "x/2024-08-01/result/b", **counted(91)),
    row(3, LONG, "x/2024-07-24/result/a", "V3", **counted(62)),
    row(4, "oak", "x/2024-07-24/result/o"),
]


def shown(place: RunListState, cells: int = 80, runs: list[RunRow] = RUNS, *, blind: bool = False) -> list[str]:
    heading, lines = run_choices(runs, place, cells, blind=blind).lines(cells)
    assert max(line_width(line) for line in lines) < cells
    return [plain_text(heading).strip(), *(plain_text(line).strip() for line in lines)]


def test_no_name_is_cut_where_others_can_give_way() -> None:
    heading, *lines = shown(RunListState())
    assert heading.split() == ["model", "items", "folder", "official", "by", "you"]
    assert lines[1].startswith(LONG + "  ") and "50.0 %" in lines[1]
    assert "recomp." in shown(RunListState(), 140)[0] and "folder" in shown(RunListState(), 140)[0]
    assert LONG in shown(RunListState(), 60)[2] and "official" in shown(RunListState(), 60)[0]
    assert "…" in shown(RunListState(), 45)[2] and "official" in shown(RunListState(), 45)[0]


@pytest.mark.parametrize(
    ("sort", "column"), [("corrected", "corrected"), ("date", "folder"), ("reviewed", "by anyone")]
)
def test_what_runs_are_sorted_by_is_shown_however_little_room_there_is(sort: str, column: str) -> None:
    runs = [*RUNS, row(5, "elm", reviewed=3)]
    assert column in shown(RunListState(order=sort), 60, runs)[0]


def test_what_was_reviewed_keeps_the_corrected_rate() -> None:
    runs = [*RUNS, row(5, "elm", **counted(40, reviewed=2, yours=2))]
    assert "corrected" in shown(RunListState(), 80, runs)[0]


def test_groups_fold_and_say_from_where_to_where_their_rates_go() -> None:
    place = RunListState(grouping="model")
    assert shown(place, 140)[2].split()[:6] == ["▸", LONG, "2", "runs", "200", "50.0-62.0"]
    assert [line.split()[0] for line in shown(place, 140)[1:]] == ["all", "▸", "birch", "oak"]
    place.unfolded.add(LONG)
    lines = shown(place, 140)
    assert lines[2].startswith("▾ ") and lines[3].startswith("BFCL V1  2024-08-01") and "V3  2024-07-24" in lines[4]
    values = run_choices(RUNS, place, 140).values
    assert values == [ALL_RUNS, LONG, 1, 3, 2, 4]


def test_groups_in_the_order_that_their_runs_have() -> None:
    place = RunListState(order="official", grouping="date", unfolded={"2024-08-01", "2024-07-24"})
    assert run_choices(RUNS, place, 80).values == [ALL_RUNS, "2024-08-01", 2, 1, "2024-07-24", 3, 4]
    place.is_reversed = True
    assert run_choices(RUNS, place, 80).values == [ALL_RUNS, "2024-08-01", 1, 2, "2024-07-24", 3, 4]
    assert "by official reversed, grouped by date" in run_choices(RUNS, place, 80).note


def test_what_is_looked_for_is_unfolded() -> None:
    place = RunListState(grouping="date", search="deepseek")
    made = run_choices(RUNS, place, 80)
    assert made.values == ["2024-08-01", 1, "2024-07-24", 3] and made.total == 2
    assert run_choices(RUNS, RunListState(search="elm"), 80).values == []


@pytest.mark.parametrize("by", GROUPINGS)
def test_blind_nothing_differs_by_what_others_found(by: str) -> None:
    other = [row(each.run, each.info.model, each.info.path, each.info.generation, n_items=100) for each in RUNS]
    for sort in available_run_orders(blind=True):
        place = RunListState(order=sort, grouping=by)
        assert shown(place, 140, blind=True) == shown(place, 140, other, blind=True)
        assert "official" not in shown(place, 140, blind=True)[0]


def test_every_order_and_every_grouping_has_its_turn() -> None:
    place, seen = RunListState(), []
    for _ in available_run_orders(blind=False):
        seen.append(place.order)
        place.next_order(blind=False)
    assert seen == available_run_orders(blind=False) and place.order == "run"
    by = [place.grouping]
    for _ in GROUPINGS:
        place.next_grouping()
        by.append(place.grouping)
    assert by == [*GROUPINGS, ""]
