"""Golden fixes of tau2-bench correct the criteria of tasks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import (
    check_golden_fix,
    discover,
    make_golden_template,
    parse_golden_fix,
    read_items,
    rewrite_golden,
)
from fcreview.model.item import Item
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable

NAME = "library_maple-8b.json"


@pytest.fixture
def run(samples: Path, tmp_path: Path) -> tuple[RunPlan, list[Item]]:
    shutil.copy(samples / "tau" / NAME, tmp_path)
    (plan,) = discover([tmp_path]).plans
    return plan, [item for item in read_items(plan) if isinstance(item, Item)]


def test_template_has_the_criteria_of_the_task(run: tuple[RunPlan, list[Item]]) -> None:
    plan, items = run
    task = json.loads(plan.results[0].read_bytes())["tasks"][0]
    template = make_golden_template(plan.run, items[0])
    assert template is not None
    for name in ("actions", "communicate_info", "reward_basis"):
        assert template[name] == task["evaluation_criteria"][name]
    calls = parse_golden_fix(plan.run, items[0], template)
    assert [call.name for call in calls] == [call.name for call in items[0].golden]


@pytest.mark.parametrize(
    ("fix", "problem"),
    [
        ({}, "must contain"),
        ({"user_scenario": {}}, "not user_scenario"),
        ({"communicate_info": "42"}, "list of texts"),
        ({"nl_assertions": [1]}, "list of texts"),
        ({"reward_basis": ["DB", "TASTE"]}, "must be a list of DB"),
        ({"actions": {}}, "must be a list of"),
        ({"actions": [{"name": "f"}]}, "must be a list of"),
        ({"actions": [{"name": 1, "arguments": {}}]}, "must be a list of"),
        ({"env_assertions": [{"name": "f", "arguments": {}}]}, "must be a list of"),
        ({"actions": [{"name": "f", "arguments": {"a": [1]}}], "nl_assertions": []}, None),
        ({"env_assertions": [{"func_name": "f", "arguments": {}}]}, None),
        ({"actions": []}, None),
    ],
)
def test_form_of_a_fix_is_checked(
    run: tuple[RunPlan, list[Item]], fix: dict[str, Any], problem: str | None
) -> None:
    plan, items = run
    items[0].functions = []
    found = check_golden_fix(plan.run, items[0], fix)
    assert found is None if problem is None else problem in (found or "")


def test_unknown_function_is_refused_unless_the_user_calls_it(
    run: tuple[RunPlan, list[Item]],
) -> None:
    plan, items = run
    items[0].functions = [{"name": "known"}]
    action = {"name": "unknown", "arguments": {}}
    assert check_golden_fix(plan.run, items[0], {"actions": [action]}) is not None
    action["requestor"] = "user"
    assert check_golden_fix(plan.run, items[0], {"actions": [action]}) is None


def test_only_the_criteria_of_the_task_change(run: tuple[RunPlan, list[Item]]) -> None:
    plan, items = run
    first = items[0]
    trials = [item for item in items if item.group == first.group]
    fix = {"communicate_info": ["42 euros", "é"]}
    changes = list(rewrite_golden(plan, {(item.category, item.id): fix for item in trials}))
    (file,) = [change for change in changes if isinstance(change, RewrittenFile)]
    applied = [change for change in changes if isinstance(change, AppliedGoldenFix)]
    assert len(changes) == 1 + len(applied)
    assert {change.item[1] for change in applied} == {item.id for item in trials}
    assert all(change.new_fields == fix for change in applied)

    old = plan.results[0].read_text("utf-8")
    task_id = applied[0].record
    expected = json.loads(old)
    for task in expected["tasks"]:
        if task["id"] == task_id:
            assert applied[0].old_fields["communicate_info"] == task["evaluation_criteria"].get(
                "communicate_info"
            )
            task["evaluation_criteria"] |= fix
    new = file.content.decode()
    assert json.loads(new) == expected
    # All text before and after the changed list is the same.
    assert sum(line not in new for line in old.splitlines()) <= 3


def test_trials_with_different_fixes_are_reported(run: tuple[RunPlan, list[Item]]) -> None:
    plan, items = run
    trials = [item for item in items if item.group == items[0].group]
    assert len(trials) > 1
    fixes = {
        (item.category, item.id): {"communicate_info": [str(index)]}
        for index, item in enumerate(trials)
    }
    (change,) = rewrite_golden(plan, fixes)
    assert isinstance(change, Unrepresentable)
    assert "whose trials have different fixes" in change.description


def test_version_1_has_no_golden_fix(samples: Path) -> None:
    plans = discover([samples / "tau"]).plans
    plan = next(plan for plan in plans if plan.run.generation == "v1")
    item = next(item for item in read_items(plan) if isinstance(item, Item))
    assert make_golden_template(plan.run, item) is None
    assert "Python code" in (check_golden_fix(plan.run, item, {"actions": []}) or "")
