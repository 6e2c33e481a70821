"""Compute the metrics that HammerBench's two evaluation scripts print, and metrics of the paper
that no script prints.

Source: the released `evaluate.py` (March 2025, flat logs) and the script for conversations
(December 2024). The same answers give different values in the two scripts. In the paper, PN_FP is
called PHR, PN_FN is PMR, and Args_Acc is Acc.

Overrides change the values of a snapshot by the rules of the scripts. An override of a criterion
changes these metrics, and implies values of other criteria:

* `func_ok` changes Func_Acc, and which snapshots count in PN_FP, PN_FN and other errors. If it is
  true, `rejected` is false.
* `args_ok` changes Args_Acc, PR, SR and other errors.
* `args_ok_llm` changes the judge's variants (`... LLM`) of the metrics of `args_ok`.
* `equivalent` changes the same metrics. It implies `args_ok_llm`, which is true only if function
  and argument names are the golden ones too.
* `is_text` changes Output string ratio.
* `rejected` changes Rejection rate, and `declined` of items that should be declined.
* `hallucinated` and `missing` change the averages of both criteria, PN_FP, PN_FN and other errors.
* `correct`, if it is true, implies that `func_ok`, `args_ok` and `args_ok_llm` are true. If it is
  false, `args_ok` and `args_ok_llm` are false, and `func_ok` is unchanged.
* `correct` of an item that should be declined changes `declined` only.

In metrics per conversation, such as PR and SR, `func_ok` of the first snapshot counts for all
snapshots. A human verdict on a criterion takes precedence over a value that an override of another
criterion implies (`fcreview.model.verdict`). A disputed criterion keeps its automatic value. An
override of argument names does not change `args_ok`, and an override of `args_ok` does not change
argument names, because the scripts compute them independently.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import mul
from typing import Any, Literal, NamedTuple

from fcreview.importers.hammerbench.discovery import MULTI_TURN_TYPES, split_item_id
from fcreview.model.address import ITEM
from fcreview.model.derivation import DECLINE_KEY
from fcreview.model.item import Run
from fcreview.model.metric import Metric, MetricUnit, ScoredItem, cached_on_item
from fcreview.model.review import CORRECT

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


@dataclass(slots=True)
class _SnapshotSums:
    """Sums over snapshots."""

    n: int = 0
    rejected: int = 0
    texts: int = 0
    hallucinated_names: int = 0
    missing_names: int = 0
    with_hallucination: int = 0
    with_missing: int = 0
    other_errors: int = 0
    right_arguments: int = 0

    def add(self, outcome: SnapshotOutcome, n: int) -> None:
        """Add `n` snapshots with the same outcome."""
        self.n += n
        self.hallucinated_names += n * outcome.hallucinated
        self.missing_names += n * outcome.missing
        if outcome.rejected:
            self.rejected += n
        if outcome.is_text:
            self.texts += n
        if outcome.hallucinated > 0:
            self.with_hallucination += n
        if outcome.missing > 0:
            self.with_missing += n
        if outcome.has_other_error:
            self.other_errors += n
        if outcome.args_ok:
            self.right_arguments += n


def compute_flat_metrics(outcomes: Iterable[SnapshotOutcome]) -> dict[str, float]:
    """Compute the metrics that the official script prints for flat logs, with the same names.

    Each snapshot (one step of a conversation) counts by itself. Of the calls of the right function,
    PN_FP is the share that has an argument name which the golden call lacks, and PN_FN is the share
    that lacks an argument name of the golden call. As in the script (`evaluate.py`), `EPSILON` is
    added to the denominators of the averages and of PN_FP and PN_FN only.
    """
    all_snapshots = _SnapshotSums()
    name_ok_snapshots = _SnapshotSums()
    # Few distinct outcomes occur often, so each of them is added once.
    for outcome, n in Counter(outcomes).items():
        all_snapshots.add(outcome, n)
        if outcome.func_ok:
            name_ok_snapshots.add(outcome, n)

    n_all = all_snapshots.n
    n_name_ok = name_ok_snapshots.n
    if n_all == 0:
        return {}
    return {
        "Rejection rate": all_snapshots.rejected / n_all,
        "Output string ratio": all_snapshots.texts / n_all,
        HALLUCINATED_AVERAGE: _divide_or_zero(all_snapshots.hallucinated_names, n_all, EPSILON),
        MISSING_AVERAGE: _divide_or_zero(all_snapshots.missing_names, n_all, EPSILON),
        "Func_Acc": n_name_ok / n_all,
        "PN_FP": _divide_or_zero(name_ok_snapshots.with_hallucination, n_name_ok, EPSILON),
        "PN_FN": _divide_or_zero(name_ok_snapshots.with_missing, n_name_ok, EPSILON),
        "Args_Acc": all_snapshots.right_arguments / n_all,
        OTHER_ERRORS: _divide_or_zero(name_ok_snapshots.other_errors, n_name_ok, EPSILON),
    }


def _divide_or_zero(numerator: float, denominator: int, epsilon: float = 0.0) -> float:
    if denominator == 0:
        return 0.0
    return numerator / (denominator + epsilon)


SnapshotSelector = Literal["all", "0", "-1", "mid"]
"""The snapshots that a metric covers: all, the first one, the last one, or the changed ones."""


def select_snapshots(conversation: Conversation, selector: SnapshotSelector) -> Conversation:
    """Return the snapshots of a conversation that a selector chooses: all, the first, the last, or
    those with changed arguments.
    """
    if selector == "mid":
        return tuple(outcome for outcome in conversation if outcome.is_changed)
    if selector == "0":
        return conversation[:1]
    if selector == "-1":
        return conversation[-1:]
    return conversation


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
    """Count the outcomes of the selected snapshots of a conversation. None if none is selected.

    `selector` says which snapshots count, such as all, or the last one. As in the official script,
    the function name of the first snapshot counts for the whole conversation.
    """
    selected = select_snapshots(conversation, selector)
    if not selected:
        return None

    # A wrong function in the first snapshot fails all snapshots, so their arguments do not count.
    first = conversation[0]
    counted = selected if first.func_ok else ()
    arguments_ok = [outcome.args_ok for outcome in counted]

    return ConversationTally(
        1,
        n_snapshots=len(selected),
        name_ok=first.func_ok,
        rejected=first.rejected,
        text_snapshots=sum(outcome.is_text for outcome in conversation),
        hallucinated=sum(outcome.hallucinated for outcome in selected),
        missing=sum(outcome.missing for outcome in selected),
        n_name_ok_snapshots=len(counted),
        snapshots_with_hallucination=sum(outcome.hallucinated > 0 for outcome in counted),
        snapshots_with_missing=sum(outcome.missing > 0 for outcome in counted),
        other_errors=sum(outcome.has_other_error for outcome in counted),
        right_arguments=sum(arguments_ok),
        progress=_compute_progress(arguments_ok),
        success=len(arguments_ok) > 0 and all(arguments_ok),
    )


def _compute_progress(arguments_ok: Sequence[bool]) -> float:
    """Return the share of snapshots before the first one with wrong arguments. 0 for none."""
    if not arguments_ok:
        return 0.0
    if all(arguments_ok):
        return 1.0
    return arguments_ok.index(False) / len(arguments_ok)


class ConversationCounts:
    """The distinct conversations of a run, and how often each of them occurs.

    Many conversations have equal outcomes. Each distinct one is tallied only once, which is faster.
    """

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        index_by_conversation: dict[Conversation, int] = {}
        self.indexes: list[int] = []
        """Index of the distinct conversation of each conversation, in the order of the files."""
        for conversation in conversations:
            index = index_by_conversation.setdefault(conversation, len(index_by_conversation))
            self.indexes.append(index)
        self.distinct_conversations = list(index_by_conversation)
        self.n_occurrences = Counter(self.indexes)

    def tally_all_conversations(self, selector: SnapshotSelector) -> ConversationTally | None:
        """Add up the tallies of all conversations for a selector. None if no snapshot is selected.

        Many conversations have the same outcomes, so each distinct one is tallied once, and
        multiplied by its number.
        """
        # A conversation of which the selector chooses no snapshot has no tally.
        tally_by_index: dict[int, ConversationTally] = {}
        for index, conversation in enumerate(self.distinct_conversations):
            tally = tally_conversation(conversation, selector)
            if tally is not None:
                tally_by_index[index] = tally
        if not tally_by_index:
            return None

        totals = _sum_fields(tally_by_index, self.n_occurrences)
        # Progress is a fraction, so the order of addition changes its rounding. It is added in the
        # order of the official script.
        progress = sum(
            tally_by_index[index].progress for index in self.indexes if index in tally_by_index
        )
        return totals._replace(progress=progress)


def _sum_fields(
    tally_by_index: Mapping[int, ConversationTally], n_occurrences: Mapping[int, int]
) -> ConversationTally:
    """Return the sum of each field of the tallies, each counted as often as its conversation
    occurs.
    """
    weights = [n_occurrences[index] for index in tally_by_index]
    sums = []
    # A tally is a row of values. `zip` returns the values of each field, one field after another.
    for values_of_field in zip(*tally_by_index.values(), strict=True):
        sums.append(sum(map(mul, values_of_field, weights)))
    return ConversationTally(*sums)


def compute_conversation_metrics(
    conversations: ConversationCounts, selector: SnapshotSelector = "all"
) -> dict[str, float]:
    """Compute the metrics that the official script prints for conversations, with the same names.
    Empty if no snapshot is selected.

    PR is the progress rate, the share of snapshots before the first failure, and SR the share of
    conversations without a failure. `selector` says which snapshots of a conversation count. As in
    the script (`evaluate.py`), `EPSILON` is added to some denominators only, not to those of
    Func_Acc and Args_Acc.
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
    """Return whether the model declined an item that it should decline. None if there is no
    verdict.

    An override of the criterion `rejected` or the verdict on the item decides.
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
    if isinstance(value, list):
        return len(value)
    return 1 if value is True else 0


BADCASE_METRICS = ("Func_Acc", "Args_Acc", "PR", "SR")
"""Metrics that can be computed from `badcase.csv` alone."""
JUDGE_METRICS = ("Args_Acc", "PR", "SR")
"""Metrics that the judge changes. It does not see function names."""
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
    " wrong value; the official scripts do not print it"
)


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Compute the metrics of a run: of all types of conversations together, of each type, and of
    each type compared with the base type.

    The type IS, in which the model must decline, has only the share of declined requests.
    """
    items_by_type: dict[str, list[ScoredItem]] = defaultdict(list)
    for item in items:
        items_by_type[item.category].append(item)

    metrics: list[Metric] = []
    if run.generation == "conversation":
        for type_name, type_items in items_by_type.items():
            metrics += _compute_conversation_tables(type_name, type_items)
        return metrics + _compare_with_base_type(items_by_type, from_flat_log=False)

    call_items = [item for item in items if item.category != "IS"]
    metrics += _compute_flat_table("all types", call_items)
    for type_name, type_items in items_by_type.items():
        metrics += _compute_tables_of_type(type_name, type_items)
    return metrics + _compare_with_base_type(items_by_type, from_flat_log=True)


def _compute_tables_of_type(type_name: str, items: list[ScoredItem]) -> list[Metric]:
    """Compute the metrics of one type of a flat log."""
    metrics: list[Metric] = []
    # In these types, some or all requests have no suitable function.
    if type_name == "IS" or type_name.startswith("ir_"):
        metrics += _compute_decline_metrics(type_name, items)
    if type_name != "IS":
        metrics += _compute_flat_table(type_name, items)
    if type_name in PROGRESS_TYPES:
        metrics += _compute_progress_tables(type_name, items)
    return metrics


def _to_metric(table: str, name: str, value: float, note: str = "") -> Metric:
    unit: MetricUnit = "score" if name.startswith("Average") else "share"
    if name == OTHER_ERRORS:
        note = OTHER_ERRORS_NOTE
    return Metric(table, name, value=value, unit=unit, note=note)


@cached_on_item
def _get_rule_outcome(item: ScoredItem) -> SnapshotOutcome | None:
    has_values = item.values.keys() >= {"func_ok", "args_ok"}
    return get_snapshot_outcome(item) if has_values else None


@cached_on_item
def _get_judge_outcome(item: ScoredItem) -> SnapshotOutcome | None:
    is_judged = item.values.keys() >= {"func_ok", JUDGE_CRITERION}
    return get_snapshot_outcome(item, JUDGE_CRITERION) if is_judged else None


GetOutcome = Callable[[ScoredItem], SnapshotOutcome | None]


def _collect_outcomes(
    items: Iterable[ScoredItem], get_outcome: GetOutcome = _get_rule_outcome
) -> Conversation:
    """Return the outcomes of the items that have one."""
    outcomes = [get_outcome(item) for item in items]
    return tuple([outcome for outcome in outcomes if outcome is not None])


def _compute_flat_table(table: str, items: Sequence[ScoredItem]) -> list[Metric]:
    values = compute_flat_metrics(_collect_outcomes(items))
    return [_to_metric(table, name, value) for name, value in values.items()]


def _compute_decline_metrics(table: str, items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the share of items in which the model declined, where it should decline."""
    verdicts = [get_declined_verdict(item) for item in items if DECLINE_KEY in item.metadata]
    known = [verdict for verdict in verdicts if verdict is not None]
    if not known:
        return []
    note = (
        "the correct answer is to decline, although the script counts a call of the missing"
        " function as correct"
    )
    return [Metric(table, "declined", value=sum(known) / len(known), note=note)]


def _compute_progress_tables(type_name: str, items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the progress rate (PR) and the success rate (SR) of a type of conversation.

    The metrics are those of tables 5 and 9 of the paper and, for certain snapshots, those of tables
    6 and 13.
    """
    conversations = _count_conversations(_group_by_conversation(items).values())
    metrics = []
    for selector in _list_selectors(type_name):
        values = compute_conversation_metrics(conversations, selector)
        if not values:
            continue
        table = type_name
        if selector != "all":
            table = f"{type_name}, {SELECTOR_TITLES[selector]}"
        for name in _list_progress_metrics(selector):
            metrics.append(_to_metric(table, name, values[name], CONVERSATION_NOTE))
    return metrics


def _list_progress_metrics(selector: SnapshotSelector) -> list[str]:
    """Return the metrics that the paper has for these snapshots."""
    if selector == "all":
        return ["PR", "SR"]
    if selector == "mid":
        return [*END_SNAPSHOT_METRICS, "PR", "SR"]
    return list(END_SNAPSHOT_METRICS)


def _list_selectors(type_name: str) -> list[SnapshotSelector]:
    """Return the selectors that apply to a type. Only some types have changed snapshots."""
    selectors = list(SELECTOR_TITLES)
    if type_name not in CHANGED_TYPES:
        selectors.remove("mid")
    return selectors


def _compute_conversation_tables(type_name: str, items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the metrics of the official script for a type of conversation, by its rules and by
    the judge.

    Each selector of snapshots, such as all or the last one, has a table.
    """
    conversations = _group_by_conversation(items).values()
    rule_counts = _count_conversations(conversations)
    judge_counts = _count_conversations(conversations, _get_judge_outcome)
    # Some items have only the official verdicts, from `badcase.csv`. This file does not say which
    # argument names are wrong, so only some metrics follow from it.
    has_only_badcase_values = not any("hallucinated" in item.values for item in items)

    metrics = []
    for selector in _list_selectors(type_name):
        table = f"{type_name}, {SELECTOR_TITLES[selector]}"
        for name, value in compute_conversation_metrics(rule_counts, selector).items():
            if not has_only_badcase_values or name in BADCASE_METRICS:
                metrics.append(_to_metric(table, name, value))
        metrics += _make_judge_metrics(table, compute_conversation_metrics(judge_counts, selector))
    return metrics


def _make_judge_metrics(table: str, values: Mapping[str, float]) -> list[Metric]:
    """Return the metrics that depend on the judge. Empty without values."""
    if not values:
        return []
    return [Metric(table, f"{name} LLM", value=values[name]) for name in JUDGE_METRICS]


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
            # The name of a group is the type of the conversation, `_` and its number.
            _, _, conversation = item.group.rpartition("_")
            groups[conversation].append(item)
    for group in groups.values():
        group.sort(key=_get_snapshot_number)
    return dict(groups)


@cached_on_item
def _get_snapshot_number(item: ScoredItem) -> int:
    recorded_id, _, _ = item.id.partition("#")
    return split_item_id(recorded_id).snapshot


def _compare_with_base_type(
    items_by_type: dict[str, list[ScoredItem]], *, from_flat_log: bool
) -> list[Metric]:
    """Compare each type of conversation with the base type, as in tables 10 and 12 of the paper.

    The conversations of a type are variations of those of the base type. Only the conversations
    that both types have are compared.
    """
    base_conversations = _group_by_conversation(items_by_type.get(BASE_TYPE, []))
    if not base_conversations:
        return []

    metrics: list[Metric] = []
    for type_name in PROGRESS_TYPES:
        if type_name == BASE_TYPE:
            continue
        conversations = _group_by_conversation(items_by_type.get(type_name, []))
        common = [name for name in conversations if name in base_conversations]
        values = _compute_ablation_metrics(
            [conversations[name] for name in common], from_flat_log=from_flat_log
        )
        base_values = _compute_ablation_metrics(
            [base_conversations[name] for name in common], from_flat_log=from_flat_log
        )
        if values and base_values:
            note = f"only the {len(common)} conversations that both types have"
            metrics += _make_ablation_metrics(type_name, values, base_values, note)
    return metrics


def _make_ablation_metrics(
    type_name: str, values: Mapping[str, float], base_values: Mapping[str, float], note: str
) -> Iterator[Metric]:
    """Yield each metric of the base type, and the change from it to another type."""
    table = f"{type_name} against {BASE_TYPE}"
    for name in ABLATION_METRICS:
        yield Metric(table, f"{name}, {BASE_TYPE}", value=base_values[name], note=note)
        change = values[name] - base_values[name]
        yield Metric(table, f"{name}, change", value=change, level=1)


def _compute_ablation_metrics(
    conversations: Sequence[Sequence[ScoredItem]], *, from_flat_log: bool
) -> dict[str, float]:
    """Compute the metrics that `_compare_with_base_type` compares.

    PR and SR follow the script for conversations.
    """
    values = compute_conversation_metrics(_count_conversations(conversations))
    if not values or not from_flat_log:
        return values
    items = chain.from_iterable(conversations)
    return values | compute_flat_metrics(_collect_outcomes(items))
