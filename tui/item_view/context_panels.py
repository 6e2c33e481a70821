"""Build the panels in the free rows below an item: docs of the functions at the cursor, and answers of other runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import format_count
from fcreview.store.rows import QueueRow
from fcreview.tui.item_view.function_docs import (
    MAX_PARAMETERS,
    RelevantFunctions,
    find_function,
    parameter_texts,
    split_parameters,
    type_name,
)
from fcreview.tui.queue.columns import difference_line
from fcreview.tui.text.graphics import FRAME_CELLS, box_lines
from fcreview.tui.text.lines import Line, StyledText, fit_line, make_line, pad_text, truncate_middle, wrap_text
from fcreview.tui.text.theme import symbols, verdict_style

MAX_NAME_CELLS = 30
MAX_TYPE_CELLS = 18
MIN_PANEL_ROWS = 3
SUMMARY_ROWS = 3


def docs_panels(functions: Sequence[dict[str, Any]], here: RelevantFunctions, cells: int, free_rows: int) -> list[Line]:
    """Return one panel for each function at the cursor. Panels that do not fit into `free_rows` are omitted."""
    lines: list[Line] = []
    for name in here.names:
        document = find_function(functions, name)
        panel = [] if document is None else _docs_panel(document, here.argument, cells, free_rows - len(lines))
        lines += panel if len(lines) + len(panel) <= free_rows else []
    return lines


def _docs_panel(document: dict[str, Any], argument: str | None, cells: int, free_rows: int) -> list[Line]:
    inner = cells - FRAME_CELLS
    properties = read_declared_parameters(document).properties
    required, optional = split_parameters(document)
    signature = ", ".join([*required, *(f"{each}?" for each in optional)])
    title = f"{sanitize(str(document.get('name')))}({sanitize(signature)})"
    summary = wrap_text(str(document.get("description") or ""), inner, SUMMARY_ROWS)
    head = [make_line(row, "dim") for row in summary if row]
    if properties is None or len(properties) > min(free_rows - 2, MAX_PARAMETERS):
        return []
    if not properties:
        return box_lines(title, head or [make_line("no parameters", "dim")], cells)
    name_cells = min(max(display_width(sanitize(str(each))) for each in properties), MAX_NAME_CELLS)
    type_cells = min(max(display_width(sanitize(type_name(each))) for each in properties.values()), MAX_TYPE_CELLS)
    rows: list[list[Line]] = []
    for name, schema in properties.items():
        is_marked, text = str(name) == argument, "  ".join(parameter_texts(schema))
        cellwise: Line = (
            (f"{symbols().path} " if is_marked else "  ", "primary"),
            pad_text(truncate_middle(sanitize(str(name)), name_cells), name_cells, "strong" if is_marked else ""),
            ("  ", ""),
            pad_text(truncate_middle(sanitize(type_name(schema)), type_cells), type_cells, "dim"),
            ("  required  " if name in required else "  optional  ", "dim"),
        )
        indent = name_cells + type_cells + 16
        texts = wrap_text(text, max(inner - indent, 10), SUMMARY_ROWS)
        lines: list[Line] = [(*cellwise, (texts[0].rstrip() if texts else "", "dim"))]
        lines += [((" " * indent, ""), (each.rstrip(), "dim")) for each in texts[1:]]
        rows.append(lines)
    body = [*head, *(line for lines in rows for line in lines)]
    if len(body) + 2 > free_rows:  # one row for each parameter
        body = [_cut(lines, inner) for lines in rows]
        body = [*head, *body] if len(head) + len(body) + 2 <= free_rows else body
    return box_lines(title, body, cells)


def _cut(lines: Sequence[Line], cells: int) -> Line:
    return fit_line((*lines[0], (f" {symbols().ellipsis}", "dim")), cells) if len(lines) > 1 else lines[0]


def other_runs_panel(rows: Sequence[QueueRow], cells: int, free_rows: int) -> list[Line]:
    """Return a panel with verdict and first difference of the same item in other runs. Empty if there is no room."""
    if not rows or free_rows < MIN_PANEL_ROWS + (len(rows) > 1):
        return []
    names = [sanitize(row.run_name or row.model) for row in rows]
    name_cells = min(max(map(display_width, names)), MAX_NAME_CELLS)
    fitting = free_rows - 2 if len(rows) <= free_rows - 2 else free_rows - 3
    lines = [
        fit_line(
            (_verdict_sign(row), pad_text(truncate_middle(name, name_cells), name_cells + 2), *_format_difference(row)),
            cells - FRAME_CELLS,
        )
        for row, name in list(zip(rows, names, strict=True))[:fitting]
    ]
    if len(rows) > fitting:
        lines.append(make_line(f"{symbols().ellipsis} {format_count(len(rows) - fitting, 'more run')}", "dim"))
    verdicts = [value for row in rows if (value := automatic_verdict(row)) is not None]
    facts = f"fail: {verdicts.count(False)} of {len(verdicts)}" if verdicts else ""
    return box_lines("Other runs", lines, cells, ((facts, "dim"),) if facts else ())


def automatic_verdict(row: QueueRow) -> bool | None:
    """Return the official verdict, else the recomputed verdict, else the judge verdict."""
    return next((value for value in (row.official, row.rule, row.judge) if value is not None), None)


def _verdict_sign(row: QueueRow) -> StyledText:
    value = automatic_verdict(row)
    return f"{symbols().verdict_symbol(value)} ", verdict_style(value)


def _format_difference(row: QueueRow) -> Line:
    return difference_line(row) or (("no difference" if automatic_verdict(row) else "", "dim"),)
