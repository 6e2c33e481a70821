"""Golden answers of ACEBench's dataset. A fix is `{"ground_truth": ...}`; of agent items `mile_stone` too, or alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fcreview.importers.common.records import names_of
from fcreview.importers.common.writeback import Fixes, Json, only_fields, with_answers, wrong_call
from fcreview.model.item import Item, Run
from fcreview.model.json_value import is_string_list
from fcreview.run_plan import AppliedGoldenFix, Unrepresentable, RewrittenFile, RunPlan

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
        good = isinstance(truth, dict) and truth and all(map(is_string_list, truth.values()))
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
    nested = isinstance(milestones, list) and milestones and all(map(is_string_list, milestones))
    return None if is_string_list(milestones) or nested else f"{MILESTONES} is a list of calls as text, or of such lists"


def rewrite_golden(plan: RunPlan, fixes: Fixes) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """The files in `possible_answer/` with these golden answers."""
    answers = {each.name: each for each in reversed(plan.data) if each.parent.name == "possible_answer"}
    return with_answers(fixes, lambda category: answers.get(f"data_{category}.json"))
