"""Filters that are made rather than typed: as short as they may be and still mean exactly one thing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fcreview.store.filters.tokens import HASHED_VALUE, MAX_LITERAL_LENGTH, FilterOperator, quote_or_hash, tokenize

FAILING_FILTER = "effective:fail"
_BARE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")


def build_exact_term(key: str, value: str | None, other_values: Iterable[str | None] = (), separator: str = ":") -> str:
    """A term that selects this value alone among `others`: `error:value_error:string`, quoted only where it has to be.

    Without quotation marks a value is compared without regard to case and up to a colon; for keys that compare
    beginnings (`keys.beginning`) `end` is empty.
    """
    if value is None:
        return f"{key}:none"
    low = value.lower()
    bare = len(value) <= MAX_LITERAL_LENGTH and _BARE.fullmatch(value) and low != "none" and not HASHED_VALUE.fullmatch(value)
    also = (other.lower() for other in other_values if other is not None and other != value)
    if bare and not any(other == low or other.startswith(low + separator) for other in also):
        return f"{key}:{value}"
    return f"{key}:{quote_or_hash(value)}"


def add_terms(base: str, *terms: str) -> str:
    """`base` and all the terms, none of them twice. FilterError for a base that is not a filter."""
    if not base.strip():
        return " ".join(terms)
    if any(isinstance(word, FilterOperator) and word.text == "OR" for word in tokenize(base)):
        return " ".join((f"({base.strip()})", *terms))
    held = base.split()
    return " ".join((base.strip(), *(term for term in terms if term not in held)))
