"""Exports: every item, every reviewed target, in every format; and files that are whole or not there."""

from __future__ import annotations

import csv
import io
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.exporters.base import ExportError, export
from fcreview.exporters.csv import cell
from fcreview.exporters.registry import EXPORTERS
from fcreview.review import Said
from fcreview.store.filters.language import FilterError
from fcreview.store.queries.labels import COLUMNS
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from tests.store.factory import Imported

NOTE = '=HYPERLINK("http://x","y")\nsecond; "line"'
ROWS: list[dict[str, Any]] = [
    {"id": "-1", "category": "simple"},
    {"id": "ok_1", "official": True, "category": "simple"},
    {"id": "@bad", "category": "live_東京"},
    {"id": "ok_2", "official": True, "rule": False, "category": "live_東京"},
]


@pytest.fixture
def store(tmp_path: Path, imported: Imported) -> Iterator[Store]:
    workspace = imported(tmp_path / "runs", {"maple-8b": ROWS})
    with Store.open(workspace, "alice") as opened:
        alice, bob = (Reviewer(opened, Journal(workspace, name)) for name in ("alice", "bob"))
        first, second, third, _ = (opened.find(str(row["id"]))[0] for row in ROWS)
        alice.review(first, Said(verdict=True, fault="golden", tags=["=1+1", "b"], note=NOTE))
        alice.review(third, Said(verdict=False, target="turn:1/call:1/arg:city"))
        alice.review(second, Said(verdict=True))
        bob.review(second, Said(verdict=False))
        yield opened


def rows_of(name: str, path: Path) -> list[dict[str, Any]]:
    if name == "jsonl":
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


@pytest.mark.parametrize("name", sorted(EXPORTERS))
def test_every_item_and_every_reviewed_target_is_there(store: Store, tmp_path: Path, name: str) -> None:
    out = tmp_path / "labels"
    assert export(store, name, out) == 5
    rows = rows_of(name, out)
    assert [tuple(row) for row in rows] == [COLUMNS] * 5
    assert [row["target"] for row in rows] == ["item", "item", "item", "turn:1/call:1/arg:city", "item"]
    assert [row["decided_by"] for row in rows] == ["unanimous", "disputed", "unanimous", "unanimous", "official"]


@pytest.mark.parametrize("name", sorted(EXPORTERS))
def test_a_filter_chooses_items(store: Store, tmp_path: Path, name: str) -> None:
    assert export(store, name, tmp_path / "some", View(where="official:fail")) == 3
    assert export(store, name, tmp_path / "none", View(where="category:nothing")) == 0
    assert rows_of(name, tmp_path / "none") == []


def test_jsonl_keeps_types_and_texts(store: Store, tmp_path: Path) -> None:
    export(store, "jsonl", tmp_path / "labels.jsonl")
    first, second, *_ = rows_of("jsonl", tmp_path / "labels.jsonl")
    assert (first["official"], first["human"], first["effective"]) == (False, True, True)
    assert (first["tags"], first["notes"], first["annotators"]) == (["=1+1", "b"], [NOTE], ["alice"])
    assert (first["id"], first["model"], first["fault"], first["stale"]) == ("-1", "maple-8b", "golden", False)
    assert (second["human"], second["effective"], second["n_annotators"]) == ("disputed", None, 2)


def test_csv_neutralises_formulas_and_keeps_everything_else(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    export(store, "csv", out)
    first, second, third, *_ = rows_of("csv", out)
    assert (first["id"], first["tags"], first["notes"]) == ("'-1", "'=1+1; b", f"'{NOTE}")
    assert (first["official"], first["effective"], second["effective"]) == ("false", "true", "")
    assert (third["id"], third["category"]) == ("'@bad", "live_東京")
    assert first["run"].isdigit()
    data = out.read_bytes()
    assert data.startswith(b"run,model,")
    assert data.endswith(b"\r\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("=1", "'=1"), ("+1", "'+1"), ("-1", "'-1"), ("@x", "'@x"), ("\tx", "'\tx"), ("\rx", "'\rx"),
        (["-a", "b"], "'-a; b"), ("a=1", "a=1"), (" =1", " =1"), ("", ""), (-1, "-1"), (0.5, "0.5"), (True, "true"),
        (False, "false"), (None, ""), ([], ""),
    ],
)  # fmt: skip
def test_one_cell(value: Any, text: str) -> None:
    assert cell(value) == text


def test_a_failed_export_leaves_what_was_there(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    out.write_text("precious")
    for format_, where, error in (("xlsx", "", ExportError), ("csv", "official:perhaps", FilterError)):
        with pytest.raises(error):
            export(store, format_, out, View(where=where))
    store.connection.execute("CREATE OR REPLACE TEMP VIEW labels AS SELECT 1 AS item")
    with pytest.raises(Exception, match="run"):
        export(store, "csv", out)
    assert out.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv", "runs"]


def test_a_place_that_cannot_be_written_is_an_export_error(store: Store, tmp_path: Path) -> None:
    for out in (tmp_path / "no" / "such" / "folder.csv", tmp_path):
        with pytest.raises(ExportError):
            export(store, "csv", out)


def test_the_file_gets_ordinary_rights_and_links_are_followed(store: Store, tmp_path: Path) -> None:
    target, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    export(store, "jsonl", link)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert len(rows_of("jsonl", target)) == 5


def test_a_dash_is_standard_output(store: Store, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert export(store, "csv", "-") == 5
    text = capfdbinary.readouterr().out.decode("utf-8")
    assert len(list(csv.reader(io.StringIO(text, newline="")))) == 6
