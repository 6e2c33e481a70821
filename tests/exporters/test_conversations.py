"""Conversations in other formats: ATIF trajectories, and training rows of reviewed items."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.exporters.export import export
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from fcreview.store.labels.read import LabelSelection, TrainingOptions
from fcreview.store.rows import View
from tests.scores.reviewed import Reviewed, Said

Opens = Callable[[Sequence[Path]], Reviewed]
Row = dict[str, Any]


@pytest.fixture
def everything(samples: Path, opened: Opens) -> Reviewed:
    reviewed = opened([samples])
    reviewed.store.reviews.rebuild([])
    return reviewed


def rows(reviewed: Reviewed, name: str, out: Path, where: str = "", **options: Any) -> list[Row]:
    selection = LabelSelection(training=TrainingOptions(**options))
    counts = export(reviewed.store, name, out, View(where, "dataset"), selection=selection)
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert counts == {"row": len(found)}
    return found


def test_the_atif_package_accepts_every_item(everything: Reviewed, tmp_path: Path) -> None:
    atif = pytest.importorskip("atif", reason="the package atif is not installed")
    out = tmp_path / "out"
    counts = export(everything.store, "atif", out, View("", "dataset"))
    files = sorted(out.rglob("*.trajectory.json"))
    assert counts == {"item": len(files)} and len(files) > 100
    for path in files:
        atif.Trajectory.model_validate_json(path.read_text())


def test_an_exported_trajectory_reads_as_the_same_item(everything: Reviewed, samples: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(everything.store, "atif", out, View("benchmark:atif", "dataset"))
    again = {item.id: item for plan in discover([out]).plans for item in read_items(plan) if isinstance(item, Item)}
    before = [item for plan in discover([samples / "atif"]).plans for item in read_items(plan)]
    for item in (each for each in before if isinstance(each, Item)):
        copy = again[item.id]
        assert [(c.name, c.arguments) for c in copy.predicted] == [(c.name, c.arguments) for c in item.predicted]
        texts = [
            [(m.role, m.content) for m in x.messages if m.role in ("user", "assistant", "tool")] for x in (item, copy)
        ]
        assert texts[0] == texts[1]
        assert (copy.official, copy.tokens_in, copy.tokens_out) == (item.official, item.tokens_in, item.tokens_out)
        assert not copy.issues


def test_file_names_cannot_leave_the_folder(everything: Reviewed, tmp_path: Path) -> None:
    from fcreview.exporters.atif import _file_name, _unique_name

    assert _file_name("../../x") == "_.._x" and _file_name("..") == "item" and "/" not in _file_name("a/b\\c")
    used: set[str] = set()
    assert [_unique_name(name, used) for name in ("a", "A", "a")] == ["a", "A~2", "a~3"]


def test_without_reviews_there_are_no_rows(everything: Reviewed, tmp_path: Path) -> None:
    assert rows(everything, "sft", tmp_path / "sft.jsonl") == []
    assert rows(everything, "preference", tmp_path / "pairs.jsonl") == []


def test_conversations_that_people_pass_become_rows(everything: Reviewed, tmp_path: Path) -> None:
    said = [each for each in everything.automatic() if each.target == "item" and each.criterion == "correct"]
    passing = [each for each in said if each.value is True]
    everything.store.reviews.rebuild([*everything.says(passing), *everything.says(passing[::2], who="bob")])
    found = rows(everything, "sft", tmp_path / "all.jsonl")
    both = rows(everything, "sft", tmp_path / "both.jsonl", agreed=2)
    assert 0 < len(both) < len(found) <= len(passing)
    for row in found:
        assert row["messages"][-1]["role"] == "assistant" and row["source"]["annotators"]
        assert isinstance(row["contains_benchmark"], bool)
        names = {tool["function"]["name"] for tool in json.loads(row["tools"])}
        for call in calls_of(row["messages"]):
            assert isinstance(call["arguments"], dict)
            assert not names or call["name"] in names or row["source"]["benchmark"] == "hammerbench"
    text = json.dumps(found)
    assert "instruction to the simulated user" not in text
    assert all(row["source"]["annotators"] == ["ann", "bob"] for row in both)


def calls_of(messages: list[Row]) -> list[Row]:
    return [call["function"] for message in messages for call in message.get("tool_calls", [])]


def test_pairs_have_a_right_and_a_wrong_reply(everything: Reviewed, tmp_path: Path) -> None:
    found = rows(everything, "preference", tmp_path / "pairs.jsonl", trust_rule=True)
    assert {row["pair"] for row in found} >= {"runs", "golden"}
    counts: dict[tuple[str, str], int] = {}
    for row in found:
        assert len(row["chosen"]) == len(row["rejected"]) == 1
        assert {row["chosen"][0]["role"], row["rejected"][0]["role"]} == {"assistant"}
        assert any(message["role"] == "user" for message in row["prompt"])
        calls = [[(c["name"], c["arguments"]) for c in calls_of(row[side])] for side in ("chosen", "rejected")]
        assert calls[0] != calls[1] or row["chosen"][0]["content"] != row["rejected"][0]["content"]
        key = (row["source"]["benchmark"], row["id"])
        counts[key] = counts.get(key, 0) + 1
    assert max(counts.values()) <= 4
    assert [order[row["pair"]] for row in found] == sorted(order[row["pair"]] for row in found)
    without = rows(everything, "preference", tmp_path / "own.jsonl", trust_rule=True, exclude_benchmark_goldens=True)
    assert without and "golden" not in {row["pair"] for row in without}


order = {"runs": 0, "golden": 1, "trials": 2}


def test_a_failed_item_with_another_fault_gives_no_wrong_reply(everything: Reviewed, tmp_path: Path) -> None:
    before = rows(everything, "preference", tmp_path / "a.jsonl", trust_rule=True)
    (one, *_) = [row for row in before if row["pair"] == "golden"]
    number = everything.item(one["id"], one["source"]["run"])
    (event,) = everything.says([Said(number, "item", "correct", False)])
    event.fault = "golden"
    everything.store.reviews.rebuild([event])
    after = rows(everything, "preference", tmp_path / "b.jsonl", trust_rule=True)
    assert not [row for row in after if row["id"] == one["id"] and row["source"]["run"] == one["source"]["run"]]


def test_openai_rows_have_arguments_as_text(everything: Reviewed, tmp_path: Path) -> None:
    found = rows(everything, "sft", tmp_path / "sft.jsonl", trust_rule=True, flavour="openai")
    assert all(isinstance(row["tools"], list) for row in found)
    assert all(isinstance(json.loads(call["arguments"]), dict) for row in found for call in calls_of(row["messages"]))
