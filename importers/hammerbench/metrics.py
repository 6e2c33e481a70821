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

EPSILON = 1e-9
"""What the scripts add to some denominators."""
OTHER_ERRORS = "Other errors"
"""The paper's Other Error Rate (Table 6): every name right and a value wrong, among snapshots of the right function.
No script prints it."""
TALLY_CACHE_SIZE = 1 << 14
"""Conversations that are alike are taken apart once: so many of them are remembered."""


class SnapshotOutcome(NamedTuple):
    """One snapshot as the figures see it. None is what people differ on: it is left out."""

    func_ok: bool | None
    args_ok: bool | None
    is_text: bool | None = False
    rejected: bool | None = False
    hallucinated: int | None = 0
    missing: int | None = 0
    is_moment: bool = False
    """A slot is overridden here, or the user refers to an attached message."""

    @property
    def other_error(self) -> bool | None:
        """None where names are right and people differ on the values."""
        if self.hallucinated or self.missing or self.is_text:
            return False
        return None if self.args_ok is None else not self.args_ok


Conversation = tuple[SnapshotOutcome, ...]


def compute_flat_metrics(rows: Iterable[SnapshotOutcome]) -> dict[str, float]:
    """The figures of the current script, over snapshots each for itself."""
    kinds = Counter(rows)
    if not kinds:
        return {}
    named = {row: n for row, n in kinds.items() if row.func_ok}
    return {
        "Rejection rate": _weighted_mean((row.rejected, n) for row, n in kinds.items()),
        "Output string ratio": _weighted_mean((row.is_text, n) for row, n in kinds.items()),
        "Average number of parameter hallucinations": _weighted_mean(((r.hallucinated, n) for r, n in kinds.items()), EPSILON),
        "Average number of missing parameters": _weighted_mean(((row.missing, n) for row, n in kinds.items()), EPSILON),
        "Func_Acc": _weighted_mean((row.func_ok, n) for row, n in kinds.items()),
        "PN_FP": _weighted_mean(((_is_positive(row.hallucinated), n) for row, n in named.items()), EPSILON),
        "PN_FN": _weighted_mean(((_is_positive(row.missing), n) for row, n in named.items()), EPSILON),
        "Args_Acc": _weighted_mean((row.args_ok, n) for row, n in kinds.items()),
        OTHER_ERRORS: _weighted_mean(((row.other_error, n) for row, n in named.items()), EPSILON),
    }


def _is_positive(count: int | None) -> bool | None:
    return None if count is None else count > 0


def _weighted_mean(values: Iterable[tuple[float | None, int]], more: float = 0.0) -> float:
    """Mean of what is known of (value, how often); `more` is added to the number of values."""
    known = [(value, n) for value, n in values if value is not None]
    return _ratio(sum(value * n for value, n in known), sum(n for _, n in known), more)


def _ratio(value: float, of: int, more: float = 0.0) -> float:
    return value / (of + more) if of else 0.0


def select_snapshots(conversation: Conversation, which: str) -> Conversation:
    """`all`, `0` (first), `-1` (last) or `mid` (where a slot is overridden or a message referred to) snapshots."""
    if which == "mid":
        return tuple(row for row in conversation if row.is_moment)
    return {"all": conversation, "0": conversation[:1], "-1": conversation[-1:]}[which]


class ConversationTally(NamedTuple):
    """What a conversation adds to the sums of the earlier script; `..._of`: how many are known."""

    n: int
    name_ok: bool
    """Whether the first snapshot has the right function."""
    rejected: int
    n_rejected_known: int
    text_snapshots: int
    hallucinated: int
    n_hallucinated_known: int
    missing: int
    n_missing_known: int
    snapshots_with_hallucination: int
    """Snapshots with a hallucinated name; this and what follows only where the function is right."""
    n_invented_known: int
    snapshots_with_missing: int
    n_forgot_known: int
    other_errors: int
    n_other_known: int
    right_arguments: int
    """Snapshots with right arguments."""
    n_args_known: int
    """Snapshots with a verdict on the arguments, whatever the function."""
    is_settled: bool
    """Whether the function is right and people differ on no snapshot's arguments."""
    progress: float
    success: bool


@lru_cache(maxsize=TALLY_CACHE_SIZE)
def tally_conversation(conversation: Conversation, which: str) -> ConversationTally | None:
    """None without a chosen snapshot, and where people differ on the first one's function."""
    chosen, first = select_snapshots(conversation, which), conversation[0] if conversation else None
    if not chosen or first is None or first.func_ok is None:
        return None
    flags = [row.args_ok for row in chosen]
    named = chosen if first.func_ok else ()
    settled = bool(named) and None not in flags
    return ConversationTally(
        1,
        bool(named),
        *_sum_and_count([first.rejected]),
        sum(bool(row.is_text) for row in conversation),
        *_sum_and_count([row.hallucinated for row in chosen]),
        *_sum_and_count([row.missing for row in chosen]),
        *_sum_and_count([_is_positive(row.hallucinated) for row in named]),
        *_sum_and_count([_is_positive(row.missing) for row in named]),
        *_sum_and_count([row.other_error for row in named]),
        right_arguments=sum(row.args_ok is True for row in named),
        n_args_known=sum(flag is not None for flag in flags),
        is_settled=settled,
        progress=_progress_rate([bool(flag) for flag in flags]) if settled else 0.0,
        success=settled and all(flags),
    )


def _sum_and_count(values: Sequence[int | None]) -> tuple[int, int]:
    """(sum, how many)"""
    known = [value for value in values if value is not None]
    return sum(known), len(known)


class ConversationCounts:
    """Each kind of them once, with how often it occurs: few differ."""

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        places: dict[Conversation, int] = {}
        self.indexes = [places.setdefault(one, len(places)) for one in conversations]
        """Of each conversation which kind it is."""
        self.distinct_conversations = list(places)
        times = Counter(self.indexes)
        self.n_occurrences = [times[at] for at in range(len(places))]

    def tally_for(self, which: str) -> ConversationTally | None:
        """None if no conversation has a chosen snapshot."""
        tallies = [tally_conversation(kind, which) for kind in self.distinct_conversations]
        made = [(one, n) for one, n in zip(tallies, self.n_occurrences, strict=True) if one is not None]
        if not made:
            return None
        times = [n for _, n in made]
        columns = zip(*(one for one, _ in made), strict=True)
        progress = [one.progress if one is not None else 0.0 for one in tallies]
        in_order = sum(map(progress.__getitem__, self.indexes))  # as the script adds them up, to the last bit
        return ConversationTally(*(sum(map(mul, column, times)) for column in columns))._replace(progress=in_order)


def compute_conversation_metrics(conversations: ConversationCounts, which: str = "all") -> dict[str, float]:
    """The figures of the earlier script. Only the first snapshot's function name counts, for the whole conversation.

    Conversations without a chosen snapshot are left out.
    """
    sums = conversations.tally_for(which)
    if sums is None:
        return {}
    settled = sums.n - sums.name_ok + sums.is_settled
    return {
        "Rejection rate": _ratio(sums.rejected, sums.n_rejected_known),
        "Output string ratio": sums.text_snapshots / sums.n,
        "Average number of parameter hallucinations": _ratio(sums.hallucinated, sums.n_hallucinated_known, EPSILON),
        "Average number of missing parameters": _ratio(sums.missing, sums.n_missing_known, EPSILON),
        "PN_FP": _ratio(sums.snapshots_with_hallucination, sums.n_invented_known, EPSILON),
        "PN_FN": _ratio(sums.snapshots_with_missing, sums.n_forgot_known, EPSILON),
        "Func_Acc": sums.name_ok / sums.n,
        "Args_Acc": _ratio(sums.right_arguments, sums.n_args_known),
        "PR": sums.progress / (settled + EPSILON),
        "SR": sums.success / (settled + EPSILON),
        OTHER_ERRORS: _ratio(sums.other_errors, sums.n_other_known, EPSILON),
    }


def _progress_rate(flags: Sequence[bool]) -> float:
    """How far the conversation went before the first failure, 0 to 1."""
    first = next((position for position, ok in enumerate(flags) if not ok), None)
    return 1.0 if first is None else first / len(flags)
