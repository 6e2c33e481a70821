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
from functools import cache, lru_cache
from typing import Any

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
_FLAG_A, _FLAG_Z = 0x1F1E6, 0x1F1FF
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
    code, category = ord(char), unicodedata.category(char)
    if code < 0x20:
        return "⏎" if char == "\n" else chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if category == "Zs":
        return "⍽"
    if (
        category[0] == "C"
        or category in ("Zl", "Zp", "Me")
        or _INVISIBLE.match(char)
        or _UNSTABLE_WIDTH.match(char)
    ):
        return f"‹U+{code:04X}›"
    if category in ("Mn", "Mc") or _JOINING_JAMO.match(char):
        return _MARK
    return char


def _get_char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Mc", "Cc") or _JOINING_JAMO.match(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


_widths = _WidthCache({chr(code): 1 for code in range(0x20, 0x7F)})


def _replace_unsafe_chars(match: re.Match[str]) -> str:
    """Replace the unsafe characters.

    A combining mark at the start belongs to the plain character before the match.
    """
    replaced: list[str] = []
    has_base, marks, after_flag = match.start() > 0, 0, False
    for char in match.group():
        if _FLAG_A <= ord(char) <= _FLAG_Z:
            letter = chr(ord(char) - _FLAG_A + ord("A"))
            if after_flag:
                replaced[-1] = f"{replaced[-1][:-1]}{letter}›"
            else:
                replaced.append(f"‹{letter}›")
            after_flag, has_base = True, False
            continue
        after_flag = False
        symbol = _get_visible_symbol(char)
        if symbol is _MARK:
            marks += 1
            has_base = has_base and marks <= MAX_MARKS
            replaced.append(char if has_base else f"‹U+{ord(char):04X}›")
        else:
            replaced.append(symbol)
            has_base, marks = symbol == char, 0
    return "".join(replaced)


def sanitize(text: str) -> str:
    """Make text safe to draw in one line. Sanitizing sanitized text again does not change it."""
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


def clip(text: str, width: int) -> str:
    """Shorten sanitized text to at most `width` terminal cells. A shortened text ends in `…`."""
    if len(text) <= width and (len(text) * 2 <= width or display_width(text) <= width):
        return text
    if width <= 0:
        return ""
    used, last_fit = 0, 0
    for at, char in enumerate(text):
        used += _widths[char]
        if used > width:
            return text[:last_fit] + "…"
        if used < width:
            last_fit = at + 1
    return text


def pad(text: str, width: int, *, align_right: bool = False) -> str:
    """Shorten sanitized text or fill it with spaces to `width` terminal cells.

    `align_right` puts the spaces first.
    """
    text = clip(text, width)
    blanks = " " * (width - display_width(text))
    return blanks + text if align_right else text + blanks


REDACTED = "[redacted]"

_NAME = (
    r"(?:x-rapidapi-key|api[-_"
    r" ]?key|access[-_](?:key|token)|auth[-_]token|app[-_]?id|token|secret|key)"
)
_KEY_NAME = re.compile(_NAME, re.IGNORECASE)
_NAMED_VALUE = re.compile(
    r"(?P<name>(?:\b|[-_\\\"'])"
    + _NAME
    + r"\b\\?[\"']?\s*(?:[:=]|is|of)\s*\\?[\"'`]?)(?P<value>(?=\S*\d)[A-Za-z0-9._~+/-]{6,}=*)",
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
        return _LONG_TOKEN.sub(
            REDACTED, _NAMED_VALUE.sub(lambda match: match["name"] + REDACTED, value)
        )
    if isinstance(value, list):
        return [redact_third_party_keys(part) for part in value]
    if isinstance(value, dict):
        return {
            name: REDACTED if _is_secret(name, part) else redact_third_party_keys(part)
            for name, part in value.items()
        }
    return value


def _is_secret(name: Any, value: Any) -> bool:
    is_word = isinstance(value, str) and len(value) >= 6 and " " not in value
    return is_word and _KEY_NAME.fullmatch(str(name)) is not None


_KEY_FORMATS = [
    (b"sk-", rb"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"),
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
    if b"earer " in text or _search_literals(text):
        for literal, pattern in _PATTERNS:
            if literal in text:
                text = pattern.sub(_redact_match, text)
    return text


def _redact_match(match: re.Match[bytes]) -> bytes:
    if match.re.groups:
        return match[1] + REDACTED.encode()
    before = match.string[match.start() - 1 : match.start()]
    return match[0] if before.isalnum() else REDACTED.encode()


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
    if isinstance(settings, list):
        return [redact_credentials(part) for part in settings]
    if isinstance(settings, dict):
        return {
            name: REDACTED
            if value and isinstance(value, str) and _is_credential_name(str(name))
            else redact_credentials(value)
            for name, value in settings.items()
        }
    return settings
