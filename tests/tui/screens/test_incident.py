"""Incidents on the item screen and in the list: what comes first, and the key that sets or
clears the mark.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fcreview.model.incident import INCIDENT
from fcreview.model.item import Verdict
from fcreview.store.rows import ColumnWidths, QueueRow
from fcreview.store.workspace import Workspace
from fcreview.tui.queue.columns import QueueColumns, queue_row_line
from fcreview.tui.text.lines import plain_text
from tests.incidents import EMPTY, RATE_LIMIT
from tests.tui.screens.conftest import import_items, make_simple_item
from tests.tui.screens.item_host import (
    bar_text,
    document_rows,
    item_screen,
    open_item_host,
    read_events,
)

SENTENCE = "! The API returned an error; the model gave no answer: rate limit exceeded"
MARKED = make_simple_item(0).id


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    marked, ordinary, weak = (make_simple_item(number) for number in range(3))
    marked.set_incident(RATE_LIMIT)
    weak.set_incident(EMPTY)
    return import_items(tmp_path, [marked, ordinary, weak])


async def test_item_opens_at_the_sentence_about_the_incident(workspace: Workspace) -> None:
    async with open_item_host(workspace, MARKED) as (app, _):
        assert SENTENCE in document_rows(app)[0]
        assert RATE_LIMIT.text in document_rows(app)[1]
        assert item_screen(app).cursor.block.key == "incident"
        assert any("How the benchmark counts it" in row for row in document_rows(app))


async def test_key_clears_and_sets_the_mark_without_a_verdict(workspace: Workspace) -> None:
    async with open_item_host(workspace, MARKED) as (app, pilot):
        await pilot.press("I")
        assert "saved: no incident" in bar_text(app, "status")
        assert SENTENCE not in "\n".join(document_rows(app))
        assert item_screen(app).cursor.detail.row.you is None
        assert item_screen(app).cursor.detail.row.your_parts == 0
        await pilot.press("I")
        assert "saved: marked as incident" in bar_text(app, "status")
        assert SENTENCE in document_rows(app)[0]
        await pilot.press("z", "z")
        assert SENTENCE in document_rows(app)[0]
    reviews = [
        (each["target"], each["criterion"], each["verdict"]) for each in read_events(workspace)[:2]
    ]
    assert reviews == [("item", INCIDENT, False), ("item", INCIDENT, True)]


async def test_key_marks_an_ordinary_item(workspace: Workspace) -> None:
    async with open_item_host(workspace, make_simple_item(1).id) as (app, pilot):
        await pilot.press("I")
        rows = document_rows(app)
        assert "The model gave no answer for a reason outside the question" in rows[0]
        assert "marked by a reviewer" in rows[1]


async def test_blind_annotator_sees_the_incident_but_no_verdict(workspace: Workspace) -> None:
    async with open_item_host(workspace, MARKED, store_blind=True, blind=True) as (app, _):
        assert SENTENCE in document_rows(app)[0]
        assert "value_error" not in "\n".join(document_rows(app))


async def test_weak_mark_is_quiet(workspace: Workspace) -> None:
    async with open_item_host(workspace, make_simple_item(2).id) as (app, _):
        assert document_rows(app)[0].strip() == "empty reply"
        assert item_screen(app).cursor.block.key != "incident"


async def test_failed_judge_is_named_in_the_verdict(tmp_path: Path) -> None:
    item = make_simple_item(0)
    item.verdicts.append(Verdict("judge", None, by="gpt-4o", failure="timeout\x1b[2J"))
    async with open_item_host(import_items(tmp_path, [item]), MARKED) as (app, _):
        text = "\n".join(document_rows(app))
        assert "unknown: the judge failed (timeout" in text and "\x1b" not in text


@pytest.mark.parametrize("shows_question", [False, True])
def test_list_says_first_why_there_is_no_answer(shows_question: bool) -> None:
    row = QueueRow(
        item=1,
        run=1,
        seq=0,
        id="a",
        category="weather",
        official=False,
        error_type="ast_decoder:decoder_failed",
        question="What is the weather?",
        incident="rate_limit",
        incident_certainty="rule",
        is_incident=True,
    )
    columns = QueueColumns.fit_to_width(160, ColumnWidths(error=20, has_difference=True))
    columns = replace(columns, shows_question=shows_question)
    text = plain_text(queue_row_line(row, columns))
    assert SENTENCE.removeprefix("! ") in text and "incident:rate_limit" in text
    assert "decoder" not in text and "What is" not in text


def test_list_has_a_quiet_note_on_a_weak_mark() -> None:
    row = QueueRow(
        item=1,
        run=1,
        seq=0,
        id="a",
        category="weather",
        first_difference="get_weather not called",
        diff_function="get_weather",
        incident="empty_reply",
        incident_certainty="weak",
    )
    columns = QueueColumns.fit_to_width(160, ColumnWidths(error=20, has_difference=True))
    text = plain_text(queue_row_line(row, columns))
    assert "not called" in text and "empty reply" in text


def test_narrow_list_has_a_short_title_that_tells_kinds_apart() -> None:
    row = QueueRow(
        item=1,
        run=1,
        seq=0,
        id="a",
        category="weather",
        incident="server",
        incident_certainty="rule",
        is_incident=True,
    )
    columns = QueueColumns.fit_to_width(60, ColumnWidths(error=20, has_difference=True))
    assert "No answer: server error" in plain_text(queue_row_line(row, columns))
