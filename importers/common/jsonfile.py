"""A whole JSON file of a known kind, for formats that are one array or object rather than JSON Lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

import orjson

from fcreview.importers.common.jsonl import excerpt, read_file
from fcreview.model import ImportIssue

T = TypeVar("T", list, dict)  # type: ignore[type-arg]


def read_json(path: Path, issues: list[ImportIssue], kind: type[T]) -> T | None:
    """The file's value if it is of that kind, else None and an issue that says why."""
    try:
        raw = read_file(path).removeprefix(b"\xef\xbb\xbf")
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError:
            value = json.loads(raw.decode("utf-8", "replace"))
    except OSError as error:
        issues.append(ImportIssue(str(path), None, f"cannot be read: {error.strerror}", severity="error"))
        return None
    except RecursionError:
        issues.append(ImportIssue(str(path), None, "nested too deeply to be read", excerpt(raw), severity="error"))
        return None
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        issues.append(ImportIssue(str(path), line, f"not JSON: {error}", excerpt(raw), severity="error"))
        return None
    if not isinstance(value, kind):
        issues.append(
            ImportIssue(str(path), 1, f"should be a JSON {'array' if kind is list else 'object'}", severity="error")
        )
        return None
    return value
