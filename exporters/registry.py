"""The formats. A format's module is imported when it is used, never to list it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from fcreview.exporters.base import FileFormat, FolderFormat, Format


def _module(name: str) -> Callable[[], Any]:
    return lambda: importlib.import_module(f"fcreview.exporters.{name}").write


FORMATS: tuple[Format, ...] = (
    FileFormat("jsonl", "JSON Lines: one label a line, with types and lists", "json", _module("jsonl")),
    FileFormat("csv", "the same as a table for spreadsheets", "text", _module("csv")),
    FileFormat("parquet", "the same as typed columns, for DuckDB and pyarrow", "binary", _module("parquet")),
    FileFormat(
        "labelstudio", "tasks for Label Studio, with predictions and annotations", "json", _module("labelstudio")
    ),
    FolderFormat("hf", "a folder with a card that `datasets` loads", _module("hf")),
)
"""Adding a format is one line here and its module."""

EXPORTERS: dict[str, Format] = {each.name: each for each in FORMATS}
