"""Sections of a tau2 task."""

from __future__ import annotations

import pytest

from fcreview.importers.tau.task import MAX_SECTION_LENGTH, list_task_sections


def test_empty_parts_have_no_section() -> None:
    task = {
        "id": "1",
        "description": {"purpose": ""},
        "initial_state": {"message_history": []},
        "ticket": None,
    }
    assert list_task_sections(task) == []


@pytest.mark.parametrize("value", [3, "text", ["a"], {"a": 1}, [[1]], None])
def test_odd_tasks_are_read(value: object) -> None:
    names = (
        "description",
        "initial_state",
        "evaluation_criteria",
        "issues",
        "ticket",
        "user_tools",
    )
    assert all(section.text for section in list_task_sections(dict.fromkeys(names, value)))


def test_long_section_is_cut_and_says_so() -> None:
    (section,) = list_task_sections({"ticket": "x" * (MAX_SECTION_LENGTH + 5)})
    assert len(section.text) < MAX_SECTION_LENGTH + 100
    assert section.text.endswith("(5 more characters are in the file)")
