"""A new format needs one function and one registry line, for files and for folders."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fcreview.errors import EXIT_USAGE_ERROR
from fcreview.exporters.base import FORMATS, ExportError
from fcreview.exporters.export import export
from fcreview.store import label_fields as read
from fcreview.store.database import StoreError
from fcreview.store.label_fields import JSON, label_field_types
from fcreview.store.rows import View
from fcreview.store.store import Store
from tests.exporters.export_fixtures import NOTE, ROWS


def read_dialogues(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the lines of the file of each run."""
    files = sorted(folder.rglob("*.jsonl"))
    return {
        file.parent.name: [json.loads(line) for line in file.read_text().splitlines()]
        for file in files
    }


@pytest.mark.usefixtures("formats")
def test_folder_format_gets_runs_and_items(two_runs: Store, tmp_path: Path) -> None:
    out = tmp_path / "dialogues"
    assert export(two_runs, "dialogues", out) == {"item": 8}
    written = read_dialogues(out)
    assert {name: [line["id"] for line in lines] for name, lines in written.items()} == {
        "maple-8b": [row["id"] for row in ROWS],
        "birch-3b": [row["id"] for row in ROWS],
    }
    first = next(lines[0] for lines in written.values() if lines[0]["notes"])
    assert first == {
        "id": "-1",
        "effective": True,
        "messages": [
            ["user", "What is the weather in city 0? Use celsius."],
            ["assistant", "[get_weather(city='Hangzhou, CN')]"],
        ],
        "functions": ["get_weather"],
        "golden": ["get_weather"],
        "predicted": [{"city": "Hangzhou, CN"}],
        "verdicts": {"official": False, "rule": False},
        "notes": [NOTE],
    }


@pytest.mark.usefixtures("formats")
def test_format_gets_runs_and_items_of_the_view(two_runs: Store, tmp_path: Path) -> None:
    (run,) = (row.run for row in two_runs.fetch_runs() if row.info.model == "birch-3b")
    assert export(two_runs, "dialogues", tmp_path / "one", View("official:fail", runs=(run,))) == {
        "item": 2
    }
    assert {
        name: [line["id"] for line in lines]
        for name, lines in read_dialogues(tmp_path / "one").items()
    } == {"birch-3b": ["-1", "@bad"]}
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["birch-3b"]
    assert export(two_runs, "dialogues", tmp_path / "none", View("category:nothing")) == {"item": 0}
    assert list((tmp_path / "none").iterdir()) == []


@pytest.mark.usefixtures("formats")
def test_file_format_gets_items_and_labels(store: Store, tmp_path: Path) -> None:
    assert export(store, "questions", tmp_path / "questions") == {"item": 4, "label": 5}
    header, *questions, labels = (tmp_path / "questions").read_bytes().splitlines()
    assert header == b"\x00\x1b[2J"
    assert questions == [b"What is the weather in city %d?" % n for n in range(4)]
    assert labels == b"5"


@pytest.mark.usefixtures("formats")
def test_standard_output_accepts_only_file_formats(
    store: Store, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with pytest.raises(ExportError, match="writes a folder") as error:
        export(store, "dialogues", "-")
    assert error.value.exit_code == EXIT_USAGE_ERROR
    assert export(store, "questions", "-") == {"item": 4, "label": 5}
    assert capfdbinary.readouterr().out.endswith(b"city 3?\n5\n")


@pytest.mark.sweep
def test_long_lists_are_not_truncated(two_runs: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for view in (View(queue="dataset"), View("id:ok*", "dataset")):
        rows = two_runs.fetch_page(view, 0, 100)
        for size in (1, 3, 100):
            monkeypatch.setattr("fcreview.store.store.DETAIL_BATCH_SIZE", size)
            chunks = list(two_runs.iter_details(view))
            assert max(map(len, chunks)) == min(size, len(rows))
            assert [detail for chunk in chunks for detail in chunk] == [
                two_runs.read_detail(row.item) for row in rows
            ]


def test_blind_store_exports_nothing(store: Store) -> None:
    with (
        Store.open(store.workspace, "alice", blind=True) as blind,
        pytest.raises(StoreError, match="blind"),
    ):
        blind.iter_details(View())


@pytest.mark.process
def test_help_lists_formats_without_loading_them() -> None:
    text = (
        "import sys, fcreview.cli.commands.export as command\n"
        "print(command.FORMAT_HELP)\n"
        "print(sorted(name for name in sys.modules if name.startswith('fcreview.exporters.') or"
        " name == 'duckdb'))\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    for each in FORMATS:
        assert f"{each.name} " in output
        assert each.help in output
    assert "['fcreview.exporters.base']" in output


@pytest.mark.slow
def test_large_rows_are_written(tmp_path: Path) -> None:
    row = json.dumps({"item": "a", "calls": [{"name": "f", "arguments": {"x": "y" * 4_000_000}}]})
    shapes = {"item": "VARCHAR", "calls": [{"name": "VARCHAR", "arguments": JSON}]}
    read.write_parquet(tmp_path / "labels", shapes, [[row] * 12] * 2)
    (count,) = duckdb.execute(
        "SELECT sum(length(calls[1].arguments)) FROM read_parquet(?)", [str(tmp_path / "labels")]
    ).fetchall()
    assert count == (24 * 4_000_008,)


def test_too_large_rows_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcreview.store.database.MAX_MEMORY_LIMIT", "16MB")
    monkeypatch.setattr(read, "PARQUET_MEMORY_LIMIT", "16MB")
    row = json.dumps({"item": "a" * 4_000_000})
    with pytest.raises(StoreError, match="needs more than 16MB"):
        read.write_parquet(tmp_path / "labels", {"item": "VARCHAR"}, [[row] * 12])


def test_names_and_order_of_fields_are_kept_for_readers_of_older_exports() -> None:
    names = (
        "run model benchmark generation language category id target criterion official rule judge"
        " human effective"
    )
    names += (
        " decided_by policy fault golden_fix tags notes annotators n_annotators stale error_type"
        " rule_error_type"
    )
    names += (
        " prediction_hash golden_hash run_name incident incident_text incident_certainty"
        " golden_status automatic opinions judgements"
    )
    content = "question messages functions golden_calls predicted_calls"
    assert list(label_field_types(with_content=False)) == names.split()
    assert list(label_field_types(with_content=True)) == [*names.split(), *content.split()]
