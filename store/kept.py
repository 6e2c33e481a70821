"""Small JSON files that a workspace keeps beside the store: read with forbearance, written whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson

from fcreview.store.modes import share


def read_object(file: Path) -> dict[str, Any]:
    """The JSON object in the file; an empty one if there is none that can be read."""
    try:
        kept = orjson.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def write_object(file: Path, value: Any) -> None:
    """In the place of what was there, never half. OSError if it cannot be written."""
    write_whole(file, orjson.dumps(value, option=orjson.OPT_INDENT_2))


def write_whole(file: Path, content: bytes) -> None:
    """As `write_object`, of any content."""
    fresh = file.with_suffix(f".{os.getpid()}.tmp")
    fresh.write_bytes(content)
    share(fresh)
    fresh.replace(file)
