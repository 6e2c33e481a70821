"""Items as `figures.Scored` rows, once a source: what a benchmark's figures are computed from."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.figures import DECIDED, SOURCES, FigureSource, Scored
from fcreview.store.connecting import StoreError

if TYPE_CHECKING:
    from fcreview.store.store import Store

RECORDED: dict[FigureSource, tuple[str, ...]] = {
    "official": ("judge", "official"),
    "rule": ("judge", "rule"),
    "corrected": ("judge", "rule", "official"),
}
"""Whose values count for a source, later ones over earlier: a judge's are recorded with both. People's come on top."""
COLUMNS = """
    i.item, i.id, i.category, i."group", i.official, i.rule, i.judge, i.error_type, i.rule_error_type, i.extra,
    i.n_golden, i.n_predicted, i.n_turns, len(i.functions),
    list_transform(i.verdicts, lambda v: [v.source, v.target, v.criterion, CAST(v."value" AS VARCHAR)])
"""
WHOLE = ("item", "response")


def scored(store: Store, run: int) -> dict[FigureSource, list[Scored]]:
    """The run's items in dataset order, as seen officially, by recomputation, and after reviews. Not in blind mode."""
    if store.blind:
        raise StoreError("figures are not available in blind mode")
    with store.lock:
        rows = store.connection.execute(
            f"SELECT {COLUMNS} FROM item_rows i WHERE i.run = ? ORDER BY i.seq", [run]
        ).fetchall()
        people = store.connection.execute(
            """SELECT h.item, h.target, h.criterion, h.human FROM human_labels h JOIN item_rows i USING (item)
               WHERE i.run = ? AND h.decided_by IN ('adjudication', 'unanimous')""",
            [run],
        ).fetchall()
    human: dict[int, list[tuple[str, str, Any]]] = defaultdict(list)
    for item, target, criterion, value in people:
        human[item].append((target, criterion, _json(value)))
    return {source: [_row(row, source, human.get(row[0], [])) for row in rows] for source in SOURCES}


def _row(row: tuple[Any, ...], source: FigureSource, human: list[tuple[str, str, Any]]) -> Scored:
    (
        _,
        name,
        category,
        group,
        official,
        rule,
        judge,
        error,
        rule_error,
        extra,
        golden,
        predicted,
        turns,
        functions,
        said,
    ) = row
    values: dict[str, Any] = {}
    parts: dict[tuple[str, str], Any] = {}
    for who in RECORDED[source]:
        for by, target, criterion, value in said or []:
            if by == who:
                _put(values, parts, target, criterion, _json(value))
    valid = official if source == "official" else rule
    if source == "corrected":
        valid = next((one for one in (official, rule, judge) if one is not None), None)
        for target, criterion, value in human:
            if (target, criterion) == ("item", "correct"):
                if isinstance(value, bool):
                    valid, values[DECIDED] = value, True
            else:
                _put(values, parts, target, criterion, value)
    kind = error if source != "rule" else rule_error
    return Scored(
        name,
        category,
        group,
        valid,
        kind if valid is False else None,
        values,
        [(target, criterion, value) for (target, criterion), value in parts.items()],
        _json(extra) or {},
        golden,
        predicted,
        functions or 0,
        turns,
    )


def _put(values: dict[str, Any], parts: dict[tuple[str, str], Any], target: str, criterion: str, value: Any) -> None:
    if target in WHOLE:
        if (target, criterion) != ("item", "correct"):
            values[criterion] = value
    else:
        parts[target, criterion] = value


def _json(text: Any) -> Any:
    return orjson.loads(text) if isinstance(text, str) else text
