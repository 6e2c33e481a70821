"""The arithmetic of HammerBench's two scripts over snapshots: what each prints, under its own names.

Source: the released `evaluate.py` (March 2025, flat logs) and the per-conversation script (December 2024). The same
answers give other figures in the two. PN_FP is the paper's PHR, PN_FN its PMR, Args_Acc its Acc.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import mul
from typing import NamedTuple

TINY = 1e-9
"""What the scripts add to some denominators."""
OTHER = "Other errors"
"""The paper's Other Error Rate (Table 6): every name right and a value wrong, among snapshots of the right function.
No script prints it."""
ALIKE = 1 << 14
"""Conversations that are alike are taken apart once: so many of them are remembered."""


class Row(NamedTuple):
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


Conversation = tuple[Row, ...]


def flat(rows: Iterable[Row]) -> dict[str, float]:
    """The figures of the current script, over snapshots each for itself."""
    kinds = Counter(rows)
    if not kinds:
        return {}
    named = {row: n for row, n in kinds.items() if row.func_ok}
    return {
        "Rejection rate": _share((row.rejected, n) for row, n in kinds.items()),
        "Output string ratio": _share((row.is_text, n) for row, n in kinds.items()),
        "Average number of parameter hallucinations": _share(((r.hallucinated, n) for r, n in kinds.items()), TINY),
        "Average number of missing parameters": _share(((row.missing, n) for row, n in kinds.items()), TINY),
        "Func_Acc": _share((row.func_ok, n) for row, n in kinds.items()),
        "PN_FP": _share(((_some(row.hallucinated), n) for row, n in named.items()), TINY),
        "PN_FN": _share(((_some(row.missing), n) for row, n in named.items()), TINY),
        "Args_Acc": _share((row.args_ok, n) for row, n in kinds.items()),
        OTHER: _share(((row.other_error, n) for row, n in named.items()), TINY),
    }


def _some(count: int | None) -> bool | None:
    return None if count is None else count > 0


def _share(values: Iterable[tuple[float | None, int]], more: float = 0.0) -> float:
    """Mean of what is known of (value, how often); `more` is added to the number of values."""
    known = [(value, n) for value, n in values if value is not None]
    return _part(sum(value * n for value, n in known), sum(n for _, n in known), more)


def _part(value: float, of: int, more: float = 0.0) -> float:
    return value / (of + more) if of else 0.0


def choose(conversation: Conversation, which: str) -> Conversation:
    """`all`, `0` (first), `-1` (last) or `mid` (where a slot is overridden or a message referred to) snapshots."""
    if which == "mid":
        return tuple(row for row in conversation if row.moment)
    return {"all": conversation, "0": conversation[:1], "-1": conversation[-1:]}[which]


class Tally(NamedTuple):
    """What a conversation adds to the sums of the earlier script; `..._of`: how many are known."""

    n: int
    named: bool
    """Whether the first snapshot has the right function."""
    rejected: int
    rejected_of: int
    texts: int
    hallucinated: int
    hallucinated_of: int
    missing: int
    missing_of: int
    invented: int
    """Snapshots with a hallucinated name; this and what follows only where the function is right."""
    invented_of: int
    forgot: int
    forgot_of: int
    other: int
    other_of: int
    right: int
    """Snapshots with right arguments."""
    judged: int
    """Snapshots with a verdict on the arguments, whatever the function."""
    settled: bool
    """Whether the function is right and people differ on no snapshot's arguments."""
    progress: float
    success: bool


@lru_cache(maxsize=ALIKE)
def tally(conversation: Conversation, which: str) -> Tally | None:
    """None without a chosen snapshot, and where people differ on the first one's function."""
    chosen, first = choose(conversation, which), conversation[0] if conversation else None
    if not chosen or first is None or first.func_ok is None:
        return None
    flags = [row.args_ok for row in chosen]
    named = chosen if first.func_ok else ()
    settled = bool(named) and None not in flags
    return Tally(
        1,
        bool(named),
        *_known([first.rejected]),
        sum(bool(row.is_text) for row in conversation),
        *_known([row.hallucinated for row in chosen]),
        *_known([row.missing for row in chosen]),
        *_known([_some(row.hallucinated) for row in named]),
        *_known([_some(row.missing) for row in named]),
        *_known([row.other_error for row in named]),
        right=sum(row.args_ok is True for row in named),
        judged=sum(flag is not None for flag in flags),
        settled=settled,
        progress=_progress([bool(flag) for flag in flags]) if settled else 0.0,
        success=settled and all(flags),
    )


def _known(values: Sequence[int | None]) -> tuple[int, int]:
    """(sum, how many)"""
    known = [value for value in values if value is not None]
    return sum(known), len(known)


class Conversations:
    """Each kind of them once, with how often it occurs: few differ."""

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        places: dict[Conversation, int] = {}
        self.order = [places.setdefault(one, len(places)) for one in conversations]
        """Of each conversation which kind it is."""
        self.kinds = list(places)
        times = Counter(self.order)
        self.times = [times[at] for at in range(len(places))]

    def sums(self, which: str) -> Tally | None:
        """None if no conversation has a chosen snapshot."""
        tallies = [tally(kind, which) for kind in self.kinds]
        made = [(one, n) for one, n in zip(tallies, self.times, strict=True) if one is not None]
        if not made:
            return None
        times = [n for _, n in made]
        columns = zip(*(one for one, _ in made), strict=True)
        progress = [one.progress if one is not None else 0.0 for one in tallies]
        in_order = sum(map(progress.__getitem__, self.order))  # as the script adds them up, to the last bit
        return Tally(*(sum(map(mul, column, times)) for column in columns))._replace(progress=in_order)


def per_conversation(conversations: Conversations, which: str = "all") -> dict[str, float]:
    """The figures of the earlier script. Only the first snapshot's function name counts, for the whole conversation.

    Conversations without a chosen snapshot are left out.
    """
    sums = conversations.sums(which)
    if sums is None:
        return {}
    settled = sums.n - sums.named + sums.settled
    return {
        "Rejection rate": _part(sums.rejected, sums.rejected_of),
        "Output string ratio": sums.texts / sums.n,
        "Average number of parameter hallucinations": _part(sums.hallucinated, sums.hallucinated_of, TINY),
        "Average number of missing parameters": _part(sums.missing, sums.missing_of, TINY),
        "PN_FP": _part(sums.invented, sums.invented_of, TINY),
        "PN_FN": _part(sums.forgot, sums.forgot_of, TINY),
        "Func_Acc": sums.named / sums.n,
        "Args_Acc": _part(sums.right, sums.judged),
        "PR": sums.progress / (settled + TINY),
        "SR": sums.success / (settled + TINY),
        OTHER: _part(sums.other, sums.other_of, TINY),
    }


def _progress(flags: Sequence[bool]) -> float:
    """How far the conversation went before the first failure, 0 to 1."""
    first = next((position for position, ok in enumerate(flags) if not ok), None)
    return 1.0 if first is None else first / len(flags)
