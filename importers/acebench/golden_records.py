"""Check golden fixes for ACEBench, and apply them to the golden records of its dataset.

A golden fix is `{"ground_truth": ...}`. For agent items it may also have the field `mile_stone`, or only that field.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Any

from fcreview.importers.common.records import function_names
from fcreview.importers.common.writeback import (
    GoldenFixes,
    JsonObject,
    check_fix_fields,
    check_golden_call,
    rewrite_answer_files,
)
from fcreview.model.item import Item, Run
from fcreview.model.json_value import is_string_list
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable

GROUND_TRUTH, MILE_STONE = "ground_truth", "mile_stone"


def base_function_name(key: str, available: Container[str | None]) -> str:
    """Return the function that a key of a golden answer names: the key itself, or the key without its suffix `_N`.

    Calls of the same function have the keys `f_1`, `f_2` and so on, but a function's own name may end that way too.
    """
    return key if key in available else re.sub(r"_\d+$", "", key)


def check_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> str | None:  # noqa: ARG001
    """Return the first error of a golden fix, or None."""
    if item.category.startswith("agent_"):
        return check_fix_fields(golden_fix, GROUND_TRUTH, MILE_STONE) or _check_agent_fix(golden_fix)
    if error := check_fix_fields(golden_fix, GROUND_TRUTH):
        return error
    truth = golden_fix[GROUND_TRUTH]
    if item.category == "special_irrelevant":
        return None if isinstance(truth, str) else f"{GROUND_TRUTH} must be a string"
    if item.category.startswith("special"):
        is_valid = isinstance(truth, dict) and truth and all(map(is_string_list, truth.values()))
        return None if is_valid else f"{GROUND_TRUTH} must be an object whose values are lists of strings"
    alternatives = truth if isinstance(truth, list) and truth else [truth]
    return next((error for each in alternatives if (error := _check_alternative(each, item))), None)


def _check_alternative(truth: Any, item: Item) -> str | None:
    """Return the first error of one golden alternative, such as `{"f": {"a": 1}}`, or None if it is valid."""
    if not isinstance(truth, dict) or not truth:
        return f'{GROUND_TRUTH} must be {{"function": {{"argument": value}}}}, or a list of such alternatives'
    available = function_names(item.functions)
    calls = ((base_function_name(key, available), arguments) for key, arguments in truth.items())
    errors = (check_golden_call(name, arguments, item.functions) for name, arguments in calls)
    return next(filter(None, errors), None)


def _check_agent_fix(golden_fix: JsonObject) -> str | None:
    truth, milestones = golden_fix.get(GROUND_TRUTH, []), golden_fix.get(MILE_STONE, [])
    if not isinstance(truth, list) or not all(isinstance(each, dict) and len(each) == 1 for each in truth):
        return f'{GROUND_TRUTH} must be a list of objects with exactly one key: {{"CLASS": {{expected attributes}}}}'
    is_nested = isinstance(milestones, list) and milestones and all(map(is_string_list, milestones))
    if is_nested or is_string_list(milestones):
        return None
    return f"{MILE_STONE} must be a list of calls as strings, or a list of such lists"


def rewrite_golden(plan: RunPlan, fixes: GoldenFixes) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Apply golden fixes to the files in `possible_answer/`."""
    answers = {path.name: path for path in reversed(plan.data) if path.parent.name == "possible_answer"}
    return rewrite_answer_files(fixes, lambda category: answers.get(f"data_{category}.json"))
