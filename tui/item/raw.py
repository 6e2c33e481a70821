"""An item's records as they stand in the files: read again when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from fcreview.tui.document.records import Record, place_of, score_place

if TYPE_CHECKING:
    from fcreview.model import Item
    from fcreview.store.store import Store
    from fcreview.tui.session import Session


async def raw_records(session: Session, number: int, item: Item) -> list[Record]:
    """The result record and the entry of the score file that failed the item, if it is known."""
    records = [Record("result", place_of(item.file, item.line), await _read(session, partial(_result, number)) or "")]
    entry = await _read(session, partial(_score, number))
    return [*records, Record("score", score_place(item), entry)] if entry is not None else records


def _result(item: int, store: Store) -> str | None:
    return store.raw(item)


def _score(item: int, store: Store) -> str | None:
    return store.raw_score(item)


async def _read(session: Session, question: Callable[[Store], str | None]) -> str | None:
    try:
        return await session.ask(question)
    except Exception as error:  # the file may be gone, changed or unreadable: say so
        return f"The record cannot be read: {error}"
