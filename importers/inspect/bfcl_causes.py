"""Explain why the verdict of the task `bfcl` differs from the official BFCL verdict on the same calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fcreview.importers.bfcl.checker.schema import language_of_category
from fcreview.model.item import AcceptedValues, GoldenObject, Item


@dataclass(frozen=True, slots=True)
class Cause:
    name: str
    """Error type of the item, `task:...`."""
    text: str


TYPED_VALUE = Cause(
    "task:typed_value",
    "The task compares the text of a Java or JavaScript value with the golden value. BFCL converts the text first.",
)
OBJECT_VALUE = Cause(
    "task:object_value",
    "The task compares an object with the golden object, whose fields list accepted values. BFCL compares the fields.",
)
UNDECODABLE_CALL = Cause(
    "task:undecodable_call",
    "The task counts a call whose arguments are not JSON. BFCL does not count it, and expects no call here.",
)
NUMBER_IN_LIST = Cause(
    "task:number_in_list", "The task accepts whole numbers in a list of floats. BFCL fails them (type_error:nested)."
)
TYPED_REPLY = Cause(
    "task:typed_reply", "The task accepts a typed Java or JavaScript value. BFCL expects a string with its source code."
)
DEFAULT_VALUE = Cause(
    "task:default_value",
    "The task accepts a missing optional parameter, or an unexpected one with its default. BFCL fails both.",
)
NAME_SPELLING = Cause(
    "task:name_spelling", "The task accepts both `.` and `_` in function names. BFCL expects one spelling."
)
OTHER = Cause("task:other", "The task's rules differ from those of BFCL on this reply.")
CAUSES = (
    TYPED_VALUE, OBJECT_VALUE, UNDECODABLE_CALL, NUMBER_IN_LIST, TYPED_REPLY, DEFAULT_VALUE, NAME_SPELLING, OTHER,
)  # fmt: skip


def explain_disagreement(item: Item) -> Cause:
    """Return why the verdicts of the task and of BFCL differ."""
    return _why_only_the_task_fails(item) if item.official is False else _why_only_bfcl_fails(item)


def _why_only_the_task_fails(item: Item) -> Cause:
    if any(call.arguments is None for call in item.predicted):
        return UNDECODABLE_CALL
    if language_of_category(item.category) != "python":
        return TYPED_VALUE
    if any(_has_object(value) for value in _accepted_values(item)):
        return OBJECT_VALUE
    return OTHER


def _accepted_values(item: Item) -> Iterator[Any]:
    for call in item.golden:
        for accepted in (call.arguments or {}).values():
            if isinstance(accepted, AcceptedValues):
                yield from accepted.any_of


def _has_object(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_object, value))
    return isinstance(value, (dict, GoldenObject))


def _why_only_bfcl_fails(item: Item) -> Cause:
    text = " ".join([item.rule_error_type or "", *(v.rationale or "" for v in item.verdicts if v.source == "rule")])
    if "type_error:js" in text or "type_error:java" in text or "is not a string with" in text:
        return TYPED_REPLY
    if "type_error:nested" in text or "has elements that are not" in text:
        return NUMBER_IN_LIST
    if "wrong_func_name" in text or "is called instead of" in text:
        return NAME_SPELLING
    if any(part in text for part in ("missing_optional", "must not be omitted", "unexpected_param", "not expected in")):
        return DEFAULT_VALUE
    return NAME_SPELLING if _has_mixed_spellings(item) else OTHER


def _has_mixed_spellings(item: Item) -> bool:
    """Whether a reply writes some function names with a dot and others with `_` instead of the dot."""
    flat = {call.name.replace(".", "_") for call in item.golden if "." in call.name}
    return any("." in call.name for call in item.predicted) and any(call.name in flat for call in item.predicted)
