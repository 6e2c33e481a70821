"""The union of two files of errata: every correction and rule once; what contradicts each other is told. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import orjson

from fcreview.errata.entry import Entry, Key
from fcreview.errata.file import Errata, write_errata


@dataclass(frozen=True, slots=True)
class United:
    file: bytes | None
    """All of it as one file; None if nothing is to be added."""
    new: int
    """Golden answers that were not here."""
    known: int
    """Golden answers that both have; reasons and names of either side are kept."""
    rules: int
    """Rules that were not here."""
    conflicts: tuple[Key, ...]
    """Items that the two correct otherwise, or whose question or old answer is another one: what is here stays."""


def united(here: Errata, there: Errata) -> United:
    """What `here` is with the errata of `there`. The other way round gives the same but for conflicts and order."""
    entries = dict(here.entries)
    new, known, conflicts = 0, 0, []
    for key, entry in there.entries.items():
        mine = entries.get(key)
        if mine is None:
            entries[key] = entry
            new += 1
        elif _alike(mine, entry):
            entries[key] = _both(mine, entry)
            known += 1
        else:
            conflicts.append(key)
    rules = tuple(dict.fromkeys([*here.rules, *there.rules]))
    same = [*map(_said, entries.values())] == [*map(_said, here.entries.values())] and len(rules) == len(here.rules)
    who = ", ".join(_union(here.who.split(", "), there.who.split(", ")))
    file = None if same else write_errata([*entries.values()], rules, max(here.date, there.date), who)
    return United(file, new, known, len(rules) - len(here.rules), tuple(conflicts))


def _alike(one: Entry, other: Entry) -> bool:
    """Whether both correct the same answer to the same question in the same way."""
    return [_json(each) for each in (one.question_hash, one.old, one.new)] == [
        _json(each) for each in (other.question_hash, other.old, other.new)
    ]


def _both(one: Entry, other: Entry) -> Entry:
    """With what either says of it, and the evidence of more runs."""
    return replace(
        one,
        reasons=_union(one.reasons, other.reasons),
        settled_by=_union(one.settled_by, other.settled_by),
        evidence=max(one.evidence, other.evidence, key=lambda evidence: evidence.runs),
    )


def _union(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for each in (*one, *other) if each))


def _said(entry: Entry) -> bytes:
    return _json(entry.as_json())


def _json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
