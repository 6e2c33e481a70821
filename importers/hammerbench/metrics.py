"""The arithmetic of HammerBench's two scripts over snapshots: what each prints, under its own names.

Source: the released `evaluate.py` (March 2025, flat logs) and the per-conversation script (December 2024). The same
answers give other figures in the two. PN_FP is the paper's PHR, PN_FN its PMR, Args_Acc its Acc.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TINY = 1e-9
"""What the scripts add to some denominators."""
OTHER = "Other errors"
"""The paper's Other Error Rate (Table 6): every name right and a value wrong, among snapshots of the right function.
No script prints it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One snapshot as the figures see it. None is what people differ on: it is left out."""

    func_ok: bool | None
    args_ok: bool | None
    is_text: bool | None = False
    rejected: bool | None = False
    hallucinated: int | None = 0
    missing: int | None = 0
    moment: bool = False
    """A slot is overridden here, or the user refers to an attached message."""

    @property
    def other_error(self) -> bool | None:
        """None where names are right and people differ on the values."""
        if self.hallucinated or self.missing or self.is_text:
            return False
        return None if self.args_ok is None else not self.args_ok


Conversation = Sequence[Row]


def flat(rows: Sequence[Row]) -> dict[str, float]:
    """The figures of the current script, over snapshots each for itself."""
    if not rows:
        return {}
    named = [row for row in rows if row.func_ok]
    return {
        "Rejection rate": _share([row.rejected for row in rows]),
        "Output string ratio": _share([row.is_text for row in rows]),
        "Average number of parameter hallucinations": _share([row.hallucinated for row in rows], TINY),
        "Average number of missing parameters": _share([row.missing for row in rows], TINY),
        "Func_Acc": _share([row.func_ok for row in rows]),
        **_names(named),
        "Args_Acc": _share([row.args_ok for row in rows]),
        OTHER: _share([row.other_error for row in named], TINY),
    }


def _names(named: Sequence[Row]) -> dict[str, float]:
    return {
        "PN_FP": _share([None if row.hallucinated is None else row.hallucinated > 0 for row in named], TINY),
        "PN_FN": _share([None if row.missing is None else row.missing > 0 for row in named], TINY),
    }


def _share(values: Sequence[float | None], more: float = 0.0) -> float:
    """Mean of what is known; `more` is added to the number of values."""
    known = [value for value in values if value is not None]
    return sum(known) / (len(known) + more) if known else 0.0


def choose(conversation: Conversation, which: str) -> list[Row]:
    """`all`, `0` (first), `-1` (last) or `mid` (where a slot is overridden or a message referred to) snapshots."""
    return {
        "all": list(conversation),
        "0": list(conversation[:1]),
        "-1": list(conversation[-1:]),
        "mid": [row for row in conversation if row.moment],
    }[which]


def per_conversation(conversations: Sequence[Conversation], which: str = "all") -> dict[str, float]:
    """The figures of the earlier script. Only the first snapshot's function name counts, for the whole conversation.

    Conversations without a chosen snapshot are left out.
    """
    made = [(c, choose(c, which)) for c in conversations if choose(c, which)]
    made = [(c, chosen) for c, chosen in made if c[0].func_ok is not None]
    if not made:
        return {}
    named = [chosen for c, chosen in made if c[0].func_ok]
    chosen_named = [row for chosen in named for row in chosen]
    snapshots = [row for _, chosen in made for row in chosen]
    total = sum(row.args_ok is not None for row in snapshots)
    settled = [chosen for chosen in named if all(row.args_ok is not None for row in chosen)]
    n = len(made) - len(named) + len(settled)
    return {
        "Rejection rate": _share([c[0].rejected for c, _ in made]),
        "Output string ratio": sum(bool(row.is_text) for c, _ in made for row in c) / len(made),
        "Average number of parameter hallucinations": _share([row.hallucinated for row in snapshots], TINY),
        "Average number of missing parameters": _share([row.missing for row in snapshots], TINY),
        **_names(chosen_named),
        "Func_Acc": len(named) / len(made),
        "Args_Acc": sum(row.args_ok is True for row in chosen_named) / total if total else 0.0,
        "PR": sum(_progress([bool(row.args_ok) for row in chosen]) for chosen in settled) / (n + TINY),
        "SR": sum(all(row.args_ok for row in chosen) for chosen in settled) / (n + TINY),
        OTHER: _share([row.other_error for row in chosen_named], TINY),
    }


def _progress(flags: Sequence[bool]) -> float:
    """How far the conversation went before the first failure, 0 to 1."""
    first = next((position for position, ok in enumerate(flags) if not ok), None)
    return 1.0 if first is None else first / len(flags)
