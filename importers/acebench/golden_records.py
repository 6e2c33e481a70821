"""Golden answers of ACEBench's dataset. A fix is `{"ground_truth": ...}`; of agent items `mile_stone` too, or alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fcreview.importers.common.records import names_of
from fcreview.importers.common.writeback import Fixes, Json, fields_replaced, only_fields, with_golden, wrong_call
from fcreview.model.item import Item, Run
from fcreview.run_plan import GoldenFixed, NoPlace, Rewritten, RunPlan

FIELD, MILESTONES = "ground_truth", "mile_stone"
SUFFIX = re.compile(r"_\d+$")


def problem(run: Run, item: Item, fix: Json) -> str | None:  # noqa: ARG001
    """What is wrong with a golden fix of an item; None if nothing is."""
    agent = item.category.startswith("agent_")
    wrong = only_fields(fix, FIELD, MILESTONES) if agent else only_fields(fix, FIELD)
    if wrong:
        return wrong
    if agent:
        return _agent(fix)
    truth = fix[FIELD]
    if item.category == "special_irrelevant":
        return None if isinstance(truth, str) else f"{FIELD} is a text"
    if item.category.startswith("special"):
        good = isinstance(truth, dict) and truth and all(map(_texts, truth.values()))
        return None if good else f"{FIELD} is an object of lists of texts"
    alternatives = truth if isinstance(truth, list) and truth else [truth]
    return next((wrong for each in alternatives if (wrong := _answer(each, item))), None)


def _answer(truth: Any, item: Item) -> str | None:
    """`{"f": {"a": 1}}`, calls of one function told apart by `_1`, `_2`."""
    if not isinstance(truth, dict) or not truth:
        return f'{FIELD} is {{"function": {{"argument": value}}}}, or a list of such alternatives'
    names = names_of(item.functions)
    calls = ((name if name in names else SUFFIX.sub("", name), given) for name, given in truth.items())
    return next((wrong for name, given in calls if (wrong := wrong_call(name, given, item.functions))), None)


def _agent(fix: Json) -> str | None:
    truth, milestones = fix.get(FIELD, []), fix.get(MILESTONES, [])
    if not isinstance(truth, list) or not all(isinstance(each, dict) and len(each) == 1 for each in truth):
        return f"{FIELD} is a list of one-key objects: class and its expected attributes"
    nested = isinstance(milestones, list) and milestones and all(map(_texts, milestones))
    return None if _texts(milestones) or nested else f"{MILESTONES} is a list of calls as text, or of such lists"


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def rewrite_golden(plan: RunPlan, fixes: Fixes) -> Iterator[Rewritten | GoldenFixed | NoPlace]:
    """The files in `possible_answer/` with these golden answers."""
    for category in dict.fromkeys(where for where, _ in fixes):
        wanted = {item: ((where, item), fix) for (where, item), fix in fixes.items() if where == category}
        name = f"data_{category}.json"
        path = next((each for each in plan.data if each.name == name and each.parent.name == "possible_answer"), None)
        if path is None:
            yield NoPlace(f"golden answers of {category}, whose dataset was not found", len(wanted))
        else:
            yield from with_golden(path, wanted, lambda _, record: str(record.get("id")), fields_replaced)
