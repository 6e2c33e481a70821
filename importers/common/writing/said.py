"""What people overruled, as far as a file can hold it, and the words for what it cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from fcreview.figures import Scored
from fcreview.plan import NoPlace
from fcreview.review import OWN
from fcreview.targets import ITEM, RESPONSE, part_of

WORDS = "judged wrong by people; the benchmark's own check passed it"
"""Stands as the reason in entries that only people made."""
DIFFER = "where people differ the benchmark's own verdict stays"

Key = tuple[str, str]
"""(target, criterion)"""


def own(row: Scored) -> bool | None:
    """What people say of the item itself where it differs from the benchmark; None if that stands."""
    said = row.overruled.get(OWN)
    return said if isinstance(said, bool) else None


def changed(rows: Iterable[Scored]) -> list[Scored]:
    return [row for row in rows if own(row) is not None]


def without_place(rows: Iterable[Scored], held: Callable[[Scored, Key], bool]) -> Iterator[NoPlace]:
    """Everything that people overruled in these rows and of which `held` says that the files do not have it. What they
    differ on is told apart."""
    counts: Counter[str] = Counter()
    for row in rows:
        for key, value in row.overruled.items():
            if value is None:
                counts[DIFFER] += 1
            elif not held(row, key):
                counts[_words(key)] += 1
    yield from (NoPlace(what, count) for what, count in counts.items())


def only_own(row: Scored, key: Key) -> bool:
    """For files that hold a verdict an item. What is said of the response of an item that is nothing else is the
    item's verdict too."""
    return key == OWN or (key[0] == RESPONSE and key[1] == OWN[1] and row.overruled[key] == row.overruled.get(OWN))


def _words(key: Key) -> str:
    target, criterion = key
    part = part_of(target)
    if part is None:
        where = "an item" if target == ITEM else "a response"
    else:
        where = "a turn" if part.call is None else "a call" if part.argument is None else "an argument"
    return f"{criterion} of {where}"
