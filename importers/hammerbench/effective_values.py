"""Effective values of a snapshot: its verdicts after overrides, by the rules of the evaluation scripts.

The table lists what an override of each criterion implies for other criteria, and which metrics it changes.

| override | implies | changes the metrics |
|---|---|---|
| `func_ok` | if true, `rejected` is false | Func_Acc; the snapshots that count in PN_FP, PN_FN and other errors |
| `args_ok` | | Args_Acc, PR, SR, other errors |
| `args_ok_llm` | | the metrics of `args_ok` by the judge (`... LLM`) |
| `equivalent` | `args_ok_llm`; it is true only if function and argument names are the golden ones | as `args_ok_llm` |
| `is_text` | | Output string ratio |
| `rejected` | | Rejection rate; `declined` of items that should be declined |
| `hallucinated`, `missing` | | averages of both criteria, PN_FP, PN_FN, other errors |
| `correct` is true | `func_ok`, `args_ok` and `args_ok_llm` are true | as the implied criteria |
| `correct` is false | `args_ok` and `args_ok_llm` are false; `func_ok` is unchanged | as the implied criteria |
| `correct` of an item that should be declined | | `declined` only |

In metrics per conversation, such as PR and SR, `func_ok` of the first snapshot counts for all snapshots. An override of
a criterion takes precedence over a value that an override of another criterion implies. An override of argument names
does not change `args_ok`, and an override of `args_ok` does not change argument names, because the scripts compute them
independently.
"""

from __future__ import annotations

from fcreview.importers.hammerbench.metrics import SnapshotOutcome
from fcreview.model.address import ITEM
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT

JUDGE_CRITERION = "args_ok_llm"
"""Criterion of the judge's verdict on the arguments."""
SAME_NAMES_KEY = "same function and argument names"
"""Metadata key of items with a judge verdict. The value states whether function and argument names are the golden ones.
If they are not, the evaluator ignores that the judge accepts the arguments."""
MOMENT_KEY = "moment"
"""Metadata key of snapshots in which a slot is overridden or the user refers to an attached message."""
DECLINE_KEY = "expected"
"""Metadata key of items that the model should decline, because no available function is suitable."""


def get_snapshot_outcome(item: ScoredItem, criterion: str = "args_ok") -> SnapshotOutcome:
    """Return the effective values of a snapshot.

    The field `args_ok` has the value of `criterion`, which is `args_ok`, or `args_ok_llm` for metrics of the judge.
    """
    item_verdict = None if DECLINE_KEY in item.metadata else item.overrides.get(ITEM_CORRECT)
    is_name_overridden = _is_overridden(item, "func_ok")
    func_ok = _get_effective_flag(item, "func_ok") if is_name_overridden or item_verdict is not True else True
    rejected = _get_effective_flag(item, "rejected")
    if (is_name_overridden or item_verdict is True) and func_ok and not _is_overridden(item, "rejected"):
        rejected = False
    return SnapshotOutcome(
        func_ok,
        _get_effective_arguments_flag(item, criterion),
        _get_effective_flag(item, "is_text"),
        rejected,
        _get_effective_count(item, "hallucinated"),
        _get_effective_count(item, "missing"),
        MOMENT_KEY in item.metadata,
    )


def is_declined(item: ScoredItem) -> bool | None:
    """Return whether the model declined an item that it should decline.

    The verdict on the item decides, or an override of `rejected` if the verdict on the item has no override. None if
    annotators disagree.
    """
    if _is_overridden(item, "rejected") and ITEM_CORRECT not in item.overrides:
        return _get_effective_flag(item, "rejected")
    return item.valid


def _is_overridden(item: ScoredItem, criterion: str) -> bool:
    return (ITEM, criterion) in item.overrides


def _get_effective_flag(item: ScoredItem, criterion: str) -> bool | None:
    """Return the effective value of a boolean criterion. It is None only if annotators disagree."""
    value = item.values.get(criterion)
    return None if value is None and _is_overridden(item, criterion) else bool(value)


def _get_effective_arguments_flag(item: ScoredItem, criterion: str) -> bool | None:
    if _is_overridden(item, criterion):
        return _get_effective_flag(item, criterion)
    if criterion == JUDGE_CRITERION and _is_overridden(item, "equivalent"):
        judge_reply = _get_effective_flag(item, "equivalent")
        return None if judge_reply is None else judge_reply and bool(item.metadata.get(SAME_NAMES_KEY))
    if ITEM_CORRECT in item.overrides and DECLINE_KEY not in item.metadata:
        item_verdict = item.overrides[ITEM_CORRECT]
        return item_verdict if isinstance(item_verdict, bool) else None
    return _get_effective_flag(item, criterion)


def _get_effective_count(item: ScoredItem, criterion: str) -> int | None:
    """Return the number of names in the effective value of a criterion, or None if annotators disagree.

    The value true counts as one name.
    """
    value = item.values.get(criterion)
    if value is None and _is_overridden(item, criterion):
        return None
    return len(value) if isinstance(value, list) else int(value is True)
