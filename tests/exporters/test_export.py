"""All formats export every item and every reviewed target."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.exporters.export import ExportOutput, export
from fcreview.exporters.label_files import format_csv_cell
from fcreview.importers.registry import discover, read_items
from fcreview.model.review import Annotation
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.label_fields import LABEL_FIELDS, LabelSelection, label_field_types
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace
from tests.exporters.export_fixtures import LABELS, NOTE, read_labels
from tests.labels import fetch_labels


@pytest.mark.parametrize("name", LABELS)
def test_all_items_and_reviewed_targets_are_exported(
    store: Store, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "labels"
    assert export(store, name, out) == {"label": 5}
    rows = read_labels(name, out)
    names = [*LABEL_FIELDS, "reviews"] if name == "csv" else [*LABEL_FIELDS]
    assert [list(row) for row in rows] == [names] * 5
    assert [row["target"] for row in rows] == [
        "item",
        "item",
        "item",
        "turn:1/call:1/arg:city",
        "item",
    ]
    assert [row["decided_by"] for row in rows] == [
        "unanimous",
        "disputed",
        "unanimous",
        "unanimous",
        "official",
    ]


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
    assert (first["tags"], first["notes"], first["annotators"]) == (
        ["=1+1", "b"],
        [NOTE],
        ["alice"],
    )
    assert (first["id"], first["model"], first["fault"], first["stale"]) == (
        "-1",
        "maple-8b",
        "golden",
        False,
    )
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
        ("=1", "'=1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        (["-a", "b"], "'-a; b"),
        ("a=1", "a=1"),
        (" =1", " =1"),
        ("", ""),
        (-1, "-1"),
        (0.5, "0.5"),
        (True, "true"),
        (False, "false"),
        (None, ""),
        ([], ""),
    ],
)
def test_csv_cell(value: Any, text: str) -> None:
    assert format_csv_cell(value) == text


def test_dash_means_standard_output(
    store: Store, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert export(store, "csv", "-") == {"label": 5}
    text = capfdbinary.readouterr().out.decode("utf-8")
    assert len(list(csv.reader(io.StringIO(text, newline="")))) == 6


Question = tuple[int, str, str]


@pytest.fixture(scope="module")
def sample_store(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """All sample runs.

    The first item of each has a passing review whose note is a spreadsheet formula.
    """
    place = shutil.copytree(samples, tmp_path_factory.mktemp("samples") / "runs")
    workspace = find_workspace(place)
    import_runs(workspace, discover([place]).plans, read_items)
    with Store.open(workspace, "alice") as opened:
        acts = Reviewer(opened, Journal(workspace, "+alice"))
        for (item,) in opened.run_sql("SELECT min(item) FROM items GROUP BY run")[1]:
            acts.review(item, Annotation(verdict=True, note="=1+1", tags=["@x"]))
        yield opened


def read_selected_labels(
    sample_store: Store, benchmark: str, choice: LabelSelection | None = None
) -> list[dict[str, Any]]:
    view = View(f"benchmark:{benchmark}", "dataset")
    return fetch_labels(sample_store, view, choice)


@pytest.mark.parametrize(
    "benchmark", ["complexfuncbench", "acebench", "confetti", "hammerbench", "bfcl"]
)
def test_each_judged_target_has_a_row_with_all_automatic_verdicts(
    sample_store: Store, benchmark: str
) -> None:
    columns = (
        "i.id, i.category, i.model, i.language, v.target, v.criterion, v.source, v.value::VARCHAR,"
        ' v."by", v.rationale'
    )
    judged = sample_store.run_sql(
        f"SELECT {columns} FROM verdicts v JOIN items i USING (item) WHERE i.benchmark ="
        f" '{benchmark}' ORDER BY ALL"
    )[1]
    items = sample_store.run_sql(f"SELECT count(*) FROM items WHERE benchmark = '{benchmark}'")[1][
        0
    ][0]
    labels = read_selected_labels(sample_store, benchmark)
    rows = [
        (label["run"], label["category"], label["id"], label["target"], label["criterion"])
        for label in labels
    ]
    assert len(set(rows)) == len(rows)
    assert sum(row[-2:] == ("item", "correct") for row in rows) == items
    exported = [
        (
            label["id"],
            label["category"],
            label["model"],
            label["language"],
            label["target"],
            label["criterion"],
            verdict["source"],
            _text(verdict["value"]),
            verdict["by"],
            verdict["rationale"],
        )
        for label in labels
        for verdict in label["automatic"]
    ]
    assert judged
    assert not [row for row in judged if row not in exported]
    for label in labels:
        for source in ("official", "rule", "judge"):
            values = [
                verdict["value"] for verdict in label["automatic"] if verdict["source"] == source
            ]
            assert label[source] in (values or [None])


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()


def test_view_and_export_have_the_same_rows(sample_store: Store) -> None:
    columns, rows = sample_store.run_sql("SELECT * EXCLUDE (item) FROM labels")
    labels = fetch_labels(sample_store, View(queue="dataset"))
    plain = [
        name
        for name in columns
        if name not in ("official", "rule", "judge", "human", "effective", "automatic")
    ]
    assert sorted((tuple(label[name] for name in plain) for label in labels), key=repr) == sorted(
        (tuple(dict(zip(columns, row, strict=True))[name] for name in plain) for row in rows),
        key=repr,
    )


@pytest.mark.parametrize("content", [False, True])
def test_lines_of_labels_have_all_fields_in_order(sample_store: Store, content: bool) -> None:
    view, choice = View(queue="dataset"), LabelSelection(with_content=content)
    lines = [
        line.encode() for chunk in sample_store.iter_label_batches(view, choice) for line in chunk
    ]
    labels = fetch_labels(sample_store, view, choice)
    assert lines == [orjson.dumps(label) for label in labels]  # the lines are written by DuckDB
    names = ("run", "id", "target", "criterion", "n_annotators", "error_type", "prediction_hash")
    _, rows = sample_store.run_sql(f"SELECT {', '.join(names)} FROM labels")
    assert sorted(rows, key=repr) == sorted(
        (tuple(label[name] for name in names) for label in labels), key=repr
    )
    assert all(list(label) == list(label_field_types(with_content=content)) for label in labels)
    assert any(b'"annotator":"+alice"' in line for line in lines)


def test_label_selection(sample_store: Store) -> None:
    every = read_selected_labels(sample_store, "hammerbench")
    reviewed = read_selected_labels(sample_store, "hammerbench", LabelSelection("reviewed"))
    assert reviewed == [label for label in every if label["annotators"]]
    assert reviewed
    assert not read_selected_labels(sample_store, "hammerbench", LabelSelection("adjudicated"))


@pytest.mark.parametrize("content", [False, True])
def test_no_cell_is_a_formula(sample_store: Store, tmp_path: Path, content: bool) -> None:
    export(
        sample_store,
        "csv",
        tmp_path / "labels.csv",
        View(queue="dataset"),
        selection=LabelSelection(with_content=content),
    )
    rows = read_labels("csv", tmp_path / "labels.csv")
    assert len(rows) == len(fetch_labels(sample_store, View()))
    assert any(row["opinions"].startswith("'+alice pass, tags @x: =1+1") for row in rows)
    assert not [
        text
        for row in rows
        for text in row.values()
        if text.startswith(("=", "+", "@", "\t", "\r"))
    ]
    assert format_csv_cell(["=1"]) == "'=1"
