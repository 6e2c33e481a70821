"""Split a filter into tokens (terms and operators), and generate unambiguous terms. The keys need
not be known.

official:fail -reviewed (category:live_simple|live_multiple OR turns>=3) text:"celsius"
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import md5

from fcreview.errors import EXIT_USAGE_ERROR, FcreviewError

MAX_FILTER_LENGTH = 10_000  # maximum length of a filter in characters
MAX_LITERAL_LENGTH = (
    200  # Limit in characters of a generated value. Longer values are written as hashes.
)


class FilterError(FcreviewError):
    """Raised for an invalid filter.

    `position` is the offset of the error in the text, in characters.
    """

    exit_code = EXIT_USAGE_ERROR

    def __init__(self, message: str, text: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.position = position

    def message_lines(self) -> list[str]:
        return [f"--where: {self.message}", *self.format_with_caret().split("\n")]

    def format_with_caret(self) -> str:
        """Return the filter as one line, and below it a caret at the error with the message, not
        sanitized.
        """
        line = "".join(" " if character in "\t\r\n" else character for character in self.text)
        return f"{line}\n{' ' * self.position}^ {self.message}"


@dataclass(frozen=True, slots=True)
class FilterValue:
    text: str  # the value without quotation marks and escapes
    quoted: bool  # whether the value is in quotation marks, so that it matches exactly
    position: int  # offset in the filter, in characters

    @property
    def md5_digest(self) -> str | None:
        """MD5 digest in hex, if the value is a hash that `quote_or_hash` wrote; else None."""
        match = None if self.quoted else HASHED_VALUE.fullmatch(self.text)
        return match and match[1]


@dataclass(frozen=True, slots=True)
class FilterTerm:
    """A term such as `error:a|b` (key, operator, values), or a bare word, which has one value
    and no key.
    """

    key: str | None
    op: str  # `:`, `=`, `!=`, `<`, `<=`, `>` or `>=`; empty for a bare word
    values: tuple[FilterValue, ...]
    position: int  # offset in the filter, in characters


@dataclass(frozen=True, slots=True)
class FilterOperator:
    """An operator: `(`, `)`, `-` or `OR`."""

    text: str
    position: int  # offset in the filter, in characters


HASHED_VALUE = re.compile("md5:([0-9a-f]{32})")
_KEY = re.compile(r"([A-Za-z_]+)(>=|<=|!=|:|=|>|<)")
_COMPARISON = re.compile(r">=|<=|!=|>|<|=")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_VALUE = re.compile(r'[^\s()"|,]+')
_BARE_WORD = re.compile(r'[^\s()"]+')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_VALUE_SEPARATORS = "|,"  # between the alternative values of a key


def tokenize(text: str) -> list[FilterTerm | FilterOperator]:
    """Split a filter into terms and operators.

    Raises FilterError if the text is invalid or too long.
    """
    _check_filter_text(text)
    tokens: list[FilterTerm | FilterOperator] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character.isspace():
            position += 1
        elif character in "()" or _is_negation(text, position):
            tokens.append(FilterOperator(character, position))
            position += 1
        else:
            token, position = _read_term(text, position)
            tokens.append(token)
    return tokens


def _check_filter_text(text: str) -> None:
    """Raise FilterError if a filter is too long or not valid Unicode."""
    if len(text) > MAX_FILTER_LENGTH:
        raise FilterError(
            f"a filter can have at most {MAX_FILTER_LENGTH:,} characters", text, MAX_FILTER_LENGTH
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FilterError(
            "this character is not valid Unicode (a lone surrogate)", text, error.start
        ) from None


def _is_negation(text: str, position: int) -> bool:
    """Whether the character is a `-` directly before a condition. Another `-` begins a word."""
    following = text[position + 1 : position + 2]
    return text[position] == "-" and following != "" and not following.isspace()


def quote(text: str) -> str:
    """Put a filter value in quotation marks, so that it matches exactly."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def quote_or_hash(text: str) -> str:
    """Return a filter value in quotation marks. A long value is replaced by its hash, `md5:` and 32
    hex digits, to shorten the filter.
    """
    if len(text) <= MAX_LITERAL_LENGTH:
        return quote(text)
    return f"md5:{md5(text.encode(), usedforsecurity=False).hexdigest()}"


def _read_term(text: str, start: int) -> tuple[FilterTerm | FilterOperator, int]:
    """Read the term or `OR` at offset `start`. Return it and the offset of its end."""
    key = _KEY.match(text, start)
    if key is None:
        return _read_bare_word(text, start)

    name, op = key.groups()
    values_start = key.end()
    if op == ":":
        # golden:>2 is the same as golden>2
        comparison = _COMPARISON.match(text, values_start)
        if comparison is not None:
            op = comparison.group()
            values_start = comparison.end()

    values, end = _read_values(text, values_start, name)
    return FilterTerm(name.lower(), op=op, values=values, position=start), end


def _read_bare_word(text: str, start: int) -> tuple[FilterTerm | FilterOperator, int]:
    """Read the word without a key, or `OR`, at offset `start`. Return it and the offset of its
    end.
    """
    value, end = _read_value(text, start, _BARE_WORD)
    if value.text in ("OR", "or") and not value.quoted:
        return FilterOperator("OR", start), end
    return FilterTerm(None, op="", values=(value,), position=start), end


def _read_values(text: str, start: int, key: str) -> tuple[tuple[FilterValue, ...], int]:
    """Read the alternatives of a key, such as `a|b`. Return them and the offset of their end."""
    value, end = _read_value(text, start, _VALUE, key)
    values = [value]
    while end < len(text) and text[end] in _VALUE_SEPARATORS:
        value, end = _read_value(text, end + 1, _VALUE, key)
        values.append(value)
    return tuple(values), end


def _read_value(
    text: str, start: int, unquoted_pattern: re.Pattern[str], key: str = ""
) -> tuple[FilterValue, int]:
    """Read the quoted or unquoted value at offset `start`. Return it and the offset of its end.

    `key` is for the error message, empty for a bare word.
    """
    if text.startswith('"', start):
        quoted = _QUOTED.match(text, start)
        if quoted is None:
            raise FilterError("unclosed quotation mark", text, start)
        unescaped = _ESCAPE.sub(r"\1", quoted[1])
        return FilterValue(unescaped, quoted=True, position=start), quoted.end()

    unquoted = unquoted_pattern.match(text, start)
    if unquoted is None:
        message = f"{key}: a value is missing here" if key else "a word is missing here"
        raise FilterError(message, text, start)
    return FilterValue(unquoted.group(), quoted=False, position=start), unquoted.end()


FAILING_FILTER = "effective:fail"
_NEEDS_NO_QUOTES = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")


class ExactTermBuilder:
    """Builds filter terms of one key. Each term matches exactly one value, and has quotation marks
    only if needed.

    An unquoted value ignores case, and also matches longer values that continue with `separator`:
    `error:value_error` matches `value_error:string`. Pass an empty separator for keys that compare
    with `compare_leading_words`.
    """

    def __init__(self, key: str, values: Iterable[str | None], separator: str = ":") -> None:
        """Args: values: all values of the key, which the terms must distinguish."""
        self._key = key
        self._separator = separator
        self._spellings: dict[str, set[str]] = {}  # lower-case value -> its spellings
        for value in values:
            if value is not None:
                self._spellings.setdefault(value.lower(), set()).add(value)
        self._sorted = sorted(self._spellings)
        self._terms: dict[str | None, str] = {}

    def build_term(self, value: str | None) -> str:
        """Build the term for a value. The term for None matches items without a value."""
        if value not in self._terms:
            self._terms[value] = self._build_uncached_term(value)
        return self._terms[value]

    def _build_uncached_term(self, value: str | None) -> str:
        """Return the filter term that matches exactly this value, such as `function:get_weather`.
        The value is quoted if it would match other values too, or means something else in a filter.
        """
        if value is None:
            return f"{self._key}:none"
        is_plain = (
            len(value) <= MAX_LITERAL_LENGTH and _NEEDS_NO_QUOTES.fullmatch(value) is not None
        )
        is_special = value.lower() == "none" or HASHED_VALUE.fullmatch(value) is not None
        if is_plain and not is_special and not self._matches_other_values(value):
            return f"{self._key}:{value}"
        return f"{self._key}:{quote_or_hash(value)}"

    def _matches_other_values(self, value: str) -> bool:
        """Whether the unquoted value would also match another value of the key."""
        lower = value.lower()
        other_spellings = self._spellings.get(lower, set()) - {value}
        if other_spellings:
            return True

        # Longer values with this prefix follow directly at its place in sorted order.
        prefix = lower + self._separator
        position = bisect_left(self._sorted, prefix)
        is_value_itself = self._sorted[position : position + 1] == [lower]
        if is_value_itself:
            # This is so with an empty separator.
            position += 1
        return position < len(self._sorted) and self._sorted[position].startswith(prefix)


def add_terms(base_filter: str, *terms: str) -> str:
    """Add the terms that `base_filter` does not contain yet.

    Raises: FilterError if `base_filter` is invalid.
    """
    base = base_filter.strip()
    if not base:
        return " ".join(terms)
    # Without parentheses, the terms would only apply to the last alternative.
    if _has_or(base_filter):
        return " ".join([f"({base})", *terms])
    existing_terms = base.split()
    new_terms = [term for term in terms if term not in existing_terms]
    return " ".join([base, *new_terms])


def _has_or(text: str) -> bool:
    operators = [token.text for token in tokenize(text) if isinstance(token, FilterOperator)]
    return "OR" in operators
