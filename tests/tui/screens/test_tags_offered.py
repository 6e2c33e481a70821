"""Tags that are offered: the item's error types, the benchmark's own words, what was used before; digits set them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from tests.store.factory import read, write_run
from tests.tui.screens.test_adjudication import adjudicating

TAXONOMY = ["rule violation", "function call error"]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = find_workspace(tmp_path)
    plan = write_run(tmp_path / "run", [{}, {}])
    plan.run.tags = list(TAXONOMY)
    import_runs(made, [plan], read)
    with Store.open(made, "bob") as store:
        for number, tags in enumerate((["seen twice", "odd"], ["seen twice"])):
            said = Annotation(tags=tags)
            Reviewer(store, Journal(made, "bob")).review(store.find_items(f"simple_{number}")[0], said)
    return made


def tags_of(workspace: Workspace) -> list[Any]:
    return [json.loads(line)["tags"] for line in (workspace.reviews / "dora.jsonl").read_text().splitlines()]


def offered(lines: list[str]) -> list[str]:
    return [line.partition("]")[2].strip() for line in lines if "[ ]" in line or "[x]" in line]


@pytest.mark.sweep
async def test_the_benchmarks_own_words_are_offered_with_digits(workspace: Workspace) -> None:
    async with adjudicating(workspace, adjudicate=False) as person:
        lines = await person.press("enter", "e")
        assert offered(lines) == [
            "1 value_error:string", "2 rule violation", "3 function call error", "4 seen twice", "5 odd"
        ]  # fmt: skip
        await person.press("3", "1", "2", "1", "enter")
        assert tags_of(workspace) == [TAXONOMY]
        await person.press("e", "n", *"mine", "enter", "2", "9", "enter")
        assert tags_of(workspace)[1] == ["function call error", "mine"]


@pytest.mark.sweep
async def test_a_digit_may_have_another_key(workspace: Workspace) -> None:
    async with adjudicating(workspace, adjudicate=False, key_names={"tags.set_2": "b"}) as person:
        lines = await person.press("enter", "e")
        assert "b rule violation" in offered(lines)
        await person.press("2", "b", "enter")
        assert tags_of(workspace) == [["rule violation"]]


async def test_a_blind_annotator_is_offered_only_what_they_used(workspace: Workspace) -> None:
    with Store.open(workspace, "dora", blind=True) as store:
        assert store.fetch_used_tags() == []
        Reviewer(store, Journal(workspace, "dora")).review(store.find_items("simple_0")[0], Annotation(tags=["own"]))
        assert store.fetch_used_tags() == ["own"]
    with Store.open(workspace, "dora") as store:
        assert store.fetch_used_tags() == ["seen twice", "odd", "own"]
