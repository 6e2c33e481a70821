"""Exports of labels: every item, every reviewed target, in every format."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from fcreview.exporters.csv import format_cell
from fcreview.exporters.export import ExportOutput, export
from fcreview.store.labels.fields import LABEL_FIELDS
from fcreview.store.rows import View
from fcreview.store.store import Store
from tests.exporters.exported import LABELS, NOTE, rows_of


@pytest.mark.parametrize("name", LABELS)
def test_every_item_and_every_reviewed_target_is_there(store: Store, tmp_path: Path, name: str) -> None:
    out = tmp_path / "labels"
    assert export(store, name, out) == {"label": 5}
    rows = rows_of(name, out)
    assert [tuple(row) for row in rows] == [tuple(LABEL_FIELDS)] * 5
    assert [row["target"] for row in rows] == ["item", "item", "item", "turn:1/call:1/arg:city", "item"]
    assert [row["decided_by"] for row in rows] == ["unanimous", "disputed", "unanimous", "unanimous", "official"]


def test_it_is_told_how_many_there_are_so_far(store: Store, tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    export(
        store,
        "csv",
        tmp_path / "labels",
        output=ExportOutput(on_progress=lambda noun, number: told.append((noun, number))),
    )
    assert told and told[-1] == ("label", 5)


@pytest.mark.parametrize("name", LABELS)
def test_a_filter_chooses_items(store: Store, tmp_path: Path, name: str) -> None:
    assert export(store, name, tmp_path / "some", View(where="official:fail")) == {"label": 3}
    assert export(store, name, tmp_path / "none", View(where="category:nothing")) == {"label": 0}
    assert rows_of(name, tmp_path / "none") == []


def test_jsonl_keeps_types_and_texts(store: Store, tmp_path: Path) -> None:
    export(store, "jsonl", tmp_path / "labels.jsonl")
    first, second, *_ = rows_of("jsonl", tmp_path / "labels.jsonl")
    assert (first["official"], first["human"], first["effective"]) == (False, True, True)
    assert (first["tags"], first["notes"], first["annotators"]) == (["=1+1", "b"], [NOTE], ["alice"])
    assert (first["id"], first["model"], first["fault"], first["stale"]) == ("-1", "maple-8b", "golden", False)
    assert (second["human"], second["effective"], second["n_annotators"]) == ("disputed", True, 2)


def test_csv_neutralises_formulas_and_keeps_everything_else(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    export(store, "csv", out)
    first, second, third, *_ = rows_of("csv", out)
    assert (first["id"], first["tags"], first["notes"]) == ("'-1", "'=1+1; b", f"'{NOTE}")
    assert (first["official"], first["effective"], second["effective"]) == ("false", "true", "true")
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
    assert format_cell(value) == text


def test_a_dash_is_standard_output(store: Store, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert export(store, "csv", "-") == {"label": 5}
    text = capfdbinary.readouterr().out.decode("utf-8")
    assert len(list(csv.reader(io.StringIO(text, newline="")))) == 6
