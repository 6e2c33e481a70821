"""How well a name fits what was typed, and which of its letters do. Pure."""

from __future__ import annotations

from dataclasses import dataclass

WHOLE, START, WORD, INSIDE, ACROSS, SAID = 1000, 300, 100, 50, 20, 5
"""The name is what was typed, begins with it; a word of it begins with a word that was typed, or holds it; its letters
come one after the other in it; they stand in what is said of it."""


LONGEST = 300
"""Letters of a name that are looked at: what it takes grows with their square, and this is done at each key."""


@dataclass(frozen=True, slots=True)
class Fit:
    score: int
    marks: tuple[int, ...] = ()
    """Places of the letters that fit, in order."""
    loose: bool = False
    """Some word is there letter by letter only."""


def fit(name: str, typed: str, says: str = "") -> Fit | None:
    """None where some word that was typed is in neither text. Every word counts, in whatever order they stand."""
    name = name[:LONGEST]
    low, parts = name.lower(), typed.lower().split()
    if len(low) != len(name):  # a letter that becomes two: places would be off
        low = name
    score, marks, loose = 0, set[int](), False
    for part in parts:
        found = _word(low, part)
        if found is None and len(part) > 1 and part in says.lower():
            found = Fit(SAID)
        if found is None:
            return None
        score, loose = score + found.score, loose or found.loose
        marks.update(found.marks)
    whole = " ".join(parts)
    score += WHOLE if low == whole else START if parts and low.startswith(whole) else 0
    return Fit(score - min(len(name), 40) // 4, tuple(sorted(marks)), loose)


def _word(name: str, part: str) -> Fit | None:
    starts = [at for at in range(len(name)) if name.startswith(part, at)]
    at_word = next((at for at in starts if _begins(name, at)), None)
    if at_word is not None:
        return Fit(WORD - min(at_word, 30), tuple(range(at_word, at_word + len(part))))
    if starts:
        return Fit(INSIDE - min(starts[0], 30), tuple(range(starts[0], starts[0] + len(part))))
    return _across(name, part)


def _across(name: str, part: str) -> Fit | None:
    """From the beginning of a word on, letter by letter: `fw` in `failures, worst`. Gaps count against it."""
    for start in (at for at in range(len(name)) if name[at] == part[0] and _begins(name, at)):
        marks, at = [start], start + 1
        for letter in part[1:]:
            found = next((p for p in range(at, len(name)) if name[p] == letter and _begins(name, p)), -1)
            near = name.find(letter, at)
            found = near if near == at or found < 0 else found
            if found < 0:
                break
            marks.append(found)
            at = found + 1
        else:
            gaps = marks[-1] - marks[0] + 1 - len(part)
            return Fit(max(ACROSS - gaps, 1), tuple(marks), loose=True) if gaps <= 3 * len(part) + 6 else None
    return None


def _begins(name: str, at: int) -> bool:
    return at == 0 or (name[at].isalnum() and not name[at - 1].isalnum())
