"""Where two texts part: which stretches of the predicted one are marked. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from fcreview.tui.text.lines import Part
from fcreview.tui.text.theme import symbols

Stretch = tuple[int, int]
"""Start and end in the predicted text."""
WORDS = re.compile(r"\s+|\w+|[^\w\s]")
LONG = 40
"""Characters from which on words are compared; a shorter text has one stretch."""
MOST_WORDS = 600
"""Beyond that the comparison would take too long."""
ALTERNATIVES = 50


def stretches(golden: str, predicted: str) -> list[Stretch]:
    """What differs from the golden text, word by word in long texts: what lies between two changes is not marked. Where
    words are only missing there is one stretch, which may be empty."""
    start, end, closest = _between(golden, predicted)
    if end - start < LONG:
        return [(start, end)]
    ours, theirs = WORDS.findall(predicted), WORDS.findall(closest)
    if max(len(ours), len(theirs)) > MOST_WORDS:
        return [(start, end)]
    places = [0]
    for each in ours:
        places.append(places[-1] + len(each))
    found: list[Stretch] = []
    for kind, _, _, c, d in SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
        if kind != "equal" and d > c:
            found.append((places[c], places[d]))
    return found or [(start, end)]


def changed(golden: str, predicted: str) -> Stretch:
    """Where `predicted` leaves the golden text and where both run together again.

    Of golden alternatives (`"a" or "b"`), the one that agrees longest is taken.
    """
    start, end, _ = _between(golden, predicted)
    return start, end


def _between(golden: str, predicted: str) -> tuple[int, int, str]:
    """As `changed`, and the alternative that was taken."""
    candidates = [golden]
    at = golden.find(" or ")
    while at >= 0 and len(candidates) < ALTERNATIVES:
        candidates.append(golden[at + 4 :])
        at = golden.find(" or ", at + 4)
    starts = [agree(each, predicted) for each in candidates]
    start = max(starts)
    tail_of = candidates[starts.index(start)]
    stop = tail_of.find(" or ", start)
    tail_of = tail_of if stop < 0 else tail_of[:stop]
    same = 0
    while same < min(len(tail_of), len(predicted)) - start and tail_of[-1 - same] == predicted[-1 - same]:
        same += 1
    return start, len(predicted) - same, tail_of


def agree(a: str, b: str) -> int:
    """Length of the common start; compared in halves, so that long equal texts cost little."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def marked(piece: str, seen: int, of: Sequence[Stretch], style: str, mark: str = "diff") -> tuple[Part, ...]:
    """The piece, which begins at `seen` in its text, with the stretches underlined; blanks at the edge of one, which
    could not be told from no blanks, as `␣`."""
    parts: list[Part] = []
    at = 0
    for first, last in of:
        start, end = min(max(first - seen, at), len(piece)), min(max(last - seen, 0), len(piece))
        if start < end:
            parts += [(piece[at:start], style), (_edged(piece[start:end]), mark)]
            at = end
    parts.append((piece[at:], style))
    return tuple(part for part in parts if part[0]) or ((piece, style),)


def _edged(text: str) -> str:
    bare = text.strip(" ")
    if bare == text:
        return text
    head = len(text) - len(text.lstrip(" ")) if bare else len(text)
    return symbols().blank * head + bare + symbols().blank * (len(text) - len(bare) - head)


def shifted(of: Sequence[Stretch], by: int) -> list[Stretch]:
    return [(start - by, end - by) for start, end in of]
