"""Filters that are made rather than typed: as short as they may be and still mean exactly one thing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fcreview.store.filters.tokens import DIGEST, LONG, Mark, only, words

FAILING = "effective:fail"
_BARE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")


def exactly(key: str, value: str | None, others: Iterable[str | None] = (), end: str = ":") -> str:
    """A term that selects this value alone among `others`: `error:value_error:string`, quoted only where it has to be.

    Without quotation marks a value is compared without regard to case and up to a colon; for keys that compare
    beginnings (`keys.beginning`) `end` is empty.
    """
    if value is None:
        return f"{key}:none"
    low = value.lower()
    bare = len(value) <= LONG and _BARE.fullmatch(value) and low != "none" and not DIGEST.fullmatch(value)
    also = (other.lower() for other in others if other is not None and other != value)
    if bare and not any(other == low or other.startswith(low + end) for other in also):
        return f"{key}:{value}"
    return f"{key}:{only(value)}"


def narrowed(base: str, *terms: str) -> str:
    """`base` and all the terms, none of them twice. FilterError for a base that is not a filter."""
    if not base.strip():
        return " ".join(terms)
    if any(isinstance(word, Mark) and word.text == "OR" for word in words(base)):
        return " ".join((f"({base.strip()})", *terms))
    held = base.split()
    return " ".join((base.strip(), *(term for term in terms if term not in held)))
