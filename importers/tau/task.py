"""Read the sections of a tau2-bench task that are neither messages nor golden calls: purpose,
initial state, criteria.

Source: `src/tau2/data_model/tasks.py` of sierra-research/tau2-bench, 0.1.0 to 1.0.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.model.item import TaskSection
from fcreview.model.json_value import to_plain_json

CRITERIA = "evaluation_criteria"
"""Field of a task with its golden answer."""
TEXT_LISTS = ("communicate_info", "nl_assertions")
OBJECT_LISTS = {"actions": "name", "env_assertions": "func_name"}
"""Field of the criteria with objects -> the field of an object that names a function."""
FIX_FIELDS = (*OBJECT_LISTS, *TEXT_LISTS, "reward_basis")
"""Fields of the criteria that a golden fix can change."""
MAX_SECTION_LENGTH = 200_000
"""Maximum number of characters of a section. An initial state can contain a whole database."""


def list_task_sections(task: dict[str, Any]) -> list[TaskSection]:
    """Return the sections of a task that have content, in the order in which a reviewer needs them.

    The instruction to the simulated user and the policy are messages, so they are not among the
    sections.
    """
    description = as_object(task.get("description"))
    criteria = as_object(task.get("evaluation_criteria"))

    sections = [
        TaskSection("purpose", _format_value(description.get("purpose"))),
        TaskSection("relevant policies", _format_value(description.get("relevant_policies"))),
        TaskSection("ticket", _format_value(task.get("ticket"))),
        TaskSection("initial state", _format_object(task.get("initial_state"))),
        TaskSection("user tools", _format_value(task.get("user_tools"))),
        TaskSection("required documents", _format_value(task.get("required_documents"))),
        TaskSection("reward basis", _format_value(criteria.get("reward_basis"))),
        TaskSection(
            "assertions", _format_value(criteria.get("nl_assertions")), reveals_golden=True
        ),
        TaskSection("environment assertions", _format_assertions(criteria), reveals_golden=True),
        TaskSection(
            "texts to communicate",
            _format_value(criteria.get("communicate_info")),
            reveals_golden=True,
        ),
        TaskSection("notes", _format_value(description.get("notes")), reveals_golden=True),
        TaskSection("known issues", _format_known_issues(task), reveals_golden=True),
    ]
    return [section for section in sections if section.text]


def _format_value(value: Any) -> str:
    """Format a text as it is, a list of texts with one text a line, and any other value as JSON."""
    if not value:
        return ""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, list) and all(isinstance(element, str) for element in value):
        return _cut("\n".join(value))
    return _format_json(value)


def _format_object(value: Any) -> str:
    """Return the members of an object that have content, as JSON."""
    if not isinstance(value, dict):
        return _format_value(value)
    members = {name: member for name, member in value.items() if member}
    return _format_json(members) if members else ""


def _format_assertions(criteria: dict[str, Any]) -> str:
    return _cut("\n".join(_iterate_assertions(criteria.get("env_assertions"))))


def _iterate_assertions(assertions: Any) -> Iterator[str]:
    for assertion in as_list(assertions):
        if isinstance(assertion, dict):
            yield describe_env_assertion(assertion)
        else:
            yield _format_value(assertion)


def describe_env_assertion(assertion: dict[str, Any]) -> str:
    """Return the message of an assertion or, without one, its call and value:
    `assert_speed(mbps=200) is True`.
    """
    message = assertion.get("message")
    if message:
        return str(message)

    arguments = as_object(assertion.get("arguments"))
    shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"{assertion.get('func_name')}({shown}) is {assertion.get('assert_value')}"


def _format_known_issues(task: dict[str, Any]) -> str:
    """Return the text of the faults that the authors of a task know."""
    lines = []
    for issue in list_objects(task.get("issues")):
        parts = [
            issue.get("status"),
            issue.get("title"),
            issue.get("description"),
            issue.get("resolution"),
        ]
        lines.append(_join_texts(parts))
    return _cut("\n".join(lines))


def _join_texts(parts: Sequence[Any]) -> str:
    return " · ".join(part for part in parts if isinstance(part, str) and part)


def _format_json(value: Any) -> str:
    return _cut(json.dumps(to_plain_json(value), ensure_ascii=False, indent=2))


def _cut(text: str) -> str:
    if len(text) <= MAX_SECTION_LENGTH:
        return text
    return (
        f"{text[:MAX_SECTION_LENGTH]}… ({len(text) - MAX_SECTION_LENGTH:,} more characters are in"
        " the file)"
    )


def select_golden_record(task: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the criteria of a task that a golden fix can change, or None if it has none."""
    criteria = as_object(task.get(CRITERIA))
    record = {name: criteria[name] for name in FIX_FIELDS if criteria.get(name) is not None}
    return record or None
