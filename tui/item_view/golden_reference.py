"""Build the text beside the golden editor: the question, the predicted calls and the docs of the
functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fcreview.model.item import Item
from fcreview.model.sanitize import sanitize
from fcreview.tui.item_view.blocks import Block
from fcreview.tui.item_view.call_diff import format_call
from fcreview.tui.item_view.function_docs import find_function, function_docs_lines
from fcreview.tui.text.graphics import FRAME_CELLS, frame_bottom, frame_side, frame_top
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    make_line,
    rule_line,
    sanitize_and_wrap,
    wrap_sanitized,
)

MAX_DOCUMENTED_FUNCTIONS = 20
MAX_TEXT_ROWS = 200
"""Maximum number of rows of one message or call. The item screen shows all of a longer text."""


@dataclass(frozen=True, slots=True)
class _Section:
    """Part of the reference with a title."""

    key: str
    title: Line
    list_rows: Callable[[int], list[Line]]
    """Returns the rows below the title, for a number of cells."""

    def make_block(self, *, is_framed: bool) -> Block:
        return Block(self.key, self._render_in_frame if is_framed else self._render_below_rule)

    def _render_below_rule(self, cells: int) -> list[Line]:
        return [rule_line(self.title, cells), *self.list_rows(cells), BLANK_LINE]

    def _render_in_frame(self, cells: int) -> list[Line]:
        rows = self.list_rows(max(cells - FRAME_CELLS, 1))
        sides = [frame_side(row, cells) for row in rows]
        return [frame_top(self.title, cells), *sides, frame_bottom(BLANK_LINE, cells)]


def build_golden_reference(item: Item, run_name: str, *, is_framed: bool) -> list[Block]:
    """Return what an annotator needs beside the editor of a golden answer.

    The blocks are the question, both answers, and the docs of the functions: first those that are
    called, then others up to a limit.

    Args:
        run_name: Name of the run with the predicted calls.
        is_framed: Whether each block has a frame, as on a large screen. Otherwise, it has a rule
            above it.
    """
    answer_title: Line = (("this answer ", "strong"), (sanitize(run_name), "dim"))
    sections = [
        _Section("question", make_line("question", "strong"), partial(_question_rows, item)),
        _Section("answer", answer_title, partial(_answer_rows, item)),
    ]
    names = _list_function_names(item)
    for name in names[:MAX_DOCUMENTED_FUNCTIONS]:
        docs_title: Line = (("docs of ", ""), (sanitize(name), "strong"))
        sections.append(_Section(f"docs/{name}", docs_title, partial(_docs_rows, item, name)))

    blocks = [section.make_block(is_framed=is_framed) for section in sections]
    n_hidden = len(names) - MAX_DOCUMENTED_FUNCTIONS
    if n_hidden > 0:
        text = f"… {n_hidden} more functions"
        blocks.append(Block("docs/more", lambda _: [make_line(text, "dim")]))
    return blocks


def _question_rows(item: Item, cells: int) -> list[Line]:
    """Return the messages of the user."""
    messages = [message.content for message in item.messages if message.role == "user"]
    lines: list[Line] = []
    for text in messages or [item.question]:
        rows = sanitize_and_wrap(text, cells, MAX_TEXT_ROWS)
        lines += [make_line(row) for row in rows]
    return lines


def _answer_rows(item: Item, cells: int) -> list[Line]:
    """Return the predicted calls of a run, or its reply if it made no call."""
    if not item.predicted:
        return _reply_lines(item, cells)
    lines: list[Line] = []
    for call in item.predicted:
        rows = wrap_sanitized(format_call(call), cells, MAX_TEXT_ROWS)
        lines += [make_line(row, "predicted") for row in rows]
    return lines


def _reply_lines(item: Item, cells: int) -> list[Line]:
    """Return the beginning of the model's last reply."""
    replies = [message.content for message in item.messages if message.role == "assistant"]
    if not replies:
        return [make_line("no call", "dim")]
    rows = sanitize_and_wrap(replies[-1], cells, MAX_TEXT_ROWS)
    return [make_line(row, "predicted") for row in rows]


def _list_function_names(item: Item) -> list[str]:
    """List the available functions: first those that either answer calls, then the others."""
    # The dictionary is an ordered set: a name keeps its first place.
    names: dict[str, None] = {}
    for call in [*item.golden, *item.predicted]:
        function = find_function(item.functions, call.name)
        if function is not None:
            names[str(function.get("name"))] = None
    for function in item.functions:
        names[str(function.get("name"))] = None
    return list(names)


def _docs_rows(item: Item, name: str, cells: int) -> list[Line]:
    """Return the docs of a function without the heading, because the title names it."""
    function = find_function(item.functions, name)
    _, *rows = function_docs_lines(name, function, None, cells)
    return rows
