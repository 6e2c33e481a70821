"""Formats by name; a format's module is imported when it is used."""

from __future__ import annotations

from collections.abc import Callable

from fcreview.exporters.base import Writer


def _jsonl() -> Writer:
    from fcreview.exporters.jsonl import write

    return write


def _csv() -> Writer:
    from fcreview.exporters.csv import write

    return write


EXPORTERS: dict[str, Callable[[], Writer]] = {"jsonl": _jsonl, "csv": _csv}
