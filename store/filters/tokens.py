"""Cuts a filter into words. Nothing here knows what the words mean.

official:fail -reviewed (category:live_simple|live_multiple OR turns>=3) text:"celsius"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import md5

from fcreview.errors import EXIT_USAGE_ERROR, FcreviewError

MAX_FILTER_LENGTH = 10_000
"""Characters of a filter."""
MAX_LITERAL_LENGTH = 200
"""Characters of a value that a made filter has as it is."""


class FilterError(FcreviewError):
    """A filter that cannot be understood. `position` counts characters from 0; `caret()` shows the place."""

    code = EXIT_USAGE_ERROR

    def __init__(self, message: str, text: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.position = position

    def message_lines(self) -> list[str]:
        return [f"--where: {self.message}", *self.format_caret().split("\n")]

    def format_caret(self) -> str:
        """Two lines: the filter, and below it a caret at the place with the message. For a fixed-width screen.

        The filter is shown as it was typed: draw it through `sanitise`, as any other text from outside.
        """
        line = "".join(" " if character in "\t\r\n" else character for character in self.text)
        return f"{line}\n{' ' * self.position}^ {self.message}"


@dataclass(frozen=True, slots=True)
class FilterValue:
    text: str
    quoted: bool
    """Then it stands for itself: exactly this, no `*`, no `none`."""
    position: int

    @property
    def md5_digest(self) -> str | None:
        """Of the text that it stands for, if it is one that `only` made."""
        found = None if self.quoted else HASHED_VALUE.fullmatch(self.text)
        return found and found[1]


@dataclass(frozen=True, slots=True)
class FilterTerm:
    """`key op values`, or a bare word if `key` is None (then there is one value)."""

    key: str | None
    op: str
    """`:`, `=`, `!=`, `<`, `<=`, `>` or `>=`; empty for a bare word."""
    values: tuple[FilterValue, ...]
    position: int


@dataclass(frozen=True, slots=True)
class FilterOperator:
    """`(`, `)`, `-` or `OR`."""

    text: str
    position: int


HASHED_VALUE = re.compile("md5:([0-9a-f]{32})")
_KEY = re.compile(r"([A-Za-z_]+)(>=|<=|!=|:|=|>|<)")
_OPERATOR = re.compile(r">=|<=|!=|>|<|=")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_PLAIN = re.compile(r'[^\s()"|,]+')
_PLAIN_WORD = re.compile(r'[^\s()"]+')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def tokenize(text: str) -> list[FilterTerm | FilterOperator]:
    """The words in order. FilterError for open quotes, missing values and text that is not Unicode."""
    if len(text) > MAX_FILTER_LENGTH:
        raise FilterError(f"a filter may have {MAX_FILTER_LENGTH:,} characters at most", text, MAX_FILTER_LENGTH)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FilterError("this character is half of a pair and cannot be searched for", text, error.start) from None
    found: list[FilterTerm | FilterOperator] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character.isspace():
            at += 1
        elif character in "()":
            found.append(FilterOperator(character, at))
            at += 1
        elif character == "-" and at + 1 < len(text) and not text[at + 1].isspace():
            found.append(FilterOperator("-", at))
            at += 1
        else:
            word, at = _word(text, at)
            found.append(word)
    return found


def quote(text: str) -> str:
    """A value that stands for exactly `text`."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def quote_or_hash(text: str) -> str:
    """As `quote`; of a long text `md5:` and 32 hex digits, so that no filter of one value is too long."""
    if len(text) <= MAX_LITERAL_LENGTH:
        return quote(text)
    return f"md5:{md5(text.encode(), usedforsecurity=False).hexdigest()}"


def _word(text: str, at: int) -> tuple[FilterTerm | FilterOperator, int]:
    start = at
    key = _KEY.match(text, at)
    if key is None:
        pattern = _QUOTED if text[at] == '"' else _PLAIN_WORD
        value, at = _value(text, at, pattern)
        if value.text in ("OR", "or") and not value.quoted:
            return FilterOperator("OR", start), at
        return FilterTerm(None, "", (value,), start), at
    op, at = key[2], key.end()
    if op == ":" and (operator := _OPERATOR.match(text, at)):  # golden:>2
        op, at = operator[0], operator.end()
    values = []
    while True:
        value, at = _value(text, at, _PLAIN, key[1])
        values.append(value)
        if at < len(text) and text[at] in "|,":
            at += 1
        else:
            return FilterTerm(key[1].lower(), op, tuple(values), start), at


def _value(text: str, at: int, plain: re.Pattern[str], key: str = "") -> tuple[FilterValue, int]:
    if text[at : at + 1] == '"':
        found = _QUOTED.match(text, at)
        if found is None:
            raise FilterError("this quotation mark is never closed", text, at)
        return FilterValue(_ESCAPE.sub(r"\1", found[1]), True, at), found.end()
    found = plain.match(text, at)
    if found is None:
        raise FilterError(f"{key}: needs a value" if key else "a word is missing here", text, at)
    return FilterValue(found[0], False, at), found.end()
