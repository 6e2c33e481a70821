"""A snapshot as people's verdicts leave it: what follows from what, by the scripts' own arithmetic.

| said of a snapshot | follows | figures |
|---|---|---|
| `func_ok` | right: it is not rejected | Func_Acc; who counts in PN_FP, PN_FN and other errors |
| `args_ok` | | Args_Acc, PR, SR, other errors |
| `args_ok_llm` | | the same of the judge (`... LLM`) |
| `equivalent` | `args_ok_llm`: yes, and the same function and argument names | the same of the judge |
| `is_text` | | Output string ratio |
| `rejected` | | Rejection rate; `declined` of sets that are to be declined |
| `hallucinated`, `missing` | | their averages, PN_FP, PN_FN, other errors |
| `correct`, right | `func_ok`, `args_ok` and `args_ok_llm` are right | theirs |
| `correct`, wrong | `args_ok` and `args_ok_llm` are wrong; the name is asked for by itself | theirs |
| `correct`, to be declined | | `declined` only |

Per conversation, and so for PR and SR, the `func_ok` of the first snapshot counts for all.
What is said of a criterion itself counts before what follows from another. Names of arguments do not decide `args_ok`
again, nor the other way round: the scripts count each for itself.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.hammerbench.metrics import SnapshotOutcome
from fcreview.model.address import ITEM
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT

JUDGE_CRITERION = "args_ok_llm"
SAME_NAMES_KEY = "same function and argument names"
"""Stands in `more` where a judge was asked: the evaluator's condition on its yes."""
MOMENT_KEY = "moment"
"""Stands in `more` where a slot is overridden or an attached message is referred to."""
DECLINE_KEY = "expected"
"""Stands in `more` where the right answer is to decline."""


def get_snapshot_outcome(item: ScoredItem, criterion: str = "args_ok") -> SnapshotOutcome:
    """`criterion` is `args_ok`, or `args_ok_llm` for the judge's figures."""
    values = item.values
    own = None if DECLINE_KEY in item.metadata else item.overrides.get(ITEM_CORRECT)
    func_ok = True if own is True and not _is_overridden(item, "func_ok") else _get_flag(item, "func_ok")
    named = _is_overridden(item, "func_ok") or own is True
    rejected = False if named and func_ok and not _is_overridden(item, "rejected") else _get_flag(item, "rejected")
    return SnapshotOutcome(
        func_ok,
        _get_arguments_flag(item, criterion),
        _get_flag(item, "is_text"),
        rejected,
        _get_count(item, "hallucinated", values.get("hallucinated")),
        _get_count(item, "missing", values.get("missing")),
        MOMENT_KEY in item.metadata,
    )


def is_declined(item: ScoredItem) -> bool | None:
    """Of a set that is to be declined: the item's own verdict, unless people only say whether it was rejected."""
    if _is_overridden(item, "rejected") and ITEM_CORRECT not in item.overrides:
        return _get_flag(item, "rejected")
    return item.valid


def _is_overridden(item: ScoredItem, criterion: str) -> bool:
    return (ITEM, criterion) in item.overrides


def _get_flag(item: ScoredItem, criterion: str) -> bool | None:
    """None only where people differ."""
    value = item.values.get(criterion)
    return None if value is None and _is_overridden(item, criterion) else bool(value)


def _get_arguments_flag(item: ScoredItem, criterion: str) -> bool | None:
    if _is_overridden(item, criterion):
        return _get_flag(item, criterion)
    if criterion == JUDGE_CRITERION and _is_overridden(item, "equivalent"):
        replied = _get_flag(item, "equivalent")
        return None if replied is None else replied and bool(item.metadata.get(SAME_NAMES_KEY))
    if ITEM_CORRECT in item.overrides and DECLINE_KEY not in item.metadata:
        own = item.overrides[ITEM_CORRECT]
        return own if isinstance(own, bool) else None
    return _get_flag(item, criterion)


def _get_count(item: ScoredItem, criterion: str, value: Any) -> int | None:
    """Names are counted; a plain yes is one."""
    if value is None and _is_overridden(item, criterion):
        return None
    return len(value) if isinstance(value, list) else int(value is True)
