"""Parse the filter language, which the filter line of the queue and the option `--where` use.

    official:fail -reviewed category:live_simple error:value_error text:"celsius" golden>2 (turns>=3 OR issues)

Terms are combined with "and". `OR` and parentheses group terms, and `-` negates a term. `key:a|b` and `key:a,b` match
both values. An unquoted value ignores case; `*` in it matches any characters, and `none` matches an empty field. A
quoted value matches exactly. A bare word is searched for in the id and the question. Numbers are compared as in
`golden>2` and `latency<=2.5`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field

from fcreview.store.filters.keys import FILTER_FLAGS, FILTER_KEYS, InvalidValueError, SqlCondition
from fcreview.store.filters.tokens import FilterError, FilterOperator, FilterTerm, quote, tokenize

__all__ = ["FilterCondition", "FilterError", "list_filter_help", "list_key_values", "parse_filter", "quote"]

MAX_VALUES = 200
MAX_DEPTH = 40  # maximum depth of nested parentheses and negations


@dataclass(frozen=True, slots=True)
class FilterCondition:
    where: str = "true"  # condition over `item_rows i LEFT JOIN human h ON h.item = i.item`
    params: list[object] = field(default_factory=list)  # values of the question marks in `where`, in order
    depends_on_reviews: bool = False


def parse_filter(text: str, *, blind: bool = False) -> FilterCondition:
    """Translate a filter to SQL. Raises FilterError if it is invalid or, in blind mode, if it reveals verdicts."""
    return _Parser(text, blind).parse()


def list_filter_help(*, blind: bool = False) -> list[tuple[str, str]]:
    """Return (key with `:`, or flag; help text) for each key and flag of the filter language."""
    keys = [(f"{name}:", key.help) for name, key in FILTER_KEYS.items() if not (blind and key.shows_verdict)]
    return keys + [(name, flag.help) for name, flag in FILTER_FLAGS.items() if not (blind and flag.shows_verdict)]


def list_key_values(key: str, *, blind: bool = False) -> Sequence[str]:
    """Return the allowed values of a key; empty if the key has no fixed values."""
    filter_key = FILTER_KEYS.get(key)
    return filter_key.choices if filter_key is not None and not (blind and filter_key.shows_verdict) else ()


class _Parser:
    """Recursive-descent parser of one filter."""

    def __init__(self, text: str, blind: bool) -> None:
        self._text = text
        self._blind = blind
        self._tokens = tokenize(text)
        self._index = 0
        self._depends_on_reviews = False
        terms = [token for token in self._tokens if isinstance(token, FilterTerm)]
        if sum(len(term.values) for term in terms) > MAX_VALUES:
            raise self._error(f"more than {MAX_VALUES} values", terms[-1].position)

    def parse(self) -> FilterCondition:
        if not self._tokens:
            return FilterCondition()
        where, params = self._parse_or(0)
        if self._index < len(self._tokens):
            raise self._error("unmatched closing parenthesis", self._position())
        return FilterCondition(where, params, self._depends_on_reviews)

    def _parse_or(self, depth: int) -> SqlCondition:
        parts = [self._parse_and(depth)]
        while self._next_is("OR"):
            self._index += 1
            parts.append(self._parse_and(depth))
        return _join(" OR ", parts)

    def _parse_and(self, depth: int) -> SqlCondition:
        parts = []
        while self._index < len(self._tokens) and not self._next_is("OR", ")"):
            parts.append(self._parse_condition(depth))
        if not parts:
            raise self._error("a condition is missing here", self._position())
        return _join(" AND ", parts)

    def _parse_condition(self, depth: int) -> SqlCondition:
        if depth > MAX_DEPTH:
            raise self._error("nested too deeply", self._position())
        if self._index == len(self._tokens) or self._next_is(")", "OR"):
            raise self._error("a condition is missing here", self._position())
        token = self._tokens[self._index]
        self._index += 1
        if isinstance(token, FilterTerm):
            return self._build_bare_word(token) if token.key is None else self._build_term(token, token.key)
        if token.text == "-":
            where, params = self._parse_condition(depth + 1)
            return f"NOT coalesce({where}, false)", params
        condition = self._parse_or(depth + 1)
        if not self._next_is(")"):
            raise self._error("unclosed parenthesis", token.position)
        self._index += 1
        return condition

    def _build_term(self, term: FilterTerm, name: str) -> SqlCondition:
        key = FILTER_KEYS.get(name)
        if key is None:
            raise self._error(_unknown_key_message(name), term.position)
        self._check_blind(name, key.shows_verdict, term.position)
        self._depends_on_reviews |= key.depends_on_reviews
        try:
            return key.build(term)
        except InvalidValueError as error:
            raise self._error(f"{name}: {error}", error.value.position) from None

    def _build_bare_word(self, term: FilterTerm) -> SqlCondition:
        value = term.values[0]
        flag = None if value.quoted else FILTER_FLAGS.get(value.text.lower())
        if flag is None:
            where = "(contains(lower(i.id), lower(?)) OR contains(lower(i.question), lower(?)))"
            return where, [value.text, value.text]
        self._check_blind(value.text, flag.shows_verdict, term.position)
        self._depends_on_reviews |= flag.depends_on_reviews
        return f"({flag.sql})", []

    def _check_blind(self, name: str, shows_verdict: bool, position: int) -> None:
        if self._blind and shows_verdict:
            raise self._error(f"{name} is hidden in blind mode because it reveals verdicts", position)

    def _next_is(self, *operators: str) -> bool:
        token = self._tokens[self._index] if self._index < len(self._tokens) else None
        return isinstance(token, FilterOperator) and token.text in operators

    def _position(self) -> int:
        return self._tokens[self._index].position if self._index < len(self._tokens) else len(self._text)

    def _error(self, message: str, position: int) -> FilterError:
        return FilterError(message, self._text, position)


def _join(operator: str, conditions: list[SqlCondition]) -> SqlCondition:
    if len(conditions) == 1:
        return conditions[0]
    params = [value for _, values in conditions for value in values]
    return "(" + operator.join(where for where, _ in conditions) + ")", params


def _unknown_key_message(name: str) -> str:
    similar = difflib.get_close_matches(name, [*FILTER_KEYS, *FILTER_FLAGS], n=1, cutoff=0.6)
    if similar:
        return f"unknown key {name}: did you mean {similar[0]}{':' if similar[0] in FILTER_KEYS else ''}?"
    return f"unknown key {name}: use one of {', '.join(FILTER_KEYS)}"
