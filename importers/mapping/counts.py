"""Count how often each key of a mapping was found, and what else happened."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.mapping.files import MappedRecord

MAX_NAMED_KEYS = 3
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True)
class KeyCount:
    """How many items have a usable value for one key, and how many have none."""

    n_found: int = 0
    n_missing: int = 0
    others: Counter[str] = field(default_factory=Counter)
    """Number of values by what is wrong with them. They count as missing, too."""
    first_place: str = ""
    """Place of the first missing or wrong value: `FILE:LINE`."""


@dataclass(slots=True)
class JoinCount:
    """How rows of a join and items found each other."""

    n_rows: int = 0
    rows_without_item: list[str] = field(default_factory=list)
    """Keys of rows to which no item belongs."""
    items_without_row: list[str] = field(default_factory=list)


@dataclass(slots=True)
class MappingCounts:
    """Counts of all keys and joins of a mapping, over the items that were read."""

    n_items: int = 0
    keys: dict[str, KeyCount] = field(default_factory=dict)
    joins: dict[str, JoinCount] = field(default_factory=dict)
    known_fields: set[str] = field(default_factory=set)
    """Names of fields in the first item, to say what a missing key may mean."""

    def add_found(self, key: str) -> None:
        self._get(key).n_found += 1

    def add_missing(self, key: str, record: MappedRecord) -> None:
        count = self._get(key)
        count.n_missing += 1
        count.first_place = count.first_place or format_place(record)

    def add_other(self, key: str, kind: str, record: MappedRecord) -> None:
        count = self._get(key)
        if not count.others:
            count.first_place = format_place(record)
        count.others[kind] += 1
        count.n_missing += 1

    def _get(self, key: str) -> KeyCount:
        return self.keys.setdefault(key, KeyCount())


def format_place(record: MappedRecord) -> str:
    return f"{record.file.name}:{record.line}"


def collect_field_names(value: Any, depth: int = 2) -> set[str]:
    """Return the names of fields in an object, down to a depth."""
    names: set[str] = set()
    for name, part in as_object(value).items():
        names.add(str(name))
        if depth > 1:
            names |= collect_field_names(part, depth - 1)
    return names


def suggest_fields(path: str, known_fields: Sequence[str]) -> str:
    """Return a sentence with fields that a path may mean: ` Did you mean attempt?`."""
    last_name = _normalize_name(path.rpartition(".")[2].strip('"'))
    # Names that differ only in case or outer spaces, such as ID, are the nearest ones.
    same = [name for name in known_fields if _normalize_name(name) == last_name]
    near = same or difflib.get_close_matches(last_name, known_fields, n=MAX_NAMED_KEYS)
    if not near:
        return ""
    written = [name if _PLAIN_NAME.fullmatch(name) else json.dumps(name) for name in near]
    return f". Did you mean {' or '.join(written[:MAX_NAMED_KEYS])}?"


def _normalize_name(name: str) -> str:
    return name.strip().casefold()
