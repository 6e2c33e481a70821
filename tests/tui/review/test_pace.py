"""The pace of a session in the status line."""

from __future__ import annotations

import pytest

from fcreview.tui.review.recorder import PendingQuestion
from fcreview.tui.review.status import BREAK_SECONDS, Pace, status_line
from fcreview.tui.text.lines import line_width, plain_text
from fcreview.tui.text.messages import StatusMessage


def test_pace_has_items_done_items_left_and_usual_time() -> None:
    pace = Pace()
    assert pace.summary == ""
    pace.restart_clock(100.0)
    pace.record_item(1, 104.0, is_first_verdict=True)
    pace.set_count(1482, pace.n_changes)
    assert pace.summary == "1 reviewed · 1,482 left · 4.0 s/item"
    pace.record_item(2, 108.2, is_first_verdict=True)
    after_break = 108.2 + BREAK_SECONDS * 2
    pace.record_item(3, after_break, is_first_verdict=True)
    pace.record_item(3, after_break + 3.8, is_first_verdict=False)
    assert pace.summary.startswith("3 reviewed · 1,480 left · 4.0 s/item")


def test_count_from_before_a_review_or_an_undo_is_not_shown() -> None:
    pace = Pace()
    n_changes = pace.n_changes
    pace.record_item(1, 104.0, is_first_verdict=True)
    pace.set_count(1482, n_changes)
    assert pace.summary == "1 reviewed"
    pace.set_count(1481, pace.n_changes)
    assert pace.summary == "1 reviewed · 1,481 left"
    pace.request_count()
    assert pace.summary == "1 reviewed"


def test_pace_is_shown_after_messages_if_it_fits() -> None:
    saved = StatusMessage("saved: fail · simple_1")
    for cells in (60, 80, 120):
        line = status_line(
            saved,
            PendingQuestion(),
            "40 %",
            False,
            cells,
            {"item.target": "T"},
            "30 reviewed · 1,482 left · 4.1 s/item",
        )
        assert line_width(line) <= cells
        assert plain_text(line).startswith(" saved: fail · simple_1")
        assert ("1,482 left" in plain_text(line)) == (cells >= 80)
    on_part = status_line(
        saved,
        PendingQuestion("turn:1/call:1"),
        "40 %",
        False,
        80,
        {},
        "30 reviewed · 1,482 left · 4.1 s/item",
    )
    assert "verdict on: turn 1 call 1" in plain_text(on_part)


@pytest.mark.parametrize(
    ("message", "question", "cells", "line"),
    [
        (
            "saved: golden wrong, so hallucinated no · turn 1 call 1 light",
            PendingQuestion("turn:1/call:1/arg:light", "hallucinated"),
            80,
            " saved: golden wrong, so hallucinated no      T verdict on: turn 1 call 1 light",
        ),
        (
            "saved: golden wrong, so hallucinated no · turn 1 call 1 light",
            PendingQuestion("turn:1/call:1/arg:light", "hallucinated"),
            60,
            " saved: … hallucinated no  T verdict on: turn 1 call 1 light",
        ),
        (
            "saved: golden wrong, so hallucinated no · response",
            PendingQuestion("response", "hallucinated"),
            60,
            " saved: golden ✗ hallucinated no  T verdict on: response",
        ),
        (
            "saved: golden wrong, so dialog_act agent_function_calling · response",
            PendingQuestion("response", "dialog_act"),
            60,
            " saved: … dialog_act agent_function…  T verdict on: response",
        ),
    ],
)
def test_messages_omit_the_target_named_in_the_same_line(
    message: str, question: PendingQuestion, cells: int, line: str
) -> None:
    shown = plain_text(
        status_line(StatusMessage(message), question, "40 %", False, cells, {"item.target": "T"})
    )
    assert len(shown) == cells and shown.split() == line.split()


@pytest.mark.parametrize(
    ("cells", "line"),
    [
        (80, " saved: golden answer accepted · pass · simple_python_10 · z undo"),
        (
            120,
            " saved: golden answer accepted · pass · 1 of 2 runs would pass (0 now)"
            " · simple_python_10 · z undo",
        ),
    ],
)
def test_message_about_a_golden_answer_keeps_the_id_and_undo(cells: int, line: str) -> None:
    text = (
        "saved: golden answer accepted · pass · 1 of 2 runs would pass (0 now) · simple_python_10"
    )
    keys = {"item.undo": "z", "item.target": "T"}
    shown = plain_text(
        status_line(StatusMessage(text), PendingQuestion(), "40 %", False, cells, keys)
    )
    assert shown.startswith(line) and len(shown) == cells


def test_empty_status_line_names_all_questions_at_60_columns() -> None:
    keys = {"item.target": "T", "item.score": "0", "item.score_1": "1", "item.score_2": "2"}
    for target in ("item", "response"):
        shown = plain_text(
            status_line(
                ("", ""),
                PendingQuestion(target, score_question="response completeness"),
                "64 %",
                False,
                60,
                keys,
            )
        )
        assert shown.rstrip().endswith(f"0 1 2 on: response completeness · T verdict on: {target}")


def test_override_is_cut_before_the_verdict() -> None:
    message = StatusMessage("saved: equivalent fail, overrides official rule tier · turn 1 call 1")
    shown = plain_text(
        status_line(
            message,
            PendingQuestion("turn:1/call:1", "equivalent"),
            "40 %",
            False,
            80,
            {"item.target": "T"},
        )
    )
    assert shown.startswith(" saved: equivalent fail, overrides") and shown.endswith(
        "T verdict on: turn 1 call 1"
    )
