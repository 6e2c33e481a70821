"""Error messages by kind, in the words of providers, servers and programs. The file was written for
the tests, and not taken from the detector's table: a test plants the messages, and the detector
must find their kind.
"""

from __future__ import annotations

import json
from pathlib import Path


def load_error_texts() -> dict[str, list[str]]:
    """Return kind -> texts."""
    texts: dict[str, list[str]] = {}
    lines = Path(__file__).with_name("error_texts.jsonl").read_text(encoding="utf-8").splitlines()
    for entry in map(json.loads, lines):
        texts.setdefault(entry["kind"], []).append(entry["text"])
    return texts


ERROR_TEXTS = load_error_texts()
