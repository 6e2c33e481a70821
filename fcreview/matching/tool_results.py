"""Read facts from the results of calls: whether a call was refused, and the names of the objects that have an id."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fcreview.model.json_value import is_nested_deeper

MAX_RESULT_LENGTH = 1_000_000
"""Maximum number of characters of a result that is parsed."""
MAX_LEVELS = 50
"""Maximum nesting, in levels, of a result that is read."""
_REFUSAL = re.compile(
    r"""\s*(?:error\b|exception\b|traceback\b|invalid\b|status: False\b|\{\s*['"]error['"])""", re.IGNORECASE
)
_WORD = re.compile(r"[a-z0-9]+")


def is_refused(result: str) -> bool:
    """Whether a result reports that the call was refused.

    tau-bench writes `Error: ...`, BFCL `{"error": ...}`, ACEBench `status: False`.
    """
    return _REFUSAL.match(result) is not None


def words(text: str) -> set[str]:
    """Return the words of a text in lower case, without the plural s."""
    return {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in _WORD.findall(text.lower())}


@dataclass(slots=True)
class Description:
    """Name and options of an object with an id, as results state them."""

    name: str = ""
    """Name of the object; empty if no result states one."""
    options: tuple[str, ...] = ()
    """Values that distinguish the object from others of the same kind: `black`, `512GB`."""


@dataclass(slots=True)
class Descriptions:
    """Descriptions of objects by id, collected from the results of calls."""

    by_id: dict[str, Description] = field(default_factory=dict)

    def add_results(self, results: Iterable[str]) -> None:
        for text in results:
            if len(text) <= MAX_RESULT_LENGTH and text.lstrip()[:1] in ("{", "["):
                try:
                    value = json.loads(text)
                except (ValueError, RecursionError):
                    continue
                if not is_nested_deeper(value, MAX_LEVELS):
                    self._add(value)

    def _add(self, value: Any) -> None:
        if isinstance(value, list):
            for each in value:
                self._add(each)
        if not isinstance(value, dict):
            return
        name = value.get("name")
        name = name if isinstance(name, str) else ""
        for identifier in _own_ids(value):
            known = self.by_id.setdefault(identifier, Description())
            known.name = known.name or name
            known.options = known.options or _options(value)
        for each in value.values():
            self._add(each)

    def is_known(self, identifier: str) -> bool:
        """Whether a result states a name or options of the object with this id."""
        known = self.by_id.get(identifier)
        return known is not None and bool(known.name or known.options)

    def is_named(self, identifier: str, user_words: set[str]) -> bool:
        """Whether a text, given as its set of words, contains a word of the object's name or all options of the
        object."""
        known = self.by_id.get(identifier)
        if known is None:
            return False
        if known.name and words(known.name) & user_words:
            return True
        return bool(known.options) and all(words(option) <= user_words for option in known.options)


def _own_ids(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the value of `item_id`, or of `id` and `NAME_id` if there is only one of these."""
    names = [name for name in value if name == "id" or name.endswith("_id")]
    chosen = ["item_id"] if "item_id" in names else names if len(names) == 1 else []
    yield from (value[name] for name in chosen if isinstance(value[name], str))


def _options(value: Mapping[str, Any]) -> tuple[str, ...]:
    options = value.get("options")
    return tuple(each for each in options.values() if isinstance(each, str)) if isinstance(options, dict) else ()
