"""Compute HammerBench's metrics: the output of the script for the run's kind of log, and metrics of the paper's tables
that no script prints.

The scripts for flat logs and for conversations compute different values from the same answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import itemgetter

from fcreview.importers.hammerbench.discovery import MULTI_TURN_TYPES, split_item_id
from fcreview.importers.hammerbench.metrics import (
    JUDGE_CRITERION,
    OTHER_ERRORS,
    Conversation,
    ConversationCounts,
    SnapshotOutcome,
    compute_conversation_metrics,
    compute_flat_metrics,
    get_snapshot_outcome,
    is_declined,
)
from fcreview.model.derivation import DECLINE_KEY
from fcreview.model.item import Run
from fcreview.model.metric import Metric, MetricUnit, ScoredItem, cached_on_item

BADCASE_METRICS = ("Func_Acc", "Args_Acc", "PR", "SR")
"""Metrics that can be computed from `badcase.csv` alone."""
BASE_TYPE = "Based"
PROGRESS_TYPES = tuple(name for name in MULTI_TURN_TYPES if name != "IS")
"""Multi-turn types for which PR and SR are computed."""
SELECTOR_TITLES = {"all": "all snapshots", "0": "first snapshot", "-1": "last snapshot", "mid": "changed snapshots"}
"""Snapshot selector of the script for conversations -> title."""
END_SNAPSHOT_METRICS = ("Func_Acc", "PN_FP", "PN_FN", OTHER_ERRORS, "Args_Acc")
"""Metrics of first and last snapshots: the paper's Table 6."""
CHANGED_TYPES = ("SO_case1", "SO_case2", "mSv", "External")
"""Multi-turn types in which a slot is overridden or the user refers to an attached message."""
CHANGED_METRICS = (*END_SNAPSHOT_METRICS, "PR", "SR")
"""Metrics of changed snapshots (a slot is overridden or the user refers to an attached message): Table 13."""
ABLATION_METRICS = ("Func_Acc", "PN_FP", "PN_FN", "Args_Acc", "PR", "SR")
"""Metrics that are compared between each type and the base type: Tables 10 and 12."""
CONVERSATION_SCRIPT_NOTE = (
    "as in the script for conversations: a wrong function in the first snapshot fails all snapshots"
)
OTHER_ERRORS_NOTE = (
    "correct argument names with a wrong value, among snapshots with the golden function; "
    "not printed by the official scripts"
)


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Compute the metrics over all types and of each type.

    The golden answers of type IS are text, so its only metric is the share of declined requests.
    """
    items_by_type: dict[str, list[ScoredItem]] = defaultdict(list)
    for item in items:
        items_by_type[item.category].append(item)
    if run.generation == "conversation":
        metrics = [metric for part in items_by_type.items() for metric in _conversation_metrics(*part)]
        return metrics + _base_comparison_metrics(items_by_type, from_flat_log=False)
    call_items = [item for item in items if item.category != "IS"]
    metrics = _flat_metrics("all types", call_items)
    for type_name, type_items in items_by_type.items():
        metrics += _decline_metrics(type_name, type_items) if type_name == "IS" or type_name.startswith("ir_") else []
        metrics += _flat_metrics(type_name, type_items) if type_name != "IS" else []
        metrics += _progress_metrics(type_name, type_items) if type_name in PROGRESS_TYPES else []
    return metrics + _base_comparison_metrics(items_by_type, from_flat_log=True)


def _metric_unit(name: str) -> MetricUnit:
    return "score" if name.startswith("Average") else "share"


def _make_metric(table: str, name: str, value: float, note: str = "") -> Metric:
    return Metric(table, name, value, _metric_unit(name), note=OTHER_ERRORS_NOTE if name == OTHER_ERRORS else note)


@cached_on_item
def _rule_outcome(item: ScoredItem) -> SnapshotOutcome | None:
    """Return the effective values of a snapshot, or None if the script gives it no verdict."""
    return get_snapshot_outcome(item) if _has_verdict(item, "func_ok") and _has_verdict(item, "args_ok") else None


@cached_on_item
def _judge_outcome(item: ScoredItem) -> SnapshotOutcome | None:
    """Return the effective values of a snapshot with the judge's verdict on the arguments, or None without one."""
    is_judged = _has_verdict(item, "func_ok") and _has_verdict(item, JUDGE_CRITERION)
    return get_snapshot_outcome(item, JUDGE_CRITERION) if is_judged else None


OutcomeFunction = Callable[[ScoredItem], SnapshotOutcome | None]


def _list_outcomes(items: Iterable[ScoredItem], get_outcome: OutcomeFunction = _rule_outcome) -> Conversation:
    return tuple([outcome for item in items if (outcome := get_outcome(item)) is not None])


def _has_verdict(item: ScoredItem, criterion: str) -> bool:
    return criterion in item.values


def _flat_metrics(table: str, items: Sequence[ScoredItem]) -> list[Metric]:
    return [_make_metric(table, name, value) for name, value in compute_flat_metrics(_list_outcomes(items)).items()]


def _decline_metrics(table: str, items: Sequence[ScoredItem]) -> list[Metric]:
    verdicts = [value for item in items if DECLINE_KEY in item.metadata and (value := is_declined(item)) is not None]
    note = "the correct answer is to decline; the script counts a call to the absent function as correct"
    return [Metric(table, "declined", sum(verdicts) / len(verdicts), note=note)] if verdicts else []


def _progress_metrics(type_name: str, items: Sequence[ScoredItem]) -> list[Metric]:
    """Return the metrics of the paper's tables 5, 6, 9 and 13 for one type.

    These are PR and SR (tables 5 and 9), and the metrics of first and last snapshots (6) and of changed snapshots (13).
    """
    conversations = _count_conversations(_group_by_conversation(items).values())
    values = compute_conversation_metrics(conversations)
    metrics = [_make_metric(type_name, name, values[name], CONVERSATION_SCRIPT_NOTE) for name in ("PR", "SR") if values]
    for selector, metric_names in (("0", END_SNAPSHOT_METRICS), ("-1", END_SNAPSHOT_METRICS), ("mid", CHANGED_METRICS)):
        table = f"{type_name}, {SELECTOR_TITLES[selector]}"
        if selector == "mid" and type_name not in CHANGED_TYPES:
            continue
        if values := compute_conversation_metrics(conversations, selector):
            metrics += [_make_metric(table, name, values[name], CONVERSATION_SCRIPT_NOTE) for name in metric_names]
    return metrics


def _conversation_metrics(type_name: str, items: Sequence[ScoredItem]) -> list[Metric]:
    groups = _group_by_conversation(items).values()
    by_rule_counts, by_judge_counts = _count_conversations(groups), _count_conversations(groups, _judge_outcome)
    has_names = any(_has_verdict(item, "hallucinated") for item in items)
    metrics = []
    for selector, title in SELECTOR_TITLES.items():
        table = f"{type_name}, {title}"
        if selector == "mid" and type_name not in CHANGED_TYPES:
            continue
        values = compute_conversation_metrics(by_rule_counts, selector)
        names = [name for name in values if has_names or name in BADCASE_METRICS]
        metrics += [_make_metric(table, name, values[name]) for name in names]
        by_judge = compute_conversation_metrics(by_judge_counts, selector)
        judge_metrics = BADCASE_METRICS[1:] if by_judge else ()
        metrics += [Metric(table, f"{name} LLM", by_judge[name]) for name in judge_metrics]
    return metrics


def _count_conversations(
    conversations: Iterable[Sequence[ScoredItem]], get_outcome: OutcomeFunction = _rule_outcome
) -> ConversationCounts:
    return ConversationCounts(_list_outcomes(items, get_outcome) for items in conversations)


def _group_by_conversation(snapshots: Sequence[ScoredItem]) -> dict[str, list[ScoredItem]]:
    """Return the snapshots of each conversation in order, by conversation number."""
    groups: dict[str, list[tuple[int, ScoredItem]]] = defaultdict(list)
    for item in snapshots:
        conversation, number = _conversation_and_number(item)
        if conversation is not None:
            groups[conversation].append((number, item))
    for numbered in groups.values():
        numbered.sort(key=itemgetter(0))
    return {conversation: [item for _, item in numbered] for conversation, numbered in groups.items()}


@cached_on_item
def _conversation_and_number(item: ScoredItem) -> tuple[str | None, int]:
    """Return the conversation number, or None without a group, and the snapshot number."""
    conversation = None if item.group is None else item.group.rpartition("_")[2]
    return conversation, split_item_id(item.id.partition("#")[0])[2]


def _base_comparison_metrics(items_by_type: dict[str, list[ScoredItem]], *, from_flat_log: bool) -> list[Metric]:
    """Compare each type with the base type on the same conversations (Tables 10 and 12).

    Returns the metrics of the base type and the differences from them.
    """
    metrics = []
    base_conversations = _group_by_conversation(items_by_type.get(BASE_TYPE, []))
    for type_name in PROGRESS_TYPES if base_conversations else ():
        type_conversations = _group_by_conversation(items_by_type.get(type_name, []))
        common = [each for each in type_conversations if each in base_conversations]
        if type_name == BASE_TYPE or not common:
            continue
        type_metrics = _compute_ablation([type_conversations[each] for each in common], from_flat_log=from_flat_log)
        base_metrics = _compute_ablation([base_conversations[each] for each in common], from_flat_log=from_flat_log)
        note = f"from the {len(common)} conversations that both types have"
        for each in ABLATION_METRICS if type_metrics and base_metrics else ():
            table = f"{type_name} against {BASE_TYPE}"
            metrics.append(Metric(table, f"{each}, {BASE_TYPE}", base_metrics[each], note=note))
            metrics.append(Metric(table, f"{each}, change", type_metrics[each] - base_metrics[each], level=1))
    return metrics


def _compute_ablation(conversations: Sequence[Sequence[ScoredItem]], *, from_flat_log: bool) -> dict[str, float]:
    """Compute PR and SR by the script for conversations, and the other metrics by the script for the kind of log."""
    values = compute_conversation_metrics(_count_conversations(conversations))
    flat_metrics = compute_flat_metrics(_list_outcomes(chain(*conversations))) if from_flat_log else {}
    return values | flat_metrics if values else {}
