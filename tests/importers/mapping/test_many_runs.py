"""Files and joins that many runs, items or rows share take time linear in their size."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fcreview.importers.mapping import files, joins, parquet, plans, read, shared_files
from fcreview.importers.registry import discover
from tests.importers.mapping.test_mapping import DIALOG, read_folder, write_mapping
from tests.importers.run_reading import read_runs

ITEM = '[item]\nid = "id"\nmodel = "model"\nmessages = "messages"\n'
JUDGES = """
[[join]]
as = "judges"
files = "judges.jsonl"
on = "id"

[[judge]]
name = { const = "judge" }
verdict = { from = "judges", path = "verdict" }
"""


def make_rows(n_models: int) -> list[dict[str, Any]]:
    """Return two items of each model, in turns."""
    return [
        {"id": f"i{number}", "model": f"m{number % n_models}", "messages": DIALOG}
        for number in range(2 * n_models)
    ]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each file is read."""
    counts: Counter[str] = Counter()
    read_file = files.read_mapped_records

    def count_and_read(path: Path, *arguments: Any) -> Any:
        counts[path.name] += 1
        return read_file(path, *arguments)

    for module in (joins, read, shared_files):
        monkeypatch.setattr(module, "read_mapped_records", count_and_read)
    return counts


def test_files_of_many_runs_are_read_once(tmp_path: Path, opened: Counter[str]) -> None:
    rows = make_rows(n_models=5)
    write_mapping(tmp_path, ITEM + JUDGES, [*rows, "not JSON"])
    judged = [{"id": row["id"], "verdict": True} for row in rows]
    (tmp_path / "judges.jsonl").write_text("\n".join(map(json.dumps, judged)))

    plans = discover([tmp_path]).plans
    assert len(plans) == 5
    for _ in range(2):  # a second import in the same process gives the same
        opened.clear()
        items, issues = read_runs(plans)
        assert sorted(item.id for item in items) == sorted(row["id"] for row in rows)
        assert all(item.judge is True for item in items)
        assert [issue.line for issue in issues if "not JSON" in (issue.raw or "")] == [11]
        assert opened["rows.jsonl"] == 1
    assert opened["judges.jsonl"] == 0, "the joins are kept"


def test_changed_file_is_read_again(tmp_path: Path) -> None:
    write_mapping(tmp_path, ITEM, make_rows(n_models=3))
    plans = discover([tmp_path]).plans
    read_runs(plans[:1])
    rows = [row | {"id": f"new-{row['id']}"} for row in make_rows(n_models=3)]
    write_mapping(tmp_path, ITEM, rows)
    items, _ = read_runs(plans)
    assert {item.id for item in items} == {row["id"] for row in rows}


def test_runs_above_the_limit_are_skipped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_mapping(tmp_path, ITEM, make_rows(n_models=5))
    monkeypatch.setattr(plans, "MAX_RUNS", 3)
    found = discover([tmp_path])
    assert [plan.run.model for plan in found.plans] == ["m0", "m1", "m2"]
    assert any("2 runs were skipped" in issue.what for issue in found.issues)

    monkeypatch.setattr(plans, "MAX_RUNS", 1_000)
    monkeypatch.setattr(plans, "MAX_RUNS_OF_LARGE_FILE", 2)
    monkeypatch.setattr(plans, "MAX_KEPT_BYTES", 10)
    found = discover([tmp_path])
    assert len(found.plans) == 2
    assert any("3 runs were skipped" in issue.what for issue in found.issues)


def test_rows_that_all_items_share_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "MIN_ATTACHED_ROWS", 0)
    monkeypatch.setattr(read, "MAX_ROWS_OF_AN_ITEM", 2)
    rows = [{"id": f"i{number}", "task": "t", "messages": DIALOG} for number in range(20)]
    text = ITEM.replace('model = "model"\n', 'join_key = "task"\n')
    write_mapping(tmp_path, text + JUDGES, rows)
    judged = json.dumps({"id": "t", "verdict": True})
    (tmp_path / "judges.jsonl").write_text(f"{judged}\n" * 20)

    items, issues = read_folder(tmp_path)
    n_verdicts = sum(verdict.source == "judge" for item in items for verdict in item.verdicts)
    assert n_verdicts == 2 * (20 + 20)
    assert [len(item.verdicts) for item in items[3:]] == [2] * 17
    omitted = [issue for item in items for issue in item.issues if "omitted" in issue.what]
    assert sum(int(issue.what.split()[2]) for issue in omitted) == 20 * 20 - n_verdicts
    assert len(issues) == len(omitted)


def test_equal_ids_of_many_files_are_numbered(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"rows{number}.jsonl").write_text(json.dumps({"id": "x", "messages": DIALOG}))
    path = write_mapping(tmp_path, '[item]\nid = "id"\nmessages = "messages"\n')
    path.write_text(path.read_text().replace("rows.jsonl", "rows*.jsonl"))
    items, _ = read_folder(tmp_path)
    assert [item.id for item in items] == ["x", "x#1", "x#1#2", "x#1#3"]


def test_table_that_decompresses_to_too_much_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb.sql(
        "COPY (SELECT 'i' || range AS id, repeat('x', 100000) AS response FROM range(100))"
        f" TO '{tmp_path / 'rows.parquet'}' (COMPRESSION zstd)"
    )
    path = write_mapping(tmp_path, '[item]\nid = "id"\nresponse = "response"\n')
    path.write_text(path.read_text().replace("rows.jsonl", "rows.parquet"))
    monkeypatch.setattr(parquet, "MIN_EXPANDED_BYTES", 1 << 20)
    items, issues = read_folder(tmp_path)
    assert 0 < len(items) < 100
    assert any("after decompression" in i.what and "skipped" in i.what for i in issues)


def test_rows_that_are_large_together_are_read_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    duckdb.sql(
        "COPY (SELECT 'i' || range AS id, repeat('x', 1000000) AS response FROM range(200))"
        f" TO '{path}' (COMPRESSION zstd)"
    )
    queries = []
    query_rows = parquet._query_rows

    def note_query(connection: Any, query: str, parameters: list[Any]) -> Any:
        queries.append(query)
        return query_rows(connection, query, parameters)

    monkeypatch.setattr(parquet, "_query_rows", note_query)
    monkeypatch.setattr(parquet, "MAX_GROWTH", 100 << 20)
    rows = list(parquet.read_rows(path))
    assert [row["id"] for row in rows] == [f"i{number}" for number in range(200)]
    assert len(queries) == 1 + 13, "the whole file, and then sixteen rows at a time"
