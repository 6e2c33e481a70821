"""Texts that look alike and are not: blanks, characters that draw nothing, letters of another script, other code points
for the same letter. Pure.

The pairs of letters are those of Unicode's `confusables.txt` that occur in Latin, Cyrillic and Greek words, and the
marks that keyboards and word processors put for one another.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher

AROUND_MARKS = re.compile(r" *(['\"]) *")
MAX_TEXT_LENGTH = 2000
"""Characters beyond which nothing is said."""
NAMED = 3
"""Characters of a difference that are named."""
_LETTERS = dict(
    zip("аеорсухіјѕԁһӏАВЕКМНОРСТХІЅЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧονι", "aeopcyxijsdhlABEKMHOPCTXISJABEZHIKMNOPTYXovi", strict=True)
)
_MARKS = dict(zip("‘’‚′“”„″‐‑‒–—−⁄∕×…", "''''\"\"\"\"------//x.", strict=True))
_TABLE = str.maketrans(_LETTERS | _MARKS)


def confusable_skeleton(text: str) -> str:
    """The same for texts that look alike: letters of one script, one kind of mark and blank, nothing invisible."""
    plain = unicodedata.normalize("NFKC", text.translate(_TABLE))
    shown = "".join(char for char in plain if unicodedata.category(char) not in ("Cf", "Mn"))
    return AROUND_MARKS.sub(r"\1", " ".join(shown.split()))


def describe_hidden_difference(golden: str, predicted: str) -> str | None:
    """In words, for two texts that look alike: `looks alike: U+0430 CYRILLIC SMALL LETTER A for U+0061 LATIN SMALL
    LETTER A at character 5`. None for all others."""
    if golden == predicted or max(len(golden), len(predicted)) > MAX_TEXT_LENGTH or confusable_skeleton(golden) != confusable_skeleton(predicted):
        return None
    for kind, a, b, c, d in SequenceMatcher(None, golden, predicted, autojunk=False).get_opcodes():
        if kind != "equal":
            ours, theirs = _named(predicted[c:d]), _named(golden[a:b])
            what = f"{ours} for {theirs}" if ours and theirs else f"{ours} more" if ours else f"{theirs} missing"
            return f"looks alike: {what} at character {c + 1}"
    return None


def _named(text: str) -> str:
    if text and not text.strip(" "):
        return "1 blank" if len(text) == 1 else f"{len(text)} blanks"
    names = [f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip() for char in text[:NAMED]]
    return ", ".join(names) + (" ..." if len(text) > NAMED else "")
