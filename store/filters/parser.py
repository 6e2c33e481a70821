"""The filter language of the queue's filter line and of `--where`.

    official:fail -reviewed category:live_simple error:value_error text:"celsius" golden>2 (turns>=3 OR issues)

Terms are joined by "and"; `OR` and parentheses group; `-` negates. `key:a|b` (or `a,b`) is either. A value without
quotation marks ignores case, may hold `*`, and `none` is empty; in quotation marks it stands for itself. A bare word is
looked for in id and question. Numbers: `golden>2`, `latency<=2.5`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field

from fcreview.store.filters.keys import FILTER_FLAGS, FILTER_KEYS, InvalidValueError, SqlCondition
from fcreview.store.filters.tokens import FilterError, FilterOperator, FilterTerm, quote, tokenize

__all__ = ["FilterCondition", "FilterError", "list_key_values", "list_filter_help", "parse_filter", "quote"]

MAX_VALUES = 200
MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class FilterCondition:
    """A condition over `item_rows i LEFT JOIN human h ON h.item = i.item`."""

    where: str = "true"
    params: list[object] = field(default_factory=list)
    """Values of the question marks in `where`, in order."""
    depends_on_reviews: bool = False
    """Depends on reviews."""


def parse_filter(text: str, *, blind: bool = False) -> FilterCondition:
    """The filter's SQL. FilterError, with the place, for what is not understood; blind, for what tells verdicts."""
    return _Parser(text, blind).filter()


def list_filter_help(*, blind: bool = False) -> list[tuple[str, str]]:
    """(key or flag, what it means), for help screens and completion."""
    keys = [(f"{name}:", key.help) for name, key in FILTER_KEYS.items() if not (blind and key.shows_verdict)]
    return keys + [(name, flag[1]) for name, flag in FILTER_FLAGS.items() if not (blind and flag[2])]


def list_key_values(key: str, *, blind: bool = False) -> Sequence[str]:
    """The values that a key may have, where that is fixed."""
    found = FILTER_KEYS.get(key)
    return found.choices if found is not None and not (blind and found.shows_verdict) else ()


class _Parser:
    def __init__(self, text: str, blind: bool) -> None:
        self._text = text
        self._blind = blind
        self._words = tokenize(text)
        self._at = 0
        self._reviews = False
        terms = [word for word in self._words if isinstance(word, FilterTerm)]
        if sum(len(term.values) for term in terms) > MAX_VALUES:
            raise self._error(f"more than {MAX_VALUES} words", terms[-1].position)

    def filter(self) -> FilterCondition:
        if not self._words:
            return FilterCondition()
        where, params = self._either(0)
        if self._at < len(self._words):
            raise self._error("this parenthesis was never opened", self._words[self._at].position)
        return FilterCondition(where, params, self._reviews)

    def _either(self, depth: int) -> SqlCondition:
        parts = [self._all(depth)]
        while self._mark("OR"):
            self._at += 1
            parts.append(self._all(depth))
        return _join(" OR ", parts)

    def _all(self, depth: int) -> SqlCondition:
        parts = []
        while self._at < len(self._words) and not self._mark("OR", ")"):
            parts.append(self._one(depth))
        if not parts:
            raise self._error("a condition is missing here", self._position())
        return _join(" AND ", parts)

    def _one(self, depth: int) -> SqlCondition:
        if depth > MAX_DEPTH:
            raise self._error("nested too deeply", self._position())
        word = self._words[self._at] if self._at < len(self._words) else None
        if word is None or (isinstance(word, FilterOperator) and word.text in (")", "OR")):
            raise self._error("a condition is missing here", self._position())
        self._at += 1
        if isinstance(word, FilterTerm):
            return self._term(word)
        if word.text == "-":
            where, params = self._one(depth + 1)
            return f"NOT coalesce({where}, false)", params
        inner = self._either(depth + 1)
        if not self._mark(")"):
            raise self._error("this parenthesis is never closed", word.position)
        self._at += 1
        return inner

    def _term(self, term: FilterTerm) -> SqlCondition:
        if term.key is None:
            return self._bare(term)
        key = FILTER_KEYS.get(term.key)
        if key is None:
            raise self._error(_unknown(term.key), term.position)
        if self._blind and key.shows_verdict:
            raise self._hidden(term.key, term.position)
        self._reviews |= key.depends_on_reviews
        try:
            return key.build(term)
        except InvalidValueError as problem:
            raise self._error(f"{term.key}: {problem}", problem.value.position) from None

    def _bare(self, term: FilterTerm) -> SqlCondition:
        value = term.values[0]
        flag = None if value.quoted else FILTER_FLAGS.get(value.text.lower())
        if flag is None:
            found = "(contains(lower(i.id), lower(?)) OR contains(lower(i.question), lower(?)))"
            return found, [value.text, value.text]
        if self._blind and flag[2]:
            raise self._hidden(value.text, term.position)
        self._reviews |= flag[3]
        return f"({flag[0]})", []

    def _mark(self, *texts: str) -> bool:
        word = self._words[self._at] if self._at < len(self._words) else None
        return isinstance(word, FilterOperator) and word.text in texts

    def _position(self) -> int:
        return self._words[self._at].position if self._at < len(self._words) else len(self._text)

    def _hidden(self, name: str, position: int) -> FilterError:
        return self._error(f"{name} is hidden in blind mode: it would tell what others found", position)

    def _error(self, message: str, position: int) -> FilterError:
        return FilterError(message, self._text, position)


def _join(word: str, parts: list[SqlCondition]) -> SqlCondition:
    if len(parts) == 1:
        return parts[0]
    return "(" + word.join(where for where, _ in parts) + ")", [value for _, values in parts for value in values]


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, [*FILTER_KEYS, *FILTER_FLAGS], n=1, cutoff=0.6)
    if near:
        return f"there is no key {name}; did you mean {near[0]}{':' if near[0] in FILTER_KEYS else ''}?"
    return f"there is no key {name}; keys are {', '.join(FILTER_KEYS)}"
