"""HammerBench's golden calls from stored items, and the verdict with another one. Forms as in `golden`."""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.writing.forms import first_values, readable
from fcreview.importers.common.writing.records import Json
from fcreview.importers.hammerbench.check import check
from fcreview.importers.hammerbench.parse import family, parse
from fcreview.model import Item, Run


def draft(run: Run, item: Item) -> Json | None:  # noqa: ARG001
    """The golden call as a fix of it; None where the right answer is to decline."""
    if len(item.golden) != 1 or not readable(item.golden):
        return None
    return {"name": item.golden[0].name, "arguments": first_values(item.golden[0])}


def passes(run: Run, item: Item, fix: Json, record: Any) -> bool | None:  # noqa: ARG001
    """The rule verdict with that golden call. In the per-conversation generation the first snapshot's function decides
    for all of them: what it was stays so.

    The prediction is in the item: these files are one JSON array, whose records have no place of their own.
    """
    raw = item.predicted[0].raw if item.predicted else next((m.content for m in reversed(item.messages)), None)
    if raw is None:
        return None
    outcome = check(parse(raw, family(f"{run.path}/{item.file}")), raw, fix, run.language)
    named = outcome.func_ok if run.generation != "conversation" or item.id.endswith("_1") else _first_ok(item)
    return None if named is None else named and outcome.args_ok


def _first_ok(item: Item) -> bool | None:
    """Whether the conversation's first function was right, as far as the verdict on a later snapshot tells."""
    error = item.rule_error_type
    return None if error in ("text", "refused") else error not in ("wrong_function", "wrong_first_function")
