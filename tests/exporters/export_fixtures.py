"""Rows with awkward texts and test formats for the tests of exports."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import duckdb

from fcreview.exporters.base import FORMATS, ExportFormat, ExportSource, Sink

NOTE = '=HYPERLINK("http://x","y")\nsecond; "line"'
ROWS: list[dict[str, Any]] = [
    {"id": "-1", "category": "simple"},
    {"id": "ok_1", "official": True, "category": "simple"},
    {"id": "@bad", "category": "live_東京"},
    {"id": "ok_2", "official": True, "rule": False, "category": "live_東京"},
]


LABELS = [
    each.name
    for each in FORMATS
    if each.content != "folder" and each.name not in ("sft", "preference", "kto", "rewards")
]
"""Formats that write labels to one file."""


def read_labels(name: str, path: Path) -> list[dict[str, Any]]:
    """Read the labels in a file.

    Parquet has verdicts as JSON text, Label Studio has fields in `data`.
    """
    if name == "parquet":
        found = duckdb.read_parquet(str(path))
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    if name == "labelstudio":
        return [
            {
                k: v
                for k, v in task["data"].items()
                if k not in {"text", "choices", "labels", "judgements"}
            }
            | {"automatic": task["predictions"], "opinions": task["annotations"]}
            | {"judgements": task["data"]["judgements"]}
            for task in json.loads(path.read_text("utf-8"))
        ]
    if name == "jsonl":
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def write_dialogues(source: ExportSource, folder: Path) -> None:
    """Write `<model>/dialogues.jsonl` for each run, with messages, calls and verdicts of each
    item.
    """
    for row in source.runs:
        (folder / row.info.model).mkdir()
    for chunk in source.iter_item_chunks():
        for detail in chunk:
            item = detail.item
            line = {
                "id": item.id,
                "effective": detail.row.effective,
                "messages": [[message.role, message.content] for message in item.messages],
                "functions": [function["name"] for function in item.functions],
                "golden": [call.name for call in item.golden],
                "predicted": [call.arguments for call in item.predicted],
                "verdicts": {verdict.source: verdict.value for verdict in item.verdicts},
                "notes": [opinion.note for opinion in detail.opinions],
            }
            with (folder / detail.run.model / "dialogues.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")


def write_questions(source: ExportSource, out: Sink) -> None:
    """Write a header of control characters, one question per line, and the number of labels."""
    out.write(b"\x00\x1b[2J\n")
    for chunk in source.iter_item_chunks():
        out.write(b"".join(detail.item.question.encode() + b"\n" for detail in chunk))
    out.write(b"%d\n" % sum(len(chunk) for chunk in source.iter_label_chunks()))


DIALOGUES = ExportFormat(
    "dialogues", "a folder with a file for each run", "folder", lambda: write_dialogues
)
QUESTIONS = ExportFormat("questions", "what was asked", "binary", lambda: write_questions)
