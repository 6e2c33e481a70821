"""Text from data made safe to draw: nothing in it can move the cursor, reorder, hide or overlap other text.

Whatever is not a plainly visible character becomes a visible picture. Only what is drawn changes, never what is stored.

| in the data | drawn as |
|---|---|
| C0 controls and DEL | their control pictures, `␛`; a newline as `⏎` |
| a blank other than the space and the ideographic space (no-break, thin ...) | `⍽` |
| C1, bidi, zero-width, variation selectors, tags, surrogates, private use, unassigned | `‹U+202E›` |
| what terminals draw in different widths (skin tones, enclosing marks, hexagrams) | `‹U+1F3FD›` |
| regional indicators (flags) | their letters, `‹DE›` |
| combining marks without a base, and from the fifth on one base | `‹U+0301›` |
"""

from __future__ import annotations

import re
import unicodedata

MAX_MARKS = 4
"""Combining marks that one base character keeps."""
TAB_STOP = 4

# Every character in these ranges is assigned, visible, needs no base and has one width on all terminals. Text made of
# them (nearly all text) is passed on after one search; of other text only the characters outside are looked at.
PLAIN_RANGES = (
    *(
        (0x20, 0x7E),
        (0xA1, 0xAC),
        (0xAE, 0x2FF),
        (0x391, 0x3A1),
        (0x3A3, 0x482),
        (0x48A, 0x52F),
    ),  # Latin, Greek, Cyrillic
    *((0x5D0, 0x5EA), (0x620, 0x64A), (0x660, 0x66F), (0x671, 0x6D5), (0x1E00, 0x1EFF)),  # Hebrew, Arabic, Vietnamese
    *((0x2010, 0x2027), (0x2030, 0x205E), (0x2074, 0x208E), (0x20A0, 0x20BF)),  # punctuation, currency
    *((0x2100, 0x218B), (0x2190, 0x2426), (0x2460, 0x262F), (0x2638, 0x2689), (0x2690, 0x2B73)),  # symbols, boxes
    *((0x3000, 0x3029), (0x3030, 0x303E), (0x3041, 0x3096), (0x309B, 0x30FF), (0x3105, 0x312E)),  # kana, bopomofo
    *((0x3131, 0x3163), (0x3220, 0x32FE), (0x3300, 0x4DB5), (0x4E00, 0x9FEA), (0xAC00, 0xD7A3)),  # Han, Hangul
    *((0xF900, 0xFA6D), (0xFE30, 0xFE52), (0xFF01, 0xFF9D), (0xFFE0, 0xFFE6)),  # full and half width forms
    *((0x1F300, 0x1F3FA), (0x1F400, 0x1F64F)),  # emoji
)
_NOT_PLAIN = re.compile("[^" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in PLAIN_RANGES) + "]+")
_INVISIBLE = re.compile(  # letters and marks that draw nothing, though their category does not tell
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
_UNSTEADY = re.compile(  # width differs between Unicode versions, or from one terminal to the next
    "[\u2630-\u2637\u268a-\u268f\u4dc0-\u4dff\U00016fe4\U00016ff0-\U00016ff1\U0001d300-\U0001d37f\U0001f3fb-\U0001f3ff]"
)
_JOINING_JAMO = re.compile("[\u1161-\u11ff\ud7b0-\ud7ff]")
_FLAG_A, _FLAG_Z = 0x1F1E6, 0x1F1FF
_MARK = ""


class _Pictures(dict[str, str]):
    """What a character outside the plain ranges is drawn as: itself, a picture, or `_MARK` if it needs a base."""

    def __missing__(self, char: str) -> str:
        self[char] = drawn = _picture(char)
        return drawn


class _Cells(dict[str, int]):
    def __missing__(self, char: str) -> int:
        self[char] = cells = _cells_of(char)
        return cells


def _picture(char: str) -> str:
    code, category = ord(char), unicodedata.category(char)
    if code < 0x20:
        return "⏎" if char == "\n" else chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if category == "Zs":
        return "⍽"
    if category[0] == "C" or category in ("Zl", "Zp", "Me") or _INVISIBLE.match(char) or _UNSTEADY.match(char):
        return f"‹U+{code:04X}›"
    if category in ("Mn", "Mc") or _JOINING_JAMO.match(char):
        return _MARK
    return char


def _cells_of(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Mc", "Cc") or _JOINING_JAMO.match(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


_pictures = _Pictures()
_cells = _Cells({chr(code): 1 for code in range(0x20, 0x7F)})


def _draw(run: re.Match[str]) -> str:
    """A run of characters outside the plain ranges; the plain character before it, if any, is a base for marks."""
    drawn: list[str] = []
    has_base, marks, flag = run.start() > 0, 0, False
    for char in run.group():
        if _FLAG_A <= ord(char) <= _FLAG_Z:
            letter = chr(ord(char) - _FLAG_A + ord("A"))
            if flag:
                drawn[-1] = f"{drawn[-1][:-1]}{letter}›"
            else:
                drawn.append(f"‹{letter}›")
            flag, has_base = True, False
            continue
        flag = False
        picture = _pictures[char]
        if picture is _MARK:
            marks += 1
            has_base = has_base and marks <= MAX_MARKS
            drawn.append(char if has_base else f"‹U+{ord(char):04X}›")
        else:
            drawn.append(picture)
            has_base, marks = picture == char, 0
    return "".join(drawn)


def sanitize(text: str) -> str:
    """`text` on one line, safe to draw. Idempotent."""
    if text.isascii() and text.isprintable():
        return text
    return _NOT_PLAIN.sub(_draw, text)


def sanitize_lines(text: str) -> list[str]:
    """`text` split at newlines (at nothing else), each line safe to draw; tabs become blanks up to a tab stop."""
    if "\t" in text:
        return [sanitize(line.expandtabs(TAB_STOP)) for line in text.split("\n")]
    return [sanitize(line) for line in text.split("\n")]


def display_width(text: str) -> int:
    """Display cells that visible text takes: 2 for East Asian wide characters, 0 for combining marks, else 1."""
    if text.isascii():
        return len(text)
    return sum(map(_cells.__getitem__, text))


def clip(text: str, cells: int) -> str:
    """The beginning of visible text that fits into `cells`, ending in `…` if something was left out."""
    if len(text) <= cells and (len(text) * 2 <= cells or display_width(text) <= cells):
        return text
    if cells <= 0:
        return ""
    used, last_fit = 0, 0
    for at, char in enumerate(text):
        used += _cells[char]
        if used > cells:
            return text[:last_fit] + "…"
        if used < cells:
            last_fit = at + 1
    return text


def pad(text: str, cells: int) -> str:
    """Visible text clipped or filled with blanks to exactly `cells`."""
    text = clip(text, cells)
    return text + " " * (cells - display_width(text))
