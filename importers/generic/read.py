"""Items of the generic format and of OpenAI-style chat logs; errors name line and field.

OpenAI-style messages as turns, steps and calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from fcreview.importers.common.jsonl import JsonRecord as Line
from fcreview.importers.common.jsonl import make_excerpt, read_records
from fcreview.importers.common.records import first_question, fill_safely
from fcreview.importers.generic.discovery import chat_log_to_record
from fcreview.importers.generic.schema import (
    Alternatives,
    ChatMessage,
    FunctionCall,
    GoldenCall,
    Header,
    PredictedCall,
    Record,
)
from fcreview.matching.align import align_turns
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.address import ITEM
from fcreview.model.item import AcceptedValues, Call, ImportIssue, Item, Message, CallPair, Role, Verdict
from fcreview.model.json_value import answer_hash, to_plain_json
from fcreview.model.review import CORRECT
from fcreview.run_plan import RunPlan

ROLE_ALIASES: dict[str, Role] = {"developer": "system", "function": "tool"}


@dataclass(slots=True)
class ParsedChat:
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    n_turns: int = 1
    n_steps: int = 0


def parse_chat(messages: list[ChatMessage]) -> ParsedChat:
    """A user message opens a turn; every assistant message is a step in it."""
    chat = ParsedChat()
    turn, step, index, answered = 0, -1, 0, False
    for message in messages:
        role: Role = ROLE_ALIASES.get(message.role, message.role)  # type: ignore[arg-type]
        if role == "user" and answered:
            turn, step, index, answered = turn + 1, -1, 0, False
        if role == "assistant":
            step, answered = step + 1, True
            chat.n_steps += 1
        text = content_text(message.content)
        if text or role != "assistant":
            place = -1 if role in ("user", "system") else max(step, 0)
            chat.messages.append(Message(turn, place, role, text, message.name or message.tool_call_id))
        for made in message.tool_calls or []:
            chat.calls.append(parse_predicted_call(made.function, turn, max(step, 0), index))
            index += 1
    chat.n_turns = turn + 1
    return chat


def content_text(content: Any) -> str:
    """Text of a message; parts that are not text stand as their JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) if "text" in part else json.dumps(part, ensure_ascii=False) for part in content)


def parse_predicted_call(call: FunctionCall | PredictedCall, turn: int, step: int, index: int) -> Call:
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments or "{}")
        except (ValueError, RecursionError) as error:
            return Call("predicted", call.name, None, turn, step, index, arguments, f"arguments are not JSON: {error}")
        if not isinstance(value, dict):
            return Call("predicted", call.name, None, turn, step, index, arguments, "arguments are no JSON object")
        return Call("predicted", call.name, value, turn, step, index, arguments)
    return Call("predicted", call.name, dict(arguments), turn, step, index)


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    path = plan.results[0]
    seen: set[str] = set()
    for row in read_records(path):
        if isinstance(row, ImportIssue):
            yield row
            continue
        value = row.value
        if isinstance(value, dict) and "fcreview" in value:
            yield from _validate_header(Header, value, path, row)
            continue
        value = chat_log_to_record(value, row.line)
        try:
            record = Record.model_validate(value)
        except ValidationError as error:
            yield from _validation_issues(error, path, row)
            continue
        name = record.id
        if name in seen:
            name = f"{name}#{row.line}"
            yield ImportIssue(str(path), row.line, f"id {record.id} stands here twice; kept as {name}", item=name)
        seen.add(name)
        item = Item(id=name, category=record.category, group=record.group)
        item.file, item.line, item.offset, item.length = str(path), row.line, row.offset, row.length
        yield fill_safely(item, partial(_fill_item, item, record))


def _validate_header(kind: type[Header], value: Any, path: Path, row: Line) -> Iterator[ImportIssue]:
    try:
        kind.model_validate(value)
    except ValidationError as error:
        yield from _validation_issues(error, path, row)


def _validation_issues(error: ValidationError, path: Path, row: Line) -> Iterator[ImportIssue]:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    raw = make_excerpt(orjson.dumps(to_plain_json(row.value)))
    for problem in found[:5]:
        place = ".".join(map(str, problem["loc"])) or "the line"
        yield ImportIssue(str(path), row.line, f"{place}: {problem['msg']}", raw, severity="error")
    if len(found) > 5:
        yield ImportIssue(str(path), row.line, f"and {len(found) - 5} more fields", None, severity="error")


def _fill_item(item: Item, record: Record) -> None:
    chat = parse_chat(record.messages)
    item.messages, item.n_turns, item.n_steps = chat.messages, chat.n_turns, max(chat.n_steps, 1)
    item.question = first_question(chat.messages)
    item.functions = [_function_doc(tool) for tool in record.tools]
    item.predicted = chat.calls
    if record.predicted is not None:
        item.predicted = [parse_predicted_call(call, call.turn, call.step, at) for at, call in _index_within_turns(record.predicted)]
    item.tokens_in, item.tokens_out, item.latency = record.tokens_in, record.tokens_out, record.latency
    item.extra.metadata = dict(record.extra)
    item.verdicts = [
        Verdict(v.source, v.value, v.target, v.criterion, v.error_type, v.rationale, v.by) for v in record.verdicts
    ]
    if record.golden is not None:
        item.golden = parse_golden_calls(record.golden)
        item.pairs = align_turns(item.golden, item.predicted, ordered=record.ordered)
        find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
        _recompute_verdict(item)
    else:
        item.pairs = align_turns([], item.predicted)
        item.rule_note = "no golden answer: nothing to compare with"
    _set_verdict_fields(item)
    item.prediction_hash = answer_hash([message.model_dump(exclude_none=True) for message in record.messages])
    item.golden_hash = answer_hash([call.model_dump() for call in record.golden]) if record.golden is not None else ""


def _index_within_turns(calls: list[Any]) -> Iterator[tuple[int, Any]]:
    """(position within its turn, call)"""
    counts: dict[int, int] = {}
    for call in calls:
        yield counts.setdefault(call.turn, 0), call
        counts[call.turn] += 1


def parse_golden_calls(calls: list[GoldenCall]) -> list[Call]:
    return [_parse_golden_call(call, at) for at, call in _index_within_turns(calls)]


def _parse_golden_call(call: GoldenCall, index: int) -> Call:
    accepts = {
        name: AcceptedValues(list(value.any_of), value.optional) if isinstance(value, Alternatives) else AcceptedValues([value])
        for name, value in call.arguments.items()
    }
    return Call("golden", call.name, accepts, call.turn, 0, index)


def _function_doc(tool: dict[str, Any]) -> dict[str, Any]:
    inner = tool.get("function")
    return inner if isinstance(inner, dict) else tool


def _recompute_verdict(item: Item) -> None:
    """Passes if every call answers its golden call exactly. The error type is that of the first pair that does not."""
    wrong = next((pair for pair in item.pairs if pair.state != "="), None)
    item.rule = wrong is None
    item.rule_error_type = _pair_error_type(wrong) if wrong else None
    given = any(verdict.source == "rule" and verdict.criterion == "correct" for verdict in item.verdicts)
    if not given:
        text = item.first_difference
        item.verdicts.append(
            Verdict("rule", item.rule, error_type=item.rule_error_type, rationale=text, by="exact comparison")
        )


def _pair_error_type(pair: CallPair) -> str:
    if pair.state == "-":
        return "missing_call"
    if pair.state == "+":
        return "extra_call"
    first = pair.diff[0] if pair.diff else None
    if first is None or not first.path:
        return "wrong_function"
    return {"-": "missing_argument", "+": "extra_argument"}.get(first.state, "wrong_value")


def _set_verdict_fields(item: Item) -> None:
    for verdict in item.verdicts:
        if (verdict.target, verdict.criterion) == (ITEM, CORRECT) and isinstance(verdict.value, bool):
            if verdict.source == "official":
                item.official, item.error_type = verdict.value, verdict.error_type
            elif verdict.source == "judge":
                item.judge = verdict.value
            elif verdict.source == "rule":
                item.rule, item.rule_error_type = verdict.value, verdict.error_type
