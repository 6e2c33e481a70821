"""Dialog acts: golden labels of a turn against those that a classifier gave the predicted reply.

Source: the paper's metrics section (at least one label in common), Figure 5 (which act was taken for which) and Table 5
(labels over all turns; F1 is of the two sums, as its 67.2, 90.3 and 77.0 are).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from fcreview.criteria import DIALOG_ACTS
from fcreview.figures import Figure, Scored, once
from fcreview.review import OWN
from fcreview.targets import RESPONSE

LABELS = DIALOG_ACTS
SHORT = dict(zip(LABELS, ("function", "inform", "seek_info", "reject", "other"), strict=True))
"""The paper's words."""
CRITERION = "dialog_act"
GOLDEN = "golden dialog acts"
"""Where an item's golden labels stand in `more`."""
Pair = tuple[frozenset[str], frozenset[str]]
"""(predicted, golden) labels"""
Pairs = Mapping[Pair, int]
"""How many turns have such labels: few pairs differ."""


def figures(rows: Sequence[Scored]) -> list[Figure]:
    """Accuracy, then over the turns with labels on both sides: labels, confusion, how often each label is shared."""
    verdicts = [valid for row in rows if (valid := verdict(row)) is not None]
    accuracy = sum(verdicts) / len(verdicts) if verdicts else None
    found = [Figure("response quality", "dialog act accuracy", accuracy)]
    pairs = Counter([pair for row in rows if (pair := _pair(row)) is not None])
    return found + _labels(pairs) + _confused(pairs) + _shared(pairs) if pairs else found


@once
def verdict(row: Scored) -> bool | None:
    """The item's own, unless people overruled the labels and not the item: then whether their labels match."""
    if (RESPONSE, CRITERION) not in row.overruled or OWN in row.overruled:
        return row.valid
    pair = _pair(row)
    return acts_match(*pair) if pair is not None else None


@once
def _pair(row: Scored) -> Pair | None:
    ours, theirs = row.values.get(CRITERION), row.more.get(GOLDEN)
    return (frozenset(ours), frozenset(theirs)) if isinstance(ours, list) and isinstance(theirs, list) else None


def acts_match(predicted: Iterable[str], golden: Iterable[str]) -> bool:
    """At least one label in common."""
    return bool(set(predicted) & set(golden))


def _labels(pairs: Pairs) -> list[Figure]:
    table, note = "dialog act labels", "of the predicted replies; the paper's Table 5 has the golden ones"
    return [Figure(table, name, value, note=note) for name, value in multi_label(pairs).items()]


def multi_label(pairs: Pairs) -> dict[str, float]:
    """Precision, recall and F1 of single labels over all turns, 0 to 1."""
    cells = list(act_confusion(pairs).values())
    both = sum(cell["both"] for cell in cells)
    predicted = both + sum(cell["only_predicted"] for cell in cells)
    golden = both + sum(cell["only_golden"] for cell in cells)
    precision = both / predicted if predicted else 0.0
    recall = both / golden if golden else 0.0
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    return {"precision": precision, "recall": recall, "F1": f1}


def _confused(pairs: Pairs) -> list[Figure]:
    counts = confused(pairs)
    table, note = "dialog acts confused", "turns without a common label, once for each pair of labels"
    return [
        Figure(table, f"{SHORT[golden]} taken for {SHORT[predicted]}", counts[golden, predicted], "count", 1, note)
        for golden in LABELS
        for predicted in LABELS
        if golden != predicted
    ]


def confused(pairs: Pairs) -> Counter[tuple[str, str]]:
    """(golden, predicted) -> how often, over the turns without a label in common."""
    counts: Counter[tuple[str, str]] = Counter()
    for (predicted, golden), n in pairs.items():
        if not predicted & golden:
            for taken in product(golden, predicted):
                counts[taken] += n
    return counts


def _shared(pairs: Pairs) -> list[Figure]:
    """Per label: how often both sides have it, only the golden one, only the prediction."""
    words = {"both": "golden and predicted", "only_golden": "golden only", "only_predicted": "predicted only"}
    return [
        Figure("dialog acts", f"{label}: {words[cell]}", count, "count", 1)
        for label, cells in act_confusion(pairs).items()
        for cell, count in cells.items()
    ]


def act_confusion(pairs: Pairs) -> Mapping[str, dict[str, int]]:
    """label -> {both, only_golden, only_predicted}"""
    table = {label: {"both": 0, "only_golden": 0, "only_predicted": 0} for label in LABELS}
    for (ours, theirs), n in pairs.items():
        for label in ours | theirs:
            cell = "both" if label in ours & theirs else "only_golden" if label in theirs else "only_predicted"
            table.setdefault(label, {"both": 0, "only_golden": 0, "only_predicted": 0})[cell] += n
    return table
