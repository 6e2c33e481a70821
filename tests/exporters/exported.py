"""What the tests of exports share: rows with awkward texts, and formats that exist for tests only."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import duckdb

from fcreview.exporters.base import FORMATS, ExportSource, FileFormat, FolderFormat, Sink

NOTE = '=HYPERLINK("http://x","y")\nsecond; "line"'
ROWS: list[dict[str, Any]] = [
    {"id": "-1", "category": "simple"},
    {"id": "ok_1", "official": True, "category": "simple"},
    {"id": "@bad", "category": "live_東京"},
    {"id": "ok_2", "official": True, "rule": False, "category": "live_東京"},
]


LABELS = [each.name for each in FORMATS if isinstance(each, FileFormat) and each.name not in ("sft", "preference")]
"""Formats of one file with labels."""


def rows_of(name: str, path: Path) -> list[dict[str, Any]]:
    """The labels in a file. In Parquet verdicts are JSON text; a task of Label Studio gives the fields of its data."""
    if name == "parquet":
        found = duckdb.read_parquet(str(path))
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    if name == "labelstudio":
        return [
            {k: v for k, v in task["data"].items() if k not in {"text", "choices", "labels"}}
            | {"automatic": task["predictions"], "opinions": task["annotations"]}
            for task in json.loads(path.read_text("utf-8"))
        ]
    if name == "jsonl":
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def write_dialogues(source: ExportSource, folder: Path) -> None:
    """`<model>/dialogues.jsonl` for each run: what an item was asked, what it answered and what came of it."""
    for row in source.runs:
        (folder / row.info.model).mkdir()
    for chunk in source.items():
        for detail in chunk:
            item = detail.item
            line = {
                "id": item.id,
                "effective": detail.row.effective,
                "messages": [[message.role, message.content] for message in item.messages],
                "functions": [function["name"] for function in item.functions],
                "golden": [call.name for call in item.golden],
                "predicted": [call.arguments for call in item.predicted],
                "said": {verdict.source: verdict.value for verdict in item.verdicts},
                "notes": [opinion.note for opinion in detail.opinions],
            }
            with (folder / detail.run.model / "dialogues.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")


def write_questions(source: ExportSource, out: Sink) -> None:
    """A header of bytes that no terminal should see, then a question a line, then how many labels there are."""
    out.write(b"\x00\x1b[2J\n")
    for chunk in source.items():
        out.write(b"".join(detail.item.question.encode() + b"\n" for detail in chunk))
    out.write(b"%d\n" % sum(len(chunk) for chunk in source.labels()))


DIALOGUES = FolderFormat("dialogues", "a folder with a file for each run", lambda: write_dialogues)
QUESTIONS = FileFormat("questions", "what was asked", "binary", lambda: write_questions)
