"""Sanitize text from data files: it cannot move the cursor or reorder, hide or overlap other text
on a terminal, and `[redacted]` replaces API keys, because the published questions and scores of
some benchmarks contain real keys.

On the screen, a visible symbol replaces every character that could be invisible or misleading.
Stored text does not change.

| in the data | on the screen |
|---|---|
| C0 control, DEL | its control picture, such as `␛`; `⏎` for a newline |
| blank other than the space and the ideographic space (no-break, thin ...) | `⍽` |
| C1 control, bidi, zero-width, variation selector, tag, surrogate, private use, unassigned | `‹U+202E›` |
| character that terminals draw with different widths (skin tone, enclosing mark, hexagram) | `‹U+1F3FD›` |
| regional indicators (flag) | their letters, `‹DE›` |
| combining mark without a base, or after four others on one base | `‹U+0301›` |
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

from fcreview.model.json_value import to_plain_json

MAX_MARKS = 4
TAB_STOP = 4

# Characters in these ranges are assigned and visible, need no base, and have the same width on all
# terminals. Nearly all texts contain only such characters, as a single search shows. Only
# characters outside the ranges are examined.
PLAIN_RANGES = (
    *((0x20, 0x7E), (0xA1, 0xAC), (0xAE, 0x2FF)),  # Latin
    *((0x391, 0x3A1), (0x3A3, 0x482), (0x48A, 0x52F)),  # Greek, Cyrillic
    # Hebrew, Arabic, Vietnamese
    *(
        (0x5D0, 0x5EA),
        (0x620, 0x64A),
        (0x660, 0x66F),
        (0x671, 0x6D5),
        (0x1E00, 0x1EFF),
    ),
    # punctuation, currency
    *(
        (0x2010, 0x2027),
        (0x2030, 0x205E),
        (0x2074, 0x208E),
        (0x20A0, 0x20BF),
    ),
    # symbols, boxes
    *(
        (0x2100, 0x218B),
        (0x2190, 0x2426),
        (0x2460, 0x262F),
        (0x2638, 0x2689),
        (0x2690, 0x2B73),
    ),
    # kana, bopomofo
    *(
        (0x3000, 0x3029),
        (0x3030, 0x303E),
        (0x3041, 0x3096),
        (0x309B, 0x30FF),
        (0x3105, 0x312E),
    ),
    # Han, Hangul
    *(
        (0x3131, 0x3163),
        (0x3220, 0x32FE),
        (0x3300, 0x4DB5),
        (0x4E00, 0x9FEA),
        (0xAC00, 0xD7A3),
    ),
    # full and half width forms
    *(
        (0xF900, 0xFA6D),
        (0xFE30, 0xFE52),
        (0xFF01, 0xFF9D),
        (0xFFE0, 0xFFE6),
    ),
    *((0x1F300, 0x1F3FA), (0x1F400, 0x1F64F)),  # emoji
)
_NOT_PLAIN = re.compile(
    "[^" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in PLAIN_RANGES) + "]+"
)
# letters and marks that are invisible, although their Unicode category does not say so
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
_UNSTABLE_WIDTH = re.compile(  # width differs between Unicode versions or terminals
    "[\u2630-\u2637\u268a-\u268f\u4dc0-\u4dff\U00016fe4\U00016ff0-\U00016ff1\U0001d300-\U0001d37f\U0001f3fb-\U0001f3ff]"
)
_JOINING_JAMO = re.compile("[\u1161-\u11ff\ud7b0-\ud7ff]")
_FIRST_PRINTABLE = 0x20
_CONTROL_PICTURES = 0x2400
"""Code of the first visible symbol for control characters, which have the same order."""
_DELETE = 0x7F
_FLAG_A = 0x1F1E6
_FLAG_Z = 0x1F1FF
_MARK = ""


class _WidthCache(dict[str, int]):
    def __missing__(self, char: str) -> int:
        self[char] = cells = _get_char_width(char)
        return cells


@cache
def _get_visible_symbol(char: str) -> str:
    """Return the character, the visible symbol that replaces it, or `_MARK` for a combining
    mark.
    """
    if char == "\n":
        return "⏎"
    code = ord(char)
    if code < _FIRST_PRINTABLE:
        return chr(_CONTROL_PICTURES + code)
    if code == _DELETE:
        return "␡"

    category = unicodedata.category(char)
    # A space that is not the ordinary one.
    if category == "Zs":
        return "⍽"
    if _has_no_safe_form(char, category):
        return _format_code_point(char)
    if category in ("Mn", "Mc") or _JOINING_JAMO.match(char):
        return _MARK
    return char


def _has_no_safe_form(char: str, category: str) -> bool:
    """Whether a terminal cannot draw a character visibly, in one line and with a known width."""
    # categories of control, format, surrogate, private and unassigned characters
    is_no_graphic = category.startswith("C")
    ends_line = category in ("Zl", "Zp")
    encloses_other_char = category == "Me"
    if is_no_graphic or ends_line or encloses_other_char:
        return True
    return bool(_INVISIBLE.match(char) or _UNSTABLE_WIDTH.match(char))


def _format_code_point(char: str) -> str:
    return f"‹U+{ord(char):04X}›"


def _get_char_width(char: str) -> int:
    """Return the width of a character in terminal cells: 0, 1 or 2."""
    is_mark_or_control = unicodedata.category(char) in ("Mn", "Me", "Mc", "Cc")
    if is_mark_or_control or _JOINING_JAMO.match(char):
        return 0
    is_wide = unicodedata.east_asian_width(char) in ("W", "F")
    return 2 if is_wide else 1


_widths = _WidthCache({chr(code): 1 for code in range(0x20, 0x7F)})


def _replace_unsafe_chars(match: re.Match[str]) -> str:
    """Replace the unsafe characters of a match of `_NOT_PLAIN`."""
    # A combining mark at the start belongs to the plain character before the match.
    writer = _SafeTextWriter(has_base=match.start() > 0)
    for char in match.group():
        writer.add(char)
    return "".join(writer.parts)


class _SafeTextWriter:
    """Collects the safe forms of successive characters.

    The form of a combining mark or a flag letter depends on the characters before it.
    """

    def __init__(self, *, has_base: bool) -> None:
        self.parts: list[str] = []
        self._has_base = has_base
        """Whether the character before can carry a combining mark."""
        self._n_marks = 0
        """Number of combining marks since the last other character."""
        self._follows_flag_letter = False

    def add(self, char: str) -> None:
        """Add the visible form of the next character of the text."""
        if _FLAG_A <= ord(char) <= _FLAG_Z:
            self._add_flag_letter(char)
            return

        self._follows_flag_letter = False
        symbol = _get_visible_symbol(char)
        if symbol is _MARK:
            self._add_mark(char)
            return

        self.parts.append(symbol)
        self._n_marks = 0
        # A symbol that replaces a character carries no marks.
        self._has_base = symbol == char

    def _add_flag_letter(self, char: str) -> None:
        """Add a letter of a flag as a plain letter. Successive letters become one group: `‹DE›`."""
        letter = chr(ord(char) - _FLAG_A + ord("A"))
        if self._follows_flag_letter:
            group_without_end = self.parts[-1].removesuffix("›")
            self.parts[-1] = f"{group_without_end}{letter}›"
        else:
            self.parts.append(f"‹{letter}›")
        self._follows_flag_letter = True
        self._has_base = False

    def _add_mark(self, char: str) -> None:
        """Add a combining mark as it is, or as its code point if no base character can carry it.

        A base carries at most `MAX_MARKS` marks.
        """
        self._n_marks += 1
        if self._n_marks > MAX_MARKS:
            # All later marks are shown as code points too.
            self._has_base = False
        self.parts.append(char if self._has_base else _format_code_point(char))


HIDDEN_NAME = "(model)"
_MIN_HIDDEN_LENGTH = 3


class HiddenNames:
    """Names of models that `sanitize` replaces by `HIDDEN_NAME`."""

    def __init__(self) -> None:
        self._pattern: re.Pattern[str] | None = None

    def hide(self, names: Iterable[str]) -> None:
        """Hide these names from now on, whole and without regard to upper and lower case."""
        # A word of the replacement cannot be hidden, and one of two letters is in many texts.
        hidden = [
            re.escape(name)
            for name in names
            if len(name) >= _MIN_HIDDEN_LENGTH and name.casefold() not in HIDDEN_NAME
        ]
        if not hidden:
            self._pattern = None
            return
        # The longest first, because a name can begin with another one.
        hidden.sort(key=len, reverse=True)
        alternatives = "|".join(hidden)
        self._pattern = re.compile(
            rf"(?<![A-Za-z0-9])(?:{alternatives})(?![A-Za-z0-9])", re.IGNORECASE
        )

    def replace_in(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(HIDDEN_NAME, text)


_hidden_names: ContextVar[HiddenNames | None] = ContextVar("hidden_names", default=None)


def use_hidden_names(names: HiddenNames | None) -> None:
    """Let `sanitize` hide these names in the current context, and in tasks that start from it.
    Other threads, such as one that writes files, see the names.
    """
    _hidden_names.set(names)


def sanitize(text: str) -> str:
    """Make text safe to draw in one line. Sanitizing sanitized text again does not change it."""
    names = _hidden_names.get()
    if names is not None:
        text = names.replace_in(text)
    if text.isascii() and text.isprintable():
        return text
    return _NOT_PLAIN.sub(_replace_unsafe_chars, text)


def sanitize_lines(text: str) -> list[str]:
    """Split text at newlines and make each line safe to draw.

    Tabs become spaces up to the next tab stop.
    """
    if "\t" in text:
        return [sanitize(line.expandtabs(TAB_STOP)) for line in text.split("\n")]
    return [sanitize(line) for line in text.split("\n")]


def display_width(text: str) -> int:
    """Return the width of sanitized text in cells: 2 for East Asian wide characters, 0 for
    marks, 1 for all others.
    """
    if text.isascii():
        return len(text)
    return sum(map(_widths.__getitem__, text))


_ELLIPSIS = "…"
_MAX_CHARACTER_CELLS = 2


def clip(text: str, width: int) -> str:
    """Shorten sanitized text to at most `width` terminal cells.

    A shortened text ends in `…`, which has one of the cells. The result is empty if `width` is 0
    or negative.
    """
    if width <= 0:
        return ""
    if _fits(text, width):
        return text

    n_kept = _count_fitting_characters(text, width - len(_ELLIPSIS))
    return text[:n_kept] + _ELLIPSIS


def _fits(text: str, width: int) -> bool:
    """Whether a text needs at most `width` cells."""
    # Most texts are so short that they need not be measured.
    max_cells = len(text) if text.isascii() else len(text) * _MAX_CHARACTER_CELLS
    if max_cells <= width:
        return True
    return _count_fitting_characters(text, width) == len(text)


def _count_fitting_characters(text: str, width: int) -> int:
    """Return how many characters at the start of a text fit into `width` cells.

    Only this start is measured, because a text can be much longer than a line.
    """
    n_cells = 0
    for index, char in enumerate(text):
        n_cells += _widths[char]
        if n_cells > width:
            return index
    return len(text)


def pad(text: str, width: int, *, align_right: bool = False) -> str:
    """Shorten sanitized text or fill it with spaces to `width` terminal cells.

    `align_right` puts the spaces first.
    """
    clipped = clip(text, width)
    blanks = " " * (width - display_width(clipped))
    return blanks + clipped if align_right else clipped + blanks


REDACTED = "[redacted]"

_NAME = (
    r"(?:x-rapidapi-key|api[-_"
    r" ]?key|access[-_](?:key|token)|auth[-_]token|app[-_]?id|token|secret|key)"
)
_MIN_SECRET_LENGTH = 6
_KEY_NAME = re.compile(_NAME, re.IGNORECASE)
_NAMED_VALUE = re.compile(
    r"(?P<name>(?:\b|[-_\\\"'])"
    + _NAME
    + r"\b\\?[\"']?\s*(?:[:=]|is|of)\s*\\?[\"'`]?)(?P<value>(?=\S{0,400}\d)[A-Za-z0-9._~+/-]{6,}=*)",
    re.IGNORECASE,
)
_LONG_TOKEN = re.compile(
    r"(?<![\w/.%-])(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z0-9_-]{24,}(?![\w/%-])"
)


def redact_third_party_keys(value: Any) -> Any:
    """Return a copy of a JSON value without secrets of any format: values of fields such as
    `api_key`, values in texts such as `token=...`, and long random words.
    """
    if isinstance(value, str):
        without_named_values = _NAMED_VALUE.sub(_redact_named_value, value)
        return _LONG_TOKEN.sub(REDACTED, without_named_values)
    if isinstance(value, list):
        return [redact_third_party_keys(element) for element in value]
    if not isinstance(value, dict):
        return value

    redacted = {}
    for name, field in value.items():
        redacted[name] = REDACTED if _is_secret(name, field) else redact_third_party_keys(field)
    return redacted


def _redact_named_value(match: re.Match[str]) -> str:
    """Keep the name in `token=...` and replace the value."""
    return match["name"] + REDACTED


def _is_secret(name: Any, value: Any) -> bool:
    """Whether a field has the name of a secret, and its value is a word that may be one."""
    if not isinstance(value, str):
        return False
    if len(value) < _MIN_SECRET_LENGTH or " " in value:
        return False
    return _KEY_NAME.fullmatch(str(name)) is not None


_KEY_FORMATS = [
    (b"sk-", rb"sk-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,}"),
    # An error message quotes the ends of a wrong key: `Incorrect API key provided:
    # sk-proj-****3Q4A`.
    (b"sk-", rb"sk-[A-Za-z0-9_-]{0,40}\*{2,400}[A-Za-z0-9_*-]{0,40}"),
    (b"hf_", rb"hf_[A-Za-z0-9]{30,}"),
    (b"AKIA", rb"AKIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
    (b"AIza", rb"AIza[A-Za-z0-9_-]{35}"),
    *(
        (b"gh" + kind + b"_", b"gh" + kind + rb"_[A-Za-z0-9]{36,}")
        for kind in (b"o", b"p", b"s", b"u", b"r")
    ),
    (b"github_pat_", rb"github_pat_[A-Za-z0-9_]{22,}"),
    (b"xox", rb"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    (b"earer ", rb"(earer )(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{16,}=*"),
    (b"PRIVATE KEY-----", rb"(PRIVATE KEY-----)[A-Za-z0-9+/=\\\snr]{40,}"),
]
"""Literal and pattern of each API key format. Texts are searched for the literal first, because
this is fast. Patterns have no look-behind, which is ten times slower. The text of a pattern's group
is kept.
"""
_PATTERNS = [(literal, re.compile(pattern)) for literal, pattern in _KEY_FORMATS]
_search_literals = re.compile(
    rb"k(?<=sk)-|f(?<=hf)_|AKIA|AIza|gh[opsur]_|github_pat_|xox|KEY-----"
).search
"""Search for all literals of `_KEY_FORMATS` at once, except `earer `. This takes a quarter of the
time of separate searches. Each alternative begins with a rare letter, which saves another third of
the time.
"""
_CREDENTIAL_NAME = re.compile(
    r"(?:.*[-_ ])?(?:api[-_ ]?key|(?:access|auth|secret|private)[-_"
    r" ]?(?:key|token)|authorization|password|secret)",
    re.IGNORECASE,
)


def redact_api_keys(text: bytes) -> bytes:
    """Replace API keys of known formats, such as `sk-...` and `Bearer ...`. This is fast."""
    may_have_keys = b"earer " in text or _search_literals(text)
    if not may_have_keys:
        return text

    redacted = text
    for literal, pattern in _PATTERNS:
        if literal in redacted:
            redacted = pattern.sub(_redact_match, redacted)
    return redacted


def _redact_match(match: re.Match[bytes]) -> bytes:
    """Replace an API key. A group of the pattern, such as `earer `, is kept."""
    has_kept_group = match.re.groups > 0
    if has_kept_group:
        return match[1] + REDACTED.encode()

    # Inside a word, as in `task-...`, the text is no key. The patterns do not look behind.
    char_before = match.string[match.start() - 1 : match.start()]
    if char_before.isalnum():
        return match[0]
    return REDACTED.encode()


def redact_api_keys_in_text(text: str) -> str:
    """Replace API keys of known formats in a string, as `redact_api_keys` does in bytes."""
    return redact_api_keys(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


@lru_cache(1 << 10)
def _is_credential_name(name: str) -> bool:
    return _CREDENTIAL_NAME.fullmatch(name) is not None


def redact_credentials(settings: Any) -> Any:
    """Replace strings in fields such as `api_key` or `password`.

    Do not use this for the arguments of calls.
    """
    try:
        return _redact_value(settings)
    except RecursionError:
        # Parsers read deeper values than the store can write, so the deep parts become text here.
        return _redact_value(to_plain_json(settings))


def _redact_value(settings: Any) -> Any:
    if isinstance(settings, list):
        return [_redact_value(element) for element in settings]
    if not isinstance(settings, dict):
        return settings

    redacted = {}
    for name, value in settings.items():
        is_text = isinstance(value, str) and value != ""
        if is_text and _is_credential_name(str(name)):
            redacted[name] = REDACTED
        else:
            redacted[name] = _redact_value(value)
    return redacted
