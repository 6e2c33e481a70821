"""Check golden fixes of tau2-bench, and write them into the tasks of result files.

A golden fix has the fields of `evaluation_criteria` that change, in the form of `tasks.json`. Every
trial of a task has the same criteria, so a fix of one trial corrects the task.

Source: `src/tau2/data_model/tasks.py` of sierra-research/tau2-bench, 1.0.1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.importers.common.records import as_object, function_names
from fcreview.importers.common.writeback import GoldenFixes, JsonObject, check_fix_fields
from fcreview.importers.tau.checker import DEFAULT_BASIS, REWARD_PART_NAMES
from fcreview.importers.tau.conversation import read_golden_actions
from fcreview.importers.tau.read import read_items
from fcreview.importers.tau.task import CRITERIA, FIX_FIELDS, OBJECT_LISTS, TEXT_LISTS
from fcreview.model.item import Call, Item, Run
from fcreview.model.json_edit import JsonMember, edit_json_at, find_json_member, iter_json_parts
from fcreview.model.json_value import canonical_json, is_string_list
from fcreview.run_plan import (
    AppliedGoldenFix,
    GoldenExecutionError,
    RewrittenFile,
    RunPlan,
    Unrepresentable,
)
from fcreview.safe_files import read_file

VERSION1_REASON = "the golden answers of tau-bench v1 are Python code, which fcreview does not edit"
NO_TASK = "golden answers of tasks that the result file does not contain"
DIFFERENT_FIXES = "golden answers of tasks whose trials have different fixes"


def check_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> str | None:
    """Return the first error of a golden fix, or None if it is valid."""
    if run.generation == "v1":
        return VERSION1_REASON
    problem = check_fix_fields(golden_fix, *FIX_FIELDS)
    if problem is not None:
        return problem

    for name, value in golden_fix.items():
        problem = _check_field(name, value, item)
        if problem is not None:
            return problem
    return None


def _check_field(name: str, value: Any, item: Item) -> str | None:
    """Check one field of a corrected golden answer. Return the problem, or None."""
    if name in TEXT_LISTS:
        return None if is_string_list(value) else f"{name} must be a list of texts"
    if name == "reward_basis":
        is_basis = is_string_list(value) and set(value) <= set(REWARD_PART_NAMES)
        known_parts = ", ".join(REWARD_PART_NAMES)
        return None if is_basis else f"{name} must be a list of {known_parts}"
    return _check_calls(name, value, item)


def _check_calls(name: str, value: Any, item: Item) -> str | None:
    """Check golden actions, or assertions about the environment."""
    name_field = OBJECT_LISTS[name]
    form = f'{name} must be a list of {{"{name_field}": text, "arguments": object}}'
    if not isinstance(value, list):
        return form

    available = function_names(item.functions)
    for call in value:
        if not isinstance(call, dict) or not isinstance(call.get(name_field), str):
            return form
        if not isinstance(call.get("arguments"), dict):
            return form
        # The simulated user has tools of its own, whose docs no file contains.
        is_call_of_user = call.get("requestor") == "user"
        is_action = name == "actions" and not is_call_of_user
        if is_action and available and call[name_field] not in available:
            return f"function {call[name_field]} is not available"
    return None


def make_golden_template(run: Run, item: Item) -> JsonObject | None:
    """Return the criteria of the task, for annotators to edit. None if the item has none."""
    if run.generation == "v1":
        return None
    return item.extra.golden_record


def parse_golden_fix(golden_fix: JsonObject) -> list[Call]:
    """Return the golden actions of a fix as calls."""
    calls = []
    for index, action in enumerate(read_golden_actions(golden_fix)):
        calls.append(action.to_call(0, index))
    return calls


@dataclass(frozen=True, slots=True)
class _TaskFix:
    task_id: str
    item: tuple[str, str]
    fix: JsonObject


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Write golden fixes into the tasks of the run's main file.

    Yields the file if it changes, the fixes that were applied, and the numbers of the others.
    """
    if plan.run.generation == "v1":
        yield Unrepresentable(VERSION1_REASON, len(fixes))
        return
    fixes_by_task = _group_by_task(plan, fixes)
    n_unknown = len(fixes) - sum(map(len, fixes_by_task.values()))
    if n_unknown:
        yield Unrepresentable(NO_TASK, n_unknown)

    # A task has one golden answer, so all its trials must have the same fix.
    consistent_fixes = [each for each in fixes_by_task.values() if _are_equal_fixes(each)]
    n_different = len(fixes_by_task) - len(consistent_fixes)
    if n_different:
        yield Unrepresentable(DIFFERENT_FIXES, n_different)
    if consistent_fixes:
        main_file = plan.data[0] if plan.data else plan.results[0]
        yield from _rewrite_tasks(main_file, consistent_fixes)


def _are_equal_fixes(fixes: Sequence[_TaskFix]) -> bool:
    return len({canonical_json(each.fix) for each in fixes}) == 1


def _group_by_task(plan: RunPlan, fixes: GoldenFixes) -> dict[str, list[_TaskFix]]:
    """Return task id -> the fixes of its trials."""
    grouped: defaultdict[str, list[_TaskFix]] = defaultdict(list)
    for item in read_items(plan):
        if not isinstance(item, Item) or (item.category, item.id) not in fixes:
            continue
        key = (item.category, item.id)
        task_id = str(item.group).removeprefix("task ")
        grouped[task_id].append(_TaskFix(task_id, key, fix=fixes[key]))
    return grouped


def _rewrite_tasks(
    path: Path, fixes_by_task: Sequence[Sequence[_TaskFix]]
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Write the golden fixes into the criteria of their tasks in the main file.

    Yields the file if it changes, the fixes that were applied, and the number of those whose task
    is not in the file. `fixes_by_task` has a list of fixes for each task.
    """
    raw = read_file(path)
    text = raw.decode("utf-8")
    tasks = find_json_member(text, "tasks")
    tasks_start = None if tasks is None else tasks.span.start
    applied = []
    n_missing = 0
    for fixes in fixes_by_task:
        # All trials of a task have the same fix.
        fix = fixes[0]
        # The edits of earlier fixes move all that follows them, but not the start of the tasks.
        criteria = _find_criteria(text, tasks_start, fix.task_id)
        if criteria is None:
            n_missing += len(fixes)
            continue
        text = edit_json_at(text, criteria.span, criteria.value | fix.fix)
        applied += [_make_applied_fix(path, each, criteria.value) for each in fixes]

    content = text.encode("utf-8")
    if content != raw:
        yield RewrittenFile(path, content)
    yield from applied
    if n_missing:
        yield Unrepresentable(NO_TASK, n_missing)


def _find_criteria(text: str, tasks_start: int | None, task_id: str) -> JsonMember | None:
    """Return the criteria of a task in the text of a main file, or None if there are none.

    `tasks_start` is the start of the list of tasks, or None if the file has none.
    """
    if tasks_start is None:
        return None
    task = find_task(text, task_id, tasks_start)
    if task is None:
        return None
    criteria = find_json_member(text, CRITERIA, task.span.start)
    if criteria is None or not isinstance(criteria.value, dict):
        return None
    return criteria


def find_task(text: str, task_id: str, start: int = 0) -> JsonMember | None:
    """Return the first task with this id in a list of tasks that begins at `start`."""
    for task in iter_json_parts(text, start):
        if isinstance(task.value, dict) and str(task.value.get("id")) == task_id:
            return task
    return None


def _make_applied_fix(path: Path, fix: _TaskFix, criteria: JsonObject) -> AppliedGoldenFix:
    """Describe a correction that was written: the old and new fields of the task's criteria."""
    old_fields = {name: criteria.get(name) for name in fix.fix}
    return AppliedGoldenFix(
        fix.item,
        path=path,
        old=old_fields,
        new=fix.fix,
        record=fix.task_id,
        old_fields=old_fields,
        new_fields=fix.fix,
    )


NO_EXECUTION = (
    "tau2-bench executes the golden {name} to compute the state that it compares, and fcreview"
    " cannot execute them. Send this correction yourself after tau2 evaluate-trajs --fresh-tasks"
)


def raise_if_state_based(task: JsonObject, fix_fields: JsonObject) -> None:
    """Raise GoldenExecutionError if a fix changes the state with which tau2-bench compares."""
    criteria = as_object(task.get(CRITERIA)) | fix_fields
    basis = criteria.get("reward_basis") or DEFAULT_BASIS
    if "actions" in fix_fields and "DB" in basis:
        raise GoldenExecutionError(NO_EXECUTION.format(name="actions"))
    if "env_assertions" in fix_fields and "ENV_ASSERTION" in basis:
        raise GoldenExecutionError(NO_EXECUTION.format(name="assertions"))
