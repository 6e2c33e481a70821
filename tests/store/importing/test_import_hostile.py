"""The store imports unusual values of readers, or omits them with an issue."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import Call, ImportIssue, Item, Message, Verdict
from fcreview.run_plan import RunPlan
from fcreview.store.importing import builder
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.store import Store, View
from fcreview.store.workspace import find_workspace
from tests.store.factory import import_items, make_item, read, write_run
from tests.store.importing.imported import list_statuses, read_ids, write_plan


def test_values_that_duckdb_refuses_are_omitted_and_reported(tmp_path: Path) -> None:
    rows = [{"tokens_in": 5}, {"tokens_in": 2**64}, {"n_turns": "many", "tokens_in": 7}]
    workspace, summary = import_items(tmp_path, {"a": rows, "b": [{}]})
    assert list_statuses(summary) == {"a": "imported", "b": "imported"}
    assert read_ids(workspace) == ["a/simple_0", "a/simple_1", "a/simple_2", "b/simple_0"]
    issue = summary.issues[0]
    assert (issue["item"], Path(issue["file"]).name, issue["line"]) == (
        "simple_1",
        "results.jsonl",
        2,
    )
    assert "18446744073709551616" in issue["what"]
    with Store.open(workspace) as store:
        assert store.run_sql("SELECT tokens_in FROM items ORDER BY item LIMIT 3")[1] == [
            (5,),
            (None,),
            (7,),
        ]


@pytest.mark.sweep
@pytest.mark.slow
def test_part_that_needs_more_memory_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "LOADING_MEMORY_LIMIT", "12MB")
    monkeypatch.setattr(builder, "LARGER_MEMORY_LIMITS", ("13MB", "1GB"))
    long = {"messages": [["x" * 8_000_000]]}
    row = {"extra": {"more": long}, "functions": [{"name": "f", **long}]}
    workspace = find_workspace(tmp_path)
    plans = [write_run(tmp_path / "a", [row, {}], "a"), write_run(tmp_path / "b", [{}], "b")]
    summary = import_runs(workspace, plans, read, n_workers=1)
    assert summary.issues == []
    assert list_statuses(summary) == {"a": "imported", "b": "imported"}
    assert read_ids(workspace) == ["a/simple_0", "a/simple_1", "b/simple_0"]


def test_official_metrics_of_any_kind_are_kept(tmp_path: Path) -> None:
    workspace = find_workspace(tmp_path)
    plan = write_run(tmp_path / "a", [{}], "a")
    plan.run.official_metrics["simple"] = {"accuracy": "\ud800", "correct_count": 10**30}
    assert list_statuses(import_runs(workspace, [plan], read)) == {"a": "imported"}


def test_import_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    plan = write_run(tmp_path / "a", [{}], "a")
    os.mkfifo(tmp_path / "a" / "score.json")
    plan.scores.append(tmp_path / "a" / "score.json")
    assert list_statuses(import_runs(find_workspace(tmp_path), [plan], read)) == {"a": "imported"}


def test_damaged_store_is_rebuilt_with_a_notice(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    workspace.store.write_bytes(b"not a database at all" * 1000)
    summary = import_runs(workspace, [write_plan(tmp_path, "a")], read)
    assert list_statuses(summary) == {"a": "imported"}
    assert [issue["severity"] for issue in summary.issues] == ["notice"]
    assert read_ids(workspace) == ["a/simple_0"]


def read_hostile(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    arguments: dict[Any, Any] = {
        "huge": 10**400,
        "tuple": (1, 2.0),
        "half": "\ud800",
        "deep": deep,
        3: "key",
    }
    yield make_item(0, id="bad\ud800", predicted=[Call("predicted", "f", arguments=arguments)])
    text = 'é\0\x1b[31m"\\\n' * 100_000
    yield make_item(
        1, id="text", category=text, question=text, error_type=text, first_difference=text
    )
    yield make_item(
        2,
        id="none",
        predicted=[Call("predicted", "f", arguments=None, decode_error="?")],
        messages=[],
        verdicts=[],
    )
    yield make_item(
        3, id="judged", verdicts=[Verdict("judge", value) for value in ("unsure", None, 2, ["a"])]
    )


def test_hostile_values_are_stored(tmp_path: Path) -> None:
    workspace = find_workspace(tmp_path)
    assert import_runs(workspace, [write_run(tmp_path / "a", [{}])], read_hostile).n_items == 4
    with Store.open(workspace) as store:
        first = store.read_detail(1 << 32).item
        assert first.id == "bad\\ud800"
        arguments = first.predicted[0].arguments
        assert arguments is not None
        assert arguments["huge"] == str(10**400)
        assert arguments["tuple"] == [1, 2.0]
        text = store.read_detail(store.find_items("text")[0]).item
        assert (
            text.category
            == text.error_type
            == text.first_difference
            == 'é\0\x1b[31m"\\\n' * 100_000
        )
        assert store.read_detail(store.find_items("none")[0]).item.predicted[0].arguments is None
        judged = store.read_detail(store.find_items("judged")[0]).item
        assert [verdict.value for verdict in judged.verdicts] == ["unsure", None, 2, ["a"]]


def read_fifty_megabytes(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    yield make_item(0)
    yield make_item(1, messages=[Message(0, 0, role="tool", content="observation " * 4_500_000)])


@pytest.mark.sweep
@pytest.mark.slow
def test_record_of_fifty_megabytes_is_stored_and_read(tmp_path: Path) -> None:
    workspace = find_workspace(tmp_path)
    assert list_statuses(
        import_runs(workspace, [write_run(tmp_path / "a", [{}])], read_fifty_megabytes)
    ) == {"maple-8b": "imported"}
    with Store.open(workspace) as store:
        assert (
            len(store.read_detail(store.find_items("simple_1")[0]).item.messages[0].content)
            == 54_000_000
        )
        assert store.count_items(View(where="text:observation")) == 1
