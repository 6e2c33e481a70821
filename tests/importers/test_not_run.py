"""Items of the dataset without a result are reported as not run, in every benchmark with a
separate dataset.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.common.not_run import MAX_MISSING_ITEMS, compare_with_dataset
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item, MissingItem, RunFact
from fcreview.run_plan import RunPlan

Edit = Callable[[Path], None]


def read_coverage(plan: RunPlan) -> tuple[list[str], set[str], RunFact | None]:
    """Return the ids of items, the ids of missing items, and the number of expected items."""
    records = list(read_items(plan))
    facts = [
        each for each in records if isinstance(each, RunFact) and each.name == "expected_items"
    ]
    item_ids = [each.id for each in records if isinstance(each, Item)]
    return (
        item_ids,
        {each.id for each in records if isinstance(each, MissingItem)},
        facts[0] if facts else None,
    )


def drop_second_line(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:1], *lines[2:]]), "utf-8")


def drop_last_element(path: Path) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8"))[:-1]), "utf-8")


DROP_RECORD: dict[str, Edit] = {
    "hammerbench": drop_last_element,
    "confetti": drop_second_line,
    "complexfuncbench": drop_second_line,
}


@pytest.fixture(params=DROP_RECORD)
def run(request: Any, samples: Path, tmp_path: Path) -> tuple[Path, Edit]:
    """A copy of the sample run of a benchmark, and a function that removes a record of a result
    file.
    """
    shutil.copytree(samples / request.param, tmp_path / request.param)
    return tmp_path / request.param, DROP_RECORD[request.param]


def test_complete_run_lacks_nothing(run: tuple[Path, Edit]) -> None:
    folder, _ = run
    for plan in discover([folder]).plans:
        item_ids, missing, fact = read_coverage(plan)
        assert missing == set()
        assert fact is not None
        assert fact.value == len(item_ids)
        assert "categories of the dataset" in fact.reason


def test_record_that_was_removed_is_not_run(run: tuple[Path, Edit]) -> None:
    folder, drop_record = run
    (plan, *_) = discover([folder]).plans
    complete, _, _ = read_coverage(plan)
    drop_record(plan.results[0])
    for log in plan.logs:  # a sample with a log is an item, even without a record
        log.unlink()
    (plan, *_) = discover([folder]).plans
    item_ids, missing, fact = read_coverage(plan)
    assert missing
    assert missing <= set(complete) - set(item_ids)
    assert fact is not None
    assert fact.value == len(item_ids) + len(missing)


def test_conversation_without_results_is_not_run(samples: Path, tmp_path: Path) -> None:
    """Folders of conversations have the dataset beside the results."""
    messages = [
        {"role": role, "content": {}}
        for role in ("user", "function call", "assistant", "user", "function call")
    ]
    snapshot = {"input": "user:hi", "predict": "{}", "label": {"name": "f", "arguments": {}}}
    folder = tmp_path / "m" / "HammerBench_mQmA"
    folder.mkdir(parents=True)
    (folder / "MT_0.json").write_text(
        json.dumps([{"id": n, "messages": messages} for n in range(3)])
    )
    (folder / "MT_res.json").write_text(
        json.dumps([{"FC_res": [snapshot, snapshot]}, {"FC_res": [snapshot]}])
    )
    (plan,) = discover([tmp_path]).plans
    item_ids, missing, fact = read_coverage(plan)
    assert item_ids == ["mQmA_0_1", "mQmA_0_2", "mQmA_1_1"]
    assert missing == {"mQmA_1_2", "mQmA_2_1", "mQmA_2_2"}
    assert fact is not None
    assert fact.value == 6


def find_category(item_id: str) -> str:
    return item_id.partition("_")[0]


def test_results_of_other_version_are_not_compared() -> None:
    dataset = [f"{name}_{number}" for name in "abc" for number in range(10)]
    results = ["a_1", *(f"b_{number}x" for number in range(5))]
    fact, *missing = compare_with_dataset(results, dataset, find_category)
    assert isinstance(fact, RunFact)
    assert fact.value == 10 + 5
    assert (
        fact.reason
        == "2 of 3 categories of the dataset; no results for c; not compared with the dataset: b"
    )
    assert missing == [MissingItem(f"a_{number}", "a") for number in range(10) if number != 1]


def test_nothing_is_known_without_dataset() -> None:
    assert list(compare_with_dataset(["a_1"], [], find_category)) == []
    assert list(compare_with_dataset([], ["a_1"], find_category)) == []


def test_list_of_missing_items_has_limit() -> None:
    dataset = (f"a_{number}" for number in range(MAX_MISSING_ITEMS + 10))
    fact, *missing = compare_with_dataset(["a_1"], dataset, find_category)
    assert isinstance(fact, RunFact)
    assert (fact.value, len(missing)) == (MAX_MISSING_ITEMS + 10, MAX_MISSING_ITEMS)
