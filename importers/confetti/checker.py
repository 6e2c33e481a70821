"""Compute the binary verdict and the soft score of a call, and find the chains of calls.

The binary verdict follows BFCL V2's checker. It needs three adaptations to CONFETTI's data: a
missing `required` is empty, the types `object` and `number` are `dict` and `float`, and single
values inside golden objects become lists.

The soft score is the paper's AST soft accuracy (ACL 2025, metrics section), as the released score
files contain it. It is 0 unless the names of function and arguments are correct. Texts are compared
by similarity, other values by equality. The paper's similarity measure is AlignScore, but fcreview
uses token F1.

A chain consists of the calls of one agent turn. The dialog act records list the calls of each turn
in order, with the same function names as the call records in all 109 dialogs of the release.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fcreview.importers.bfcl.checker.evaluate import Evaluation, EvaluationSettings, evaluate_result
from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME
from fcreview.importers.common.records import as_list, as_object
from fcreview.model.function_schema import get_parameters_schema
from fcreview.model.item import AcceptedValues, Call, GoldenObject
from fcreview.model.verdict import FIXED_SOFT_SCORE_KEY, SOFT_SCORE_DECIMALS, combine_soft_scores

ACT_CRITERION = "dialog_act"


def has_common_act_label(predicted: Iterable[str], golden: Iterable[str]) -> bool:
    return bool(set(predicted) & set(golden))


def make_bfcl_dataset_item(
    item_id: str, function_docs: list[dict[str, Any]], golden_answer: Any
) -> DatasetItem:
    """Make a BFCL dataset item from a call record.

    Function docs and golden answer are adapted to BFCL's checker.
    """
    adapted = [adapt_function_doc_to_bfcl(function_doc) for function_doc in function_docs]
    return DatasetItem(
        item_id,
        "multiple",
        functions=adapted,
        ground_truth=adapt_golden_answer_to_bfcl(golden_answer),
    )


def check_reply(reply: Any, dataset_item: DatasetItem) -> Evaluation:
    settings = EvaluationSettings("V2", category="multiple", decoder=DECODERS_BY_NAME["AUTO"])
    return evaluate_result(reply, dataset_item, settings)


def adapt_function_doc_to_bfcl(function_doc: dict[str, Any]) -> dict[str, Any]:
    schema = {"required": [], **get_parameters_schema(function_doc), "type": "dict"}
    return {**function_doc, "parameters": _adapt_parameter_schema(schema)}


def _adapt_parameter_schema(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    adapted = dict(schema)
    if isinstance(adapted.get("type"), str):
        adapted["type"] = {"object": "dict", "number": "float"}.get(
            adapted["type"], adapted["type"]
        )
    if "items" in adapted:
        adapted["items"] = _adapt_parameter_schema(adapted["items"])
    if isinstance(adapted.get("properties"), dict):
        adapted["properties"] = {
            name: _adapt_parameter_schema(each) for name, each in adapted["properties"].items()
        }
    return adapted


def adapt_golden_answer_to_bfcl(golden_answer: Any) -> Any:
    """Adapt a golden answer `[{function: {parameter: [accepted value]}}]` to BFCL's checker.

    A single value inside an object becomes a list.
    """
    if not isinstance(golden_answer, list):
        return golden_answer
    return [
        {
            name: {
                key: [_wrap_object_fields_in_lists(value) for value in accepted]
                for key, accepted in arguments.items()
            }
        }
        for call in golden_answer
        if isinstance(call, dict)
        for name, arguments in call.items()
    ]


def _wrap_object_fields_in_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: inner if isinstance(inner, list) else [inner] for key, inner in value.items()}


def make_golden_calls(golden_answer: Any, turn: int) -> list[Call]:
    """Return the calls of a golden answer.

    In an object argument, each field has its own list of accepted values.
    """
    calls: list[Call] = []
    for name, arguments in (entry for call in as_list(golden_answer) for entry in call.items()):
        accepted = {
            key: AcceptedValues(list(map(_to_golden_value, values)))
            for key, values in arguments.items()
        }
        calls.append(Call("golden", name, arguments=accepted, turn=turn, step=0, index=len(calls)))
    return calls


def _to_golden_value(value: Any) -> Any:
    if isinstance(value, dict):
        return GoldenObject({key: AcceptedValues([inner]) for key, inner in value.items()})
    return value


CALL_START = re.compile(r"\s*([A-Za-z_]\w*(?:\.\w+)+)\(")
"""Start of a call in a golden reply: a function name that contains a dot, and a parenthesis."""


@dataclass(frozen=True, slots=True)
class ChainPosition:
    """Position of a call in its chain, the calls of one agent turn."""

    turn: str
    """`dialog_id` of the turn's dialog act record."""
    index: int
    length: int
    """Number of calls in the chain."""


def get_conversation_id(dialog_id: str) -> str:
    """Return a `dialog_id` without the number of the call or agent turn at its end."""
    return dialog_id.rpartition("_")[0]


def parse_function_name(text: Any) -> str | None:
    """Return the function name of a call, with `_` for each `.`: `Api_find` for
    `Api.find(class=['x'])`.

    Return None for any other text. The text is not parsed as Python, because `class` and other
    keywords may be parameter names.
    """
    match = CALL_START.match(text) if isinstance(text, str) else None
    return match[1].replace(".", "_") if match else None


def find_chain_positions(
    call_records: Iterable[dict[str, Any]], act_records: Iterable[dict[str, Any]]
) -> dict[str, ChainPosition]:
    """Return the chain position of each call record by id.

    Conversations whose call records and dialog act records have different function names are
    omitted.
    """
    acts_by_conversation = _group_by_conversation(act_records)
    positions: dict[str, ChainPosition] = {}
    for conversation, records in _group_by_conversation(call_records).items():
        positions |= (
            _find_positions_in_conversation(records, acts_by_conversation.get(conversation, []))
            or {}
        )
    return positions


def _group_by_conversation(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    dialogs: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        dialogs[get_conversation_id(record["dialog_id"])].append(record)
    return dialogs


def _find_positions_in_conversation(
    call_records: list[dict[str, Any]], act_records: list[dict[str, Any]]
) -> dict[str, ChainPosition] | None:
    start, positions = 0, {}
    for act_record in act_records:
        names = [
            name
            for name in map(parse_function_name, as_list(act_record.get("ground_truth_content")))
            if name
        ]
        turn_records = call_records[start : start + len(names)]
        if [_get_golden_function_name(record) for record in turn_records] != names:
            return None
        for index, record in enumerate(turn_records):
            positions[record["id"]] = ChainPosition(
                act_record["dialog_id"], index=index, length=len(names)
            )
        start += len(names)
    return positions if start == len(call_records) else None


def _get_golden_function_name(record: dict[str, Any]) -> str | None:
    golden = as_list(record.get("ground_truth"))
    return next(iter(as_object(golden[0])), None) if golden else None


SCORE_DECIMALS = SOFT_SCORE_DECIMALS
"""Number of decimals in the soft score file. Chains multiply the rounded scores."""
FIXED_SCORE_REASON = FIXED_SOFT_SCORE_KEY
"""Metadata key of the reason why reviews of arguments do not change the soft score of their
item.
"""

Similarity = Callable[[str, str], float]
"""Function that returns the similarity of a golden and a predicted text, from 0 to 1."""


def compute_token_f1(golden: str, predicted: str) -> float:
    """Return the F1 score of the words that two texts have in common, from 0 to 1.

    Case is ignored.
    """
    if golden == predicted:
        return 1.0
    predicted_words, golden_words = (
        Counter(re.findall(r"\w+", text.lower())) for text in (predicted, golden)
    )
    shared = sum((predicted_words & golden_words).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(predicted_words.values()), shared / sum(golden_words.values())
    return 2 * precision * recall / (precision + recall)


def compute_parameter_scores(
    golden: Mapping[str, list[Any]],
    predicted: Mapping[str, Any],
    similarity: Similarity = compute_token_f1,
) -> dict[str, float]:
    """Compute the score of every parameter, rounded as in the score file.

    A missing or unexpected one scores 0.
    """
    scores = dict.fromkeys(sorted({*golden, *predicted}), 0.0)
    for name in golden.keys() & predicted.keys():
        scores[name] = round(
            _compute_best_score(golden[name], predicted[name], similarity), SCORE_DECIMALS
        )
    return scores


def _compute_best_score(
    accepted_values: list[Any], predicted: Any, similarity: Similarity
) -> float:
    scores = [
        similarity(golden, predicted)
        if isinstance(golden, str) and isinstance(predicted, str)
        else float(type(golden) is type(predicted) and golden == predicted)
        for golden in accepted_values
    ]
    if isinstance(predicted, list) and predicted == accepted_values:
        scores.append(1.0)
    return max(scores, default=0.0)


def compute_soft_score(is_name_correct: bool, parameter_scores: Mapping[str, float]) -> float:
    """Return the mean of the parameter scores.

    Return 0 if a score is 0 or the function name is wrong, and 1 if there are no parameters.
    """
    return combine_soft_scores(parameter_scores.values()) if is_name_correct else 0.0
