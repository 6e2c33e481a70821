"""What the benchmark and its judges say of the targets of an item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.review import OWN, UNSURE, Said
from fcreview.rollup import SCORING, alike

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_VERDICTS = (
    'SELECT v.source, v."by", CAST(v."value" AS VARCHAR) FROM (SELECT unnest(verdicts) AS v FROM item_rows'
    " WHERE item = ?) WHERE v.target = ? AND v.criterion = ?"
)
_OWN = f"SELECT {', '.join(SCORING)} FROM item_rows WHERE item = ?"
_JUDGED = """
SELECT item, v.target, v.criterion, CAST(v."value" AS VARCHAR), v."by"
FROM (SELECT item, unnest(verdicts) AS v FROM item_rows WHERE item IN ({items})) WHERE v.source = 'judge'
"""


def overruled(connection: DuckDBPyConnection, item: int, said: Said) -> dict[str, Any] | None:
    """{source, by, value} of the automatic verdict that counts on what is said here (the first of `SCORING` that says
    something), if that is another; None if it says the same, if there is none, and of "unsure"."""
    if said.verdict is None or said.verdict == UNSURE:
        return None
    found: dict[str, dict[str, Any]] = {}
    if (said.target, said.criterion) == OWN:
        row = connection.execute(_OWN, [item]).fetchone() or ()
        found = {source: {"by": None, "value": value} for source, value in zip(SCORING, row, strict=False)}
    rows = connection.execute(_VERDICTS, [item, said.target, said.criterion]).fetchall()
    for source, by, value in rows:
        found[source] = {"by": by, "value": orjson.loads(value) if value is not None else None}
    for source in SCORING:
        own = found.get(source)
        if own is not None and own["value"] is not None:
            return None if alike(said.verdict, own["value"]) else {"source": source, **own}
    return None


def judged(connection: DuckDBPyConnection, items: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """What judges say of these items and their parts: {target, criterion, value, by}."""
    found: dict[int, list[dict[str, Any]]] = {}
    numbers = ", ".join(str(int(item)) for item in items)
    for item, target, criterion, value, by in connection.execute(_JUDGED.format(items=numbers or "NULL")).fetchall():
        said = {"target": target, "criterion": criterion, "value": orjson.loads(value or "null"), "by": by}
        found.setdefault(item, []).append(said)
    return found
