"""Damage of any JSON file: values of wrong types, and damaged bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

ODD: dict[str, Any] = {
    "null": None,
    "a number": 5,
    "text": "x",
    "a list": [1],
    "an object": {"a": 1},
    "true": True,
    "a huge number": 10**400,
    "nested lists": [[[[1]]]],
    "control characters": "\x1b[2J\u202e",
}
ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda raw: b"",
    "cut at two thirds": lambda raw: raw[: len(raw) * 2 // 3],
    "cut at the end": lambda raw: raw[:-3],
    "a byte order mark": lambda raw: b"\xef\xbb\xbf" + raw,
    "UTF-16": lambda raw: raw.decode().encode("utf-16"),
    "Windows line ends": lambda raw: (
        json.dumps(json.loads(raw), indent=1).replace("\n", "\r\n").encode()
    ),
    "text after the end": lambda raw: raw + b"}{",
}
