"""Explanations, metadata of samples, scores and logs, and edited tags are part of the items."""

from __future__ import annotations

import json
from pathlib import Path

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from tests.importers.inspect.test_damage import make_log

CASES = Path(__file__).parents[2] / "cases" / "inspect"


def read_case(name: str) -> dict[str, Item]:
    (plan,) = discover([CASES / name]).plans
    return {item.id: item for item in read_items(plan) if isinstance(item, Item)}


def test_edited_tags_and_metadata_of_the_log_are_part_of_each_item() -> None:
    items = read_case("60-log-edits")
    for item in items.values():
        metadata = item.extra.metadata
        assert metadata["log tags"] == ["golden-bug"]
        assert metadata["log metadata"] == {"team": "red", "reviewed": "yes"}
        (edit,) = metadata["log edits"]
        assert (edit["author"], edit["reason"]) == ("kim", "checked")


def test_metadata_of_scores_is_part_of_the_item() -> None:
    item = read_case("60-log-edits")["c"]
    assert item.extra.metadata["score metadata of check"] == {
        "key": [None, None],
        "k2": {"a": [{"b": None}]},
    }


def test_answer_that_equals_the_golden_answer_is_no_difference() -> None:
    item = read_case("60-log-edits")["c"]
    assert (item.official, item.first_difference, item.diff_golden) == (False, "e", None)


def test_explanations_of_further_scorers_are_part_of_the_item(tmp_path: Path) -> None:
    log = make_log()
    for sample in log["samples"]:
        sample["scores"]["style"] = {"value": 0.5, "explanation": "too long", "history": []}
    (tmp_path / "log.json").write_text(json.dumps(log))
    (plan,) = discover([tmp_path]).plans
    (item, *_) = (item for item in read_items(plan) if isinstance(item, Item))
    assert item.extra.metadata["explanation of style"] == "too long"
    assert "explanation of match" not in item.extra.metadata


def test_grading_conversation_is_not_part_of_the_metadata(tmp_path: Path) -> None:
    log = make_log()
    for sample in log["samples"]:
        sample["scores"]["match"]["metadata"] = {
            "grading": [{"role": "user", "content": "x"}],
            "cost": 1,
        }
    (tmp_path / "log.json").write_text(json.dumps(log))
    (plan,) = discover([tmp_path]).plans
    (item, *_) = (item for item in read_items(plan) if isinstance(item, Item))
    assert item.extra.metadata["score metadata of match"] == {"cost": 1}
