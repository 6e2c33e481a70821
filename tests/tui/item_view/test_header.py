"""Header, status line and key line of an item fit narrow terminals."""

from __future__ import annotations

import dataclasses

import pytest

from fcreview.model.address import describe_address
from fcreview.model.sanitize import display_width
from fcreview.tui.item_view.document import (
    header_line,
    item_facts_lines,
    mark_focused_header,
)
from fcreview.tui.queue.columns import QueueColumn, QueueColumns, queue_row_line
from fcreview.tui.review.recorder import PendingQuestion
from fcreview.tui.review.status import status_line
from fcreview.tui.text.lines import key_hints_line, plain_text
from tests.tui.item_view.document_text import WEATHER, make_detail


def test_narrow_header_keeps_verdicts_and_position() -> None:
    detail = make_detail(WEATHER)
    detail.row.id = "live_multiple_1045-273-0-with-a-long-tail"
    line = plain_text(header_line(detail, 1044, 14850, 80))
    assert display_width(line) <= 80
    for mark in ("official ✗", "recomp. ✗", "you –", "1,045/14,850", "live_m", "long-tail"):
        assert mark in line


@pytest.mark.parametrize("cells", [60, 80, 100, 120, 160])
def test_header_keeps_usual_ids_and_adds_facts_if_they_fit(cells: int) -> None:
    detail = make_detail(WEATHER)
    detail.row.id = "simple_python_17"
    line = plain_text(header_line(detail, 3, 640, cells))
    assert display_width(line) <= cells
    assert (
        line.startswith(" simple_python_17 ")
        and "4/640" in line
        and "–" in line.partition("you ")[2][:3]
    )
    assert (" FAIL " in line) is (cells >= 80)
    assert (detail.item.category in line) is (cells >= 120)
    alone = plain_text(header_line(detail, 3, 640, cells, show_id=False))
    assert "simple_python_17" not in alone and alone.startswith(" 4/640 ")


RUN_NAMES = ["gemini/gemini-2.5-flash · llm_agent", "gemini/gemini-2.5-flash · context_agent"]


@pytest.mark.parametrize("cells", [80, 100, 160])
@pytest.mark.parametrize("show_id", [True, False])
def test_header_names_runs_differently_at_any_width(cells: int, show_id: bool) -> None:
    detail = make_detail(WEATHER)
    detail.row.human = True
    for item_id in ("2_trial_0", "normal_multi_turn_user_switch_17_1"):
        lines = []
        for run_name in RUN_NAMES:
            detail.row.id, detail.row.run_name = item_id, run_name
            header = header_line(detail, 0, 2040, cells, show_id=show_id, run_names=RUN_NAMES)
            lines.append(plain_text(header))
        first, second = lines
        assert display_width(first) == display_width(second) == cells
        assert "llm_agent" in first and "conte" in second
        assert first != second and "1/2,040" in first
        assert not show_id or (f"{item_id[:4]}" in first and f"{item_id[-4:]} " in first)


def test_name_of_the_run_precedes_facts_and_is_hidden_in_blind_review() -> None:
    detail = make_detail(WEATHER)
    detail.row.id, detail.row.run_name = "2_trial_0", RUN_NAMES[0]
    wide = plain_text(header_line(detail, 0, 25, 160, run_names=RUN_NAMES))
    assert f"   {RUN_NAMES[0]}   {detail.item.category}" in wide
    pane = plain_text(header_line(detail, 0, 25, 82, run_names=RUN_NAMES))
    assert pane.startswith(" 2_trial_0 ") and pane.endswith("llm_agent ") and " FAIL " in pane
    blind = plain_text(header_line(detail, 0, 25, 160, hide_verdicts=True))
    assert "llm_agent" not in blind and detail.item.category in blind


def test_blind_header_says_that_verdicts_are_hidden() -> None:
    line = plain_text(header_line(make_detail(WEATHER), 0, 9, 120, hide_verdicts=True))
    assert "official hidden" in line and "recomputed hidden" in line and "you  – " in line


def test_overruled_verdict_is_in_brackets() -> None:
    detail = make_detail(WEATHER)
    columns = QueueColumns((QueueColumn("you", 3),))
    detail.row.you = False
    assert not detail.row.is_own_verdict_contradicted and "you  FAIL " in plain_text(
        header_line(detail, 0, 9, 120)
    )
    for human, overruled in ((False, False), ("disputed", False), (True, True)):
        detail.row.human = human
        header = plain_text(header_line(detail, 0, 9, 120))
        assert ("you (✗)" in header) is overruled and ("reviews" in header) is (human is not False)
        assert ("(✗)" in plain_text(queue_row_line(detail.row, columns))) is overruled


def test_header_shows_the_verdict_of_the_reviews_unless_it_is_yours_or_hidden() -> None:
    detail = make_detail(WEATHER)
    detail.row.human = True
    assert "you  –    reviews  PASS " in plain_text(header_line(detail, 0, 9, 120))
    assert "reviews ✓" in plain_text(header_line(detail, 1044, 14850, 60))
    assert "reviews" not in plain_text(header_line(detail, 0, 9, 120, hide_verdicts=True))
    detail.row.you = True
    assert "reviews" not in plain_text(header_line(detail, 0, 9, 120))


def test_header_omits_judge_without_verdict() -> None:
    detail = make_detail(WEATHER)
    detail.row.judge = None
    assert "judge  FAIL " in plain_text(
        header_line(
            dataclasses.replace(detail, row=dataclasses.replace(detail.row, judge=False)), 0, 9, 80
        )
    )
    detail.item.verdicts = [
        verdict for verdict in detail.item.verdicts if verdict.source != "judge"
    ]
    assert "judge" not in plain_text(header_line(detail, 0, 9, 80))
    assert "judge" not in plain_text(header_line(detail, 0, 9, 160))


def test_status_and_key_line_fit_and_name_the_target() -> None:
    status = plain_text(
        status_line(
            ("saved: fail · " + "x" * 90, "good"),
            PendingQuestion("turn:2/call:1"),
            "40 %",
            False,
            80,
        )
    )
    assert display_width(status) == 80 and status.endswith("verdict on: turn 2 call 1")
    keys = key_hints_line(
        [("p", "pass"), *[(str(n), "something long") for n in range(9)], ("?", "help")], 80, 1
    )
    assert display_width(plain_text(keys)) <= 80 and plain_text(keys).endswith("? help")


def test_addresses_are_written_in_words() -> None:
    assert describe_address("turn:2/call:1/arg:a/b:c") == "turn 2 call 1 a/b:c"
    assert describe_address("item") == "item"


UUID = "0b8f2c64-7f0e-4a55-9a57-2d6c1a1d9e3f"


@pytest.mark.parametrize(("cells", "shown"), [(160, UUID), (70, "0b8f"), (60, "0b8f")])
def test_long_group_id_is_cut_in_its_middle(cells: int, shown: str) -> None:
    detail = make_detail(WEATHER)
    detail.item.group = UUID
    (line,) = map(plain_text, item_facts_lines(detail, cells))
    assert f"group {shown}" in line and f"{UUID[-5:]} " in line and display_width(line) <= cells
    assert line.endswith("gpt-4o · BFCL V4") and (UUID in line) == (cells == 160)


def test_pane_that_has_no_width_yet_has_no_mark() -> None:
    """The item screen hands its item over to such a pane when the terminal becomes wide."""
    header = header_line(make_detail(WEATHER), 0, 1, 0)
    assert plain_text(mark_focused_header(header)) == ""
