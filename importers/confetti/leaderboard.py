"""Compute CONFETTI's metrics.

Source: the paper's metrics section, Figure 5 and Table 5 (ACL 2025). Soft accuracy per call is the
mean of the soft scores. In soft accuracy per turn, the score of an agent turn is the product of the
scores of its calls. Parameter validity covers the calls of the golden function. In dialog act
accuracy, a turn is correct if at least one predicted label is golden. The F1 of the labels is
computed from the overall precision and recall, as the values in Table 5 are.

An override on an item or call takes precedence over overrides on its parts. It has these effects:

* `correct` of a call item or its parts changes binary accuracy.
* `soft_score` of a call item changes soft accuracy per call and per turn.
* `soft_score` of an argument has the same effects, because the score of its call is recomputed.
* `hallucinated` of an argument, or the list of names for the item, changes parameter validity.
* `name_matches` of a call decides whether its arguments count in parameter validity.
* `dialog_act` of the response changes dialog act accuracy, labels and confusion.
* `correct` of a dialog act item changes dialog act accuracy.

A human verdict on an item or argument takes precedence over a verdict that follows from another
verdict. Values on which annotators disagree keep the automatic verdict.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, NamedTuple

from fcreview.importers.confetti.checker import (
    ACT_CRITERION,
    FIXED_SCORE_REASON,
    compute_soft_score,
)
from fcreview.importers.confetti.discovery import ACTS_CATEGORY, CALLS_CATEGORY
from fcreview.model.address import ITEM, get_enclosing_call_address, parse_address
from fcreview.model.derivation import GOLDEN_ACTS_KEY
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, cached_on_item, get_chain_id, pass_rate
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import DIALOG_ACTS

CALLS_TABLE = "function calling"
SOFT_SCORE_CRITERION = "soft_score"
HALLUCINATED_CRITERION = "hallucinated"


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """Compute the metrics of the call items and of the dialog act items."""
    call_items = [item for item in items if item.category == CALLS_CATEGORY]
    act_items = [item for item in items if item.category == ACTS_CATEGORY]
    metrics: list[Metric] = []
    if call_items:
        metrics.append(Metric(CALLS_TABLE, "binary accuracy", value=pass_rate(call_items)))
    metrics += _compute_soft_accuracies(call_items)
    metrics += _compute_validity_metrics(call_items)
    if act_items:
        metrics += compute_act_metrics(act_items)
    return metrics


def _compute_soft_accuracies(call_items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the mean soft score of calls and that of turns; empty without soft scores."""
    scores = [get_soft_score(item) for item in call_items]
    known_scores = [score for score in scores if score is not None]
    if not known_scores:
        return []
    mean = compute_mean_or_zero(known_scores)
    metric = Metric(CALLS_TABLE, "soft accuracy, per call", value=mean)
    return [metric, *_compute_chain_metrics(call_items)]


def get_soft_score(item: ScoredItem) -> float | None:
    """Return the soft score of a call item after the reviews, or None if it has none.

    The soft score is the mean of the scores of the arguments, from 0 to 1. A review of the score
    itself counts before the reviews of arguments, and these before the recorded score.
    """
    recorded = item.values.get(SOFT_SCORE_CRITERION)
    if not isinstance(recorded, (int, float)):
        return None

    has_reviewed_scores = any(criterion == SOFT_SCORE_CRITERION for _, criterion in item.overrides)
    is_itself_reviewed = item.is_target_reviewed(ITEM, SOFT_SCORE_CRITERION)
    # The importer notes if the recorded score does not depend on the arguments.
    is_fixed = FIXED_SCORE_REASON in item.metadata
    if not has_reviewed_scores or is_itself_reviewed or is_fixed:
        return float(recorded)

    # A review changed the score of an argument, so the mean is computed again.
    score_by_argument = {}
    for argument, criterion, score in item.part_verdicts:
        if criterion != SOFT_SCORE_CRITERION:
            continue
        if not isinstance(score, (int, float)):
            return None
        score_by_argument[argument] = score
    calls_golden_function = True
    return compute_soft_score(calls_golden_function, score_by_argument)


@dataclass(slots=True)
class _Turn:
    """An agent turn, which is a chain of calls."""

    item: ScoredItem
    """Last call item of the turn."""
    score: float | None = None
    """Product of the soft scores of its calls, or None if no call has one."""

    def add_call(self, item: ScoredItem) -> None:
        self.item = item
        score = get_soft_score(item)
        if score is not None:
            self.score = score if self.score is None else self.score * score

    @property
    def length_name(self) -> str:
        length = self.item.metadata["chain"]["length"]
        return str(length) if length < 4 else "4+"

    @property
    def functions_name(self) -> str:
        n_functions = self.item.n_functions
        if n_functions <= 9:
            return "1-9"
        return "10-19" if n_functions <= 19 else "20+"

    @property
    def user_turns_name(self) -> str:
        n_turns = self.item.n_turns
        if n_turns <= 5:
            return "1-5"
        return "6-10" if n_turns <= 10 else "11+"


def _compute_chain_metrics(call_items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the mean score of agent turns, over all turns and in the groups of the paper."""
    turns = [turn for turn in _list_turns(call_items) if turn.score is not None]
    if not turns:
        return []
    mean = _compute_mean_turn_score(turns)
    metrics = [Metric(CALLS_TABLE, "soft accuracy, chain product per turn", value=mean)]
    metrics += _compute_group_means("by chain length", turns, lambda turn: turn.length_name)
    metrics += _compute_group_means("by functions offered", turns, lambda turn: turn.functions_name)
    metrics += _compute_group_means("by user turns", turns, lambda turn: turn.user_turns_name)
    return metrics


def _list_turns(call_items: Sequence[ScoredItem]) -> list[_Turn]:
    """Return the turns in the order of their first calls."""
    turns: dict[str, _Turn] = {}
    for item in call_items:
        chain_id = get_chain_id(item)
        if chain_id is not None:
            turns.setdefault(chain_id, _Turn(item)).add_call(item)
    return list(turns.values())


def _compute_group_means(
    table: str, turns: Sequence[_Turn], get_group: Callable[[_Turn], str]
) -> list[Metric]:
    """Return a metric with the mean score of each group of turns."""
    groups: defaultdict[str, list[_Turn]] = defaultdict(list)
    for turn in turns:
        groups[get_group(turn)].append(turn)
    metrics = []
    for name, group in sorted(groups.items()):
        mean = _compute_mean_turn_score(group)
        metrics.append(Metric(table, name, value=mean, note=f"{len(group)} turns"))
    return metrics


def _compute_mean_turn_score(turns: Sequence[_Turn]) -> float:
    return compute_mean_or_zero([turn.score for turn in turns if turn.score is not None])


def _compute_validity_metrics(call_items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the share of arguments that the judge did not flag.

    Only predicted calls of the golden function count.
    """
    counts = [_count_valid_arguments(item) for item in call_items]
    n_valid = sum(count.valid for count in counts)
    n_judged = sum(count.judged for count in counts)
    if n_judged == 0:
        return []
    note = f"share of {n_judged} arguments that the judge checked"
    return [Metric("parameter validity", "valid parameters", value=n_valid / n_judged, note=note)]


class ArgumentCounts(NamedTuple):
    """Numbers of arguments in the predicted calls of the golden function."""

    valid: int
    """Number of arguments that the judge did not flag."""
    judged: int


@cached_on_item
def _count_valid_arguments(item: ScoredItem) -> ArgumentCounts:
    """Count the arguments in calls of the golden function, and those without a flag."""
    calls_with_golden_name = set()
    for target, criterion, value in item.part_verdicts:
        if criterion == "name_matches" and value:
            calls_with_golden_name.add(target)

    n_valid = 0
    n_judged = 0
    for target, is_hallucinated in get_hallucination_flags(item).items():
        if get_enclosing_call_address(target) in calls_with_golden_name:
            n_judged += 1
            if not is_hallucinated:
                n_valid += 1
    return ArgumentCounts(n_valid, judged=n_judged)


def get_hallucination_flags(item: ScoredItem) -> dict[str, Any]:
    """Return whether each argument is hallucinated, by address.

    An override of the item's list covers all its calls.
    """
    flags = {}
    for target, criterion, value in item.part_verdicts:
        if criterion == HALLUCINATED_CRITERION:
            flags[target] = value

    flagged_names = item.overrides.get((ITEM, HALLUCINATED_CRITERION))
    if not isinstance(flagged_names, list):
        return flags
    for target in flags:
        address = parse_address(target)
        if address is not None and not item.is_target_reviewed(target, HALLUCINATED_CRITERION):
            flags[target] = address.argument in flagged_names
    return flags


def compute_mean_or_zero(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


SHORT_LABELS = dict(
    zip(DIALOG_ACTS, ("function", "inform", "seek_info", "reject", "other"), strict=True)
)
LABEL_MATCHES = ("golden and predicted", "golden only", "predicted only")


@dataclass(frozen=True, slots=True)
class ActLabelPair:
    """The labels of a turn."""

    predicted: frozenset[str]
    golden: frozenset[str]


ActLabelPairCounts = Mapping[ActLabelPair, int]
"""Predicted and golden labels -> number of turns that have them."""


def compute_act_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the metrics of items whose reply must have the right dialog act, such as `inform`.

    A judge gave labels to the replies. The accuracy covers all items with a verdict. The other
    metrics compare the predicted and the golden labels of the turns that have both.
    """
    verdicts = [get_act_verdict(item) for item in items]
    known_verdicts = [verdict for verdict in verdicts if verdict is not None]
    accuracy = sum(known_verdicts) / len(known_verdicts) if known_verdicts else None
    metrics = [Metric("response quality", "dialog act accuracy", value=accuracy)]

    pairs = [_get_act_label_pair(item) for item in items]
    pair_counts = Counter(pair for pair in pairs if pair is not None)
    if pair_counts:
        metrics += _compute_act_label_metrics(pair_counts)
    return metrics


def _compute_act_label_metrics(pair_counts: ActLabelPairCounts) -> Iterator[Metric]:
    """Yield the metrics that compare predicted and golden labels: scores of the labels, the
    confusions, and for each label the number of turns that have it on one side or both.
    """
    note = (
        "computed from the labels of the predicted replies; the paper's Table 5 covers the"
        " golden replies"
    )
    for name, value in compute_act_label_scores(pair_counts).items():
        yield Metric("dialog act labels", name, value=value, note=note)

    yield from _compute_confusion_metrics(pair_counts)
    for label, counts in count_turns_by_label_match(pair_counts).items():
        for match, n_turns in counts.items():
            name = f"{label}: {match}"
            yield Metric("dialog acts", name, value=n_turns, unit="count", level=1)


@cached_on_item
def get_act_verdict(item: ScoredItem) -> bool | None:
    """Return the effective verdict on a dialog act item.

    It is the reviewed verdict or, without one, follows from overridden labels. Otherwise, it is the
    automatic verdict.
    """
    verdict: bool | None = item.derive_verdict("confetti", *ITEM_CORRECT)
    return item.valid if verdict is None else verdict


@cached_on_item
def _get_act_label_pair(item: ScoredItem) -> ActLabelPair | None:
    predicted = item.values.get(ACT_CRITERION)
    golden = item.metadata.get(GOLDEN_ACTS_KEY)
    if not isinstance(predicted, list) or not isinstance(golden, list):
        return None
    return ActLabelPair(frozenset(predicted), golden=frozenset(golden))


def compute_act_label_scores(pairs: ActLabelPairCounts) -> dict[str, float]:
    """Compute the precision, recall and F1 of the predicted labels over all turns, from 0 to 1."""
    n_predicted = 0
    n_golden = 0
    n_common = 0
    for pair, n_turns in pairs.items():
        n_predicted += len(pair.predicted) * n_turns
        n_golden += len(pair.golden) * n_turns
        n_common += len(pair.predicted & pair.golden) * n_turns

    precision = n_common / n_predicted if n_predicted else 0.0
    recall = n_common / n_golden if n_golden else 0.0
    f1 = 2 * precision * recall / (precision + recall) if n_common else 0.0
    return {"precision": precision, "recall": recall, "F1": f1}


def _compute_confusion_metrics(pairs: ActLabelPairCounts) -> list[Metric]:
    """Count how often the model took one dialog act for another.

    `pairs` maps each pair of predicted and golden labels to its number of turns.
    """
    n_turns_by_labels = _count_confused_turns(pairs)
    note = "number of turns in which no predicted label is golden"
    metrics = []
    for golden, predicted in permutations(DIALOG_ACTS, 2):
        name = f"{SHORT_LABELS[golden]} taken for {SHORT_LABELS[predicted]}"
        n_turns = n_turns_by_labels[golden, predicted]
        metric = Metric("dialog acts confused", name, value=n_turns, unit="count", level=1)
        metric.note = note
        metrics.append(metric)
    return metrics


def _count_confused_turns(pairs: ActLabelPairCounts) -> Counter[tuple[str, str]]:
    """Return (golden label, predicted label) -> number of turns.

    Only turns without a common label count. If a turn has several labels, each golden label is
    counted with each predicted one.
    """
    n_turns_by_labels: Counter[tuple[str, str]] = Counter()
    for pair, n_turns in pairs.items():
        has_common_label = bool(pair.predicted & pair.golden)
        if has_common_label:
            continue
        for golden, predicted in product(pair.golden, pair.predicted):
            n_turns_by_labels[golden, predicted] += n_turns
    return n_turns_by_labels


def count_turns_by_label_match(pairs: ActLabelPairCounts) -> dict[str, dict[str, int]]:
    """Count, for each label, the turns in which it is golden and predicted, golden only, or
    predicted only.
    """
    counts = {label: dict.fromkeys(LABEL_MATCHES, 0) for label in DIALOG_ACTS}
    for pair, n_turns in pairs.items():
        for label in pair.predicted | pair.golden:
            if label not in counts:
                counts[label] = dict.fromkeys(LABEL_MATCHES, 0)
            counts[label][_name_match(pair, label)] += n_turns
    return counts


def _name_match(pair: ActLabelPair, label: str) -> str:
    if label in pair.golden and label in pair.predicted:
        return "golden and predicted"
    return "golden only" if label in pair.golden else "predicted only"
