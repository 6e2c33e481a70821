"""Third-party API keys in text: the published questions and scores of some benchmarks carry real ones."""

from __future__ import annotations

import re
from typing import Any

REDACTED = "[redacted]"

_NAME = r"(?:x-rapidapi-key|api[-_ ]?key|access[-_](?:key|token)|auth[-_]token|app[-_]?id|token|secret|key)"
_KEY = re.compile(_NAME, re.IGNORECASE)
_NAMED = re.compile(
    r"(?P<name>(?:\b|[-_\\\"'])"
    + _NAME
    + r"\b\\?[\"']?\s*(?:[:=]|is|of)\s*\\?[\"'`]?)(?P<value>(?=\S*\d)[A-Za-z0-9._~+/-]{6,}=*)",
    re.IGNORECASE,
)
_LONG = re.compile(r"(?<![\w/.%-])(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z0-9_-]{24,}(?![\w/%-])")


def redact(value: Any) -> Any:
    """A copy in which values of key-like names, `name=value` texts and long random tokens read `[redacted]`."""
    if isinstance(value, str):
        return _LONG.sub(REDACTED, _NAMED.sub(lambda match: match["name"] + REDACTED, value))
    if isinstance(value, list):
        return [redact(part) for part in value]
    if isinstance(value, dict):
        return {key: REDACTED if _is_secret(key, part) else redact(part) for key, part in value.items()}
    return value


def _is_secret(key: Any, part: Any) -> bool:
    """A key-like name with a text value of some length: `"api_key": "0a1b..."`, but not a parameter's document."""
    return isinstance(part, str) and len(part) >= 6 and " " not in part and _KEY.fullmatch(str(key)) is not None
