"""HammerBench's figures, in both generations of its script, as pure functions over snapshot verdicts.

Source: the released `evaluate.py` (March 2025, flat logs) and the per-conversation script (December 2024). The
same answers give different figures in the two, so the generation goes with every figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TINY = 1e-9
"""What the scripts add to some denominators."""


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
