"""CONFETTI's golden answers from stored items, and the verdict with another one. Forms as in `golden`."""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.writing.forms import readable
from fcreview.importers.common.writing.records import Json
from fcreview.importers.confetti.acts import CRITERION, acts_match
from fcreview.importers.confetti.binary import check, make_case
from fcreview.importers.confetti.find import CALLS
from fcreview.importers.confetti.writing.golden import FIELD
from fcreview.model import Accept, Fields, Item, Run


def draft(run: Run, item: Item) -> Json | None:  # noqa: ARG001
    """The golden call or labels as a fix of them; None without any."""
    if item.category != CALLS:
        return {FIELD: item.extra.golden_labels} if item.extra.golden_labels else None
    if not readable(item.golden):
        return None
    return {
        FIELD: [
            {call.name: {name: [_value(value) for value in one.any_of] for name, one in (call.arguments or {}).items()}}
            for call in item.golden
        ]
    }


def _value(value: Any) -> Any:
    return {name: _only(one) for name, one in value.fields.items()} if isinstance(value, Fields) else value


def _only(accept: Accept) -> Any:
    return accept.any_of[0] if accept.any_of else None


def passes(run: Run, item: Item, fix: Json, record: Any) -> bool | None:  # noqa: ARG001
    """The rule verdict with that golden answer; None where there is nothing to compare it with."""
    golden = fix.get(FIELD)
    if item.category != CALLS:
        labels = next((v.value for v in item.verdicts if v.criterion == CRITERION and v.source == "judge"), None)
        return acts_match(labels, golden) if isinstance(labels, list) and isinstance(golden, list) else None
    if not isinstance(record, dict) or not item.functions:
        return None
    return check(record.get("result"), make_case(item.id, item.functions, golden)).valid
