"""The same question in other runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from duckdb import DuckDBPyConnection

from fcreview.store.connecting import with_room
from fcreview.store.queues.presentations import item_of
from fcreview.values import to_json_text

if TYPE_CHECKING:
    from fcreview.store.store import Store

_KEY = "id, category, benchmark, generation, language"
_SAME = (
    f"SELECT item FROM items WHERE ({_KEY}) = (SELECT ({_KEY}) FROM items WHERE item = $item)"
    " AND id = (SELECT id FROM item_rows WHERE item = $item) ORDER BY item"
)
_PREDICTED = (
    "SELECT item, list_filter(calls, lambda c: c.side = 'predicted') FROM item_rows"
    " WHERE item IN (SELECT unnest(?::BIGINT[]))"
)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one run predicted: equal texts are equal predictions."""

    item: int
    calls: str
    """`f(a=1); g()`, arguments by name; of calls that could not be read their text. Empty: none."""


def same_question(store: Store, item: int) -> list[int]:
    """Items with this one's id and category in all runs of its benchmark, generation and language, itself too."""
    with store.lock:
        return with_room(store.connection, lambda: _same(store.connection, item_of(item)))


def predictions(store: Store, item: int) -> list[Prediction]:
    """What those runs predicted, in their order."""

    def read() -> list[Prediction]:
        items = _same(store.connection, item_of(item))
        calls = dict(store.connection.execute(_PREDICTED, [items]).fetchall())
        return [Prediction(each, "; ".join(map(_text, calls.get(each) or ()))) for each in items]

    with store.lock:
        return with_room(store.connection, read)


def _same(connection: DuckDBPyConnection, item: int) -> list[int]:
    return [row[0] for row in connection.execute(_SAME, {"item": item}).fetchall()]


def _text(call: dict[str, Any]) -> str:
    arguments = None if call["arguments"] is None else orjson.loads(call["arguments"])
    if not isinstance(arguments, dict):
        return str(call["raw"] or call["name"])
    given = ", ".join(f"{name}={to_json_text(value)}" for name, value in sorted(arguments.items()))
    return f"{call['name']}({given})"
