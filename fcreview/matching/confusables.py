"""Detect strings that look equal but differ in blanks, invisible characters, or letters of another script.

The pairs of letters are those of Unicode's `confusables.txt` that occur in Latin, Cyrillic and Greek words. The pairs
of punctuation marks are those that keyboards and word processors exchange.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher

_BLANKS_AROUND_QUOTES = re.compile(r" *(['\"]) *")
MAX_TEXT_LENGTH = 2000
"""Length of a string, in characters, above which strings are not compared."""
_MAX_NAMED_CHARACTERS = 3
_LETTERS = dict(
    zip("аеорсухіјѕԁһӏАВЕКМНОРСТХІЅЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧονι", "aeopcyxijsdhlABEKMHOPCTXISJABEZHIKMNOPTYXovi", strict=True)
)
_MARKS = dict(zip("‘’‚′“”„″‐‑‒–—−⁄∕×…", "''''\"\"\"\"------//x.", strict=True))
_TABLE = str.maketrans(_LETTERS | _MARKS)


def confusable_skeleton(text: str) -> str:
    """Convert a text to one script and one kind of quote, dash and blank. Strings that look equal have the same
    result."""
    plain = unicodedata.normalize("NFKC", text.translate(_TABLE))
    drawn = "".join(char for char in plain if unicodedata.category(char) not in ("Cf", "Mn"))
    return _BLANKS_AROUND_QUOTES.sub(r"\1", " ".join(drawn.split()))


def describe_hidden_difference(golden: str, predicted: str) -> str | None:
    """Describe the first difference of strings that look equal. Returns None for strings that do not look equal.

    Example: `texts look alike: U+0430 CYRILLIC SMALL LETTER A instead of U+0061 LATIN SMALL LETTER A at character 5`.
    """
    if golden == predicted or max(len(golden), len(predicted)) > MAX_TEXT_LENGTH:
        return None
    if confusable_skeleton(golden) != confusable_skeleton(predicted):
        return None
    opcodes = SequenceMatcher(None, golden, predicted, autojunk=False).get_opcodes()
    _, golden_start, golden_end, start, end = next(each for each in opcodes if each[0] != "equal")
    expected, found = _name_characters(golden[golden_start:golden_end]), _name_characters(predicted[start:end])
    if found and expected:
        change = f"{found} instead of {expected}"
    else:
        change = f"extra {found}" if found else f"missing {expected}"
    return f"texts look alike: {change} at character {start + 1}"


def _name_characters(text: str) -> str:
    """Return the names of the characters in a text: `2 blanks`, `U+0061 LATIN SMALL LETTER A`."""
    if text and not text.strip(" "):
        return "1 blank" if len(text) == 1 else f"{len(text)} blanks"
    names = [f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip() for char in text[:_MAX_NAMED_CHARACTERS]]
    return ", ".join(names) + (" ..." if len(text) > _MAX_NAMED_CHARACTERS else "")
