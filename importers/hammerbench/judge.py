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

from fcreview.importers.hammerbench.metrics import Row
from fcreview.model.address import ITEM
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT

JUDGE = "args_ok_llm"
SAME_NAMES = "same function and argument names"
"""Stands in `more` where a judge was asked: the evaluator's condition on its yes."""
MOMENT = "moment"
"""Stands in `more` where a slot is overridden or an attached message is referred to."""
DECLINES = "expected"
"""Stands in `more` where the right answer is to decline."""


def snapshot(item: ScoredItem, criterion: str = "args_ok") -> Row:
    """`criterion` is `args_ok`, or `args_ok_llm` for the judge's figures."""
    values = item.values
    own = None if DECLINES in item.metadata else item.overrides.get(ITEM_CORRECT)
    func_ok = True if own is True and not _said(item, "func_ok") else _flag(item, "func_ok")
    named = _said(item, "func_ok") or own is True
    rejected = False if named and func_ok and not _said(item, "rejected") else _flag(item, "rejected")
    return Row(
        func_ok,
        _arguments(item, criterion),
        _flag(item, "is_text"),
        rejected,
        _count(item, "hallucinated", values.get("hallucinated")),
        _count(item, "missing", values.get("missing")),
        MOMENT in item.metadata,
    )


def declined(item: ScoredItem) -> bool | None:
    """Of a set that is to be declined: the item's own verdict, unless people only say whether it was rejected."""
    if _said(item, "rejected") and ITEM_CORRECT not in item.overrides:
        return _flag(item, "rejected")
    return item.valid


def _said(item: ScoredItem, criterion: str) -> bool:
    return (ITEM, criterion) in item.overrides


def _flag(item: ScoredItem, criterion: str) -> bool | None:
    """None only where people differ."""
    value = item.values.get(criterion)
    return None if value is None and _said(item, criterion) else bool(value)


def _arguments(item: ScoredItem, criterion: str) -> bool | None:
    if _said(item, criterion):
        return _flag(item, criterion)
    if criterion == JUDGE and _said(item, "equivalent"):
        replied = _flag(item, "equivalent")
        return None if replied is None else replied and bool(item.metadata.get(SAME_NAMES))
    if ITEM_CORRECT in item.overrides and DECLINES not in item.metadata:
        own = item.overrides[ITEM_CORRECT]
        return own if isinstance(own, bool) else None
    return _flag(item, criterion)


def _count(item: ScoredItem, criterion: str, value: Any) -> int | None:
    """Names are counted; a plain yes is one."""
    if value is None and _said(item, criterion):
        return None
    return len(value) if isinstance(value, list) else int(value is True)
