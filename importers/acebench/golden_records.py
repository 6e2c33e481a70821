"""Golden answers of ACEBench's dataset. A fix is `{"ground_truth": ...}`; of agent items `mile_stone` too, or alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fcreview.importers.common.records import function_names
from fcreview.importers.common.writeback import GoldenFixes, JsonObject, check_fix_fields, rewrite_answer_files, check_golden_call
from fcreview.model.item import Item, Run
from fcreview.model.json_value import is_string_list
from fcreview.run_plan import AppliedGoldenFix, Unrepresentable, RewrittenFile, RunPlan

GROUND_TRUTH, MILE_STONE = "ground_truth", "mile_stone"
NUMBER_SUFFIX = re.compile(r"_\d+$")


def check_golden_fix(run: Run, item: Item, fix: JsonObject) -> str | None:  # noqa: ARG001
    """What is wrong with a golden fix of an item; None if nothing is."""
    agent = item.category.startswith("agent_")
    wrong = check_fix_fields(fix, GROUND_TRUTH, MILE_STONE) if agent else check_fix_fields(fix, GROUND_TRUTH)
    if wrong:
        return wrong
    if agent:
        return _check_agent_fix(fix)
    truth = fix[GROUND_TRUTH]
    if item.category == "special_irrelevant":
        return None if isinstance(truth, str) else f"{GROUND_TRUTH} is a text"
    if item.category.startswith("special"):
        good = isinstance(truth, dict) and truth and all(map(is_string_list, truth.values()))
        return None if good else f"{GROUND_TRUTH} is an object of lists of texts"
    alternatives = truth if isinstance(truth, list) and truth else [truth]
    return next((wrong for each in alternatives if (wrong := _check_alternative(each, item))), None)


def _check_alternative(truth: Any, item: Item) -> str | None:
    """`{"f": {"a": 1}}`, calls of one function told apart by `_1`, `_2`."""
    if not isinstance(truth, dict) or not truth:
        return f'{GROUND_TRUTH} is {{"function": {{"argument": value}}}}, or a list of such alternatives'
    names = function_names(item.functions)
    calls = ((name if name in names else NUMBER_SUFFIX.sub("", name), given) for name, given in truth.items())
    return next((wrong for name, given in calls if (wrong := check_golden_call(name, given, item.functions))), None)


def _check_agent_fix(fix: JsonObject) -> str | None:
    truth, milestones = fix.get(GROUND_TRUTH, []), fix.get(MILE_STONE, [])
    if not isinstance(truth, list) or not all(isinstance(each, dict) and len(each) == 1 for each in truth):
        return f"{GROUND_TRUTH} is a list of one-key objects: class and its expected attributes"
    nested = isinstance(milestones, list) and milestones and all(map(is_string_list, milestones))
    return None if is_string_list(milestones) or nested else f"{MILE_STONE} is a list of calls as text, or of such lists"


def rewrite_golden(plan: RunPlan, fixes: GoldenFixes) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """The files in `possible_answer/` with these golden answers."""
    answers = {each.name: each for each in reversed(plan.data) if each.parent.name == "possible_answer"}
    return rewrite_answer_files(fixes, lambda category: answers.get(f"data_{category}.json"))
