"""Read items from the generic format and from OpenAI-style chat logs. Issues name the line and the
field.

The first line of a file may be a `Header`. Every other line is a `Record` or a line of an
OpenAI-style chat log. If a record has no predicted calls, the `tool_calls` of its assistant
messages are used. `fcreview schema` prints these models as JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from fcreview.importers.common.golden_comparison import compare_with_golden_calls
from fcreview.importers.common.incidents import apply_incident, flag_judge_failure
from fcreview.importers.common.jsonl import (
    JsonRecord,
    make_excerpt,
    read_first_record,
    read_records,
    read_records_in_range,
    split_into_line_ranges,
)
from fcreview.importers.common.records import (
    add_issue,
    as_list,
    as_object,
    fill_safely,
    read_tools,
    set_position,
)
from fcreview.importers.dialects.conversation import ParsedConversation
from fcreview.importers.dialects.detection import (
    OPENAI_CHAT,
    READ_LIKE_OPENAI_CHAT,
)
from fcreview.importers.dialects.read import read_conversation
from fcreview.importers.dialects.text_calls import report_call_tags
from fcreview.importers.dialects.to_item import fill_conversation, make_issues
from fcreview.importers.dialects.tools import SCHEMA_FIELDS
from fcreview.importers.generic_format.chat_message import (
    ChatMessage,
    FunctionCall,
    StrictModel,
)
from fcreview.importers.generic_format.discovery import convert_chat_log_line
from fcreview.importers.generic_format.exchange import (
    decode_texts,
    name_places_in_request,
    report_further_replies,
    report_incomplete_response,
    report_unread_request,
    report_unread_response,
)
from fcreview.importers.generic_format.incidents import find_record_incident
from fcreview.importers.generic_format.placed_messages import (
    fill_placed_messages,
    has_placed_messages,
)
from fcreview.importers.generic_format.traces import is_trace, split_traces
from fcreview.importers.generic_format.whole_conversation import (
    may_be_whole_conversation,
    read_whole_conversation,
)
from fcreview.matching.align import align_calls_by_turn
from fcreview.model.address import ADDRESS_FORMS, ITEM
from fcreview.model.item import (
    AcceptedValues,
    Call,
    ImportIssue,
    Item,
    PartSummary,
    ReadRecord,
    Verdict,
)
from fcreview.model.json_value import answer_hash, parse_accepted_values, to_plain_json
from fcreview.model.review import CORRECT
from fcreview.run_plan import DependentParts, RunPart, RunPlan


class Header(StrictModel):
    """Optional first line, with data that applies to all records."""

    fcreview: Literal[1] = Field(description="Version of this format.")
    benchmark: str = Field("generic", description="Display name of the benchmark.")
    generation: str = Field("", description="Version of the benchmark.")
    language: str = ""
    model: str | None = Field(
        None, description="Name of the model. Default: the file name without its suffix."
    )
    settings: dict[str, JsonValue] = Field(
        {}, description='Settings of the run as any JSON object, such as `{"temperature": 0}`.'
    )


class Alternatives(StrictModel):
    """The accepted values of a golden argument, if there are several or it is optional."""

    any_of: list[JsonValue]
    optional: bool = Field(False, description="Whether the argument may be omitted.")
    nested: bool = Field(
        False,
        description='Whether each object {"fields": {NAME: {"any_of": [...]}}} in `any_of`, at any'
        " depth, lists the accepted values of its fields.",
    )


class GoldenCall(StrictModel):
    """A call of the golden answer."""

    name: str
    arguments: (
        dict[str, Annotated[Alternatives | JsonValue, Field(union_mode="left_to_right")]] | None
    ) = Field(
        {},
        description='Argument name -> accepted value, or {"any_of": [...], "optional": false}.'
        " Null if the golden call could not be decoded.",
    )
    turn: int = Field(
        0, ge=0, description="Number of the turn, from 0. Each turn begins with a user message."
    )


class PredictedCall(StrictModel):
    """A call by the model."""

    name: str
    arguments: dict[str, JsonValue] | str = Field(
        {}, description="A JSON object, or a string that contains one."
    )
    turn: int = Field(0, ge=0, description="Number of the turn, from 0.")
    step: int = Field(0, ge=0, description="Number of the model's step in the turn, from 0.")


class RecordVerdict(StrictModel):
    """A verdict on the item or one of its parts."""

    source: Literal["official", "rule", "judge"] = Field(
        description="Origin of the verdict. `rule` means that it was recomputed from rules."
    )
    value: bool | int | float | str | list[str] | None
    target: str = Field(
        ITEM,
        description=f"What the verdict is about: {ADDRESS_FORMS}. Turn and call numbers start at"
        " 1.",
    )
    criterion: str = CORRECT
    error_type: str | None = None
    rationale: str | None = None
    by: str | None = Field(None, description="Name of the judge model or the checker.")
    failure: str | None = Field(
        None,
        description="Why the judge or checker gave no verdict, if it failed. The value is then"
        " null.",
    )


class Record(StrictModel):
    """One item: a test case with the model's answer."""

    id: str
    category: str = "all"
    group: str | None = Field(
        None, description="Id of the conversation, if it has several records."
    )
    messages: list[ChatMessage]
    tools: list[dict[str, JsonValue]] = Field(
        [], description="Available functions: OpenAI tools or function docs."
    )
    golden: list[GoldenCall] | None = Field(
        None,
        description="Golden answer. Omit it if there is none. An empty list means that the model"
        " must not make a call.",
    )
    predicted: list[PredictedCall] | None = Field(
        None, description="Calls by the model. Default: the tool_calls of the assistant messages."
    )
    ordered: bool = Field(False, description="Whether the calls must be in the golden order.")
    verdicts: list[RecordVerdict] = Field([])
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency: float | None = Field(None, description="Duration of the reply in seconds.")
    error: JsonValue = Field(
        None,
        description="Why the request failed: the error object or text of the API. Omit it if the"
        " model answered.",
    )
    finish_reason: str | None = Field(
        None,
        description="Reason with which the API ended the reply, such as `stop` or"
        " `content_filter`.",
    )
    extra: dict[str, JsonValue] = Field({}, description="Metadata with any names and values.")


def build_json_schema() -> dict[str, Any]:
    """Build the JSON Schema of one line of the generic format."""
    schema: dict[str, Any] = TypeAdapter(Header | Record).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fcreview generic format: schema of one line",
    } | schema


MAX_FIELD_ISSUES = 5
OTHER_SCHEMA_FIELDS = frozenset(SCHEMA_FIELDS) - {"parameters"} | {"parameter_definitions"}
"""Fields in which other APIs have the parameters of a tool."""
JUDGE_WITHOUT_VALUE = "the judge gave no verdict"


def parse_predicted_call(
    call: FunctionCall | PredictedCall, turn: int, step: int, index: int
) -> Call:
    """Convert a call of a record to a predicted call. If its arguments are not a JSON object, the
    call has a decoding error instead.

    `turn`, `step` and `index` are the place of the call.
    """
    parsed = Call("predicted", call.name, arguments=None, turn=turn, step=step, index=index)
    if not isinstance(call.arguments, str):
        parsed.arguments = dict(call.arguments)
        return parsed

    parsed.raw = call.arguments
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        parsed.decode_error = f"the arguments are not valid JSON: {error}"
        return parsed
    if isinstance(arguments, dict):
        parsed.arguments = arguments
    else:
        parsed.decode_error = "the arguments are not a JSON object"
    return parsed


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Yield an item for each record of a run, and an issue for each field that does not match the
    schema.

    If an id occurs again, the second record is imported with its line number, as `ID#LINE`.
    """
    path = plan.results[0]
    lines = split_traces(path, _read_lines(path))
    yield from _make_items(path, lines, known_ids=set())


def split_run(plan: RunPlan) -> list[RunPart]:
    """Return ranges of lines of a file. A file that may be one conversation, or that has traces, is
    read as a whole.
    """
    path = plan.results[0]
    first = read_first_record(path)
    if may_be_whole_conversation(first) or is_trace(first):
        return []
    return split_into_line_ranges(path)


def read_part(plan: RunPlan, part: RunPart) -> Iterator[ReadRecord]:
    """Yield the items in a range of lines, and the set of their ids as the summary."""
    path = plan.results[0]
    ids: set[str] = set()
    yield from _make_items(path, read_records_in_range(path, part.selection), known_ids=ids)
    yield PartSummary(ids)


def finish_run(ids_of_parts: Sequence[Set[str]]) -> Iterator[ReadRecord]:
    """Check the ids of all parts. Nothing follows the items.

    Raises DependentParts if two parts have the same id, because the second item gets another one.
    """
    known_ids: set[str] = set()
    for ids in ids_of_parts:
        if not known_ids.isdisjoint(ids):
            raise DependentParts
        known_ids |= ids
    return iter(())


def _make_items(
    path: Path, lines: Iterable[JsonRecord | ImportIssue], known_ids: set[str]
) -> Iterator[Item | ImportIssue]:
    """Yield an item for each line with a record, and issues for what cannot be read.

    `known_ids` are the ids of the items so far. The ids of the new items are added to them.
    """
    for line in lines:
        if isinstance(line, ImportIssue):
            yield line
            continue
        try:
            source = _read_record_or_header(line)
        except ValidationError as error:
            yield from _report_validation_errors(error, path, line)
            continue
        # The header of the file is no item.
        if source is None:
            continue

        item_id = source.record.id
        if item_id in known_ids:
            item_id = f"{item_id}#{line.line}"
            yield _make_repeated_id_issue(path, line.line, source.record.id, new_id=item_id)
        known_ids.add(item_id)
        yield _make_item(item_id, path, line, source)


def _make_repeated_id_issue(path: Path, line: int, item_id: str, *, new_id: str) -> ImportIssue:
    what = f"{item_id} occurs more than once. This record is imported as {new_id}"
    return ImportIssue(str(path), line, what=what, item=new_id)


def _make_item(item_id: str, path: Path, line: JsonRecord, source: _SourceRecord) -> Item:
    """Make the item of a record. An error while it is filled becomes an issue of the item."""
    record = source.record
    item = Item(item_id, category=record.category, group=record.group, file=str(path))
    set_position(item, line)
    # Filling the item may change the line's value.
    exchange = decode_texts(as_object(line.value))
    incident = find_record_incident(exchange, source.conversation)
    fill_safely(item, partial(_fill_item, item, source))
    apply_incident(item, incident)
    if incident is None:
        item.issues.extend(make_issues(item, report_unread_response(exchange)))
    return item


def _read_lines(path: Path) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the records of a file. A file that is one conversation is one record."""
    first = read_first_record(path)
    conversation = None
    if may_be_whole_conversation(first):
        conversation = read_whole_conversation(path)
    if conversation is not None:
        yield conversation
    else:
        yield from read_records(path)


@dataclass(frozen=True, slots=True)
class _SourceRecord:
    """Record of a file, and its messages, which may be in the dialect of any API."""

    record: Record
    conversation: ParsedConversation
    written_messages: list[Any]
    is_in_schema: bool
    """Whether the messages match the schema. Then `record` contains them."""
    is_placed: bool = False
    """Whether the messages state their turns and steps."""


def _read_record_or_header(line: JsonRecord) -> _SourceRecord | None:
    """Read a line; None for a header.

    Raises ValidationError if a field does not match the schema.
    """
    is_header = isinstance(line.value, dict) and "fcreview" in line.value
    if is_header:
        Header.model_validate(line.value)
        return None
    return _read_record(line)


def _read_record(line: JsonRecord) -> _SourceRecord:
    """Read a record of the generic format, or a line of a chat log.

    Messages that break the schema of records are read by the rules of their dialect, which report
    each part that they do not know. Raises ValidationError if another field does not match the
    schema.
    """
    value = convert_chat_log_line(line.value, line.line)
    fields = as_object(value)
    messages = as_list(fields.get("messages"))
    if has_placed_messages(messages):
        return _read_placed_record(value, messages)

    tools = fields.get("tools")
    conversation = _read_conversation_of_line(line, messages, tools)
    # The schema of records describes messages of OpenAI's chat format.
    is_in_schema = conversation.dialect in READ_LIKE_OPENAI_CHAT and _match_schema(messages)
    is_chat_log = value is not line.value
    if is_chat_log and not _are_objects(tools):
        # In a chat log, tools may have any form. In a record, the schema reports other tools.
        is_in_schema = False

    # Without messages, the whole record is checked, which finds a field `messages` that is no list.
    if is_in_schema or not messages:
        record = Record.model_validate(value)
    else:
        record = _validate_without_messages(value, conversation.dialect)
    return _SourceRecord(record, conversation, messages, is_in_schema=is_in_schema)


def _are_objects(tools: Any) -> bool:
    return all(isinstance(tool, dict) for tool in as_list(tools))


def _read_conversation_of_line(
    line: JsonRecord, messages: list[Any], tools: Any
) -> ParsedConversation:
    """Read messages and tools by the rules of their dialect, with issues about the line."""
    conversation = read_conversation({"messages": messages, "tools": tools})
    exchange = decode_texts(as_object(line.value))
    conversation.issues.extend(report_call_tags(conversation.messages))
    if conversation.issues:
        # They are about the converted line. Users know the places in the original one.
        conversation.issues = list(name_places_in_request(conversation.issues, exchange))
    conversation.issues.extend(report_further_replies(exchange))
    conversation.issues.extend(report_incomplete_response(exchange))
    conversation.issues.extend(report_unread_request(exchange))
    return conversation


def _read_placed_record(value: dict[str, Any], messages: list[Any]) -> _SourceRecord:
    """Read a record that fcreview exported. Each message states its turn and step, so they need not
    be derived from the order of the messages.
    """
    record = Record.model_validate(value)
    no_conversation = ParsedConversation(OPENAI_CHAT)
    return _SourceRecord(record, no_conversation, messages, is_in_schema=True, is_placed=True)


def _validate_without_messages(value: dict[str, Any], dialect: str) -> Record:
    """Check a record against the schema, but not its messages, which are in another dialect.

    Raises ValidationError.
    """
    try:
        return Record.model_validate(value | {"messages": [], "tools": []})
    except ValidationError:
        if dialect in READ_LIKE_OPENAI_CHAT:
            # Names the errors in the messages, too.
            Record.model_validate(value)
        raise


def _match_schema(messages: list[Any]) -> bool:
    try:
        for message in messages:
            ChatMessage.model_validate(message)
    except ValidationError:
        return False
    return True


def _report_validation_errors(
    error: ValidationError, path: Path, line: JsonRecord
) -> Iterator[ImportIssue]:
    """Yield an issue for each field of a line that does not match the schema. If there are many,
    the last issue counts the rest.
    """
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    raw = make_excerpt(orjson.dumps(to_plain_json(line.value)))
    for problem in problems[:MAX_FIELD_ISSUES]:
        field_name = ".".join(map(str, problem["loc"])) or "the line"
        what = f"{field_name}: {problem['msg']}"
        yield ImportIssue(str(path), line.line, what=what, raw=raw, severity="error")

    n_more = len(problems) - MAX_FIELD_ISSUES
    if n_more > 0:
        what = f"{n_more} more fields are not valid"
        yield ImportIssue(str(path), line.line, what=what, severity="error")


def _fill_item(item: Item, source: _SourceRecord) -> None:
    """Fill an item from its record: conversation, functions, calls, verdicts and comparison with
    the golden calls.
    """
    record = source.record
    _fill_messages_and_predicted_calls(item, source)
    item.functions = _choose_functions(source)
    item.prediction_hash = answer_hash(_list_answer_messages(source))
    item.tokens_in = record.tokens_in
    item.tokens_out = record.tokens_out
    item.latency = record.latency
    item.extra.metadata = dict(record.extra)

    # A recorded verdict counts before the comparison, so it is added first.
    item.verdicts = [_convert_verdict(verdict, item) for verdict in record.verdicts]
    if record.golden is None:
        item.pairs = align_calls_by_turn([], item.predicted)
        item.rule_note = "the record has no golden answer"
    else:
        _compare_with_golden_calls(item, record.golden, keep_order=record.ordered)
        item.golden_hash = answer_hash([call.model_dump() for call in record.golden])
    _set_verdict_fields(item)


def _fill_messages_and_predicted_calls(item: Item, source: _SourceRecord) -> None:
    """Fill the conversation and the calls of the model in it. If the record has a field
    `predicted`, the calls in that field count instead.
    """
    if source.is_placed:
        fill_placed_messages(item, source.record.messages)
    else:
        fill_conversation(item, source.conversation)

    if source.record.predicted is not None:
        item.predicted = [
            parse_predicted_call(call, call.turn, call.step, index)
            for index, call in _number_calls_in_turns(source.record.predicted)
        ]


def _choose_functions(source: _SourceRecord) -> list[dict[str, Any]]:
    """Return the functions of a record: those of the schema with all their fields, or those of the
    API in whose dialect the record is.
    """
    # A record that fcreview exported has no conversation in a dialect.
    if source.is_placed:
        return read_tools(source.record.tools)
    has_tools_of_schema = all(_is_openai_tool(tool) for tool in source.record.tools)
    if source.is_in_schema and has_tools_of_schema:
        return read_tools(source.record.tools)
    return source.conversation.functions


def _is_openai_tool(tool: dict[str, Any]) -> bool:
    """Whether a tool has the form of the schema, so that all its fields are kept. The dialects read
    other forms, such as Anthropic's `input_schema`.
    """
    function = as_object(tool.get("function", tool))
    return isinstance(function.get("name"), str) and not function.keys() & OTHER_SCHEMA_FIELDS


def _compare_with_golden_calls(
    item: Item, golden_calls: list[GoldenCall], *, keep_order: bool
) -> None:
    """Set the golden calls, the pairs, the first difference and the recomputed verdict."""
    item.golden = parse_golden_calls(golden_calls)
    _report_malformed_alternatives(item, golden_calls)
    compare_with_golden_calls(item, keep_order=keep_order)


def _list_answer_messages(source: _SourceRecord) -> list[Any]:
    """Return the messages that identify an answer, so that a changed answer is noticed."""
    if source.is_in_schema:
        return [message.model_dump(exclude_none=True) for message in source.record.messages]
    return source.written_messages


def _convert_verdict(given: RecordVerdict, item: Item) -> Verdict:
    """Convert a verdict of a record to a verdict of the item, which is marked if its judge failed.

    A judge that was asked and gave no value counts as failed. For a judge that was not asked, the
    record has no verdict at all.
    """
    verdict = Verdict(**given.model_dump())
    if verdict.failure is None and verdict.source == "judge" and verdict.value is None:
        verdict.failure = JUDGE_WITHOUT_VALUE
    if verdict.failure is not None:
        # A value beside a failure is no verdict.
        verdict.value = None
        flag_judge_failure(item)
    return verdict


def _number_calls_in_turns(calls: list[Any]) -> Iterator[tuple[int, Any]]:
    """Yield (index of the call in its turn, call)."""
    counts: dict[int, int] = {}
    for call in calls:
        yield counts.setdefault(call.turn, 0), call
        counts[call.turn] += 1


def parse_golden_calls(golden_calls: list[GoldenCall]) -> list[Call]:
    """Convert golden calls to calls whose arguments have accepted values."""
    calls = []
    for index, call in _number_calls_in_turns(golden_calls):
        golden = Call("golden", call.name, arguments=None, turn=call.turn, step=0, index=index)
        if call.arguments is not None:
            golden.arguments = {
                name: _parse_accepted(value) for name, value in call.arguments.items()
            }
        calls.append(golden)
    return calls


def _parse_accepted(value: Any) -> AcceptedValues:
    """Return the values that an argument of a golden call may have.

    In the file, a golden argument is one value, or an object `any_of` with several values.
    """
    if isinstance(value, Alternatives):
        if value.nested:
            stored = {"any_of": value.any_of, "optional": value.optional}
            return parse_accepted_values(stored)
        return AcceptedValues(list(value.any_of), value.optional)
    return AcceptedValues([value])


def _report_malformed_alternatives(item: Item, golden_calls: list[GoldenCall]) -> None:
    """Add an issue for each golden argument with `any_of` that has not the form of accepted
    values.

    The schema has made `Alternatives` of those that have the form. The others are still objects.
    """
    for call in golden_calls:
        for name, value in (call.arguments or {}).items():
            if isinstance(value, dict) and "any_of" in value:
                what = (
                    f"the golden argument {name[:60]} of {call.name[:60]} has any_of, but not the"
                    ' form {"any_of": [...], "optional": false}. It is compared as an object'
                )
                add_issue(item, what)


def _set_verdict_fields(item: Item) -> None:
    """Copy the verdicts on the whole item to its fields `official`, `judge` and `rule`."""
    for verdict in item.verdicts:
        is_on_item = verdict.target == ITEM and verdict.criterion == CORRECT
        if not is_on_item or not isinstance(verdict.value, bool):
            continue
        if verdict.source == "official":
            item.official = verdict.value
            item.error_type = verdict.error_type
        elif verdict.source == "judge":
            item.judge = verdict.value
        else:
            item.rule = verdict.value
            item.rule_error_type = verdict.error_type
