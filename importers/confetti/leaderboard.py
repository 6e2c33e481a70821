"""Compute CONFETTI's metrics.

Source: the paper's metrics section, Figure 5 and Table 5 (ACL 2025). Soft accuracy per call is the
mean of the soft scores. In soft accuracy per turn, the score of an agent turn is the product of the
scores of its calls. Parameter validity covers the calls of the golden function. In dialog act
accuracy, a turn is correct if at least one predicted label is golden. The F1 of the labels is
computed from the overall precision and recall, as the values in Table 5 are.

The table shows the effects of an override. An override on an item or call takes precedence over
overrides on its parts.

| override | changes |
|---|---|
| `correct` of a call item or its parts | binary accuracy |
| `soft_score` of a call item | soft accuracy per call and per turn |
| `soft_score` of an argument | the score of the call is recomputed, with the same effects |
| `hallucinated` of an argument, or the list of names for the item | parameter validity |
| `name_matches` of a call | whether its arguments count in parameter validity |
| `dialog_act` of the response | dialog act accuracy, labels, confusion |
| `correct` of a dialog act item | dialog act accuracy |

A human verdict on an item or argument takes precedence over a verdict that follows from another
verdict. Values on which annotators disagree keep the automatic verdict.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple

from fcreview.importers.confetti.checker import (
    ACT_CRITERION,
    FIXED_SCORE_REASON,
    compute_soft_score,
)
from fcreview.importers.confetti.discovery import ACTS_CATEGORY, CALLS_CATEGORY
from fcreview.model.address import ITEM, get_enclosing_call_address, parse_address
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, cached_on_item, get_chain_id, pass_rate
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import DIALOG_ACTS, GOLDEN_ACTS_KEY

SOFT_SCORE_CRITERION = "soft_score"
HALLUCINATED_CRITERION = "hallucinated"


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    call_items = [item for item in items if item.category == CALLS_CATEGORY]
    act_items = [item for item in items if item.category == ACTS_CATEGORY]
    metrics = (
        [Metric("function calling", "binary accuracy", value=pass_rate(call_items))]
        if call_items
        else []
    )
    scores = [(item, get_soft_score(item)) for item in call_items]
    soft_scores = [score for _, score in scores if score is not None]
    if soft_scores:
        metrics.append(
            Metric(
                "function calling",
                "soft accuracy, per call",
                value=compute_mean_or_zero(soft_scores),
            )
        )
        metrics += _compute_chain_metrics(scores)
    metrics += _compute_validity_metrics(call_items)
    return metrics + (compute_act_metrics(act_items) if act_items else [])


@cached_on_item
def get_soft_score(item: ScoredItem) -> float | None:
    """Return the effective soft score of a call item, or None without one.

    It is the reviewed score or, without one, follows from overridden arguments. Otherwise, it is
    the recorded score.
    """
    value = item.values.get(SOFT_SCORE_CRITERION)
    if not isinstance(value, (int, float)):
        return None
    is_overridden = any(criterion == SOFT_SCORE_CRITERION for _, criterion in item.overrides)
    if (
        not is_overridden
        or item.is_target_reviewed(ITEM, SOFT_SCORE_CRITERION)
        or FIXED_SCORE_REASON in item.metadata
    ):
        return float(value)
    scores = {
        target: score
        for target, criterion, score in item.part_verdicts
        if criterion == SOFT_SCORE_CRITERION
    }
    is_complete = all(isinstance(score, (int, float)) for score in scores.values())
    return compute_soft_score(True, scores) if is_complete else None


def _compute_chain_metrics(item_scores: Sequence[tuple[ScoredItem, float | None]]) -> list[Metric]:
    scores_by_turn = [
        (turn, item, score)
        for item, score in item_scores
        if (turn := get_chain_id(item)) is not None
    ]
    items_by_turn = {turn: item for turn, item, _ in scores_by_turn}
    products: dict[str, float] = {}
    for turn, _, score in scores_by_turn:
        if score is not None:
            products[turn] = products.get(turn, 1.0) * score
    if not products:
        return []
    mean = compute_mean_or_zero(list(products.values()))
    metrics = [Metric("function calling", "soft accuracy, chain product per turn", value=mean)]
    tables: dict[str, Callable[[ScoredItem], str]] = {
        "by chain length": lambda item: (
            str(length) if (length := item.metadata["chain"]["length"]) < 4 else "4+"
        ),
        "by functions offered": lambda item: _choose_bucket_name(
            item.n_functions, (9, 19), ("1-9", "10-19", "20+")
        ),
        "by user turns": lambda item: _choose_bucket_name(
            item.n_turns, (5, 10), ("1-5", "6-10", "11+")
        ),
    }
    for table, group_name in tables.items():
        groups: defaultdict[str, list[float]] = defaultdict(list)
        for turn, product in products.items():
            groups[group_name(items_by_turn[turn])].append(product)
        for name, part in sorted(groups.items()):
            metrics.append(
                Metric(table, name, value=compute_mean_or_zero(part), note=f"{len(part)} turns")
            )
    return metrics


def _choose_bucket_name(value: int, limits: tuple[int, int], names: tuple[str, str, str]) -> str:
    return names[0] if value <= limits[0] else names[1] if value <= limits[1] else names[2]


def _compute_validity_metrics(call_items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the share of arguments that the judge did not flag.

    Only predicted calls of the golden function count.
    """
    counts = [_count_valid_arguments(item) for item in call_items]
    n_valid, n_judged = sum(count.valid for count in counts), sum(count.judged for count in counts)
    if not n_judged:
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
    flags = get_hallucination_flags(item)
    named_calls = {
        target
        for target, criterion, value in item.part_verdicts
        if criterion == "name_matches" and value
    }
    judged = [
        flag for target, flag in flags.items() if get_enclosing_call_address(target) in named_calls
    ]
    return ArgumentCounts(sum(not flag for flag in judged), len(judged))


def get_hallucination_flags(item: ScoredItem) -> dict[str, Any]:
    """Return whether each argument is hallucinated, by address.

    An override of the item's list covers all its calls.
    """
    flags = {
        target: value
        for target, criterion, value in item.part_verdicts
        if criterion == HALLUCINATED_CRITERION
    }
    names = item.overrides.get((ITEM, HALLUCINATED_CRITERION))
    if isinstance(names, list):
        for target in flags:
            address = parse_address(target)
            if address is not None and not item.is_target_reviewed(target, HALLUCINATED_CRITERION):
                flags[target] = address.argument in names
    return flags


def compute_mean_or_zero(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


SHORT_LABELS = dict(
    zip(DIALOG_ACTS, ("function", "inform", "seek_info", "reject", "other"), strict=True)
)
LABEL_MATCHES = ("golden and predicted", "golden only", "predicted only")
ActLabelPair = tuple[frozenset[str], frozenset[str]]
"""The predicted labels and the golden labels of a turn."""
ActLabelPairCounts = Mapping[ActLabelPair, int]
"""Predicted and golden labels -> number of turns that have them."""


def compute_act_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the metrics of dialog act items.

    Accuracy covers all items with a verdict. The other metrics cover the turns with predicted and
    golden labels.
    """
    verdicts = [valid for item in items if (valid := get_act_verdict(item)) is not None]
    accuracy = sum(verdicts) / len(verdicts) if verdicts else None
    metrics = [Metric("response quality", "dialog act accuracy", value=accuracy)]
    pairs = Counter([pair for item in items if (pair := _get_act_label_pair(item)) is not None])
    if pairs:
        note = (
            "computed from the labels of the predicted replies; the paper's Table 5 covers the"
            " golden replies"
        )
        scores = compute_act_label_scores(pairs)
        metrics += [
            Metric("dialog act labels", name, value=value, note=note)
            for name, value in scores.items()
        ]
        metrics += _compute_confusion_metrics(pairs)
        for label, counts in count_turns_by_label_match(pairs).items():
            metrics += [
                Metric("dialog acts", f"{label}: {match}", value=n, unit="count", level=1)
                for match, n in counts.items()
            ]
    return metrics


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
    predicted, golden = item.values.get(ACT_CRITERION), item.metadata.get(GOLDEN_ACTS_KEY)
    if isinstance(predicted, list) and isinstance(golden, list):
        return frozenset(predicted), frozenset(golden)
    return None


def compute_act_label_scores(pairs: ActLabelPairCounts) -> dict[str, float]:
    """Compute the precision, recall and F1 of the predicted labels over all turns, from 0 to 1."""
    both = sum(len(predicted & golden) * n for (predicted, golden), n in pairs.items())
    predicted, golden = (
        sum(len(labels[side]) * n for labels, n in pairs.items()) for side in (0, 1)
    )
    precision = both / predicted if predicted else 0.0
    recall = both / golden if golden else 0.0
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    return {"precision": precision, "recall": recall, "F1": f1}


def _compute_confusion_metrics(pairs: ActLabelPairCounts) -> list[Metric]:
    """Count, for each pair of different labels, the turns with one as golden label and the other
    as predicted label.
    """
    note, metrics = "number of turns in which no predicted label is golden", []
    confused = [(*labels, n) for labels, n in pairs.items() if not labels[0] & labels[1]]
    for golden, predicted in permutations(DIALOG_ACTS, 2):
        count = sum(
            n
            for predicted_labels, labels, n in confused
            if golden in labels and predicted in predicted_labels
        )
        name = f"{SHORT_LABELS[golden]} taken for {SHORT_LABELS[predicted]}"
        metrics.append(
            Metric("dialog acts confused", name, value=count, unit="count", level=1, note=note)
        )
    return metrics


def count_turns_by_label_match(pairs: ActLabelPairCounts) -> dict[str, dict[str, int]]:
    """Count, for each label, the turns in which it is golden and predicted, golden only, or
    predicted only.
    """
    counts = {label: dict.fromkeys(LABEL_MATCHES, 0) for label in DIALOG_ACTS}
    for (predicted, golden), n_turns in pairs.items():
        for label in predicted | golden:
            both, golden_only, predicted_only = LABEL_MATCHES
            match = (
                both
                if label in predicted & golden
                else golden_only
                if label in golden
                else predicted_only
            )
            counts.setdefault(label, dict.fromkeys(LABEL_MATCHES, 0))[match] += n_turns
    return counts
