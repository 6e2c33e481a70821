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


_TOKENS = [
    (b"sk-", rb"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    (b"hf_", rb"hf_[A-Za-z0-9]{30,}"),
    (b"AKIA", rb"AKIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
    (b"AIza", rb"AIza[A-Za-z0-9_-]{35}"),
    *((b"gh" + kind + b"_", b"gh" + kind + rb"_[A-Za-z0-9]{36,}") for kind in (b"o", b"p", b"s", b"u", b"r")),
    (b"github_pat_", rb"github_pat_[A-Za-z0-9_]{22,}"),
    (b"xox", rb"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    (b"earer ", rb"(earer )(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{16,}=*"),
    (b"PRIVATE KEY-----", rb"(PRIVATE KEY-----)[A-Za-z0-9+/=\\\snr]{40,}"),
]
"""What stands in each, which is quickly looked for, and the key whole: forms that nothing else has. Each begins with
plain letters (a form that looks back is searched for ten times slower); a group is what stays."""
_FORMS = [(part, re.compile(form)) for part, form in _TOKENS]
_any_part = re.compile(rb"sk-|hf_|AKIA|AIza|gh[opsur]_|github_pat_|xox|earer |PRIVATE KEY-----").search
"""All of these at once, which takes a quarter of the time."""
_CREDENTIAL = re.compile(
    r"(?:.*[-_ ])?(?:api[-_ ]?key|(?:access|auth|secret|private)[-_ ]?(?:key|token)|authorization|password|secret)",
    re.IGNORECASE,
)


def without_keys(text: bytes) -> bytes:
    """Text, or JSON, in which keys that are told by their form (`sk-...`, `hf_...`, `AKIA...`, `Bearer ...`) read
    `[redacted]`. Cheap enough for every item of every import."""
    if _any_part(text):
        for part, form in _FORMS:
            if part in text:
                text = form.sub(_redacted, text)
    return text


def _redacted(found: re.Match[bytes]) -> bytes:
    """Not what is the end of a longer word: `task-...`."""
    if found.re.groups:
        return found[1] + REDACTED.encode()
    before = found.string[found.start() - 1 : found.start()]
    return found[0] if before.isalnum() else REDACTED.encode()


def text_without_keys(text: str) -> str:
    return without_keys(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def without_credentials(value: Any) -> Any:
    """Settings in which whatever is named like a credential reads `[redacted]`, of any form. Not for calls: an argument
    `api_key` is what a benchmark asks for."""
    if isinstance(value, list):
        return [without_credentials(part) for part in value]
    if isinstance(value, dict):
        return {
            key: REDACTED
            if part and isinstance(part, str) and _CREDENTIAL.fullmatch(str(key))
            else without_credentials(part)
            for key, part in value.items()
        }
    return value
