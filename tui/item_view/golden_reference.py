"""Build the text beside the golden editor: the question, the predicted calls and the docs of the
functions.
"""

from __future__ import annotations

from functools import partial

from fcreview.model.item import Item
from fcreview.model.sanitize import sanitize
from fcreview.tui.item_view.blocks import Block
from fcreview.tui.item_view.call_diff import format_call
from fcreview.tui.item_view.function_docs import find_function, function_docs_lines
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


def build_golden_reference(item: Item, run_name: str) -> list[Block]:
    """Return what an annotator needs beside the editor of a golden answer.

    The blocks are the question, both answers, and the docs of the functions: first those that are
    called, then others up to a limit. `run_name`: name of the run with the predicted calls.
    """
    blocks = [
        Block("question", partial(_question_lines, item)),
        Block("answer", partial(_answer_lines, item, run_name)),
    ]
    names = _list_function_names(item)
    for name in names[:MAX_DOCUMENTED_FUNCTIONS]:
        blocks.append(Block(f"docs/{name}", partial(_docs_lines, item, name)))
    n_hidden = len(names) - MAX_DOCUMENTED_FUNCTIONS
    if n_hidden > 0:
        text = f"… {n_hidden} more functions"
        blocks.append(Block("docs/more", lambda _: [make_line(text, "dim")]))
    return blocks


def _question_lines(item: Item, cells: int) -> list[Line]:
    """Return the messages of the user below a heading."""
    messages = [message.content for message in item.messages if message.role == "user"]
    lines = [rule_line(make_line("question", "strong"), cells)]
    for text in messages or [item.question]:
        rows = sanitize_and_wrap(text, cells, MAX_TEXT_ROWS)
        lines += [make_line(row) for row in rows]
    return [*lines, BLANK_LINE]


def _answer_lines(item: Item, run_name: str, cells: int) -> list[Line]:
    """Return the predicted calls of a run below a heading, or its reply if it made no call."""
    title: Line = (("this answer ", "strong"), (sanitize(run_name), "dim"))
    lines = [rule_line(title, cells)]
    for call in item.predicted:
        rows = wrap_sanitized(format_call(call), cells, MAX_TEXT_ROWS)
        lines += [make_line(row, "predicted") for row in rows]
    if not item.predicted:
        lines += _reply_lines(item, cells)
    return [*lines, BLANK_LINE]


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


def _docs_lines(item: Item, name: str, cells: int) -> list[Line]:
    function = find_function(item.functions, name)
    return [*function_docs_lines(name, function, None, cells), BLANK_LINE]
