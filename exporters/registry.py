"""The formats. A format's module is imported when it is used, never to list it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from fcreview.exporters.base import FileFormat, FolderFormat, Format


def _function(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(importlib.import_module(f"fcreview.exporters.{module}"), name)


def _both(module: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    return _function(module, "write"), _function(module, "read")


FORMATS: tuple[Format, ...] = (
    FileFormat("jsonl", "JSON Lines: one label a line, with types and lists", "json", *_both("jsonl")),
    FileFormat("csv", "the same as a table for spreadsheets", "text", _function("csv", "write")),
    FileFormat("parquet", "the same as typed columns, for DuckDB and pyarrow", "binary", _function("parquet", "write")),
    FileFormat("labelstudio", "tasks for Label Studio, predictions, annotations", "json", *_both("labelstudio")),
    FolderFormat("hf", "a folder with a card that `datasets` loads", _function("hf", "write")),
    FolderFormat("native", "the benchmark's own score files as reviews have them", _function("native", "write")),
    FolderFormat(
        "golden-patch", "golden fixes as a patch, and a text for upstream", _function("golden.patch", "write")
    ),
)
"""Adding a format is one line here and its module."""

EXPORTERS: dict[str, Format] = {each.name: each for each in FORMATS}
