"""Numbers of items do not outlive an import: what they are in the store that takes another's place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fcreview.store.filters.words import Term, Value, words
from fcreview.store.queues.presentations import item_of, presentation_of, presented

if TYPE_CHECKING:
    from fcreview.store.rows import QueueRow
    from fcreview.store.store import Store


def number_in(now: Store, row: QueueRow) -> int | None:
    """The number of a row's item in another store; None if it is not there."""
    found = now.rows(now.find(row.id, row.run))
    same = next((each.item for each in found if each.category == row.category), None)
    return None if same is None else presented(same, presentation_of(row.item))


def first_there(now: Store, rows: Iterable[QueueRow]) -> int | None:
    return next((number for row in rows if (number := number_in(now, row)) is not None), None)


def renumbered(where: str, before: Store, now: Store) -> str:
    """A filter that names items by their numbers (`item:`), with those of the other store."""
    values = [value for word in words(where) if isinstance(word, Term) and word.key == "item" for value in word.values]
    known = {value.text for value in values if value.text.isascii() and value.text.isdigit()}
    rows = {str(row.item): row for row in before.rows([int(text) for text in known])} if known else {}
    for value in sorted(values, key=lambda value: -value.position):
        where = _put(where, value, number_in(now, rows[value.text]) if value.text in rows else None)
    return where


def items_in(items: Sequence[int], before: Store, now: Store) -> tuple[int, ...]:
    """The same items in the other store. If none is left, one that is not there, as none stands for all."""
    rows = before.rows(list(items)) if items else []
    found = tuple(item_of(number) for row in rows if (number := number_in(now, row)) is not None)
    return found or (0,) * bool(items)


def _put(where: str, value: Value, number: int | None) -> str:
    """0 is no item's number."""
    shown = str(0 if number is None else item_of(number))
    return where[: value.position] + shown + where[value.position + len(value.text) :]
