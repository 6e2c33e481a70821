"""Generate filters that are short and unambiguous for the parser."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fcreview.store.filters.tokens import HASHED_VALUE, MAX_LITERAL_LENGTH, FilterOperator, quote_or_hash, tokenize

FAILING_FILTER = "effective:fail"
_NEEDS_NO_QUOTES = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")


def build_exact_term(key: str, value: str | None, other_values: Iterable[str | None] = (), separator: str = ":") -> str:
    """Build a term that matches this value and none of `other_values`, with quotation marks only if necessary.

    An unquoted value matches without regard to case, and also matches longer values that continue with `separator`:
    `error:value_error` matches `value_error:string`. Pass an empty separator for keys that match by prefix
    (`keys.compare_prefix`).
    """
    if value is None:
        return f"{key}:none"
    lower = value.lower()
    is_plain = len(value) <= MAX_LITERAL_LENGTH and _NEEDS_NO_QUOTES.fullmatch(value) is not None
    is_special = lower == "none" or HASHED_VALUE.fullmatch(value) is not None
    others = (other.lower() for other in other_values if other is not None and other != value)
    if is_plain and not is_special and not any(o == lower or o.startswith(lower + separator) for o in others):
        return f"{key}:{value}"
    return f"{key}:{quote_or_hash(value)}"


def add_terms(base: str, *terms: str) -> str:
    """Add terms that the filter does not contain yet. Raises: FilterError if `base` is invalid."""
    if not base.strip():
        return " ".join(terms)
    if any(isinstance(token, FilterOperator) and token.text == "OR" for token in tokenize(base)):
        return " ".join((f"({base.strip()})", *terms))
    existing = base.split()
    return " ".join((base.strip(), *(term for term in terms if term not in existing)))
