"""Compute the effective values of a snapshot: its verdicts after overrides, by the rules of the evaluation scripts.

The table lists what an override of each criterion implies for other criteria, and which metrics it changes.

| override | implies | changes the metrics |
|---|---|---|
| `func_ok` | if true, `rejected` is false | Func_Acc; the snapshots that count in PN_FP, PN_FN and other errors |
| `args_ok` | | Args_Acc, PR, SR, other errors |
| `args_ok_llm` | | the judge's variants (`... LLM`) of the metrics of `args_ok` |
| `equivalent` | `args_ok_llm`; it is true only if function and argument names are the golden ones | as `args_ok_llm` |
| `is_text` | | Output string ratio |
| `rejected` | | Rejection rate; `declined` of items that should be declined |
| `hallucinated`, `missing` | | averages of both criteria, PN_FP, PN_FN, other errors |
| `correct` is true | `func_ok`, `args_ok` and `args_ok_llm` are true | as the implied criteria |
| `correct` is false | `args_ok` and `args_ok_llm` are false; `func_ok` is unchanged | as the implied criteria |
| `correct` of an item that should be declined | | `declined` only |

In metrics per conversation, such as PR and SR, `func_ok` of the first snapshot counts for all snapshots. A human
verdict on a criterion takes precedence over a value that an override of another criterion implies
(`fcreview.model.derivation`). A disputed criterion keeps its automatic value. An override of argument names does not
change `args_ok`, and an override of `args_ok` does not change argument names, because the scripts compute them
independently.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.hammerbench.metrics import SnapshotOutcome
from fcreview.model.address import ITEM
from fcreview.model.metric import ScoredItem
from fcreview.model.review import CORRECT

JUDGE_CRITERION = "args_ok_llm"
"""Criterion of the judge's verdict on the arguments."""
CHANGE_KEY = "moment"
"""Metadata key of changed snapshots: a slot is overridden, or the user refers to an attached message."""


def get_snapshot_outcome(item: ScoredItem, criterion: str = "args_ok") -> SnapshotOutcome:
    """Return the effective values of a snapshot.

    The field `args_ok` has the value of `criterion`, which is `args_ok`, or `args_ok_llm` for metrics of the judge.
    """
    return SnapshotOutcome(
        bool(_get_effective_value(item, "func_ok")),
        bool(_get_effective_value(item, criterion)),
        bool(_get_effective_value(item, "is_text")),
        bool(_get_effective_value(item, "rejected")),
        _count_names(item.values.get("hallucinated")),
        _count_names(item.values.get("missing")),
        CHANGE_KEY in item.metadata,
    )


def is_declined(item: ScoredItem) -> bool | None:
    """Return whether the model declined an item that it should decline, or None without a verdict.

    The verdict on the item decides, or an override of `rejected` if annotators did not review the item itself.
    """
    declined: bool | None = item.derive("hammerbench", ITEM, CORRECT)
    return item.valid if declined is None else declined


def _get_effective_value(item: ScoredItem, criterion: str) -> Any:
    derived = item.derive("hammerbench", ITEM, criterion)
    return item.values.get(criterion) if derived is None else derived


def _count_names(value: Any) -> int:
    return len(value) if isinstance(value, list) else int(value is True)
