"""Dialog acts: golden labels of a turn against those that a classifier gave the predicted reply.

Source: the paper's metrics section (at least one label in common), Figure 5 (which act was taken for which) and Table 5
(labels over all turns; F1 is of the two sums, as its 67.2, 90.3 and 77.0 are).

The binary verdict on a call record: BFCL v2's rules on CONFETTI's adapted documents and answers.

Source: BFCL v2's checker, with the three adaptations without which it cannot run on this data: a missing
`required` is empty, `object` and `number` are `dict` and `float`, and bare values inside golden objects are
wrapped in lists.

Which call records form one agent turn: recovered from the dialog-act records, which hold the turn's calls in order.

Source: format notes of the released data; all 109 dialogs of the release match name by name.

CONFETTI's soft score of a call: structure as a gate, texts by similarity, everything else by equality.

Source: the paper's AST soft accuracy (ACL 2025, metrics section) in the reading of the sample score files. The
paper's text similarity is AlignScore; any function of two texts can stand in, token F1 is built in.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from fcreview.importers.bfcl.checker.evaluate import Evaluation, evaluate
from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.model.address import RESPONSE
from fcreview.model.function_schema import get_parameters_schema
from fcreview.model.item import AcceptedValues, Call, GoldenObject
from fcreview.model.metric import Metric, ScoredItem, cached_on_item
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import DIALOG_ACTS

LABELS = DIALOG_ACTS
SHORT_LABELS = dict(zip(LABELS, ("function", "inform", "seek_info", "reject", "other"), strict=True))
"""The paper's words."""
ACT_CRITERION = "dialog_act"
GOLDEN_ACTS_KEY = "golden dialog acts"
"""Where an item's golden labels stand in `more`."""
LabelPair = tuple[frozenset[str], frozenset[str]]
"""(predicted, golden) labels"""
LabelPairCounts = Mapping[LabelPair, int]
"""How many turns have such labels: few pairs differ."""


def compute_act_metrics(rows: Sequence[ScoredItem]) -> list[Metric]:
    """Accuracy, then over the turns with labels on both sides: labels, confusion, how often each label is shared."""
    verdicts = [valid for row in rows if (valid := get_act_verdict(row)) is not None]
    accuracy = sum(verdicts) / len(verdicts) if verdicts else None
    found = [Metric("response quality", "dialog act accuracy", accuracy)]
    pairs = Counter([pair for row in rows if (pair := _get_label_pair(row)) is not None])
    return found + _label_metrics(pairs) + _confusion_metrics(pairs) + _shared_label_metrics(pairs) if pairs else found


@cached_on_item
def get_act_verdict(row: ScoredItem) -> bool | None:
    """The item's own, unless people overruled the labels and not the item: then whether their labels match."""
    if (RESPONSE, ACT_CRITERION) not in row.overrides or ITEM_CORRECT in row.overrides:
        return row.valid
    pair = _get_label_pair(row)
    return has_common_label(*pair) if pair is not None else None


@cached_on_item
def _get_label_pair(row: ScoredItem) -> LabelPair | None:
    ours, theirs = row.values.get(ACT_CRITERION), row.metadata.get(GOLDEN_ACTS_KEY)
    return (frozenset(ours), frozenset(theirs)) if isinstance(ours, list) and isinstance(theirs, list) else None


def has_common_label(predicted: Iterable[str], golden: Iterable[str]) -> bool:
    """At least one label in common."""
    return bool(set(predicted) & set(golden))


def _label_metrics(pairs: LabelPairCounts) -> list[Metric]:
    table, note = "dialog act labels", "of the predicted replies; the paper's Table 5 has the golden ones"
    return [Metric(table, name, value, note=note) for name, value in compute_label_scores(pairs).items()]


def compute_label_scores(pairs: LabelPairCounts) -> dict[str, float]:
    """Precision, recall and F1 of single labels over all turns, 0 to 1."""
    cells = list(count_shared_labels(pairs).values())
    both = sum(cell["both"] for cell in cells)
    predicted = both + sum(cell["only_predicted"] for cell in cells)
    golden = both + sum(cell["only_golden"] for cell in cells)
    precision = both / predicted if predicted else 0.0
    recall = both / golden if golden else 0.0
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    return {"precision": precision, "recall": recall, "F1": f1}


def _confusion_metrics(pairs: LabelPairCounts) -> list[Metric]:
    counts = count_confusions(pairs)
    table, note = "dialog acts confused", "turns without a common label, once for each pair of labels"
    return [
        Metric(table, f"{SHORT_LABELS[golden]} taken for {SHORT_LABELS[predicted]}", counts[golden, predicted], "count", 1, note)
        for golden in LABELS
        for predicted in LABELS
        if golden != predicted
    ]


def count_confusions(pairs: LabelPairCounts) -> Counter[tuple[str, str]]:
    """(golden, predicted) -> how often, over the turns without a label in common."""
    counts: Counter[tuple[str, str]] = Counter()
    for (predicted, golden), n in pairs.items():
        if not predicted & golden:
            for taken in product(golden, predicted):
                counts[taken] += n
    return counts


def _shared_label_metrics(pairs: LabelPairCounts) -> list[Metric]:
    """Per label: how often both sides have it, only the golden one, only the prediction."""
    words = {"both": "golden and predicted", "only_golden": "golden only", "only_predicted": "predicted only"}
    return [
        Metric("dialog acts", f"{label}: {words[cell]}", count, "count", 1)
        for label, cells in count_shared_labels(pairs).items()
        for cell, count in cells.items()
    ]


def count_shared_labels(pairs: LabelPairCounts) -> Mapping[str, dict[str, int]]:
    """label -> {both, only_golden, only_predicted}"""
    table = {label: {"both": 0, "only_golden": 0, "only_predicted": 0} for label in LABELS}
    for (ours, theirs), n in pairs.items():
        for label in ours | theirs:
            cell = "both" if label in ours & theirs else "only_golden" if label in theirs else "only_predicted"
            table.setdefault(label, {"both": 0, "only_golden": 0, "only_predicted": 0})[cell] += n
    return table


BFCL_TYPE_NAMES = {"object": "dict", "number": "float"}


def make_dataset_item(name: str, functions: list[dict[str, Any]], answer: Any) -> DatasetItem:
    return DatasetItem(
        name, "multiple", functions=[adapt_function_doc(one) for one in functions], ground_truth=adapt_answer(answer)
    )


def check_call(result: Any, case: DatasetItem) -> Evaluation:
    return evaluate(result, case, version="V2", category="multiple")


def adapt_function_doc(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "parameters": _adapt_schema({"required": [], **get_parameters_schema(document), "type": "dict"})}


def _adapt_schema(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    changed = dict(schema)
    if isinstance(changed.get("type"), str):
        changed["type"] = BFCL_TYPE_NAMES.get(changed["type"], changed["type"])
    if isinstance(changed.get("items"), dict):
        changed["items"] = _adapt_schema(changed["items"])
    if isinstance(changed.get("properties"), dict):
        changed["properties"] = {name: _adapt_schema(one) for name, one in changed["properties"].items()}
    return changed


def adapt_answer(answer: Any) -> Any:
    """`[{function: {parameter: [accepted]}}]` with the fields of golden objects wrapped: `{"a": 1}` -> `{"a": [1]}`."""
    if not isinstance(answer, list):
        return answer
    return [
        {name: {key: [_wrap_object_fields(value) for value in accepted] for key, accepted in arguments.items()}}
        for call in answer
        if isinstance(call, dict)
        for name, arguments in call.items()
    ]


def _wrap_object_fields(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: inner if isinstance(inner, list) else [inner] for key, inner in value.items()}
    return value


def make_golden_calls(answer: Any, turn: int) -> list[Call]:
    """For display: the golden list as stored is one list of alternatives, objects with their own fields."""
    calls: list[Call] = []
    for call in answer if isinstance(answer, list) else []:
        for name, arguments in call.items():
            accepts = {key: AcceptedValues([_make_golden_value(value) for value in accepted]) for key, accepted in arguments.items()}
            calls.append(Call("golden", name, accepts, turn, 0, len(calls)))
    return calls


def _make_golden_value(value: Any) -> Any:
    return GoldenObject({key: AcceptedValues([inner]) for key, inner in value.items()}) if isinstance(value, dict) else value


CALL_START = re.compile(r"\s*([A-Za-z_]\w*(?:\.\w+)+)\(")


@dataclass(frozen=True, slots=True)
class ChainPosition:
    turn: str
    """`dialog_id` of the dialog-act record this call belongs to."""
    index: int
    length: int


def get_dialog_id(dialog_id: str) -> str:
    """The part both files share: the suffix counts calls in one and agent turns in the other."""
    return dialog_id.rpartition("_")[0]


def parse_call_name(text: Any) -> str | None:
    """`Api.find(class=['x'])` -> `Api_find`; None for a reply in prose. Not parsed: parameter names may be Python
    keywords."""
    found = CALL_START.match(text) if isinstance(text, str) else None
    return found[1].replace(".", "_") if found else None


def find_chain_positions(calls: Iterable[dict[str, Any]], acts: Iterable[dict[str, Any]]) -> dict[str, ChainPosition]:
    """Call record id -> link. Records of a dialog whose names do not line up are left out, not guessed."""
    waiting: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for call in calls:
        waiting[get_dialog_id(call["dialog_id"])].append(call)
    by_dialog: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for act in acts:
        by_dialog[get_dialog_id(act["dialog_id"])].append(act)
    links: dict[str, ChainPosition] = {}
    for key, records in waiting.items():
        found = _find_dialog_positions(records, by_dialog.get(key, []))
        links.update(found or {})
    return links


def _find_dialog_positions(records: list[dict[str, Any]], acts: list[dict[str, Any]]) -> dict[str, ChainPosition] | None:
    position, links = 0, {}
    for act in acts:
        said = act.get("ground_truth_content")
        names = [name for name in map(parse_call_name, said if isinstance(said, list) else []) if name]
        here = records[position : position + len(names)]
        if [_golden_function_name(record) for record in here] != names:
            return None
        for index, record in enumerate(here):
            links[record["id"]] = ChainPosition(act["dialog_id"], index, len(names))
        position += len(names)
    return links if position == len(records) else None


def _golden_function_name(record: dict[str, Any]) -> str | None:
    golden = record.get("ground_truth")
    first = golden[0] if isinstance(golden, list) and golden else None
    return next(iter(first), None) if isinstance(first, dict) else None


SCORE_DECIMALS = 4
"""Decimals of the soft score file; chains multiply the rounded scores."""
FIXED_SCORE_KEY = "soft score stays"
"""Stands in `more`, with the reason, where a call's score does not follow from its arguments' scores."""

Similarity = Callable[[str, str], float]


def token_f1(golden: str, predicted: str) -> float:
    """F1 of the shared words, 0 to 1; words are runs of letters and digits, case ignored. Equal texts score 1."""
    if golden == predicted:
        return 1.0
    ours, theirs = Counter(_split_words(predicted)), Counter(_split_words(golden))
    shared = sum((ours & theirs).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(ours.values()), shared / sum(theirs.values())
    return 2 * precision * recall / (precision + recall)


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def compute_parameter_scores(
    golden: Mapping[str, list[Any]], predicted: Mapping[str, Any], similarity: Similarity = token_f1
) -> dict[str, float]:
    """A score for every parameter of either side, 4 decimals as in the score file; 0 for one that is on one side
    only."""
    return {
        name: round(_best_score(golden[name], predicted[name], similarity), SCORE_DECIMALS)
        if name in golden and name in predicted
        else 0.0
        for name in sorted({*golden, *predicted})
    }


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
    """The mean over parameters, 0 if the name or any parameter scores 0, 1 for a matching call without parameters."""
    if not name_matches or any(score == 0 for score in scores.values()):
        return 0.0
    return round(sum(scores.values()) / len(scores), SCORE_DECIMALS) if scores else 1.0
