"""Whether two files mean the same question, golden answer or reply."""

from __future__ import annotations

import re
from typing import Any

from fcreview.importers.bfcl.dataset import as_json, as_turns, text_of

KEY = re.compile(r"\[redacted\]|<?\b(?:YOUR|MY|INSERT|THE)?[-_ ]?(?:RAPID|X)?[-_ ]?API[-_ ]?KEY\b>?", re.IGNORECASE)
"""What stands for a key that is not published: it differs between versions of a dataset, and says nothing."""


def same_question(turns: list[list[dict[str, Any]]], question: Any) -> bool:
    """Whether a dataset's question and an embedded one end in the same user messages, turn by turn.

    System messages are left out: runners prepend their own. A turn that reveals functions is empty in the dataset.
    """
    asked = as_turns(question)
    if asked == turns:
        return True
    ours, theirs = _said(turns), _said(asked)
    return len(ours) == len(theirs) and all(
        not a or a == b or plain(a) == plain(b) for a, b in zip(ours, theirs, strict=True)
    )


def same_answer(ours: Any, theirs: Any) -> bool:
    """Whether two golden answers are the same but for keys."""
    return bool(ours == theirs) or plain(as_json(ours)) == plain(as_json(theirs))


def same_reply(copy: Any, result: Any) -> bool:
    """Whether a score entry quotes this result: as it is, or, where it had the wrong format, Python's text of it."""
    if copy == result:
        return True
    if isinstance(copy, str) and not isinstance(result, str):
        return copy == str(result)
    return plain(as_json(copy)) == plain(as_json(result))


def plain(text: str) -> str:
    """The text without keys and what stands for them."""
    return KEY.sub("KEY", text) if "key" in text.lower() or "[redacted]" in text else text


def _said(turns: list[list[dict[str, Any]]]) -> list[str]:
    found = []
    for turn in turns:
        texts = [text_of(part.get("content")) for part in turn if part.get("role") == "user"]
        found.append(texts[-1] if texts else "")
    return found
