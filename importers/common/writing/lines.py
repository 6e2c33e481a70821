"""JSON Lines written back: lines that stay are the same bytes, others go, come or are replaced."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Edits:
    """What becomes of the lines of a file. Lines count from 1."""

    replaced: dict[int, Any] = field(default_factory=dict)
    """Line -> its new record, or the text of its line."""
    gone: set[int] = field(default_factory=set)
    """Lines that are taken out."""
    added: list[tuple[int, Any]] = field(default_factory=list)
    """(place, record): each stands before the first line that stays and has a later place."""
    places: Mapping[int, int] = field(default_factory=dict)
    """Line -> its place among the file's records; any order of numbers will do."""

    def __bool__(self) -> bool:
        return bool(self.replaced or self.gone or self.added)


def edited(raw: bytes, edits: Edits) -> bytes:
    """The file with these edits. It ends in a line feed if it did, or was empty."""
    ends = raw.endswith(b"\n") or not raw
    lines = raw.split(b"\n") if raw else []
    if raw and ends:
        lines.pop()
    waiting = sorted(edits.added, key=lambda each: each[0])
    kept: list[bytes] = []
    for number, line in enumerate(lines, 1):
        if number in edits.gone:
            continue
        while waiting and number in edits.places and waiting[0][0] < edits.places[number]:
            kept.append(as_line(waiting.pop(0)[1]))
        kept.append(as_line(edits.replaced[number], line) if number in edits.replaced else line)
    kept += [as_line(record) for _, record in waiting]
    return b"\n".join(kept) + (b"\n" if ends and kept else b"")


def as_line(record: Any, like: bytes = b"") -> bytes:
    """A record as `json.dumps` writes it, which all five benchmarks use. `like` is the line before: where it escapes
    what is not ASCII, so does this, and it ends as that does."""
    escapes = like.isascii() and b"\\u" in like
    text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=escapes)
    return text.encode("utf-8", "backslashreplace") + (b"\r" if like.endswith(b"\r") else b"")


def numbered(raw: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, record) of every line that is a JSON object, by Python's own reader: what is written back of a line keeps
    its numbers as they are."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            value = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield number, value


def first_line(raw: bytes) -> int:
    """That of the header: the first that is not blank."""
    return next((number for number, line in enumerate(raw.split(b"\n"), 1) if line.strip()), 1)


def counted(
    header: dict[str, Any], gained: int, *, digits: int | None = None, rate: str = "accuracy"
) -> dict[str, Any]:
    """A score file's header with so many more (fewer) items right: `correct_count`, and `rate` of them."""
    total, before = header.get("total_count"), header.get("correct_count")
    if not isinstance(total, int) or not isinstance(before, int):
        return header
    correct = before + gained
    share = correct / total if total else 0.0
    return header | {rate: share if digits is None else round(share, digits), "correct_count": correct}


def in_order(names: Sequence[str]) -> dict[str, int]:
    """Name -> place."""
    return {name: place for place, name in enumerate(names)}
