"""Unified diffs of files that differ in a few places, as `git apply` and `patch -p1` take them. Bytes are bytes: no
line is decoded, and only line feeds part lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CONTEXT = 3
SURE = 4
"""Equal lines after which two files are taken to be in step again."""
NO_END = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Change:
    """Lines `start` to `end` of the old file (from 0, `end` not among them) are those of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


def unified(name: str, old: bytes, new: bytes) -> bytes:
    """The diff of `name`, which uses `/`; nothing if they are the same."""
    before, after = _lines(old), _lines(new)
    changes = list(_changes(before, after))
    if not changes:
        return b""
    ours, theirs = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    head = f"diff --git {ours} {theirs}\n--- {ours}{_tab(ours)}\n+++ {theirs}{_tab(theirs)}\n"
    return head.encode("utf-8", "surrogateescape") + b"".join(_hunk(group, before, after) for group in _groups(changes))


def _quoted(name: str) -> str:
    """As git writes names: with escapes where there are marks or bytes that would end the name."""
    if not any(char in '"\\' or ord(char) < 32 or ord(char) == 127 for char in name):
        return name
    plain = name.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(f"\\{ord(char):03o}" if ord(char) < 32 or ord(char) == 127 else char for char in plain) + '"'


def _tab(name: str) -> str:
    """Behind a name with blanks, so that `patch` sees where it ends."""
    return "\t" if " " in name else ""


def _lines(raw: bytes) -> list[bytes]:
    """With their line feeds; the last may have none."""
    parts = raw.split(b"\n")
    last = parts.pop()
    return [part + b"\n" for part in parts] + ([last] if last else [])


def _changes(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Change]:
    at, there = 0, 0
    while at < len(old) or there < len(new):
        if at < len(old) and there < len(new) and old[at] == new[there]:
            at, there = at + 1, there + 1
            continue
        end, new_end = _in_step(old, new, at, there)
        yield Change(at, end, there, new_end)
        at, there = end, new_end


def _in_step(old: Sequence[bytes], new: Sequence[bytes], at: int, there: int) -> tuple[int, int]:
    """The nearest lines after a difference from which on both go alike. Files of as many lines differ line by line."""
    if len(old) == len(new) and at == there:
        end = at
        while end < len(old) and old[end] != new[end]:
            end += 1
        return end, end
    for distance in range(1, len(old) - at + len(new) - there + 1):
        for gone in range(max(0, distance - (len(new) - there)), min(distance, len(old) - at) + 1):
            ours = old[at + gone : at + gone + SURE]
            theirs = new[there + distance - gone : there + distance - gone + SURE]
            if ours == theirs:
                return at + gone, there + distance - gone
    return len(old), len(new)


def _groups(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Changes whose context would overlap stand in one hunk."""
    group: list[Change] = []
    for change in changes:
        if group and change.start - group[-1].end > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    yield group


def _hunk(group: Sequence[Change], old: Sequence[bytes], new: Sequence[bytes]) -> bytes:
    first, last = group[0], group[-1]
    lead = min(CONTEXT, first.start)
    start, end = first.start - lead, min(len(old), last.end + CONTEXT)
    new_start, new_end = first.new_start - lead, last.new_end + end - last.end
    body: list[bytes] = []
    at = start
    for change in group:
        body += [b" " + line for line in old[at : change.start]]
        body += [b"-" + line for line in old[change.start : change.end]]
        body += [b"+" + line for line in new[change.new_start : change.new_end]]
        at = change.end
    body += [b" " + line for line in old[at:end]]
    head = f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@\n".encode()
    return head + b"".join(line if line.endswith(b"\n") else line + b"\n" + NO_END for line in body)


def _range(start: int, end: int) -> str:
    """As diff counts: from 1, the line before if there are none."""
    return f"{start + (end > start)},{end - start}"
