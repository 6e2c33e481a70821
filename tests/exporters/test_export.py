"""All formats export every item and every reviewed target."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from fcreview.exporters.export import ExportOutput, export
from fcreview.exporters.label_files import format_cell
from fcreview.store.label_fields import LABEL_FIELDS
from fcreview.store.rows import View
from fcreview.store.store import Store
from tests.exporters.export_fixtures import LABELS, NOTE, read_labels


@pytest.mark.parametrize("name", LABELS)
def test_all_items_and_reviewed_targets_are_exported(store: Store, tmp_path: Path, name: str) -> None:
    out = tmp_path / "labels"
    assert export(store, name, out) == {"label": 5}
    rows = read_labels(name, out)
    assert [tuple(row) for row in rows] == [tuple(LABEL_FIELDS)] * 5
    assert [row["target"] for row in rows] == ["item", "item", "item", "turn:1/call:1/arg:city", "item"]
    assert [row["decided_by"] for row in rows] == ["unanimous", "disputed", "unanimous", "unanimous", "official"]


def test_progress_counts_rows(store: Store, tmp_path: Path) -> None:
    progress: list[tuple[str, int]] = []
    export(
        store,
        "csv",
        tmp_path / "labels",
        output=ExportOutput(on_progress=lambda noun, number: progress.append((noun, number))),
    )
    assert progress and progress[-1] == ("label", 5)


@pytest.mark.parametrize("name", LABELS)
def test_filter_selects_items(store: Store, tmp_path: Path, name: str) -> None:
    assert export(store, name, tmp_path / "some", View(where="official:fail")) == {"label": 3}
    assert export(store, name, tmp_path / "none", View(where="category:nothing")) == {"label": 0}
    assert read_labels(name, tmp_path / "none") == []


def test_jsonl_keeps_types_and_texts(store: Store, tmp_path: Path) -> None:
    export(store, "jsonl", tmp_path / "labels.jsonl")
    first, second, *_ = read_labels("jsonl", tmp_path / "labels.jsonl")
    assert (first["official"], first["human"], first["effective"]) == (False, True, True)
    assert (first["tags"], first["notes"], first["annotators"]) == (["=1+1", "b"], [NOTE], ["alice"])
    assert (first["id"], first["model"], first["fault"], first["stale"]) == ("-1", "maple-8b", "golden", False)
    assert (second["human"], second["effective"], second["n_annotators"]) == ("disputed", True, 2)


def test_csv_neutralizes_formulas_and_keeps_other_text(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    export(store, "csv", out)
    first, second, third, *_ = read_labels("csv", out)
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
def test_csv_cell(value: Any, text: str) -> None:
    assert format_cell(value) == text


def test_dash_means_standard_output(store: Store, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert export(store, "csv", "-") == {"label": 5}
    text = capfdbinary.readouterr().out.decode("utf-8")
    assert len(list(csv.reader(io.StringIO(text, newline="")))) == 6
