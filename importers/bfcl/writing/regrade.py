"""BFCL's golden answers from stored items, and the verdict with another one. Forms as in `golden`."""

from __future__ import annotations

from typing import Any

from fcreview.importers.bfcl import files
from fcreview.importers.bfcl.case import Case
from fcreview.importers.bfcl.check.evaluate import evaluate
from fcreview.importers.bfcl.writing.golden import FIELD
from fcreview.importers.common.writing.forms import accepted, readable, told_apart
from fcreview.importers.common.writing.records import Json
from fcreview.model import Item, Run


def draft(run: Run, item: Item) -> Json | None:
    """The golden answer as a fix of it; None where the store does not have it in full."""
    if item.category.startswith(("memory", "web_search")):
        return {FIELD: item.extra.accepted_answers} if item.extra.accepted_answers else None
    if item.category.startswith("multi_turn"):
        turns = [[call.raw or "" for call in item.golden if call.turn == turn] for turn in range(item.n_turns)]
        return {FIELD: turns} if any(turns) else None
    if not item.golden or not readable(item.golden):
        return None
    if item.category.startswith("exec"):
        return {FIELD: [call.raw or "" for call in item.golden]}
    given = [{name: accepted(each) for name, each in (call.arguments or {}).items()} for call in item.golden]
    if run.generation == "V1":
        return {FIELD: told_apart(item.golden, given, 1)}
    return {FIELD: [{call.name: values} for call, values in zip(item.golden, given, strict=True)]}


def passes(run: Run, item: Item, fix: Json, record: Any) -> bool | None:
    """The rule verdict with that golden answer; None where it is not recomputed."""
    if not isinstance(record, dict):
        return None
    category, config = item.category, None
    if category == "format_sensitivity" and (parts := files.split_format_id(item.id)):
        config, category = parts[1], files.split_id(parts[2])[0]
    rules = run.generation if run.generation in files.GENERATIONS else "V4"
    case = Case(item.id, category, functions=item.functions, answer=fix.get(FIELD))
    found = evaluate(record.get("result"), case, generation=rules, category=category, config=config, model=run.model)
    return found.valid
