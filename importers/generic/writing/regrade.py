"""Golden calls of the generic format from stored items, and the verdict with others. Forms as in `golden`."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from fcreview.calls.align import align_turns
from fcreview.importers.common.writing.forms import accepted, readable
from fcreview.importers.common.writing.records import Json
from fcreview.importers.generic.read import golden_calls
from fcreview.importers.generic.schema import GoldenCall
from fcreview.importers.generic.writing.golden import FIELD
from fcreview.model import Accept, Item, Run


def draft(run: Run, item: Item) -> Json | None:  # noqa: ARG001
    """The golden calls as a fix of them; None without any."""
    if not readable(item.golden):
        return None
    return {
        FIELD: [
            {"name": call.name, "arguments": {name: _given(one) for name, one in (call.arguments or {}).items()}}
            | ({"turn": call.turn} if call.turn else {})
            for call in item.golden
        ]
    }


def _given(accept: Accept) -> Any:
    if len(accept.any_of) == 1 and not accept.optional:
        return accept.any_of[0]
    any_of = accepted(Accept(accept.any_of))
    return {"any_of": any_of} | ({"optional": True} if accept.optional else {})


def passes(run: Run, item: Item, fix: Json, record: Any) -> bool | None:  # noqa: ARG001
    """The rule verdict with those golden calls."""
    if not isinstance(record, dict):
        return None
    try:
        calls = golden_calls(TypeAdapter(list[GoldenCall]).validate_python(fix.get(FIELD)))
    except ValidationError:
        return None
    pairs = align_turns(calls, item.predicted, ordered=record.get("ordered") is True)
    return all(pair.state == "=" for pair in pairs)
