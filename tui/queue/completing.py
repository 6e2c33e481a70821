"""What a filter that is being typed may go on with: keys, then the values there are, with how many items have them.
Pure; in blind mode nothing is offered that would tell what others found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fcreview.sanitise import visible
from fcreview.store.filters.language import choices, help_lines, quote
from fcreview.store.filters.saved import SIGN

_WORD = re.compile(r"[^\s()]*$")
_BARE = re.compile(r"[\w.:/-]+")
Facets = Mapping[str, Sequence[tuple[str, int]]]
"""By key the values of the view's items and how many have each; see `Store.facets`."""


@dataclass(frozen=True, slots=True)
class Candidate:
    text: str
    """`official:` or `category:live_simple`."""
    says: str
    """What it means, or how many items have it."""

    @property
    def shown(self) -> str:
        return f"{visible(self.text)} {self.says}"


def word_at(text: str, cursor: int) -> tuple[int, str]:
    """(where it begins, what was typed of it) of the word that ends at the cursor, without a minus before it."""
    found = _WORD.search(text[:cursor])
    start = found.start() if found else cursor
    return (start + 1, text[start + 1 : cursor]) if text[start:cursor].startswith("-") else (start, text[start:cursor])


@dataclass(frozen=True, slots=True)
class Known:
    """What words are completed from."""

    facets: Facets = field(default_factory=dict)
    saved: Mapping[str, str] = field(default_factory=dict)
    """Filters by their names: `@name` stands for one."""
    blind: bool = False


def candidates(text: str, cursor: int, known: Known) -> list[Candidate]:
    """What the word at the cursor may become, the likeliest first; empty where nothing fits."""
    blind, facets = known.blind, known.facets
    _, word = word_at(text, cursor)
    if word.startswith(SIGN) or not word:
        names = [Candidate(SIGN + name, visible(meant)) for name, meant in known.saved.items()]
        found = [each for each in names if each.text.lower().startswith(word.lower())]
        if word:
            return found
        return [Candidate(name, says) for name, says in help_lines(blind=blind)] + found
    key, colon, begun = word.partition(":")
    if not colon:
        return [Candidate(name, says) for name, says in help_lines(blind=blind) if name.startswith(word.lower())]
    if f"{key}:" not in {name for name, _ in help_lines(blind=blind)}:
        return []
    head, _, last = begun.rpartition("|")
    before = f"{key}:{head}|" if head else f"{key}:"
    counts = dict(facets.get(key, ()))
    values = [*counts, *(name for name in choices(key, blind=blind) if name not in counts)]
    fitting = [value for value in values if value.lower().startswith(last.strip('"').lower())]
    return [Candidate(before + _written(value), f"{counts[value]:,}" if value in counts else "") for value in fitting]


def _written(value: str) -> str:
    return value if _BARE.fullmatch(value) else quote(value)


def replaced(text: str, cursor: int, candidate: Candidate) -> tuple[str, int]:
    """The text with the candidate in the place of the word at the cursor, and where the cursor is then."""
    start, _ = word_at(text, cursor)
    return text[:start] + candidate.text + text[cursor:], start + len(candidate.text)


def offered(found: Sequence[Candidate], at: int, most: int = 6) -> str:
    """` official: pass, fail or unknown   one more ...`: from the one that is next."""
    shown = [each.shown.strip() for each in (*found[at:], *found[:at])[:most]]
    more = f"   and {len(found) - most} more" if len(found) > most else ""
    return " " + "   ".join(shown) + more if shown else " nothing fits"
