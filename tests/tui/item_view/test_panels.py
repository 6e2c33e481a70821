"""The item screen has panels for reasons of failure, suspect golden answers, docs and other runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from fcreview.model.item import Verdict
from fcreview.store.rows import QueueRow, Suspicion
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.function_docs import RelevantFunctions, docs_panels
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.review.other_runs import other_runs_panel
from fcreview.tui.text.lines import line_width, plain_text
from tests.tui.item_view.document_text import (
    HOSTILE,
    WEATHER,
    document_lines,
    golden_call,
    make_detail,
    make_item,
    predicted_call,
)

DOCUMENT: dict[str, Any] = {
    "name": "get_weather",
    "description": "Weather of a city.",
    "parameters": {
        "properties": {
            "location": {"type": "string", "description": "City and country."},
            "unit": {"type": "string", "enum": ["celsius", "kelvin"], "description": "Scale."},
        },
        "required": ["location"],
    },
}
PANELS = {"frames": True, "panels": True}
HERE = RelevantFunctions(("get_weather",), "unit")


def failing_item_lines(official: tuple[str, str], recomputed: tuple[str, str]) -> list[str]:
    """Return the lines of an item with two (error type, reason) pairs."""
    item = make_item([golden_call("f", a=1)], [predicted_call("f", a=2)], official=False, rule=False)
    item.error_type, item.rule_error_type = official[0], recomputed[0]
    item.verdicts = [
        Verdict(source, False, error_type=code, rationale=why)
        for source, (code, why) in (("official", official), ("rule", recomputed))
    ]
    return document_lines(make_detail(item), **PANELS)


def test_differing_reasons_are_both_shown() -> None:
    lines = failing_item_lines(("value_error", "Expected 1"), ("type_error:simple", "a: 2 is no text"))
    at = next(n for n, line in enumerate(lines) if "Why it fails" in line)
    assert [line.strip("│ ") for line in lines[at + 1 : at + 3]] == [
        "a: 2 is no text   type_error:simple",
        "official    Expected 1   value_error",
    ]


def test_common_reason_is_shown_once() -> None:
    lines = failing_item_lines(("value_error", "Expected 1"), ("value_error", "Expected 1"))
    assert sum("Expected 1" in line for line in lines) == 1


def test_cursor_starts_at_suspect_call() -> None:
    detail = make_detail(
        make_item(
            [golden_call("a", x=1), golden_call("b", 1, y=2)], [predicted_call("a", x=9), predicted_call("b", 1, y=2)]
        )
    )
    assert Cursor(detail, "alice").block.function == "a", "the first difference"
    text = "undocumented argument: y is not in the function docs (b)"
    options = DisplayOptions(suspicion=Suspicion(0.6, True, text, (text,)))
    assert Cursor(detail, "alice", options=options).block.function == "b"
    lines = document_lines(detail, suspicion=options.suspicion, **PANELS)
    assert any("Why the golden answer is suspect · score 0.60, strong" in line for line in lines)
    assert any("· undocumented argument: y is not in the function docs (b)" in line for line in lines)
    hidden = "\n".join(document_lines(detail, suspicion=options.suspicion, hide_verdicts=True, **PANELS))
    assert "suspect" not in hidden and "undocumented" not in hidden


@pytest.mark.parametrize("cells", [60, 100])
def test_docs_fill_free_rows_and_mark_argument_at_cursor(cells: int) -> None:
    lines = [plain_text(line) for line in docs_panels([DOCUMENT], HERE, cells, 10)]
    assert {line_width(line) for line in docs_panels([DOCUMENT], HERE, cells, 10)} == {cells}
    assert "get_weather(location, unit?)" in lines[0]
    assert any("› unit" in line and "optional" in line for line in lines)
    assert any("  location" in line and "required" in line and "City and country." in line for line in lines)
    assert docs_panels([DOCUMENT], HERE, cells, 3) == [], "too few rows for all docs"
    assert docs_panels([], HERE, cells, 10) == []


def run_row(model: str, **fields: Any) -> QueueRow:
    return dataclasses.replace(make_detail(WEATHER).row, model=model, **fields)


def test_other_runs_fill_free_rows_with_verdict_and_difference() -> None:
    different = {"first_difference": "unit x", "diff_argument": "unit", "diff_golden": '"c"', "diff_predicted": '"k"'}
    rows = [
        run_row("birch", official=True, rule=True, error_type=None),
        run_row(HOSTILE, **different),
        run_row("oak", **different),
    ]
    lines = [plain_text(line) for line in other_runs_panel(rows, 70, 9)]
    assert "Other runs" in lines[0] and "fail: 2 of 3" in lines[-1]
    assert lines[1].split()[1:5] == ["✓", "birch", "no", "difference"]
    assert 'unit  "c" → "k"' in lines[3] and "\x1b" not in "".join(lines)
    assert [line_width(line) for line in other_runs_panel(rows, 70, 9)] == [70] * 5
    short = [plain_text(line) for line in other_runs_panel(rows, 70, 4)]
    assert len(short) == 4 and "2 more runs" in short[2]
    assert other_runs_panel(rows, 70, 3) == [] and other_runs_panel([], 70, 9) == []
