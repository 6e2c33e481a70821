"""Compute the metrics that HammerBench's two evaluation scripts print, and metrics of the paper
that no script prints.

Source: the released `evaluate.py` (March 2025, flat logs) and the script for conversations
(December 2024). The same answers give different values in the two scripts. In the paper, PN_FP is
called PHR, PN_FN is PMR, and Args_Acc is Acc.

Overrides change the values of a snapshot by the rules of the scripts. The table lists what an
override of each criterion implies for other criteria, and which metrics it changes.

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

In metrics per conversation, such as PR and SR, `func_ok` of the first snapshot counts for all
snapshots. A human verdict on a criterion takes precedence over a value that an override of another
criterion implies (`fcreview.model.verdict`). A disputed criterion keeps its automatic value. An
override of argument names does not change `args_ok`, and an override of `args_ok` does not change
argument names, because the scripts compute them independently.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from operator import mul
from typing import Any, Literal, NamedTuple

from fcreview.importers.hammerbench.discovery import MULTI_TURN_TYPES, split_item_id
from fcreview.model.address import ITEM
from fcreview.model.item import Run
from fcreview.model.metric import Metric, MetricUnit, ScoredItem, cached_on_item
from fcreview.model.review import CORRECT
from fcreview.model.verdict import DECLINE_KEY

EPSILON = 1e-9
"""Small number that the scripts add to some denominators, so that they are never 0."""
HALLUCINATED_AVERAGE = "Average number of parameter hallucinations"
MISSING_AVERAGE = "Average number of missing parameters"
OTHER_ERRORS = "Other errors"
"""The paper's Other Error Rate (Table 6), which no script prints: among the snapshots with the
golden function, the share with correct argument names and a wrong value.
"""


class SnapshotOutcome(NamedTuple):
    """The values of a snapshot that the metrics use.

    The criteria are explained in the docstring of `SnapshotCheck`.
    """

    func_ok: bool
    args_ok: bool
    is_text: bool = False
    rejected: bool = False
    hallucinated: int = 0
    """Number of predicted argument names that the golden call does not have."""
    missing: int = 0
    """Number of golden argument names that the prediction does not have."""
    is_changed: bool = False
    """Whether a slot is overridden in this snapshot or the user refers to an attached message."""

    @property
    def has_other_error(self) -> bool:
        return not (self.hallucinated or self.missing or self.is_text or self.args_ok)


Conversation = tuple[SnapshotOutcome, ...]
"""The snapshots of a conversation, in order."""


def compute_flat_metrics(outcomes: Iterable[SnapshotOutcome]) -> dict[str, float]:
    """Compute the metrics of the script for flat logs, in which each snapshot counts on its own."""
    all_counts = Counter(outcomes).items()
    if not all_counts:
        return {}
    name_ok_counts = [(each, n) for each, n in all_counts if each.func_ok]
    return {
        "Rejection rate": _compute_weighted_mean((each.rejected, n) for each, n in all_counts),
        "Output string ratio": _compute_weighted_mean((each.is_text, n) for each, n in all_counts),
        HALLUCINATED_AVERAGE: _compute_weighted_mean(
            ((each.hallucinated, n) for each, n in all_counts), EPSILON
        ),
        MISSING_AVERAGE: _compute_weighted_mean(
            ((each.missing, n) for each, n in all_counts), EPSILON
        ),
        "Func_Acc": _compute_weighted_mean((each.func_ok, n) for each, n in all_counts),
        "PN_FP": _compute_weighted_mean(
            ((each.hallucinated > 0, n) for each, n in name_ok_counts), EPSILON
        ),
        "PN_FN": _compute_weighted_mean(
            ((each.missing > 0, n) for each, n in name_ok_counts), EPSILON
        ),
        "Args_Acc": _compute_weighted_mean((each.args_ok, n) for each, n in all_counts),
        OTHER_ERRORS: _compute_weighted_mean(
            ((each.has_other_error, n) for each, n in name_ok_counts), EPSILON
        ),
    }


def _compute_weighted_mean(
    weighted_values: Iterable[tuple[float, int]], epsilon: float = 0.0
) -> float:
    """Return the weighted mean of pairs of value and weight.

    `epsilon` is added to the sum of the weights.
    """
    pairs = list(weighted_values)
    return _divide_or_zero(sum(value * n for value, n in pairs), sum(n for _, n in pairs), epsilon)


def _divide_or_zero(numerator: float, denominator: int, epsilon: float = 0.0) -> float:
    return numerator / (denominator + epsilon) if denominator else 0.0


SnapshotSelector = Literal["all", "0", "-1", "mid"]
"""The snapshots that a metric covers: all, the first one, the last one, or the changed ones."""


def select_snapshots(conversation: Conversation, selector: SnapshotSelector) -> Conversation:
    if selector == "mid":
        return tuple(outcome for outcome in conversation if outcome.is_changed)
    return {"all": conversation, "0": conversation[:1], "-1": conversation[-1:]}[selector]


class ConversationTally(NamedTuple):
    """Sums over the selected snapshots of one or more conversations."""

    n: int
    n_snapshots: int
    name_ok: bool
    """Whether the first snapshot has the golden function."""
    rejected: bool
    text_snapshots: int
    """Number of snapshots without a call, among all snapshots."""
    hallucinated: int
    missing: int
    n_name_ok_snapshots: int
    """Number of snapshots if `name_ok` is true.

    If it is false, this field and all fields below are 0.
    """
    snapshots_with_hallucination: int
    snapshots_with_missing: int
    other_errors: int
    right_arguments: int
    """Number of snapshots with correct arguments."""
    progress: float
    """Share of snapshots before the first snapshot with wrong arguments."""
    success: bool


@lru_cache(maxsize=1 << 14)
def tally_conversation(
    conversation: Conversation, selector: SnapshotSelector
) -> ConversationTally | None:
    """Return the tally of a conversation, or None if no snapshot is selected."""
    selected = select_snapshots(conversation, selector)
    if not selected:
        return None
    first = conversation[0]
    name_ok_snapshots = selected if first.func_ok else ()
    flags = [outcome.args_ok for outcome in name_ok_snapshots]
    return ConversationTally(
        1,
        n_snapshots=len(selected),
        name_ok=first.func_ok,
        rejected=first.rejected,
        text_snapshots=sum(outcome.is_text for outcome in conversation),
        hallucinated=sum(outcome.hallucinated for outcome in selected),
        missing=sum(outcome.missing for outcome in selected),
        n_name_ok_snapshots=len(flags),
        snapshots_with_hallucination=sum(outcome.hallucinated > 0 for outcome in name_ok_snapshots),
        snapshots_with_missing=sum(outcome.missing > 0 for outcome in name_ok_snapshots),
        other_errors=sum(outcome.has_other_error for outcome in name_ok_snapshots),
        right_arguments=sum(flags),
        progress=[*flags, False].index(False) / len(flags) if flags else 0.0,
        success=bool(flags) and all(flags),
    )


class ConversationCounts:
    """The distinct conversations of a run, and how often each of them occurs.

    Many conversations have equal outcomes. Each distinct one is tallied only once, which is faster.
    """

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        positions: dict[Conversation, int] = {}
        self.indexes = [
            positions.setdefault(conversation, len(positions)) for conversation in conversations
        ]
        self.distinct_conversations = list(positions)
        counts = Counter(self.indexes)
        self.n_occurrences = [counts[index] for index in range(len(positions))]

    def tally_all_conversations(self, selector: SnapshotSelector) -> ConversationTally | None:
        """Return the tally of all conversations for a selector, or None if no snapshot is
        selected.
        """
        tallies = [
            tally_conversation(conversation, selector)
            for conversation in self.distinct_conversations
        ]
        counted = [
            (tally, n)
            for tally, n in zip(tallies, self.n_occurrences, strict=True)
            if tally is not None
        ]
        if not counted:
            return None
        counts = [n for _, n in counted]
        columns = zip(*(tally for tally, _ in counted), strict=True)
        progress = [tally.progress if tally is not None else 0.0 for tally in tallies]
        # The script's order gives the same rounding.
        in_order = sum(map(progress.__getitem__, self.indexes))
        return ConversationTally(*(sum(map(mul, column, counts)) for column in columns))._replace(
            progress=in_order
        )


def compute_conversation_metrics(
    conversations: ConversationCounts, selector: SnapshotSelector = "all"
) -> dict[str, float]:
    """Compute the metrics of the script for conversations.

    There, a wrong function in the first snapshot fails all.
    """
    tally = conversations.tally_all_conversations(selector)
    if tally is None:
        return {}
    return {
        "Rejection rate": tally.rejected / tally.n,
        "Output string ratio": tally.text_snapshots / tally.n,
        HALLUCINATED_AVERAGE: _divide_or_zero(tally.hallucinated, tally.n_snapshots, EPSILON),
        MISSING_AVERAGE: _divide_or_zero(tally.missing, tally.n_snapshots, EPSILON),
        "PN_FP": _divide_or_zero(
            tally.snapshots_with_hallucination, tally.n_name_ok_snapshots, EPSILON
        ),
        "PN_FN": _divide_or_zero(tally.snapshots_with_missing, tally.n_name_ok_snapshots, EPSILON),
        "Func_Acc": tally.name_ok / tally.n,
        "Args_Acc": _divide_or_zero(tally.right_arguments, tally.n_snapshots),
        "PR": tally.progress / (tally.n + EPSILON),
        "SR": tally.success / (tally.n + EPSILON),
        OTHER_ERRORS: _divide_or_zero(tally.other_errors, tally.n_name_ok_snapshots, EPSILON),
    }


JUDGE_CRITERION = "args_ok_llm"
CHANGE_KEY = "moment"
"""Metadata key of the reason why a snapshot counts as changed."""


def get_snapshot_outcome(item: ScoredItem, arguments_criterion: str = "args_ok") -> SnapshotOutcome:
    """Return the effective values of a snapshot.

    The judge's metrics use the criterion `args_ok_llm` for arguments.
    """
    return SnapshotOutcome(
        bool(_get_effective_value(item, "func_ok")),
        args_ok=bool(_get_effective_value(item, arguments_criterion)),
        is_text=bool(_get_effective_value(item, "is_text")),
        rejected=bool(_get_effective_value(item, "rejected")),
        hallucinated=_count_argument_names(item.values.get("hallucinated")),
        missing=_count_argument_names(item.values.get("missing")),
        is_changed=CHANGE_KEY in item.metadata,
    )


def get_declined_verdict(item: ScoredItem) -> bool | None:
    """Return whether the model declined an item that it should decline, or None without a verdict.

    The verdict on the item or an override of `rejected` decides.
    """
    declined: bool | None = item.derive_verdict("hammerbench", ITEM, CORRECT)
    return item.valid if declined is None else declined


def _get_effective_value(item: ScoredItem, criterion: str) -> Any:
    derived = item.derive_verdict("hammerbench", ITEM, criterion)
    return item.values.get(criterion) if derived is None else derived


def _count_argument_names(value: Any) -> int:
    """Count the names in a list.

    If an annotator answered yes instead of listing names, the count is 1.
    """
    return len(value) if isinstance(value, list) else int(value is True)


BADCASE_METRICS = ("Func_Acc", "Args_Acc", "PR", "SR")
"""Metrics that can be computed from `badcase.csv` alone."""
BASE_TYPE = "Based"
PROGRESS_TYPES = tuple(name for name in MULTI_TURN_TYPES if name != "IS")
SELECTOR_TITLES: dict[SnapshotSelector, str] = {
    "all": "all snapshots",
    "0": "first snapshot",
    "-1": "last snapshot",
    "mid": "changed snapshots",
}
END_SNAPSHOT_METRICS = ("Func_Acc", "PN_FP", "PN_FN", OTHER_ERRORS, "Args_Acc")
"""Metrics of first and last snapshots, from the paper's table 6.

Table 13 also has PR and SR of changed snapshots.
"""
CHANGED_TYPES = ("SO_case1", "SO_case2", "mSv", "External")
ABLATION_METRICS = ("Func_Acc", "PN_FP", "PN_FN", "Args_Acc", "PR", "SR")
"""Metrics of the comparison of each type with the base type, from the paper's tables 10 and 12."""
CONVERSATION_NOTE = (
    "a wrong function in the first snapshot fails all snapshots, as in the earlier official script"
)
OTHER_ERRORS_NOTE = (
    "among snapshots that call the golden function, the share with correct argument names but a"
    " wrong value; "
    "the official scripts do not print it"
)


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Compute the metrics of all types together and of each type.

    Type IS has only the share of declined requests.
    """
    items_by_type: dict[str, list[ScoredItem]] = defaultdict(list)
    for item in items:
        items_by_type[item.category].append(item)
    if run.generation == "conversation":
        metrics = [
            metric
            for part in items_by_type.items()
            for metric in _compute_conversation_tables(*part)
        ]
        return metrics + _compare_with_base_type(items_by_type, from_flat_log=False)
    call_items = [item for item in items if item.category != "IS"]
    metrics = _compute_flat_table("all types", call_items)
    for type_name, type_items in items_by_type.items():
        if type_name == "IS" or type_name.startswith("ir_"):
            metrics += _compute_decline_metrics(type_name, type_items)
        metrics += _compute_flat_table(type_name, type_items) if type_name != "IS" else []
        metrics += (
            _compute_progress_tables(type_name, type_items) if type_name in PROGRESS_TYPES else []
        )
    return metrics + _compare_with_base_type(items_by_type, from_flat_log=True)


def _to_metric(table: str, name: str, value: float, note: str = "") -> Metric:
    unit: MetricUnit = "score" if name.startswith("Average") else "share"
    return Metric(
        table,
        name,
        value=value,
        unit=unit,
        note=OTHER_ERRORS_NOTE if name == OTHER_ERRORS else note,
    )


@cached_on_item
def _get_rule_outcome(item: ScoredItem) -> SnapshotOutcome | None:
    return get_snapshot_outcome(item) if item.values.keys() >= {"func_ok", "args_ok"} else None


@cached_on_item
def _get_judge_outcome(item: ScoredItem) -> SnapshotOutcome | None:
    is_judged = item.values.keys() >= {"func_ok", JUDGE_CRITERION}
    return get_snapshot_outcome(item, JUDGE_CRITERION) if is_judged else None


GetOutcome = Callable[[ScoredItem], SnapshotOutcome | None]


def _collect_outcomes(
    items: Iterable[ScoredItem], get_outcome: GetOutcome = _get_rule_outcome
) -> Conversation:
    return tuple([outcome for item in items if (outcome := get_outcome(item)) is not None])


def _compute_flat_table(table: str, items: Sequence[ScoredItem]) -> list[Metric]:
    return [
        _to_metric(table, name, value)
        for name, value in compute_flat_metrics(_collect_outcomes(items)).items()
    ]


def _compute_decline_metrics(table: str, items: Sequence[ScoredItem]) -> list[Metric]:
    verdicts = [get_declined_verdict(item) for item in items if DECLINE_KEY in item.metadata]
    known = [verdict for verdict in verdicts if verdict is not None]
    note = (
        "the correct answer is to decline, although the script counts a call of the missing"
        " function as correct"
    )
    return [Metric(table, "declined", value=sum(known) / len(known), note=note)] if known else []


def _compute_progress_tables(type_name: str, items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute PR and SR (the paper's tables 5 and 9), and metrics of some snapshots (tables 6
    and 13).
    """
    conversations, metrics = _count_conversations(_group_by_conversation(items).values()), []
    for selector, title in _list_selectors(type_name):
        table = type_name if selector == "all" else f"{type_name}, {title}"
        names = [] if selector == "all" else [*END_SNAPSHOT_METRICS]
        names += ["PR", "SR"] if selector in ("all", "mid") else []
        if values := compute_conversation_metrics(conversations, selector):
            metrics += [_to_metric(table, name, values[name], CONVERSATION_NOTE) for name in names]
    return metrics


def _list_selectors(type_name: str) -> list[tuple[SnapshotSelector, str]]:
    """Return the selectors that apply to a type, with their titles."""
    return [
        each for each in SELECTOR_TITLES.items() if each[0] != "mid" or type_name in CHANGED_TYPES
    ]


def _compute_conversation_tables(type_name: str, items: Sequence[ScoredItem]) -> list[Metric]:
    groups = _group_by_conversation(items).values()
    by_rule_counts, by_judge_counts = (
        _count_conversations(groups),
        _count_conversations(groups, _get_judge_outcome),
    )
    has_names = any("hallucinated" in item.values for item in items)
    metrics = []
    for selector, title in _list_selectors(type_name):
        table = f"{type_name}, {title}"
        values = compute_conversation_metrics(by_rule_counts, selector)
        names = [name for name in values if has_names or name in BADCASE_METRICS]
        metrics += [_to_metric(table, name, values[name]) for name in names]
        by_judge = compute_conversation_metrics(by_judge_counts, selector)
        metrics += [
            Metric(table, f"{name} LLM", value=by_judge[name])
            for name in BADCASE_METRICS[1:]
            if by_judge
        ]
    return metrics


def _count_conversations(
    conversations: Iterable[Sequence[ScoredItem]], get_outcome: GetOutcome = _get_rule_outcome
) -> ConversationCounts:
    return ConversationCounts(_collect_outcomes(items, get_outcome) for items in conversations)


def _group_by_conversation(snapshots: Sequence[ScoredItem]) -> dict[str, list[ScoredItem]]:
    """Return the snapshots of each conversation in order.

    Snapshots without a conversation are omitted.
    """
    groups: dict[str, list[ScoredItem]] = defaultdict(list)
    for item in snapshots:
        if item.group is not None:
            groups[item.group.rpartition("_")[2]].append(item)
    return {
        conversation: sorted(group, key=_get_snapshot_number)
        for conversation, group in groups.items()
    }


@cached_on_item
def _get_snapshot_number(item: ScoredItem) -> int:
    return split_item_id(item.id.partition("#")[0]).snapshot


def _compare_with_base_type(
    items_by_type: dict[str, list[ScoredItem]], *, from_flat_log: bool
) -> list[Metric]:
    """Compare each type with the base type over the conversations that both have (the paper's
    tables 10 and 12).
    """
    metrics = []
    base_conversations = _group_by_conversation(items_by_type.get(BASE_TYPE, []))
    for type_name in PROGRESS_TYPES if base_conversations else ():
        type_conversations = _group_by_conversation(items_by_type.get(type_name, []))
        common = [each for each in type_conversations if each in base_conversations]
        if type_name == BASE_TYPE or not common:
            continue
        type_metrics, base_metrics = (
            _compute_ablation_metrics(
                [groups[each] for each in common], from_flat_log=from_flat_log
            )
            for groups in (type_conversations, base_conversations)
        )
        note = f"only the {len(common)} conversations that both types have"
        for each in ABLATION_METRICS if type_metrics and base_metrics else ():
            table = f"{type_name} against {BASE_TYPE}"
            metrics.append(
                Metric(table, f"{each}, {BASE_TYPE}", value=base_metrics[each], note=note)
            )
            metrics.append(
                Metric(
                    table, f"{each}, change", value=type_metrics[each] - base_metrics[each], level=1
                )
            )
    return metrics


def _compute_ablation_metrics(
    conversations: Sequence[Sequence[ScoredItem]], *, from_flat_log: bool
) -> dict[str, float]:
    """Compute the metrics that `_compare_with_base_type` compares.

    PR and SR follow the script for conversations.
    """
    values = compute_conversation_metrics(_count_conversations(conversations))
    flat_metrics = (
        compute_flat_metrics(_collect_outcomes(chain(*conversations))) if from_flat_log else {}
    )
    return values | flat_metrics if values else {}
