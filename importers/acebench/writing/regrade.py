"""ACEBench's golden answers from stored items, and the verdict with another one. Forms as in `golden`."""

from __future__ import annotations

from typing import Any

from fcreview.importers.acebench.check_normal import check, check_special
from fcreview.importers.acebench.decode import Undecodable, decode
from fcreview.importers.acebench.writing.golden import FIELD
from fcreview.importers.common.writing.forms import first_values, readable, told_apart
from fcreview.importers.common.writing.records import Json
from fcreview.model import Item, Run

OTHERS = "other accepted answers"
"""Where an item has them in `more`."""


def draft(run: Run, item: Item) -> Json | None:  # noqa: ARG001
    """The golden answer as a fix of it; None where the store does not have it in full: agent and special items."""
    if not item.category.startswith("normal") or not readable(item.golden):
        return None
    first = told_apart(item.golden, [first_values(call) for call in item.golden], 1)
    others = item.extra.more.get(OTHERS)
    return {FIELD: [first, *others] if isinstance(others, list) and others else first}


def passes(run: Run, item: Item, fix: Json, record: Any) -> bool | None:  # noqa: ARG001
    """The rule verdict with that golden answer; None where it is not recomputed: agents."""
    reply, golden = record.get("result") if isinstance(record, dict) else None, fix.get(FIELD)
    if reply is None or item.category.startswith("agent_"):
        return None
    if item.category.startswith("special"):
        return check_special(reply, golden, item.category).valid
    try:
        calls = decode(reply)
    except Undecodable:
        return False
    return check(calls, golden, item.functions).valid
