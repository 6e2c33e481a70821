"""Match typed words against a short text, as the command palette does.

Textual's own `FuzzySearch` tries every combination of letters, which takes minutes on a model name such as `ababab...`.
This search makes one pass for each word, so its time is bounded for any text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

EXACT, PREFIX, WORD_START, INSIDE, SPREAD, IN_HELP = 1000, 300, 100, 50, 20, 5
"""Score of each kind of match.

EXACT and PREFIX: the query is the whole text, or its beginning. The others apply to each query word. WORD_START and
INSIDE: it is at the start of a word of the text, or inside a word. SPREAD: its letters are spread over several words.
IN_HELP: it is only in the help.
"""
MAX_TEXT = 300
"""Largest number of characters of a text that are searched. The rest of a longer text is ignored."""


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """Match of a query with a text."""

    score: float
    """Score of the match, above 1. It is between 0 and 1 if the letters of a query word are spread over the text."""
    positions: frozenset[int] = frozenset()
    """Indexes of the matched characters in the text."""


def match_words(text: str, query: str, help_text: str = "") -> FuzzyMatch | None:
    """Match every word of the query, in any order and case.

    Return None if a word is neither in the text nor in the help.
    """
    text, words = text[:MAX_TEXT], query.lower().split()
    lower = text.lower()
    if len(lower) != len(text):  # some letters have two lower-case letters, which would shift positions
        lower = text
    points, positions, is_spread = 0, set[int](), False
    for word in words:
        if found := _find_word(lower, word):
            points += (WORD_START if _starts_word(lower, found[0]) else INSIDE) - min(found[0], 30)
        elif found := _find_letters(lower, word):
            is_spread = True
            points += max(SPREAD - _count_skipped(found), 1)
        elif len(word) > 1 and word in help_text.lower():
            points += IN_HELP
        else:
            return None
        positions.update(found)
    whole = " ".join(words)
    points += EXACT if lower == whole else PREFIX if words and lower.startswith(whole) else 0
    score = 1 + max(points - min(len(text), 40) // 4, 1)
    return FuzzyMatch(score / (10 * EXACT) if is_spread else score, frozenset(positions))


def _find_word(text: str, word: str) -> Sequence[int]:
    """Return the positions of the first match that starts a word, else of the first match. Empty without a match."""
    starts = [at for at in range(len(text)) if text.startswith(word, at)]
    start = next((at for at in starts if _starts_word(text, at)), starts[0] if starts else -1)
    return range(start, start + len(word)) if starts else range(0)


def _find_letters(text: str, word: str) -> Sequence[int]:
    """Return the positions of the letters of a word in this order, such as `gw` in `golden wrong`.

    The first letter starts a word of the text. Each other letter follows directly or starts a word, if possible. The
    result is empty if a letter is missing or if the gaps are too long.
    """
    for start in (at for at in range(len(text)) if text[at] == word[0] and _starts_word(text, at)):
        found = [start]
        for letter in word[1:]:
            after = found[-1] + 1
            near = text.find(letter, after)
            if near < 0:
                break
            if near != after:
                starts = (at for at in range(near, len(text)) if text[at] == letter and _starts_word(text, at))
                near = next(starts, near)
            found.append(near)
        else:
            return found if _count_skipped(found) <= 3 * len(word) + 6 else []
    return []


def _count_skipped(positions: Sequence[int]) -> int:
    return positions[-1] - positions[0] + 1 - len(positions)


def _starts_word(text: str, at: int) -> bool:
    return at == 0 or (text[at].isalnum() and not text[at - 1].isalnum())
