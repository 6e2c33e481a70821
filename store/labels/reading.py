"""Labels with their values, read a part of the items at a time."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import orjson

from fcreview.review import ItemKey
from fcreview.store.labels.fields import CONTENT_FIELDS, JSON, LABEL_FIELDS, OPINION, VALUE, LabelField
from fcreview.store.labels.view import OWN, labels_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.queries.chunks import Chunk
    from fcreview.store.reviews.tables import ReviewTables

Only = Literal["all", "reviewed", "adjudicated"]
ONLY: dict[Only, str] = {"all": "true", "reviewed": "n_annotators > 0", "adjudicated": "decided_by = 'adjudication'"}
"""Which labels, as SQL: all, those somebody reviewed (the present answer), those an adjudicator settled."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which labels are read, and how much of each."""

    only: Only = "all"
    content: bool = False
    """With `CONTENT_FIELDS`."""


EVERY_LABEL = Choice()


def _objects(fields: dict[str, LabelField]) -> str:
    """SQL of one JSON object a row, from columns with the fields' names: one text is read much faster than many."""
    columns = [f"{name} := {name}{'::JSON' if each.shape == JSON else ''}" for name, each in fields.items() if each.sql]
    return f"CAST(to_json(struct_pack({', '.join(columns)})) AS VARCHAR)"


_LABEL = _objects(LABEL_FIELDS)
_CONTENT = ", ".join(f"{each.sql} AS {name}" for name, each in CONTENT_FIELDS.items())
_OPINION = attrgetter(*["verdict" if name == VALUE else name for name in OPINION])


def read_labels(
    reviews: ReviewTables, connection: DuckDBPyConnection, chunk: Chunk, choice: Choice
) -> list[dict[str, Any]]:
    """Labels with the fields `LABEL_FIELDS`, in the order of items, each item's own label first."""
    limited = "" if chunk.items is None else "AND item IN (SELECT unnest($1::BIGINT[]))"
    where = f"item BETWEEN {chunk.first:d} AND {chunk.last:d} {limited}"
    rows = connection.execute(
        f"SELECT item, {_LABEL} FROM ({labels_sql(reviews.policy, where)}) WHERE {ONLY[choice.only]}"
        f" ORDER BY item, NOT ({OWN}), target, criterion",
        [] if chunk.items is None else [chunk.items],
    ).fetchall()
    content = _content(connection, sorted({row[0] for row in rows})) if choice.content else {}
    last, labels = None, []
    opinions: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item, text in rows:
        label = orjson.loads(text)
        if item != last:
            last, opinions = item, _opinions(reviews, label)
        label["opinions"] = opinions.get((label["target"], label["criterion"]), [])
        label.update(content.get(item, ()))
        labels.append(label)
    return labels


def _opinions(reviews: ReviewTables, label: dict[str, Any]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """What people think of the parts of the item that a label is of."""
    key = ItemKey(*[label[name] for name in ItemKey._fields])
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for opinion in reviews.opinions(key, label["prediction_hash"] or "", label["golden_hash"] or ""):
        said = dict(zip(OPINION, _OPINION(opinion), strict=True))
        found.setdefault((opinion.target, opinion.criterion), []).append(said)
    return found


def _content(connection: DuckDBPyConnection, items: list[int]) -> dict[int, dict[str, Any]]:
    """The fields `CONTENT_FIELDS` by item."""
    rows = connection.execute(
        f"SELECT item, {_objects(CONTENT_FIELDS)} FROM (SELECT i.item, {_CONTENT} FROM item_rows i"
        " WHERE i.item IN (SELECT unnest($1::BIGINT[])))",
        [items],
    ).fetchall()
    found: dict[int, dict[str, Any]] = {item: orjson.loads(text) for item, text in rows}
    hashes = {name for content in found.values() for name in content["functions"]}
    documents = {
        name: orjson.loads(text)
        for name, text in connection.execute(
            "SELECT hash, document FROM functions WHERE hash IN (SELECT unnest($1::VARCHAR[]))", [sorted(hashes)]
        ).fetchall()
    }
    for content in found.values():
        content["functions"] = [documents[name] for name in content["functions"] if name in documents]
    return found
