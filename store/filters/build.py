"""Generate filters that are short and unambiguous for the parser."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

from fcreview.store.filters.tokens import HASHED_VALUE, MAX_LITERAL_LENGTH, FilterOperator, quote_or_hash, tokenize

FAILING_FILTER = "effective:fail"
_NEEDS_NO_QUOTES = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")


class ExactTermBuilder:
    """Builds filter terms of one key. Each term matches exactly one value, with quotation marks only if necessary.

    An unquoted value ignores case, and also matches longer values that continue with `separator`: `error:value_error`
    matches `value_error:string`. Pass an empty separator for keys that match by prefix (`keys.compare_prefix`).
    """

    def __init__(self, key: str, values: Iterable[str | None], separator: str = ":") -> None:
        """`values`: all values of the key that the terms must distinguish."""
        self._key, self._separator = key, separator
        self._spellings: dict[str, set[str]] = {}
        """Lower-case value -> all spellings of the value, which differ in case only."""
        for value in values:
            if value is not None:
                self._spellings.setdefault(value.lower(), set()).add(value)
        self._sorted = sorted(self._spellings)
        self._terms: dict[str | None, str] = {}

    def build(self, value: str | None) -> str:
        """Build the term for a value. The term for None matches items without a value."""
        if value not in self._terms:
            self._terms[value] = self._build(value)
        return self._terms[value]

    def _build(self, value: str | None) -> str:
        if value is None:
            return f"{self._key}:none"
        is_plain = len(value) <= MAX_LITERAL_LENGTH and _NEEDS_NO_QUOTES.fullmatch(value) is not None
        is_special = value.lower() == "none" or HASHED_VALUE.fullmatch(value) is not None
        if is_plain and not is_special and not self._matches_other(value):
            return f"{self._key}:{value}"
        return f"{self._key}:{quote_or_hash(value)}"

    def _matches_other(self, value: str) -> bool:
        lower = value.lower()
        if self._spellings.get(lower, set()) - {value}:
            return True
        prefix = lower + self._separator
        at = bisect_left(self._sorted, prefix)
        return any(other.startswith(prefix) and other != lower for other in self._sorted[at : at + 2])


def add_terms(base: str, *terms: str) -> str:
    """Add the terms that the filter `base` does not contain yet. Raises: FilterError if `base` is invalid."""
    if not base.strip():
        return " ".join(terms)
    if any(isinstance(token, FilterOperator) and token.text == "OR" for token in tokenize(base)):
        return " ".join((f"({base.strip()})", *terms))
    existing = base.split()
    return " ".join((base.strip(), *(term for term in terms if term not in existing)))
