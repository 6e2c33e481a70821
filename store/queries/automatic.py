"""What the benchmark and its judges say of the targets of an item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.review import OWN, UNSURE, Said
from fcreview.rollup import SCORING, alike

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_AUTOMATIC = f"SELECT item, {', '.join(SCORING)}, verdicts FROM item_rows WHERE "
_ONE, _SEVERAL = "item = $1", "item IN (SELECT unnest($1::BIGINT[]))"
"""A join reads the whole column of items: of one, which is what a key asks, that is several times as slow."""
_JUDGED = """
SELECT item, v.target, v.criterion, CAST(v."value" AS VARCHAR), v."by"
FROM (SELECT item, unnest(verdicts) AS v FROM item_rows WHERE item IN ({items})) WHERE v.source = 'judge'
"""


def overruled(connection: DuckDBPyConnection, asked: Sequence[tuple[int, Said]]) -> list[dict[str, Any] | None]:
    """For each (item, what is said of it) {source, by, value} of the automatic verdict that counts on it (the first of
    `SCORING` that says something), if that is another; None if it says the same, if there is none, and of "unsure"."""
    items = list({item for item, said in asked if said.verdict not in (None, UNSURE)})
    if not items:
        return [None] * len(asked)
    found: dict[tuple[int, str, str], dict[str, dict[str, Any]]] = {}
    which, bound = (_ONE, items[0]) if len(items) == 1 else (_SEVERAL, items)
    for item, *own, verdicts in connection.execute(_AUTOMATIC + which, [bound]).fetchall():
        found[item, *OWN] = {source: {"by": None, "value": value} for source, value in zip(SCORING, own, strict=True)}
        for each in verdicts or ():
            value = None if each["value"] is None else orjson.loads(each["value"])
            about = found.setdefault((item, each["target"], each["criterion"]), {})
            about[each["source"]] = {"by": each["by"], "value": value}
    return [_contradicted(found.get((item, said.target, said.criterion), {}), said) for item, said in asked]


def _contradicted(automatic: dict[str, dict[str, Any]], said: Said) -> dict[str, Any] | None:
    if said.verdict is None or said.verdict == UNSURE:
        return None
    for source in SCORING:
        own = automatic.get(source)
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
