"""HammerBench's figures from scored snapshots, in the generation of the log."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.figures import DECIDED, Figure, Scored, Unit
from fcreview.importers.hammerbench.metrics import Row, flat, per_conversation
from fcreview.model import Run

FROM_BADCASE = ("Func_Acc", "Args_Acc", "PR", "SR")
"""What badcase.csv is enough for."""


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:
    """Overall and by type. Text-labelled snapshots (intent shifts) only count for the rejection rate, as nothing
    else is defined."""
    types: dict[str, list[Scored]] = {}
    for row in rows:
        types.setdefault(row.category, []).append(row)
    if run.generation == "conversation":
        return [figure for name, part in types.items() for figure in _conversations(name, part)]
    plain = [row for row in rows if row.category != "IS"]
    found = _flat("all types", plain)
    for name, part in types.items():
        found += _declined(name, part) if name == "IS" or name.startswith("ir_") else []
        found += _flat(name, part) if name != "IS" else []
    return found


def _row(item: Scored, criterion: str = "args_ok") -> Row:
    values = item.values
    func_ok, args_ok = bool(values.get("func_ok")), bool(values.get(criterion))
    if values.get(DECIDED):
        func_ok, args_ok = func_ok or bool(item.valid), bool(item.valid)
    return Row(
        func_ok,
        args_ok,
        bool(values.get("is_text")),
        bool(values.get("rejected")),
        len(values.get("hallucinated") or []),
        len(values.get("missing") or []),
    )


def _unit(name: str) -> Unit:
    return "score" if name.startswith("Average") else "share"


def _flat(table: str, part: Sequence[Scored]) -> list[Figure]:
    if not any("func_ok" in row.values for row in part):
        return []
    return [Figure(table, name, value, _unit(name)) for name, value in flat([_row(row) for row in part]).items()]


def _declined(table: str, part: Sequence[Scored]) -> list[Figure]:
    known = [row.valid for row in part if row.valid is not None and (row.category != "IS" or row.n_golden == 0)]
    note = "the right answer is to decline; the program counts a call to the absent function as right"
    return [Figure(table, "declined", sum(known) / len(known), note=note)] if known else []


def _conversations(kind: str, part: Sequence[Scored]) -> list[Figure]:
    rows, judged = _grouped(part, "args_ok"), _grouped(part, "args_ok_llm")
    words = {"all": "all snapshots", "0": "first snapshot", "-1": "last snapshot"}
    recorded = any("hallucinated" in item.values for item in part)
    found = []
    for which, word in words.items():
        values = per_conversation(rows, which)
        found += [
            Figure(f"{kind}, {word}", name, value) for name, value in values.items() if recorded or name in FROM_BADCASE
        ]
        by_judge = per_conversation(judged, which)
        names = FROM_BADCASE[1:] if by_judge else ()
        found += [Figure(f"{kind}, {word}", f"{name} LLM", by_judge[name]) for name in names]
    return found


def _grouped(part: Sequence[Scored], criterion: str) -> list[list[Row]]:
    """Conversations of the snapshots that have a verdict on the criterion."""
    groups: dict[str | None, list[Row]] = {}
    for item in part:
        if "func_ok" in item.values and criterion in item.values:
            groups.setdefault(item.group, []).append(_row(item, criterion))
    return list(groups.values())
