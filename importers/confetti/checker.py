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
from fcreview.model.derivation import (
    FIXED_SOFT_SCORE_KEY,
    SOFT_SCORE_DECIMALS,
    combine_soft_scores,
)
from fcreview.model.function_schema import get_parameters_schema
from fcreview.model.item import AcceptedValues, Call, GoldenObject

ACT_CRITERION = "dialog_act"
BFCL_TYPES = {"object": "dict", "number": "float"}
"""JSON Schema's name of a type -> BFCL's name."""


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
    return function_doc | {"parameters": _adapt_parameter_schema(schema)}


def _adapt_parameter_schema(schema: Any) -> Any:
    """Return a parameter schema with BFCL's names of types, such as `dict` for `object`.

    CONFETTI checks calls with BFCL's checker, which knows only its own names. The schemas of list
    elements and of fields are adapted too.
    """
    if not isinstance(schema, dict):
        return schema
    adapted = dict(schema)
    declared_type = schema.get("type")
    if isinstance(declared_type, str):
        adapted["type"] = BFCL_TYPES.get(declared_type, declared_type)
    if "items" in schema:
        adapted["items"] = _adapt_parameter_schema(schema["items"])

    properties = schema.get("properties")
    if isinstance(properties, dict):
        adapted["properties"] = {
            name: _adapt_parameter_schema(inner) for name, inner in properties.items()
        }
    return adapted


def adapt_golden_answer_to_bfcl(golden_answer: Any) -> Any:
    """Adapt a golden answer `[{function: {parameter: [accepted value]}}]` to BFCL's checker.

    A single value inside an object becomes a list.
    """
    if not isinstance(golden_answer, list):
        return golden_answer
    calls = []
    for call in golden_answer:
        if not isinstance(call, dict):
            continue
        for name, arguments in call.items():
            adapted = {}
            for parameter, accepted in arguments.items():
                adapted[parameter] = [_wrap_object_fields_in_lists(value) for value in accepted]
            calls.append({name: adapted})
    return calls


def _wrap_object_fields_in_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    wrapped = {}
    for name, field_value in value.items():
        wrapped[name] = field_value if isinstance(field_value, list) else [field_value]
    return wrapped


def make_golden_calls(golden_answer: Any, turn: int) -> list[Call]:
    """Return the calls of a golden answer.

    In an object argument, each field has its own list of accepted values.
    """
    calls: list[Call] = []
    for golden_call in as_list(golden_answer):
        for name, arguments in golden_call.items():
            accepted = {}
            for parameter, values in arguments.items():
                accepted[parameter] = AcceptedValues([_to_golden_value(value) for value in values])
            call = Call("golden", name, arguments=accepted, turn=turn, index=len(calls))
            calls.append(call)
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
    calls_by_conversation = _group_by_conversation(call_records)
    acts_by_conversation = _group_by_conversation(act_records)
    positions: dict[str, ChainPosition] = {}
    for conversation, calls in calls_by_conversation.items():
        acts = acts_by_conversation.get(conversation, [])
        positions |= _find_positions_in_conversation(calls, acts)
    return positions


def _group_by_conversation(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    records_by_conversation: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        conversation = get_conversation_id(record["dialog_id"])
        records_by_conversation[conversation].append(record)
    return records_by_conversation


def _find_positions_in_conversation(
    call_records: list[dict[str, Any]], act_records: list[dict[str, Any]]
) -> dict[str, ChainPosition]:
    """Find out which golden calls of a conversation follow each other in one turn: a chain.

    The dataset has the conversation twice. Each call record has one golden call; each dialog act
    record has the content of one turn, with all its calls. Both are in the order of the
    conversation, so the next call records belong to the calls of the next turn.

    Returns the id of a call record -> its position in its chain. If the function names of both do
    not fit, or a call record is left over, no positions are returned.
    """
    position_by_id: dict[str, ChainPosition] = {}
    n_assigned = 0
    for act_record in act_records:
        names = _list_function_names(act_record)
        chain = call_records[n_assigned : n_assigned + len(names)]
        if [_get_golden_function_name(record) for record in chain] != names:
            return {}
        for index, record in enumerate(chain):
            position = ChainPosition(act_record["dialog_id"], index=index, length=len(names))
            position_by_id[record["id"]] = position
        n_assigned += len(names)

    are_all_assigned = n_assigned == len(call_records)
    return position_by_id if are_all_assigned else {}


def _list_function_names(act_record: dict[str, Any]) -> list[str]:
    """Return the functions that a golden reply calls. Its content also contains texts."""
    names = []
    for part in as_list(act_record.get("ground_truth_content")):
        name = parse_function_name(part)
        if name:
            names.append(name)
    return names


def _get_golden_function_name(record: dict[str, Any]) -> str | None:
    golden = as_list(record.get("ground_truth"))
    if not golden:
        return None
    return next(iter(as_object(golden[0])), None)


SCORE_DECIMALS = SOFT_SCORE_DECIMALS
"""Number of decimals in the soft score file. Chains multiply the rounded scores."""
FIXED_SCORE_REASON = FIXED_SOFT_SCORE_KEY
"""Metadata key of the reason why reviews of arguments do not change the soft score of their
item.
"""

Similarity = Callable[[str, str], float]
"""Function that returns the similarity of a golden and a predicted text, from 0 to 1."""


def compute_token_f1(golden: str, predicted: str) -> float:
    """Compute how similar two texts are: the F1 score of their common words, from 0 to 1.

    F1 is the harmonic mean of precision (the share of the predicted words that are golden) and
    recall (the share of the golden words that are predicted). Case is ignored.
    """
    if golden == predicted:
        return 1.0
    predicted_words = Counter(re.findall(r"\w+", predicted.lower()))
    golden_words = Counter(re.findall(r"\w+", golden.lower()))
    n_shared = (predicted_words & golden_words).total()
    if n_shared == 0:
        return 0.0
    precision = n_shared / predicted_words.total()
    recall = n_shared / golden_words.total()
    return 2 * precision * recall / (precision + recall)


def compute_parameter_scores(
    golden: Mapping[str, list[Any]],
    predicted: Mapping[str, Any],
    similarity: Similarity = compute_token_f1,
) -> dict[str, float]:
    """Compute the score of every parameter, rounded as in the score file.

    A missing or unexpected one scores 0.
    """
    scores = {}
    for name in sorted({*golden, *predicted}):
        scores[name] = 0.0
        if name in golden and name in predicted:
            score = _compute_best_score(golden[name], predicted[name], similarity)
            scores[name] = round(score, SCORE_DECIMALS)
    return scores


def _compute_best_score(
    accepted_values: list[Any], predicted: Any, similarity: Similarity
) -> float:
    """Return the highest score of a predicted value over the accepted values."""
    scores = [_compute_value_score(golden, predicted, similarity) for golden in accepted_values]
    # The data does not wrap a list-valued parameter in a second list.
    if isinstance(predicted, list) and predicted == accepted_values:
        scores.append(1.0)
    return max(scores, default=0.0)


def _compute_value_score(golden: Any, predicted: Any, similarity: Similarity) -> float:
    if isinstance(golden, str) and isinstance(predicted, str):
        return similarity(golden, predicted)
    is_equal = type(golden) is type(predicted) and golden == predicted
    return 1.0 if is_equal else 0.0


def compute_soft_score(is_name_correct: bool, parameter_scores: Mapping[str, float]) -> float:
    """Return the mean of the parameter scores.

    Return 0 if a score is 0 or the function name is wrong, and 1 if there are no parameters.
    """
    if not is_name_correct:
        return 0.0
    return combine_soft_scores(parameter_scores.values())
