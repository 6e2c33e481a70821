"""Fill items of BFCL V3 and V4, whose rules the BFCL importer has.

EvalScope runs BFCL's own program, and stores its `result` as the JSON text of the reply: calls
`[{name: arguments}]` for models with a native API, else a text. In V4, arguments are JSON texts;
in V3, they are objects. The messages are made up from the result afterwards. Only they have the
outputs of tools.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat, takewhile
from typing import Any

from fcreview.importers.bfcl.dataset import DatasetItem, make_dataset_item
from fcreview.importers.bfcl.decoders.base import Decoder, parse_json
from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME
from fcreview.importers.bfcl.items import (
    CategoryContext,
    CorrectedItem,
    ItemInputs,
    apply_record_incident,
    build_item,
)
from fcreview.importers.bfcl.scores import ScoreEntry
from fcreview.importers.common.json_text import JsonRecord
from fcreview.importers.common.records import Undecodable, add_issue, as_list, as_object
from fcreview.importers.dialects.conversation import ParsedConversation, ToolResult
from fcreview.importers.evalscope.conversations import add_conversation_issues
from fcreview.importers.evalscope.discovery import TaskConfig
from fcreview.importers.evalscope.samples import JsonObject, Sample
from fcreview.model.incident import Incident
from fcreview.model.item import Item, Message

V3 = "V3"
VERSIONS = {"bfcl_v3": V3, "bfcl_v4": "V4"}
"""Benchmark -> version of BFCL."""
MAX_PARSED_TEXT = 20_000
QUESTION_FIELDS = {"V3": ("turns", "functions"), "V4": ("question", "function")}
"""Version -> fields of the dataset's record with the question and the function docs."""
OWN_FIELDS = (
    "category",
    "function",
    "functions",
    "generation",
    "ground_truth",
    "id",
    "question",
    "subset",
    "test_category",
    "tools",
    "turns",
)
"""Fields of the dataset's record that the item shows, or that EvalScope adds."""
NONE = "None"
"""Word that the adapter of V4 writes for null in the metadata of a score."""
_ERROR_TYPE = re.compile(r"'error_type': '(?P<type>[^']+)'")
_ERROR_MESSAGE = re.compile(r"'error_message': (?:'(?P<single>[^']+)'|\"(?P<double>[^\"]+)\")")
"""Matches a message in single or, if it contains one of them, double quotes."""
_CATEGORIES_WITHOUT_GOLDEN = ("irrelevance", "relevance")
_COPIED_FIELDS = (
    "question",
    "messages",
    "golden",
    "predicted",
    "pairs",
    "functions",
    "rule",
    "rule_error_type",
    "rule_note",
    "n_turns",
    "n_steps",
    "diff_function",
    "diff_argument",
    "first_difference",
    "diff_golden",
    "diff_predicted",
    "decisive_step",
    "flags",
    "extra",
    "prediction_hash",
    "golden_hash",
)
"""Fields of an item that the BFCL importer fills."""


def fill_bfcl_item(
    item: Item,
    sample: Sample,
    conversation: ParsedConversation,
    *,
    benchmark: str,
    config: TaskConfig,
    official: bool | None,
) -> None:
    """Fill an item of BFCL, which EvalScope ran, with the importer of BFCL.

    The sample is converted to the records that BFCL itself writes. From these, the importer makes
    an item, whose fields are copied.

    Args:
        item: The item to fill.
        sample: The sample, with the question and the golden answer in its metadata.
        conversation: The messages of the sample.
        benchmark: EvalScope's name of the BFCL version.
        config: EvalScope's configuration of the run.
        official: EvalScope's verdict.
    """
    add_conversation_issues(item, conversation)
    version = VERSIONS[benchmark]
    dataset_item = _make_dataset_item(item, sample, version)
    record = _make_result_record(item, sample, conversation, version)
    context = CategoryContext(
        version,
        category=item.category,
        decoder=_choose_decoder(record["result"], sample, config, version),
        score_file_name="EvalScope",
    )
    inputs = _make_item_inputs(item, sample, dataset_item, official=official)
    _copy_fields(build_item(context, inputs, record), item)
    _name_results(item, conversation)
    _add_reasoning(item, conversation)


def _make_item_inputs(
    item: Item, sample: Sample, dataset_item: DatasetItem, *, official: bool | None
) -> ItemInputs:
    """Make the inputs of BFCL's importer: the dataset item, the verdict and the place of the
    record.
    """
    return ItemInputs(
        item.id,
        CorrectedItem(dataset_item),
        official=official,
        # BFCL writes a score entry only for a reply that fails.
        score_entry=_make_score_entry(item, sample) if official is False else None,
        file=item.file,
        position=JsonRecord(item.line, offset=item.offset, length=item.length, value=None),
    )


def _copy_fields(built: Item, item: Item) -> None:
    """Copy what the BFCL importer filled. Id, file and group stay those of the sample."""
    for name in _COPIED_FIELDS:
        setattr(item, name, getattr(built, name))
    item.verdicts += built.verdicts
    item.issues += built.issues


def apply_failed_request(item: Item, incident: Incident, sample: Sample) -> None:
    """Record a failed request, whose text is no call and no message of the model."""
    apply_record_incident(item, incident, {"result": _parse_reply(sample.reply_text)})


# -- question and golden answer


def _make_dataset_item(item: Item, sample: Sample, version: str) -> DatasetItem:
    """Make BFCL's dataset item from the metadata of a sample, in which EvalScope keeps the record.

    In the record of V3, the fields with the question and the functions have other names.
    """
    metadata = sample.metadata
    question_name, functions_name = QUESTION_FIELDS[version]
    for name in (question_name, functions_name):
        if not isinstance(metadata.get(name), list):
            add_issue(item, f"{name} of the metadata is not a list")
    _report_malformed_docs(item, metadata.get(functions_name))

    other_fields = {name: value for name, value in metadata.items() if name not in OWN_FIELDS}
    question = other_fields | {
        "question": metadata.get(question_name),
        "function": metadata.get(functions_name),
    }
    answer = _find_golden_answer(item, metadata)
    return make_dataset_item(item.id, item.category, question, answer)


def _find_golden_answer(item: Item, metadata: JsonObject) -> JsonObject | None:
    """Return the answer record, or None for a category that has no golden answers."""
    if any(word in item.category for word in _CATEGORIES_WITHOUT_GOLDEN):
        return None
    ground_truth = metadata.get("ground_truth")
    if not isinstance(ground_truth, (list, dict)):
        add_issue(item, "ground_truth of the metadata is not a list or an object")
    # This is the form of the answer records in the dataset of BFCL.
    return {"ground_truth": ground_truth}


def _report_malformed_docs(item: Item, docs: Any) -> None:
    """Add a notice for each function doc that lacks a name, a description, or a part of the schema
    of its parameters.
    """
    for number, doc in enumerate(as_list(docs), 1):
        if not _is_complete_doc(as_object(doc)):
            what = f"function doc {number} of the metadata is incomplete"
            add_issue(item, what, severity="notice")


def _is_complete_doc(doc: JsonObject) -> bool:
    """Whether a function doc has a name, a description and a schema of its parameters."""
    if not isinstance(doc.get("name"), str) or not isinstance(doc.get("description"), str):
        return False

    schema = as_object(doc.get("parameters"))
    properties = schema.get("properties")
    if "type" not in schema or not isinstance(schema.get("required"), list):
        return False
    if not isinstance(properties, dict):
        return False
    return all(_is_property(value) for value in properties.values())


def _is_property(schema: Any) -> bool:
    """Whether the schema of a parameter has a type and a description."""
    fields = as_object(schema)
    return all(isinstance(fields.get(name), str) for name in ("type", "description"))


# -- reply


def _make_result_record(
    item: Item, sample: Sample, conversation: ParsedConversation, version: str
) -> JsonObject:
    """Make a result record of BFCL, with an inference log if the conversation has outputs."""
    result = _read_result(item, sample, version)
    record: JsonObject = {"id": item.id, "result": result}
    is_multi_turn = isinstance(result, list) and all(isinstance(turn, list) for turn in result)
    has_outputs = any(message.results for message in conversation.messages)
    if is_multi_turn and has_outputs:
        record["inference_log"] = list(_make_inference_log(item, result, conversation))
    return record


def _read_result(item: Item, sample: Sample, version: str) -> Any:
    """Return the reply of a sample in the form of a BFCL result, or None if it is unreadable."""
    reply = sample.reply_text
    if reply is None:
        add_issue(item, "the reply is not a text")
        return None
    result = _parse_reply(reply)
    # A reply that is no JSON is returned as it is.
    is_plain_text = result is reply and reply != ""
    if is_plain_text:
        add_issue(item, "the reply is not JSON, so it is read as a text", severity="notice")
    if version == V3:
        return _convert_v3_result(item, sample.metadata.get("generation", result))
    return result


def _parse_reply(reply: str | None) -> Any:
    """Return the `result` in the JSON text of a reply, or the text itself if it is no JSON."""
    try:
        return parse_json(reply or "")
    except Undecodable:
        return reply


def _convert_v3_result(item: Item, generation: Any) -> Any:
    """Convert the replies of a V3 sample to the form of BFCL's result records.

    EvalScope writes `generation[turn][step]`, where a step is a call `{name: arguments}` or a text.
    The result of a single-turn item is its list of calls, or its text. A value of any other form is
    returned as it is.
    """
    if not isinstance(generation, list):
        return generation
    if not all(isinstance(turn, list) for turn in generation):
        return generation

    if item.category.startswith("multi_turn"):
        turns = []
        for turn in generation:
            turns.append([_convert_v3_step(step) for step in turn])
        return turns
    if not generation:
        return []

    only_turn = generation[0]
    if len(only_turn) == 1 and isinstance(only_turn[0], str):
        return only_turn[0]
    return only_turn


def _convert_v3_step(step: Any) -> Any:
    return [step] if isinstance(step, dict) else step


def _choose_decoder(result: Any, sample: Sample, config: TaskConfig, version: str) -> Decoder:
    """Return the decoder of BFCL that reads the replies as EvalScope did.

    A decoder reads calls of a native API, or calls in text. EvalScope states which one it used in
    its configuration (`is_fc_model`), and for V3 in the score too. Without both, a reply that is no
    text has native calls. Native APIs allow no dots in names; `underscore_to_dot` says whether
    EvalScope replaced them.
    """
    stated = as_object(sample.score.get("metadata"))
    is_native = stated.get("is_fc_model", config.is_fc_model)
    if is_native is None:
        is_native = not isinstance(result, str)
    if not is_native:
        return DECODERS_BY_NAME["PROMPT"]

    decoder = DECODERS_BY_NAME["FC-O" if version == V3 else "FC"]
    replaces_dots = stated.get("underscore_to_dot", config.replaces_dots)
    if not replaces_dots:
        return replace(decoder, name=f"{decoder.name}-DOTTED", name_spelling="dotted")
    return decoder


def _make_inference_log(
    item: Item, result: Sequence[Sequence[Any]], conversation: ParsedConversation
) -> Iterator[JsonObject]:
    """Yield the turns of an inference log in BFCL's form, made from a sample of EvalScope.

    Args:
        item: The item, which gets an issue if the parts do not fit together.
        result: The replies of the model by turn and step: `result[turn][step]`.
        conversation: The messages, with the questions and the outputs of tools. The n-th message of
            the model is the n-th step of all turns.
    """
    outputs_by_step = _collect_outputs(conversation)
    n_steps = sum(len(turn) for turn in result)
    if len(outputs_by_step) != n_steps:
        add_issue(item, _describe_different_steps(len(outputs_by_step), n_steps))

    # Missing outputs and questions are empty.
    remaining_outputs = chain(outputs_by_step, repeat([]))
    questions_by_turn = chain(_collect_questions(conversation), repeat([]))
    for questions, replies in zip(questions_by_turn, result, strict=False):
        outputs = list(islice(remaining_outputs, len(replies)))
        yield _make_logged_turn(questions, replies, outputs)


def _describe_different_steps(n_replies: int, n_steps: int) -> str:
    return (
        f"the messages have {n_replies} replies and the result has {n_steps} steps, so outputs of"
        " tools may stand at other steps"
    )


def _make_logged_turn(
    question: list[JsonObject], replies: Sequence[Any], outputs: Sequence[Sequence[str]]
) -> JsonObject:
    """Make a turn of an inference log. `outputs` has those of each reply."""
    turn: JsonObject = {"begin_of_turn_query": question}
    for step, (reply, outputs_of_step) in enumerate(zip(replies, outputs, strict=True)):
        entries = [{"role": "assistant", "content": reply}]
        entries += [{"role": "tool", "content": output} for output in outputs_of_step]
        turn[f"step_{step}"] = entries
    return turn


def _collect_outputs(conversation: ParsedConversation) -> list[list[str]]:
    """Return the outputs of tools after each message of the model."""
    outputs: list[list[str]] = []
    for message in conversation.messages:
        if message.role == "assistant":
            outputs.append([])
        elif message.role == "tool" and outputs:
            outputs[-1] += [result.text for result in message.results]
    return outputs


def _collect_questions(conversation: ParsedConversation) -> list[list[JsonObject]]:
    """Return the messages that open each turn. A message after a reply opens a turn."""
    questions: list[list[JsonObject]] = []
    is_open = False
    for message in conversation.messages:
        if message.role not in ("system", "user"):
            is_open = False
            continue
        if not is_open:
            questions.append([])
        is_open = True
        questions[-1].append({"role": message.role, "content": message.text})
    return questions


def _name_results(item: Item, conversation: ParsedConversation) -> None:
    """Name the functions of tool messages, which only the conversation states."""
    tool_messages = [message for message in item.messages if message.role == "tool"]
    results: list[ToolResult] = []
    for parsed_message in conversation.messages:
        results += parsed_message.results
    # Without equal numbers, it is not known which message is which result.
    if len(tool_messages) != len(results):
        return
    for message, result in zip(tool_messages, results, strict=True):
        message.name = result.name


def _add_reasoning(item: Item, conversation: ParsedConversation) -> None:
    """Add the reasoning, which the result of BFCL does not have, before the reply.

    Of several replies, it is unknown to which one a reasoning belongs.
    """
    texts = [message.reasoning for message in conversation.messages if message.reasoning]
    if len(texts) != 1 or item.n_turns > 1:
        return
    reasoning = Message(turn=0, step=0, role="assistant", content=texts[0], name="reasoning")
    # The messages before the reply have the step -1. Other items may share the list of messages.
    before_reply = list(takewhile(lambda message: message.step < 0, item.messages))
    reply_and_rest = item.messages[len(before_reply) :]
    item.messages = [*before_reply, reasoning, *reply_and_rest]


# -- EvalScope's verdict


def _make_score_entry(item: Item, sample: Sample) -> ScoreEntry:
    """Make the entry that BFCL's own score file would have for a failing item."""
    error = read_error(sample.score)
    record = {
        "id": item.id,
        "error": {"error_type": error.type, "error_message": error.message},
    }
    return ScoreEntry(item.id, line=0, offset=0, length=0, loaded_record=record)


@dataclass(frozen=True, slots=True)
class ScoreError:
    """Error of a failing score."""

    type: str | None
    message: str | None


def read_error(score: JsonObject) -> ScoreError:
    """Read the error type and the message of a failing score.

    V4 writes every value as text. The error of a multi-turn item is then the text of a Python
    object with a type and a message of its own.
    """
    metadata = as_object(score.get("metadata"))
    details = as_object(metadata.get("raw_score_result")) or metadata
    error_type = _read_text(details.get("error_type"))
    error_text = _read_text(details.get("error"))
    # Only the error of a multi-turn item contains its own type.
    if error_type is None and error_text is not None:
        return _parse_multi_turn_error(error_text)
    message = _read_error_message(details) or _read_text(score.get("explanation"))
    return ScoreError(error_type, message)


def _read_error_message(details: JsonObject) -> str | None:
    """Return the messages of an error as one text, or None.

    V3 has a list of messages in `error`, V4 the text of such a list in `error_message` or `error`.
    A text that is no list is itself the message.
    """
    messages = as_list(details.get("error"))
    text = _read_text(details.get("error_message")) or _read_text(details.get("error"))
    if not messages:
        messages = _parse_text_list(text)
    joined = "\n".join(str(message) for message in messages)
    return joined or text


def _parse_multi_turn_error(error: str) -> ScoreError:
    """Read the text of `{'error_message': ..., 'error_type': ...}`, which is no literal: it
    contains objects of the environment.
    """
    type_match = _ERROR_TYPE.search(error)
    error_type = None if type_match is None else type_match["type"]
    message_match = _ERROR_MESSAGE.search(error)
    if message_match is None:
        return ScoreError(error_type, error)
    return ScoreError(error_type, message_match["single"] or message_match["double"])


def _read_text(value: Any) -> str | None:
    """Return a text, or None for nothing and for the word that stands for it."""
    return value if isinstance(value, str) and value not in ("", NONE) else None


def _parse_text_list(text: str | None) -> list[Any]:
    """Return the elements of a list in Python or JSON syntax. Empty for any other text."""
    if text is None or not text.startswith("[") or len(text) > MAX_PARSED_TEXT:
        return []
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    return value if isinstance(value, list) else []
