"""Free rows of the item screen show function docs and the answers of other runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from fcreview.model.sanitize import sanitize
from fcreview.store.rows import QueueRow
from fcreview.tui.item_view.function_docs import RelevantFunctions, docs_panel_lines
from fcreview.tui.item_view.other_runs import other_runs_panel_lines
from fcreview.tui.text.lines import line_width, plain_text
from tests.tui.item_view.document_text import HOSTILE, WEATHER, make_detail

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
HERE = RelevantFunctions(("get_weather",), "unit")


@pytest.mark.parametrize("cells", [60, 100])
def test_docs_fill_free_rows_and_mark_argument_at_cursor(cells: int) -> None:
    lines = [plain_text(line) for line in docs_panel_lines([DOCUMENT], HERE, cells, 10)]
    assert {line_width(line) for line in docs_panel_lines([DOCUMENT], HERE, cells, 10)} == {cells}
    assert "get_weather(location, unit?)" in lines[0]
    assert any("› unit" in line and "optional" in line for line in lines)
    assert any(
        "  location" in line and "required" in line and "City and country." in line
        for line in lines
    )
    assert docs_panel_lines([DOCUMENT], HERE, cells, 3) == [], "too few rows for all docs"
    assert docs_panel_lines([], HERE, cells, 10) == []


def run_row(model: str, **fields: Any) -> QueueRow:
    return dataclasses.replace(
        make_detail(WEATHER).row, model=model, run_name=sanitize(model), **fields
    )


def test_other_runs_fill_free_rows_with_verdict_and_difference() -> None:
    different = {
        "first_difference": "unit x",
        "diff_argument": "unit",
        "diff_golden": '"c"',
        "diff_predicted": '"k"',
    }
    rows = [
        run_row("birch", official=True, rule=True, error_type=None),
        run_row(HOSTILE, **different),
        run_row("oak", **different),
    ]
    lines = [plain_text(line) for line in other_runs_panel_lines(rows, 70, 9)]
    assert "Other runs" in lines[0] and "fail: 2 of 3" in lines[-1]
    assert lines[1].split()[1:5] == ["✓", "birch", "no", "difference"]
    assert 'unit  "c" → "k"' in lines[3] and "\x1b" not in "".join(lines)
    assert [line_width(line) for line in other_runs_panel_lines(rows, 70, 9)] == [70] * 5
    short = [plain_text(line) for line in other_runs_panel_lines(rows, 70, 4)]
    assert len(short) == 4 and "2 more runs" in short[2]
    assert other_runs_panel_lines(rows, 70, 3) == [] and other_runs_panel_lines([], 70, 9) == []
