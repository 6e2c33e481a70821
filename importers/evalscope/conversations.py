"""Fill items from the conversations of benchmarks without rules of their own in fcreview."""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.records import add_issue, as_list, as_object, list_objects
from fcreview.importers.dialects.conversation import ParsedConversation
from fcreview.importers.dialects.read import read_conversation as read_openai_conversation
from fcreview.importers.dialects.to_item import fill_conversation, make_issues
from fcreview.importers.dialects.values import to_text
from fcreview.importers.evalscope.messages import read_conversation
from fcreview.importers.evalscope.samples import JsonObject, Sample
from fcreview.matching.align import align_calls_by_turn
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.item import AcceptedValues, Call, Item
from fcreview.model.json_value import answer_hash

NOT_RECOMPUTED = "fcreview has no rules of this benchmark"
JUDGED_CLAIMS = "a judge checks the claims, so there is nothing to recompute"
TOOL_FIELDS = ("tools", "functions", "function")
"""Fields of the dataset's record that declare functions."""
REFERENCE_ONLY = "-!+"
"""States of call pairs that are no errors: the golden calls are only one way to the goal."""
MAX_LISTED_TARGETS = 20


def read_sample_conversation(sample: Sample, *, reads_tools: bool) -> ParsedConversation:
    """Read the messages of a sample, with the calls that only its trace has."""
    messages = add_traced_calls(sample.messages, sample.trace)
    tools = _find_tools(sample.metadata) if reads_tools else None
    return read_conversation(messages, tools)


def _find_tools(metadata: JsonObject) -> Any:
    for name in TOOL_FIELDS:
        if metadata.get(name):
            return metadata[name]
    return None


def add_traced_calls(messages: Any, trace: JsonObject) -> Any:
    """Return the messages of a sample with the calls that only its trace contains.

    Agents that write calls as text have messages without `tool_calls`. But the trace has an event
    for each call, and the tool message with its result has the id of the call. The call belongs to
    the agent's last message before that.
    """
    call_by_id = _collect_traced_calls(trace)
    if not call_by_id or not isinstance(messages, list):
        return messages

    copies = [dict(message) if isinstance(message, dict) else message for message in messages]
    last_reply: JsonObject | None = None
    for message in copies:
        fields = as_object(message)
        if fields.get("role") == "assistant":
            has_own_calls = bool(fields.get("tool_calls"))
            last_reply = None if has_own_calls else fields
        call_of_result = call_by_id.get(to_text(fields.get("tool_call_id")))
        if call_of_result is not None and last_reply is not None:
            _append_call(last_reply, call_of_result)
    return copies


def _append_call(reply: JsonObject, call: Any) -> None:
    reply["tool_calls"] = [*as_list(reply.get("tool_calls")), call]


def _collect_traced_calls(trace: JsonObject) -> dict[str, JsonObject]:
    """Return the calls in the events of a trace by id, in the form of calls in messages.

    Agents with native calls have them in the messages too. Then the trace adds nothing.
    """
    calls: dict[str, JsonObject] = {}
    for event in list_objects(trace.get("events")):
        payload = as_object(event.get("payload"))
        call_id = payload.get("id")
        if event.get("type") == "tool_call" and isinstance(call_id, str):
            function = {"name": payload.get("name"), "arguments": payload.get("arguments")}
            calls[call_id] = {"id": call_id, "function": function, "parse_error": None}
    return calls


def fill_plain_item(item: Item, sample: Sample, conversation: ParsedConversation) -> None:
    """Fill an item of a benchmark whose rules fcreview does not have.

    Its golden answer is not a list of calls, but a list of accepted answers.
    """
    fill_conversation(item, conversation)
    item.functions = conversation.functions
    # There are no golden calls.
    item.pairs = align_calls_by_turn([], item.predicted)
    targets = read_targets(sample)
    if targets:
        item.extra.accepted_answers = targets[:MAX_LISTED_TARGETS]
        extracted = sample.score.get("extracted_prediction")
        item.extra.final_answer = extracted if isinstance(extracted, str) else sample.reply_text
    item.golden_hash = answer_hash(targets) if targets else ""


def read_targets(sample: Sample) -> list[Any]:
    """Return the accepted answers of a review. Early reviews have one text."""
    target = sample.review_fields.get("target")
    if isinstance(target, str):
        return [target] if target else []
    return [text for text in as_list(target) if isinstance(text, str) and text]


def hash_conversation(conversation: ParsedConversation) -> str:
    """Return the hash of what the model said and called. Ids and times do not change it."""
    parts: list[Any] = []
    for message in conversation.messages:
        calls = [[call.name, call.arguments, call.raw] for call in message.calls]
        results = [result.text for result in message.results]
        parts.append([message.role, message.text, calls, results])
    return answer_hash(parts)


# -- general_fc


def fill_decision_item(item: Item, sample: Sample, conversation: ParsedConversation) -> None:
    """Fill an item of `general_fc` or of a verifier: whether the model should call a tool."""
    fill_plain_item(item, sample, conversation)
    item.rule_note = NOT_RECOMPUTED
    should_call = sample.metadata.get("should_call_tool")
    if isinstance(should_call, bool):
        expected = "a valid call of a tool" if should_call else "a reply without a call"
        item.extra.golden_reply = f"expected: {expected}"
        item.golden_hash = answer_hash(should_call)
    else:
        add_issue(item, "should_call_tool of the metadata is not true or false")
    if "tools" not in sample.metadata:
        add_issue(item, "the metadata have no field tools, so the function docs are missing")


# -- MCP-Atlas


def fill_claims_item(item: Item, sample: Sample, conversation: ParsedConversation) -> None:
    """Fill an item of MCP-Atlas, in which a judge checks whether the answer contains certain
    claims.
    """
    fill_conversation(item, conversation)
    metadata = sample.metadata
    item.functions = [{"name": name} for name in _list_texts(item, metadata, "enabled_tools")]
    claims = _list_texts(item, metadata, "gtfa_claims")
    if claims:
        lines = "\n".join(f"- {claim}" for claim in claims)
        item.extra.golden_reply = f"claims that the answer must contain:\n{lines}"
    item.extra.final_answer = sample.reply_text
    _compare_with_trajectory(item, metadata.get("trajectory"))
    item.golden_hash = answer_hash(claims)
    item.rule_note = JUDGED_CLAIMS


def _compare_with_trajectory(item: Item, trajectory: Any) -> None:
    """Compare the calls with those of the dataset's trajectory, one possible way to the answer.

    Its calls are shown as golden calls, but a difference from them is no error.
    """
    item.golden = _read_golden_trajectory(item, trajectory)
    item.pairs = align_calls_by_turn(item.golden, item.predicted)
    item.extra.uncounted_states = REFERENCE_ONLY
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)


def _list_texts(item: Item, metadata: JsonObject, name: str) -> list[str]:
    """Return a list of texts in the metadata. If it has another form, the item gets an issue."""
    values = metadata.get(name)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        add_issue(item, f"{name} of the metadata is not a list of texts")
    return [value for value in as_list(values) if isinstance(value, str)]


def _read_golden_trajectory(item: Item, written: Any) -> list[Call]:
    """Return the calls of the dataset's trajectory, one possible way to the answer, as golden
    calls.

    `written` are messages of OpenAI's chat format, as a list or as JSON text. Anything else is an
    issue.
    """
    trajectory = parse_json_or_none(written) if isinstance(written, str) else written
    if not isinstance(trajectory, list):
        add_issue(item, "trajectory of the metadata is not a list of messages")
        return []
    if not trajectory:
        return []
    reference = Item(item.id, item.category, file=item.file, line=item.line)
    conversation = read_openai_conversation(trajectory)
    fill_conversation(reference, conversation)
    item.issues += reference.issues
    return [_make_golden_call(call, index) for index, call in enumerate(reference.predicted)]


def _make_golden_call(call: Call, index: int) -> Call:
    """Convert a call to a golden call that accepts exactly its arguments."""
    accepted = None
    if call.arguments is not None:
        accepted = {name: AcceptedValues([value]) for name, value in call.arguments.items()}
    return Call(
        "golden",
        call.name,
        arguments=accepted,
        index=index,
        raw=call.raw,
        decode_error=call.decode_error,
    )


def parse_json_or_none(text: str) -> Any:
    """Return the JSON value in a text, or None if it is not JSON."""
    from fcreview.importers.common.json_text import parse_json_text

    try:
        return parse_json_text(text, [])
    except (ValueError, RecursionError):
        return None


def add_conversation_issues(item: Item, conversation: ParsedConversation) -> None:
    """Add the problems of messages from which the item is not filled."""
    item.issues.extend(make_issues(item, conversation.issues))
