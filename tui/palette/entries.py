"""What the palette lists, and in which order for what was typed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fcreview.sanitise import visible, width
from fcreview.text.columns import filled
from fcreview.tui.palette.fuzzy import Fit, fit
from fcreview.tui.text.format import cut
from fcreview.tui.text.lines import Line, Part

KEY = 5
"""Cells for the key of an action."""
MOST = 300
"""Lines that are shown."""


@dataclass(frozen=True, slots=True)
class Entry:
    kind: str
    """`action`, `filter`, `item`, `run`, `order`, `queue`, `report`, `export`, `save` or `forget`: what is done."""
    text: str
    """Visible; what is typed is looked for in it, then in `says`."""
    says: str = ""
    key: str = ""
    value: Any = None
    wants: str = ""
    """What is typed behind its text, `FILE` or `NAME`: nothing is done without."""
    usable: bool = True
    """Else `says` is why not."""


@dataclass(frozen=True, slots=True)
class Match:
    entry: Entry
    marks: tuple[int, ...] = ()
    """Places in the entry's text that fit what was typed."""
    argument: str = ""
    """What was typed behind its text."""


def ranked(entries: Iterable[Entry], typed: str) -> list[Match]:
    """The best first; those that fit equally well, and all where nothing was typed, as they were handed in. What fits
    letter by letter only is left out where something fits better."""
    if not typed.strip():
        return [Match(entry) for entry in entries][:MOST]
    found: list[tuple[Fit, Match]] = []
    for entry in entries:
        argument = argument_of(entry, typed)
        if argument is not None:
            found.append((Fit(10_000), Match(entry, tuple(range(len(entry.text))), argument)))
        elif (fitted := fit(entry.text, typed, entry.says)) is not None:
            found.append((fitted, Match(entry, fitted.marks)))
    loose = all(fitted.loose for fitted, _ in found)
    found = [each for each in found if each[0].loose == loose]
    return [match for _, match in sorted(found, key=lambda each: -each[0].score)][:MOST]


def argument_of(entry: Entry, typed: str) -> str | None:
    """What was typed behind the text of an entry that wants something; None if its text was not typed."""
    head = entry.text + " "
    if not entry.wants or not typed.lstrip().lower().startswith(head.lower()):
        return None
    return typed.lstrip()[len(head) :].strip()


def merged(first: Sequence[Match], items: Sequence[Match], typed: str) -> list[Match]:
    """Items behind the rest: they come later, and what stands under the cursor stays there. The one whose id was typed
    comes first: it is what was meant."""
    meant = [match for match in items if match.entry.text.lower() == typed.strip().lower()]
    return [*meant, *first, *(match for match in items if match not in meant)][:MOST]


def line_of(match: Match, cells: int) -> Line:
    """`   f  filter   what it means   action`, `cells` wide."""
    entry = match.entry
    kind = f" {entry.kind}"
    room = cells - KEY - 2 - width(kind)
    text = cut(entry.text, room)
    style = "" if entry.usable else "dim"
    parts: list[Part] = [(f"{cut(entry.key, KEY):>{KEY}}  ", "key"), *_marked(text, match.marks, style)]
    wanted = f" {match.argument or entry.wants}" if entry.wants else ""
    left = room - width(text)
    if wanted and left > 3:
        wanted = cut(visible(wanted), left)
        parts.append((wanted, "strong" if match.argument else "dim"))
        left -= width(wanted)
    said = cut("  " + entry.says, left) if entry.says and left > 6 else ""
    parts.append((filled(said, left), "dim" if entry.usable else "warn"))
    return (*parts, (kind, "dim"))


def _marked(text: str, marks: Sequence[int], style: str) -> list[Part]:
    parts: list[Part] = []
    for at, letter in enumerate(text):
        look = "match" if at in marks else style
        if parts and parts[-1][1] == look:
            parts[-1] = (parts[-1][0] + letter, look)
        else:
            parts.append((letter, look))
    return parts


def unusable(entry: Entry, why: str) -> Entry:
    return replace(entry, says=why, usable=False)
