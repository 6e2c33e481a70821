"""Apply CONFETTI's rules for the binary verdict and the soft score of a call, for chains of calls, and for dialog acts.

The binary verdict follows BFCL V2's checker. It needs three adaptations to CONFETTI's data: a missing `required` is
empty, the types `object` and `number` are `dict` and `float`, and single values inside golden objects become lists.

The soft score is the paper's AST soft accuracy (ACL 2025, metrics section), as the released score files contain it. It
is 0 unless function and argument names match; texts are compared by similarity and other values by equality. The
paper's text similarity is AlignScore; fcreview uses token F1.

A chain consists of the calls of one agent turn. The dialog act records list the calls of each turn in order, with the
same function names as the call records in all 109 dialogs of the release.

Dialog acts follow the paper's metrics section (at least one label in common), Figure 5 (confused acts) and Table 5
(labels over all turns; F1 is computed from the overall precision and recall, like the paper's 67.2, 90.3 and 77.0).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from fcreview.importers.bfcl.checker.evaluate import Evaluation, evaluate
from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.importers.common.records import as_list, as_object
from fcreview.model.function_schema import get_parameters_schema
from fcreview.model.item import AcceptedValues, Call, GoldenObject
from fcreview.model.metric import Metric, ScoredItem, cached_on_item
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import DIALOG_ACTS, GOLDEN_ACTS_KEY

SHORT_LABELS = dict(zip(DIALOG_ACTS, ("function", "inform", "seek_info", "reject", "other"), strict=True))
ACT_CRITERION = "dialog_act"
LabelPair = tuple[frozenset[str], frozenset[str]]
"""(predicted, golden) labels of a turn."""
LabelPairCounts = Mapping[LabelPair, int]
"""Pair of labels -> number of turns. A run has few distinct pairs."""


def compute_act_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the metrics of dialog act items.

    Accuracy covers all items with a verdict. All other metrics cover the turns that have predicted and golden labels.
    """
    verdicts = [valid for item in items if (valid := get_act_verdict(item)) is not None]
    accuracy = sum(verdicts) / len(verdicts) if verdicts else None
    metrics = [Metric("response quality", "dialog act accuracy", accuracy)]
    pairs = Counter([pair for item in items if (pair := _get_label_pair(item)) is not None])
    if pairs:
        note = "labels of the predicted replies; the paper's Table 5 covers the golden replies"
        scores = compute_label_scores(pairs)
        metrics += [Metric("dialog act labels", name, value, note=note) for name, value in scores.items()]
        metrics += _confusion_metrics(pairs) + _shared_label_metrics(pairs)
    return metrics


@cached_on_item
def get_act_verdict(item: ScoredItem) -> bool | None:
    """Return the effective verdict on a dialog act item: reviewed, else from overridden labels, else automatic."""
    verdict: bool | None = item.derive("confetti", *ITEM_CORRECT)
    return item.valid if verdict is None else verdict


@cached_on_item
def _get_label_pair(item: ScoredItem) -> LabelPair | None:
    predicted, golden = item.values.get(ACT_CRITERION), item.metadata.get(GOLDEN_ACTS_KEY)
    if isinstance(predicted, list) and isinstance(golden, list):
        return frozenset(predicted), frozenset(golden)
    return None


def has_common_label(predicted: Iterable[str], golden: Iterable[str]) -> bool:
    return bool(set(predicted) & set(golden))


def compute_label_scores(pairs: LabelPairCounts) -> dict[str, float]:
    """Compute precision, recall and F1 over all labels of all turns, from 0 to 1."""
    both = sum(len(predicted & golden) * n for (predicted, golden), n in pairs.items())
    predicted, golden = (sum(len(labels[side]) * n for labels, n in pairs.items()) for side in (0, 1))
    precision = both / predicted if predicted else 0.0
    recall = both / golden if golden else 0.0
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    return {"precision": precision, "recall": recall, "F1": f1}


def _confusion_metrics(pairs: LabelPairCounts) -> list[Metric]:
    """For each pair of different labels, count the turns that have one as golden and the other as predicted label."""
    note, metrics = "turns whose golden and predicted labels are all different; one count for each pair of labels", []
    confused = [(*labels, n) for labels, n in pairs.items() if not labels[0] & labels[1]]
    for golden, predicted in permutations(DIALOG_ACTS, 2):
        count = sum(n for predicted_labels, labels, n in confused if golden in labels and predicted in predicted_labels)
        name = f"{SHORT_LABELS[golden]} taken for {SHORT_LABELS[predicted]}"
        metrics.append(Metric("dialog acts confused", name, count, "count", 1, note))
    return metrics


def _shared_label_metrics(pairs: LabelPairCounts) -> list[Metric]:
    """For each label, count the turns that have it as golden and predicted label, only as golden or only as predicted
    label."""
    words = {"both": "golden and predicted", "only_golden": "golden only", "only_predicted": "predicted only"}
    return [
        Metric("dialog acts", f"{label}: {words[cell]}", count, "count", 1)
        for label, cells in count_shared_labels(pairs).items()
        for cell, count in cells.items()
    ]


def count_shared_labels(pairs: LabelPairCounts) -> Mapping[str, dict[str, int]]:
    counts = {label: {"both": 0, "only_golden": 0, "only_predicted": 0} for label in DIALOG_ACTS}
    for (predicted, golden), n_turns in pairs.items():
        for label in predicted | golden:
            cell = "both" if label in predicted & golden else "only_golden" if label in golden else "only_predicted"
            counts.setdefault(label, {"both": 0, "only_golden": 0, "only_predicted": 0})[cell] += n_turns
    return counts


def make_dataset_item(item_id: str, functions: list[dict[str, Any]], golden_answer: Any) -> DatasetItem:
    """Return a call record as an item of BFCL's dataset, with adapted function docs and golden answer."""
    adapted = [adapt_function_doc(function_doc) for function_doc in functions]
    return DatasetItem(item_id, "multiple", functions=adapted, ground_truth=adapt_golden_answer(golden_answer))


def check_call(result: Any, dataset_item: DatasetItem) -> Evaluation:
    return evaluate(result, dataset_item, version="V2", category="multiple")


def adapt_function_doc(function_doc: dict[str, Any]) -> dict[str, Any]:
    schema = {"required": [], **get_parameters_schema(function_doc), "type": "dict"}
    return {**function_doc, "parameters": _adapt_schema(schema)}


def _adapt_schema(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    adapted = dict(schema)
    if isinstance(adapted.get("type"), str):
        adapted["type"] = {"object": "dict", "number": "float"}.get(adapted["type"], adapted["type"])
    if "items" in adapted:
        adapted["items"] = _adapt_schema(adapted["items"])
    if isinstance(adapted.get("properties"), dict):
        adapted["properties"] = {name: _adapt_schema(each) for name, each in adapted["properties"].items()}
    return adapted


def adapt_golden_answer(answer: Any) -> Any:
    """Adapt `[{function: {parameter: [accepted value]}}]` to BFCL's checker: object fields become lists."""
    if not isinstance(answer, list):
        return answer
    return [
        {name: {key: [_wrap_object_fields(value) for value in accepted] for key, accepted in arguments.items()}}
        for call in answer
        if isinstance(call, dict)
        for name, arguments in call.items()
    ]


def _wrap_object_fields(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: inner if isinstance(inner, list) else [inner] for key, inner in value.items()}


def make_golden_calls(answer: Any, turn: int) -> list[Call]:
    """Return the golden calls of an answer. In an object argument, each field has its own list of accepted values."""
    calls: list[Call] = []
    for name, arguments in (entry for call in as_list(answer) for entry in call.items()):
        accepted = {key: AcceptedValues(list(map(_make_golden_value, values))) for key, values in arguments.items()}
        calls.append(Call("golden", name, accepted, turn, 0, len(calls)))
    return calls


def _make_golden_value(value: Any) -> Any:
    if isinstance(value, dict):
        return GoldenObject({key: AcceptedValues([inner]) for key, inner in value.items()})
    return value


CALL_START = re.compile(r"\s*([A-Za-z_]\w*(?:\.\w+)+)\(")
"""Beginning of a call in a golden reply: a dotted function name and a parenthesis."""


@dataclass(frozen=True, slots=True)
class ChainPosition:
    """Position of a call in the calls of its agent turn."""

    turn: str
    """`dialog_id` of the dialog act record of the turn."""
    index: int
    length: int


def get_dialog_id(dialog_id: str) -> str:
    """Return a `dialog_id` without its last part, which numbers the calls or the agent turns of a dialogue."""
    return dialog_id.rpartition("_")[0]


def parse_call_name(text: Any) -> str | None:
    """Return the function name of a call with `_` for `.`: `Api_find` for `Api.find(class=['x'])`; None for other text.

    The text is not parsed as Python, because parameters may have the names of keywords.
    """
    match = CALL_START.match(text) if isinstance(text, str) else None
    return match[1].replace(".", "_") if match else None


def find_chain_positions(calls: Iterable[dict[str, Any]], acts: Iterable[dict[str, Any]]) -> dict[str, ChainPosition]:
    """Return the chain position of each call record by id. Conversations whose function names do not match are
    omitted."""
    acts_by_dialog = _group_by_dialog(acts)
    positions: dict[str, ChainPosition] = {}
    for dialog, records in _group_by_dialog(calls).items():
        positions |= _find_dialog_positions(records, acts_by_dialog.get(dialog, [])) or {}
    return positions


def _group_by_dialog(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    dialogs: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        dialogs[get_dialog_id(record["dialog_id"])].append(record)
    return dialogs


def _find_dialog_positions(
    records: list[dict[str, Any]], acts: list[dict[str, Any]]
) -> dict[str, ChainPosition] | None:
    start, positions = 0, {}
    for act in acts:
        names = [name for name in map(parse_call_name, as_list(act.get("ground_truth_content"))) if name]
        turn_records = records[start : start + len(names)]
        if [_golden_function_name(record) for record in turn_records] != names:
            return None
        for index, record in enumerate(turn_records):
            positions[record["id"]] = ChainPosition(act["dialog_id"], index, len(names))
        start += len(names)
    return positions if start == len(records) else None


def _golden_function_name(record: dict[str, Any]) -> str | None:
    golden = as_list(record.get("ground_truth"))
    return next(iter(as_object(golden[0])), None) if golden else None


SCORE_DECIMALS = 4
"""Number of decimals in the soft score file. Chains multiply the rounded scores."""
FIXED_SCORE_KEY = "soft score stays"
"""Metadata key of the reason why an item's soft score does not follow from the scores of its arguments."""

Similarity = Callable[[str, str], float]


def token_f1(golden: str, predicted: str) -> float:
    """Return the F1 of the words of two texts, from 0 to 1. Case is ignored."""
    if golden == predicted:
        return 1.0
    predicted_words, golden_words = (Counter(re.findall(r"\w+", text.lower())) for text in (predicted, golden))
    shared = sum((predicted_words & golden_words).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(predicted_words.values()), shared / sum(golden_words.values())
    return 2 * precision * recall / (precision + recall)


def compute_parameter_scores(
    golden: Mapping[str, list[Any]], predicted: Mapping[str, Any], similarity: Similarity = token_f1
) -> dict[str, float]:
    """Compute the score of every parameter, rounded as in the score file. A parameter missing on one side scores 0."""
    scores = dict.fromkeys(sorted({*golden, *predicted}), 0.0)
    for name in golden.keys() & predicted.keys():
        scores[name] = round(_best_score(golden[name], predicted[name], similarity), SCORE_DECIMALS)
    return scores


def _best_score(accepted: list[Any], value: Any, similarity: Similarity) -> float:
    scores = [
        similarity(golden, value)
        if isinstance(golden, str) and isinstance(value, str)
        else float(type(golden) is type(value) and golden == value)
        for golden in accepted
    ]
    if isinstance(value, list) and value == accepted:
        scores.append(1.0)
    return max(scores, default=0.0)


def compute_soft_score(name_matches: bool, scores: Mapping[str, float]) -> float:
    """Return the mean score of the parameters; 0 if a score is 0 or the name differs, and 1 without parameters."""
    if not name_matches or any(score == 0 for score in scores.values()):
        return 0.0
    return round(sum(scores.values()) / len(scores), SCORE_DECIMALS) if scores else 1.0
