"""Text cut to the room there is for it, rates, and key hints. Pure: visible text in, visible text out.

Names (ids, models, error types) are cut in the middle, since what tells them
apart mostly stands at the end; sentences are cut at the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fcreview.sanitise import clip, width
from fcreview.text import words
from fcreview.text.columns import filled
from fcreview.tui.text.lines import Line, Part
from fcreview.tui.text.theme import symbols

LEAST_HEAD = 4
"""Fewer letters of a name's beginning say nothing."""
_DOTTED = re.compile(r"(^|\(golden )(?:[^\W\d]\w*\.)+(?=[^\W\d])")


def cut(text: str, cells: int) -> str:
    """The beginning of visible text, with the ellipsis of the symbol set if something was left out."""
    clipped = clip(text, cells)
    return clipped if clipped == text else clipped[:-1] + symbols().ellipsis


def cut_middle(text: str, cells: int, share: float = 1 / 3) -> str:
    """Beginning and end of a visible name, `share` of the room for the beginning: `live_…le_23-20-0`."""
    if width(text) <= cells:
        return text
    if cells < 4:
        return cut(text, cells)
    head = _reach(text, int((cells - 1) * share))
    tail = _reach(text[::-1], cells - 1 - width(head))[::-1]
    return head + symbols().ellipsis + tail


def cut_type(text: str, cells: int) -> str:
    """An error type such as `simple_function_checker:wrong_count`: what stands behind its last colon tells it from the
    others and is kept whole if it fits, behind as much of the rest as says something: `…:decoder_failed`."""
    if width(text) <= cells:
        return text
    kind = text.rpartition(":")[2]
    room = cells - 2 - width(kind)
    if kind != text and room >= 0:
        return (_reach(text, room) if room >= LEAST_HEAD else "") + symbols().ellipsis + ":" + kind
    return kind if width(kind) <= cells else cut_middle(kind, cells, 1 / 2)


def cut_difference(text: str, cells: int) -> str:
    """A first difference: what it names stands behind the last dot, as in `…queryViolation not called`."""
    if width(text) > cells:
        text = _DOTTED.sub(lambda found: found[1] + symbols().ellipsis, text)
    return cut(text, cells)


def _reach(text: str, cells: int) -> str:
    used = 0
    for at, char in enumerate(text):
        used += width(char)
        if used > cells:
            return text[:at]
    return text


def centre(text: str, cells: int) -> str:
    left = (cells - width(text)) // 2
    return " " * left + filled(text, cells - left)


def rate_of(passes: int, known: int, items: int) -> str:
    """`71.3 %`, `71.3 % of 998` where not all items are known, or a dash where nothing is."""
    return words.rate_of(passes, known, items) if known or symbols().rule == words.NOTHING else "–"


def recomputed(passes: int, known: int, items: int) -> str:
    """As `words.recomputed`, in symbols that the terminal has."""
    return words.recomputed(passes, known, items, symbols().none)


def hints_line(hints: Sequence[tuple[str, str]], cells: int, always: int = 2) -> Line:
    """The key line: as many hints as fit, the last `always` of them in any case (help and quit)."""
    kept = list(hints)
    gap = _gap(kept, cells)
    while gap < 1 and len(kept) > always:
        kept.pop(-always - 1)
        gap = _gap(kept, cells)
    parts: list[Part] = []
    for at, (key, says) in enumerate(kept):
        parts += [(" " * (max(gap, 1) if at else 1), ""), (key, "key"), (" " + says, "")]
    return tuple(parts)


def _gap(hints: Sequence[tuple[str, str]], cells: int) -> int:
    """Blanks between hints that fit, at most 3; less than 1 if they do not fit at all."""
    if len(hints) < 2:
        return 3
    return min(3, (cells - 1 - sum(width(key) + 1 + width(says) for key, says in hints)) // (len(hints) - 1))


def waiting_words(what: str, seconds: float, leave: str = "") -> str:
    """`counting failures · 2 s · Esc leaves them`; `leave`: the key that does."""
    parts = [what, f"{seconds:.0f} s" if seconds >= 1 else "", f"{leave} leaves them" if leave else ""]
    return f" {symbols().between} ".join(filter(None, parts))
