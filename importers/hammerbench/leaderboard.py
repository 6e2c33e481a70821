"""HammerBench's figures from scored snapshots, as the generation of its script that fits the log prints them; and the
paper's tables that no script prints.

The same answers give different figures in the two generations, so the generation goes with every figure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import itemgetter

from fcreview.importers.hammerbench.discovery import MULTI_TURN_TYPES, split_item_id
from fcreview.importers.hammerbench.judge import DECLINE_KEY, JUDGE_CRITERION, is_declined, get_snapshot_outcome
from fcreview.importers.hammerbench.metrics import OTHER_ERRORS, Conversation, ConversationCounts, SnapshotOutcome, compute_flat_metrics, compute_conversation_metrics
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, MetricUnit, cached_on_item

BADCASE_METRICS = ("Func_Acc", "Args_Acc", "PR", "SR")
"""What badcase.csv is enough for."""
BASE_TYPE = "Based"
PROGRESS_TYPES = tuple(name for name in MULTI_TURN_TYPES if name != "IS")
SELECTOR_TITLES = {"all": "all snapshots", "0": "first snapshot", "-1": "last snapshot", "mid": "override moment"}
"""The earlier script's selectors."""
END_SNAPSHOT_METRICS = ("Func_Acc", "PN_FP", "PN_FN", OTHER_ERRORS, "Args_Acc")
"""Of single snapshots of a flat log: the paper's Table 6."""
MOMENT_TYPES = ("SO_case1", "SO_case2", "mSv", "External")
"""Where something is overridden or referred to."""
MOMENT_METRICS = (*END_SNAPSHOT_METRICS, "PR", "SR")
"""Table 13."""
ABLATION_METRICS = ("Func_Acc", "PN_FP", "PN_FN", "Args_Acc", "PR", "SR")
"""Tables 10 and 12."""
CONVERSATION_SCRIPT_NOTE = "by the earlier script's rule: after a wrong function in the first snapshot nothing counts"
FIRST = itemgetter(0)
OTHER_ERRORS_NOTE = "printed by no script: names right, a value wrong, among snapshots of the right function"


def compute_metrics(rows: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Overall and by type. Text-labelled snapshots (intent shifts) only count for the rejection rate, as nothing
    else is defined."""
    types: dict[str, list[ScoredItem]] = defaultdict(list)
    for row in rows:
        types[row.category].append(row)
    if run.generation == "conversation":
        found = [figure for name, part in types.items() for figure in _conversation_metrics(name, part)]
        return found + _base_comparison_metrics(types, single=False)
    plain = [row for row in rows if row.category != "IS"]
    found = _flat_metrics("all types", plain)
    for name, part in types.items():
        found += _decline_metrics(name, part) if name == "IS" or name.startswith("ir_") else []
        found += _flat_metrics(name, part) if name != "IS" else []
        found += _progress_metrics(name, part) if name in PROGRESS_TYPES else []
    return found + _base_comparison_metrics(types, single=True)


def _metric_unit(name: str) -> MetricUnit:
    return "score" if name.startswith("Average") else "share"


def _make_metric(table: str, name: str, value: float, note: str = "") -> Metric:
    return Metric(table, name, value, _metric_unit(name), note=OTHER_ERRORS_NOTE if name == OTHER_ERRORS else note)


@cached_on_item
def _rule_outcome(item: ScoredItem) -> SnapshotOutcome | None:
    """None for a snapshot without a verdict, unless it had one before people differed."""
    return get_snapshot_outcome(item) if _has_verdict(item, "func_ok") and _has_verdict(item, "args_ok") else None


@cached_on_item
def _judge_outcome(item: ScoredItem) -> SnapshotOutcome | None:
    return get_snapshot_outcome(item, JUDGE_CRITERION) if _has_verdict(item, "func_ok") and _has_verdict(item, JUDGE_CRITERION) else None


OutcomeFunction = Callable[[ScoredItem], SnapshotOutcome | None]


def _list_outcomes(part: Iterable[ScoredItem], seen: OutcomeFunction = _rule_outcome) -> Conversation:
    return tuple([row for item in part if (row := seen(item)) is not None])


def _has_verdict(item: ScoredItem, criterion: str) -> bool:
    return criterion in item.values


def _flat_metrics(table: str, part: Sequence[ScoredItem]) -> list[Metric]:
    return [_make_metric(table, name, value) for name, value in compute_flat_metrics(_list_outcomes(part)).items()]


def _decline_metrics(table: str, part: Sequence[ScoredItem]) -> list[Metric]:
    known = [valid for row in part if DECLINE_KEY in row.metadata and (valid := is_declined(row)) is not None]
    note = "the right answer is to decline; the program counts a call to the absent function as right"
    return [Metric(table, "declined", sum(known) / len(known), note=note)] if known else []


def _progress_metrics(kind: str, part: Sequence[ScoredItem]) -> list[Metric]:
    """PR and SR (Tables 5 and 9), first and last snapshots (Table 6), and where something is overridden (Table 13)."""
    conversations = _count_conversations(_group_by_conversation(part).values())
    values = compute_conversation_metrics(conversations)
    found = [_make_metric(kind, name, values[name], CONVERSATION_SCRIPT_NOTE) for name in ("PR", "SR") if values]
    for which, names in (("0", END_SNAPSHOT_METRICS), ("-1", END_SNAPSHOT_METRICS), ("mid", MOMENT_METRICS)):
        values = compute_conversation_metrics(conversations, which) if which != "mid" or kind in MOMENT_TYPES else {}
        found += [_make_metric(f"{kind}, {SELECTOR_TITLES[which]}", name, values[name], CONVERSATION_SCRIPT_NOTE) for name in names if values]
    return found


def _conversation_metrics(kind: str, part: Sequence[ScoredItem]) -> list[Metric]:
    groups = _group_by_conversation(part).values()
    rows, judged = _count_conversations(groups), _count_conversations(groups, _judge_outcome)
    recorded = any(_has_verdict(item, "hallucinated") for item in part)
    found = []
    for which, word in SELECTOR_TITLES.items():
        table = f"{kind}, {word}"
        if which == "mid" and kind not in MOMENT_TYPES:
            continue
        values = compute_conversation_metrics(rows, which)
        found += [_make_metric(table, name, value) for name, value in values.items() if recorded or name in BADCASE_METRICS]
        by_judge = compute_conversation_metrics(judged, which)
        names = BADCASE_METRICS[1:] if by_judge else ()
        found += [Metric(table, f"{name} LLM", by_judge[name]) for name in names]
    return found


def _count_conversations(conversations: Iterable[Sequence[ScoredItem]], seen: OutcomeFunction = _rule_outcome) -> ConversationCounts:
    return ConversationCounts(_list_outcomes(items, seen) for items in conversations)


def _group_by_conversation(part: Sequence[ScoredItem]) -> dict[str, list[ScoredItem]]:
    """Conversation number -> its snapshots in order."""
    groups: dict[str, list[tuple[int, ScoredItem]]] = defaultdict(list)
    for item in part:
        name, number = _conversation_and_number(item)
        if name is not None:
            groups[name].append((number, item))
    return {name: [item for _, item in sorted(items, key=FIRST)] for name, items in groups.items()}


@cached_on_item
def _conversation_and_number(item: ScoredItem) -> tuple[str | None, int]:
    """(conversation, number in it)"""
    name = None if item.group is None else item.group.rpartition("_")[2]
    return name, split_item_id(item.id.partition("#")[0])[2]


def _base_comparison_metrics(types: dict[str, list[ScoredItem]], *, single: bool) -> list[Metric]:
    """The base set on the same conversations, and the change to it (Tables 10 and 12)."""
    found = []
    base = _group_by_conversation(types.get(BASE_TYPE, []))
    for kind in PROGRESS_TYPES if base else ():
        own = _group_by_conversation(types.get(kind, []))
        both = [name for name in own if name in base]
        if kind == BASE_TYPE or not both:
            continue
        ours = _compute_ablation([own[name] for name in both], single=single)
        theirs = _compute_ablation([base[name] for name in both], single=single)
        note = f"{len(both)} conversations that both have"
        for name in ABLATION_METRICS if ours and theirs else ():
            table = f"{kind} against {BASE_TYPE}"
            found.append(Metric(table, f"{name}, {BASE_TYPE}", theirs[name], note=note))
            found.append(Metric(table, f"{name}, change", ours[name] - theirs[name], level=1))
    return found


def _compute_ablation(conversations: Sequence[Sequence[ScoredItem]], *, single: bool) -> dict[str, float]:
    """PR and SR by the earlier script; the rest by the one that fits the log, `single` snapshots each for itself."""
    values = compute_conversation_metrics(_count_conversations(conversations))
    each = compute_flat_metrics(_list_outcomes(chain(*conversations))) if single else {}
    return values | each if values else {}
