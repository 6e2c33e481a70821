"""HammerBench's figures from scored snapshots, as the generation of its script that fits the log prints them.

Source: the released `evaluate.py` (March 2025, flat logs) and the per-conversation script (December 2024). The
same answers give different figures in the two, so the generation goes with every figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.figures import Figure, Scored, Unit
from fcreview.model import Run
from fcreview.review import OWN

FROM_BADCASE = ("Func_Acc", "Args_Acc", "PR", "SR")
"""What badcase.csv is enough for."""
TINY = 1e-9
"""What the scripts add to some denominators."""


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
    own = item.overruled.get(OWN)
    if isinstance(own, bool):
        func_ok, args_ok = func_ok or own, own
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


@dataclass(frozen=True, slots=True)
class Row:
    """One snapshot as the figures see it."""

    func_ok: bool
    args_ok: bool
    is_text: bool = False
    rejected: bool = False
    hallucinated: int = 0
    missing: int = 0


def flat(rows: Sequence[Row]) -> dict[str, float]:
    """The figures of the current script, under the names it prints. PN_FP is the paper's PHR, PN_FN its PMR,
    Args_Acc its Acc."""
    n = len(rows)
    if not n:
        return {}
    named = [row for row in rows if row.func_ok]
    return {
        "Rejection rate": sum(row.rejected for row in rows) / n,
        "Output string ratio": sum(row.is_text for row in rows) / n,
        "Average number of parameter hallucinations": sum(row.hallucinated for row in rows) / (n + TINY),
        "Average number of missing parameters": sum(row.missing for row in rows) / (n + TINY),
        "Func_Acc": len(named) / n,
        "PN_FP": sum(row.hallucinated > 0 for row in named) / (len(named) + TINY),
        "PN_FN": sum(row.missing > 0 for row in named) / (len(named) + TINY),
        "Args_Acc": sum(row.args_ok for row in rows) / n,
    }


Conversation = Sequence[Row]


def choose(conversation: Conversation, which: str) -> list[Row]:
    """`all`, `0` (first) or `-1` (last) snapshots."""
    return {"all": list(conversation), "0": list(conversation[:1]), "-1": list(conversation[-1:])}[which]


def per_conversation(conversations: Sequence[Conversation], which: str = "all") -> dict[str, float]:
    """The figures of the earlier script. Only the first snapshot's function name counts, for the whole conversation."""
    n = len(conversations)
    if not n:
        return {}
    named = [c for c in conversations if c and c[0].func_ok]
    chosen = [choose(c, which) for c in conversations]
    chosen_named = [row for c in named for row in choose(c, which)]
    total = sum(map(len, chosen))
    snapshots = [row for c in chosen for row in c]
    return {
        "Rejection rate": sum(bool(c) and c[0].rejected for c in conversations) / n,
        "Output string ratio": sum(row.is_text for c in conversations for row in c) / n,
        "Average number of parameter hallucinations": sum(row.hallucinated for row in snapshots) / (total + TINY),
        "Average number of missing parameters": sum(row.missing for row in snapshots) / (total + TINY),
        "PN_FP": sum(row.hallucinated > 0 for row in chosen_named) / (len(chosen_named) + TINY),
        "PN_FN": sum(row.missing > 0 for row in chosen_named) / (len(chosen_named) + TINY),
        "Func_Acc": len(named) / n,
        "Args_Acc": sum(row.args_ok for row in chosen_named) / total if total else 0.0,
        "PR": sum(_progress([row.args_ok for row in choose(c, which)]) for c in named) / (n + TINY),
        "SR": sum(all(row.args_ok for row in choose(c, which)) for c in named) / (n + TINY),
    }


def _progress(flags: Sequence[bool]) -> float:
    """How far the conversation went before the first failure, 0 to 1."""
    first = next((position for position, ok in enumerate(flags) if not ok), None)
    return 1.0 if first is None else first / len(flags)
