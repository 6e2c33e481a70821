"""Tags of the dialog: the item's error types, the benchmark's tags and used tags.

Digits set them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from tests.store.factory import read, write_run
from tests.tui.screens.test_adjudication import open_adjudication

TAXONOMY = ["rule violation", "function call error"]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    result = find_workspace(tmp_path)
    plan = write_run(tmp_path / "run", [{}, {}])
    plan.run.tags = list(TAXONOMY)
    import_runs(result, [plan], read)
    with Store.open(result, "bob") as store:
        for number, tags in enumerate((["seen twice", "odd"], ["seen twice"])):
            annotation = Annotation(tags=tags)
            Reviewer(store, Journal(result, "bob")).review(
                store.find_items(f"simple_{number}")[0], annotation
            )
    return result


def recorded_tags(workspace: Workspace) -> list[Any]:
    return [
        json.loads(line)["tags"]
        for line in (workspace.reviews / "dora.jsonl").read_text().splitlines()
    ]


def listed_tags(lines: list[str]) -> list[str]:
    return [line.partition("]")[2].strip() for line in lines if "[ ]" in line or "[x]" in line]


@pytest.mark.sweep
async def test_benchmark_tags_are_listed_with_digits(workspace: Workspace) -> None:
    async with open_adjudication(workspace, adjudicate=False) as person:
        lines = await person.press("enter", "e")
        assert listed_tags(lines) == [
            "1 value_error:string",
            "2 rule violation",
            "3 function call error",
            "4 seen twice",
            "5 odd",
        ]
        await person.press("3", "1", "2", "1", "enter")
        assert recorded_tags(workspace) == [TAXONOMY]
        await person.press("e", "n", *"mine", "enter", "2", "9", "enter")
        assert recorded_tags(workspace)[1] == ["function call error", "mine"]


@pytest.mark.sweep
async def test_digit_can_have_another_key(workspace: Workspace) -> None:
    async with open_adjudication(
        workspace, adjudicate=False, key_names={"tags.set_2": "b"}
    ) as person:
        lines = await person.press("enter", "e")
        assert "b rule violation" in listed_tags(lines)
        await person.press("2", "b", "enter")
        assert recorded_tags(workspace) == [["rule violation"]]


async def test_blind_annotator_sees_only_own_tags(workspace: Workspace) -> None:
    with Store.open(workspace, "dora", blind=True) as store:
        assert store.fetch_used_tags() == []
        Reviewer(store, Journal(workspace, "dora")).review(
            store.find_items("simple_0")[0], Annotation(tags=["own"])
        )
        assert store.fetch_used_tags() == ["own"]
    with Store.open(workspace, "dora") as store:
        assert store.fetch_used_tags() == ["seen twice", "odd", "own"]
