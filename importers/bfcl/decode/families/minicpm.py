"""MiniCPM's tool calls: Python statements between tags."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from fcreview.importers.bfcl.decode.decoder import How
from fcreview.importers.bfcl.decode.decoding import Calls, Undecodable, WrongFormat, check_bounds
from fcreview.importers.bfcl.decode.families.code import text_of
from fcreview.importers.bfcl.decode.python import call_of

THOUGHT, THOUGHT_END = "<|thought_start|>", "<|thought_end|>"
START, END = "<|tool_call_start|>", "<|tool_call_end|>"
OPENING, CLOSING = re.compile(r"\s*`*\s*(?:python\b)?\s*"), re.compile(r"\s*`*\s*\Z")


def minicpm(result: Any, how: How) -> Calls:  # noqa: ARG001
    """`<|tool_call_start|>`, a fence with a call a line, `<|tool_call_end|>`; whatever else has the wrong format."""
    text = text_of(result)
    if THOUGHT in text and THOUGHT_END in text:
        text = text.rpartition(THOUGHT_END)[2]
    if START not in text or END not in text:
        raise WrongFormat("no tool call between tags")
    inside = text.partition(START)[2].rpartition(END)[0].strip()
    try:
        return _statements(inside)
    except (Undecodable, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WrongFormat(str(error)) from None


def _statements(text: str) -> Calls:
    opening = OPENING.match(text)
    text = text[opening.end() :] if opening else text
    closing = CLOSING.search(text)
    text = text[: closing.start()] if closing else text
    check_bounds(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = ast.parse(text).body
    calls = []
    for statement in body:
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            raise Undecodable("a statement that is not a call")
        calls.append(call_of(statement.value))
    if not calls:
        raise Undecodable("no call between the tags")
    return calls
