"""Labels in chunks, for exports: the rows of the view `labels` with values instead of JSON text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.store.connecting import StoreError
from fcreview.store.filters.language import parse

if TYPE_CHECKING:
    from fcreview.store.store import Store

COLUMNS = (
    "run",
    "model",
    "benchmark",
    "generation",
    "language",
    "category",
    "id",
    "target",
    "criterion",
    "official",
    "rule",
    "judge",
    "human",
    "effective",
    "decided_by",
    "fault",
    "tags",
    "notes",
    "annotators",
    "n_annotators",
    "stale",
    "error_type",
    "rule_error_type",
    "prediction_hash",
    "golden_hash",
)
"""Fields of an exported label, in this order."""

VALUES = ("official", "rule", "judge", "human", "effective")
CHUNK = 5000
_WORDS: dict[str | None, Any] = {None: None, "true": True, "false": False}


def labels(store: Store, where: str = "", chunk: int = CHUNK) -> Iterator[list[dict[str, Any]]]:
    """Labels of the items that the filter `where` selects, in the order of items, each item's own label first.

    In lists of about `chunk` that end with an item; each is a query of its own, so others may use the store in between.
    FilterError for a filter that is not understood, StoreError in blind mode; both at once, not at the first list.
    """
    if store.blind:
        raise StoreError("labels are not available in blind mode")
    chosen = parse(where)
    with store.lock:
        parts = store.connection.execute(
            f"SELECT min(item), max(item), {'list(item)' if where.strip() else 'NULL'} FROM"
            f" (SELECT i.item, (row_number() OVER (ORDER BY i.item) - 1) // {int(chunk)} AS part"
            f" FROM item_rows i LEFT JOIN human h ON h.item = i.item WHERE {chosen.where})"
            " GROUP BY part ORDER BY part",
            chosen.params,
        ).fetchall()
    return _chunks(store, parts)


def _chunks(store: Store, parts: list[tuple[int, int, list[int] | None]]) -> Iterator[list[dict[str, Any]]]:
    for first, last, items in parts:
        limited = "" if items is None else "AND item IN (SELECT unnest(?::BIGINT[]))"
        text = (
            f"SELECT {', '.join(COLUMNS)} FROM labels WHERE item BETWEEN {int(first)} AND {int(last)} {limited}"
            " ORDER BY item, NOT (target = 'item' AND criterion = 'correct'), target, criterion"
        )
        with store.lock:
            rows = store.connection.execute(text, [] if items is None else [items]).fetchall()
        yield [_label(row) for row in rows]


def _label(row: tuple[Any, ...]) -> dict[str, Any]:
    label = dict(zip(COLUMNS, row, strict=True))
    for name in VALUES:
        text = label[name]
        label[name] = _WORDS[text] if text in _WORDS else orjson.loads(text)
    return label
