"""Export items in the generic format, without a loss of messages, calls, results, tools and golden
answers.

Integers beyond 64 bits are kept if the call has its own text; elsewhere the store has them as text.
NaN and infinite numbers, which JSON does not have, are text. A note of the export counts them.

Each run is a file. Each message has its turn and step in the field `fcreview`, so that the items
are read again exactly as they are. Other programs read the messages as OpenAI's chat format.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.exporters.base import ExportSource
from fcreview.exporters.training import CorrectedGoldens
from fcreview.matching.conversation import REASONING
from fcreview.model.item import AcceptedValues, Call, Item, Message, Verdict
from fcreview.model.json_value import MAX_DEPTH, is_nested_deeper_than, to_plain_json
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.model.item import Run
    from fcreview.store.rows import ItemDetail

FORMAT_VERSION = 1
MIN_ANNOTATORS = 1
"""Number of annotators who must agree on a golden answer."""
MAX_NAME_LENGTH = 100
CHAT_ROLES = ("system", "user", "assistant", "tool")
STATE_SOURCES = ("official", "rule", "judge")
"""Sources of verdicts that the format has. Reviews are exported as labels."""
_NUMBER_AS_TEXT = re.compile(r"-?[0-9]{19,}|NaN|-?Infinity|-?[0-9.]+[eE]\+?[0-9]{3,}")
"""Matches the text of an integer of 19 digits or more, or of a number that is not finite."""
JsonObject = dict[str, Any]
Step = tuple[int, int]


def write_runs(source: ExportSource, folder: Path) -> None:
    """Write each run of the view to a file in fcreview's generic format: a header, and a line for
    each item.

    Corrected golden answers replace those of the dataset.
    """
    corrected_goldens = CorrectedGoldens(source, MIN_ANNOTATORS)
    file_by_run: dict[int, Path] = {}
    n_corrected = 0
    n_numbers_as_text = 0
    for chunk in source.iter_item_chunks():
        for detail in chunk:
            golden: Sequence[Call] = detail.item.golden
            corrected = corrected_goldens.find_corrected_golden(detail)
            if corrected is not None:
                golden = corrected.calls
                n_corrected += 1
            n_numbers_as_text += _count_numbers_as_text(detail.item, golden)
            record = make_record(detail.item, golden, is_corrected=corrected is not None)
            _append_record(record, detail, folder, file_by_run)

    for note in _describe_changes(n_corrected, n_numbers_as_text):
        source.print_note(note)


def _describe_changes(n_corrected: int, n_numbers_as_text: int) -> Iterator[str]:
    """Say how the export differs from the run files and the dataset."""
    if n_corrected:
        count = format_count(n_corrected, "golden answer")
        yield f"{count} by annotators or errata"
    if n_numbers_as_text:
        count = format_count(n_numbers_as_text, "argument value")
        yield f"{count} written as text, such as NaN or an integer beyond 64 bits"


def _append_record(
    record: JsonObject, detail: ItemDetail, folder: Path, file_by_run: dict[int, Path]
) -> None:
    """Append the record of an item to the file of its run. The first item of a run begins the file
    with a header, and adds it to `file_by_run`.
    """
    run = detail.row.run
    if run not in file_by_run:
        file_by_run[run] = folder / _name_file(detail)
        file_by_run[run].write_text(_dump(_make_header(detail.run)), "utf-8")
    # Only one file is open at a time, because there can be very many runs.
    with file_by_run[run].open("a", encoding="utf-8") as file:
        file.write(_dump(record))


def _name_file(detail: ItemDetail) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", detail.run.model).lstrip(".")[:MAX_NAME_LENGTH]
    return f"{detail.row.run}_{name or 'run'}.jsonl"


def _dump(value: JsonObject) -> str:
    return json.dumps(to_plain_json(value), ensure_ascii=False) + "\n"


def _make_header(run: Run) -> JsonObject:
    """Return the first line of a file. The benchmark has its display name, because fcreview would
    read the key of a benchmark as that benchmark's own run."""
    return {
        "fcreview": FORMAT_VERSION,
        "benchmark": run.title or run.benchmark,
        "generation": run.generation,
        "language": run.language,
        "model": run.model,
        "settings": run.settings,
    }


def make_record(item: Item, golden: Sequence[Call], *, is_corrected: bool = False) -> JsonObject:
    """Return an item as a record of fcreview's generic format.

    Args:
        item: The item.
        golden: Its golden calls.
        is_corrected: Whether the golden calls were corrected. Then the recomputed verdict, which
            the old calls gave, is left out.
    """
    golden_calls = None
    if _has_golden_answer(item, golden, is_corrected):
        golden_calls = [_make_golden_call(call) for call in golden]
    error = None
    if item.has_incident:
        error = {"message": item.incident_text, "type": item.incident}

    record: JsonObject = {
        "id": item.id,
        "category": item.category,
        "group": item.group,
        "messages": list(_list_messages(item)),
        "tools": [{"type": "function", "function": doc} for doc in item.functions],
        "golden": golden_calls,
        "verdicts": list(_list_verdicts(item, omits_recomputed=is_corrected)),
        "tokens_in": item.tokens_in,
        "tokens_out": item.tokens_out,
        "latency": item.latency,
        "error": error,
        "extra": _make_extra(item),
    }
    return {name: value for name, value in record.items() if value is not None}


def _has_golden_answer(item: Item, golden: Sequence[Call], is_corrected: bool) -> bool:
    """An empty list of golden calls means that the model should make no call. Without any golden
    answer, the field is missing.
    """
    return bool(golden) or item.rule is not None or is_corrected


def _list_verdicts(item: Item, *, omits_recomputed: bool) -> Iterator[JsonObject]:
    for verdict in item.verdicts:
        is_omitted = omits_recomputed and verdict.source == "rule"
        if verdict.source in STATE_SOURCES and not is_omitted:
            yield _make_verdict(verdict)


def _make_extra(item: Item) -> JsonObject:
    """Return the metadata, and the golden answers that are no calls."""
    extra = dict(item.extra.metadata)
    others = {
        "golden_reply": item.extra.golden_reply,
        "accepted_answers": item.extra.accepted_answers,
        "final_answer": item.extra.final_answer,
        "ended": item.ended,
    }
    for name, value in others.items():
        if value is not None:
            extra.setdefault(name, value)
    return extra


def _make_verdict(verdict: Verdict) -> JsonObject:
    """Return a verdict as a record of the generic format, without empty fields."""
    written: JsonObject = {
        "source": verdict.source,
        "value": _to_verdict_value(verdict.value),
        "target": verdict.target,
        "criterion": verdict.criterion,
    }
    for name in ("error_type", "rationale", "by", "failure"):
        value = getattr(verdict, name)
        if value is not None:
            written[name] = value
    return written


def _to_verdict_value(value: Any) -> Any:
    """Return a value that the format has: a scalar or a list of texts. Others become JSON text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return value
    return json.dumps(to_plain_json(value), ensure_ascii=False)


# -- messages


def _list_messages(item: Item) -> Iterator[JsonObject]:
    """Yield the messages in their order, with the calls of each step in its reply."""
    calls = _CallWriter(item)
    messages_by_step: dict[Step, list[Message]] = {}
    for message in item.messages:
        messages_by_step.setdefault((message.turn, message.step), []).append(message)
    for step in sorted({*messages_by_step, *calls.steps}):
        yield from _list_step_messages(step, messages_by_step.get(step, []), calls)


def _list_step_messages(
    step: Step, messages: Sequence[Message], calls: _CallWriter
) -> list[JsonObject]:
    """Return the messages of a step with its calls. If no message can have the calls, they get a
    message of their own.
    """
    # This gives the calls their ids. The results of the step take them below, in this order.
    written_calls = calls.write(step)
    written = [_make_message_or_result(message, step, calls) for message in messages]
    if not written_calls:
        return written

    caller = calls.get_caller(step)
    reply = _find_reply_with_calls(messages, caller)
    if reply is not None:
        written[reply]["tool_calls"] = written_calls
    else:
        position = _find_place_of_calls(messages)
        written.insert(position, _make_message_of_calls(step, caller, written_calls))
    return written


def _make_message_or_result(message: Message, step: Step, calls: _CallWriter) -> JsonObject:
    """Convert a message. A result takes the id of the next call of the step without a result."""
    written = _make_message(message)
    if message.role == "tool":
        call_id = calls.take_id(step)
        if call_id is not None:
            written["tool_call_id"] = call_id
    return written


def _find_reply_with_calls(messages: Sequence[Message], caller: str) -> int | None:
    """Return the position of the message that gets the calls: the last text of the caller before
    the first result. None if there is no such text.
    """
    before_result = messages[: _find_first_result(messages)]
    texts = [
        position
        for position, message in enumerate(before_result)
        if _can_have_calls(message, caller)
    ]
    return texts[-1] if texts else None


def _find_place_of_calls(messages: Sequence[Message]) -> int:
    """Return the position at which a message with the calls must be inserted.

    The model thinks before it calls, so the calls follow the last reasoning before the first
    result. Without reasoning, they stand before the first result, or else before all messages.
    """
    first_result = _find_first_result(messages)
    thoughts = [
        position
        for position, message in enumerate(messages[:first_result])
        if message.name == REASONING
    ]
    if thoughts:
        return thoughts[-1] + 1
    return 0 if first_result is None else first_result


def _find_first_result(messages: Sequence[Message]) -> int | None:
    for position, message in enumerate(messages):
        if message.role == "tool":
            return position
    return None


def _can_have_calls(message: Message, caller: str) -> bool:
    """Whether a message is a text of the caller. Its reasoning is a message without calls."""
    return message.role == caller and message.name != REASONING


def _make_message(message: Message) -> JsonObject:
    """Convert a message to OpenAI's chat format. What the format cannot express is in
    `fcreview`.
    """
    place: JsonObject = {"turn": message.turn, "step": message.step}
    if message.role == "assistant" and message.name == REASONING:
        return {
            "role": "assistant",
            "content": None,
            "reasoning_content": message.content,
            "fcreview": place,
        }
    written: JsonObject = {"role": message.role, "content": message.content, "fcreview": place}
    # Other roles, such as log, become system, and are kept in the field of fcreview.
    if message.role not in CHAT_ROLES:
        written["role"] = "system"
        place["role"] = message.role
    if message.name is not None:
        written["name"] = message.name
    return written


def _make_message_of_calls(step: Step, caller: str, calls: Sequence[JsonObject]) -> JsonObject:
    """Return a message of the model that consists of calls, with its turn and step."""
    # The chat format has no turns and steps, so they stand in a field of fcreview.
    turn, number = step
    return {
        "role": caller,
        "content": None,
        "tool_calls": list(calls),
        "fcreview": {"turn": turn, "step": number},
    }


class _CallWriter:
    """Writes the calls of an item, numbers them, and gives results the ids of their calls."""

    def __init__(self, item: Item) -> None:
        self._calls: dict[Step, list[Call]] = {}
        for call in item.predicted:
            self._calls.setdefault((call.turn, call.step), []).append(call)
        self._user_calls = {(turn, index) for turn, index in item.extra.user_calls or ()}
        self._open_ids: dict[Step, list[str]] = {}
        self._n_calls = 0

    @property
    def steps(self) -> Sequence[Step]:
        return list(self._calls)

    def get_caller(self, step: Step) -> str:
        """Return the role that makes the calls of a step. The simulated user can do so, too."""
        calls = self._calls.get(step)
        if not calls:
            return "assistant"
        first_call = calls[0]
        is_of_user = (first_call.turn, first_call.index) in self._user_calls
        return "user" if is_of_user else "assistant"

    def write(self, step: Step) -> list[JsonObject]:
        """Return the calls of a step as messages have them. Each gets an id, which a result will
        take.
        """
        written: list[JsonObject] = []
        for call in self._calls.get(step, ()):
            self._n_calls += 1
            call_id = f"call_{self._n_calls}"
            self._open_ids.setdefault(step, []).append(call_id)
            written.append(_make_tool_call(call, call_id))
        return written

    def take_id(self, step: Step) -> str | None:
        """Return the id of the next call of a step without a result. None if all have one."""
        open_ids = self._open_ids.get(step)
        return open_ids.pop(0) if open_ids else None


def _make_tool_call(call: Call, call_id: str) -> JsonObject:
    """Convert a call to OpenAI's chat format. A call that could not be decoded has its text as
    arguments.
    """
    if call.arguments is None:
        arguments = call.raw or ""
    else:
        arguments = _to_json_text(_restore_numbers(call))

    written: JsonObject = {
        "id": call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }

    decoding: JsonObject = {}
    if call.raw is not None:
        decoding["raw"] = call.raw
    if call.decode_error is not None:
        decoding["decode_error"] = call.decode_error

    if decoding:
        written["fcreview"] = decoding
    return written


def _to_json_text(value: Any) -> str:
    """Return a value as JSON. What JSON does not have, such as NaN, becomes text."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return json.dumps(to_plain_json(value), ensure_ascii=False)


# -- numbers that the store keeps as text


def _restore_numbers(call: Call) -> Any:
    """Return the arguments of a call with the integers of its own text.

    The store keeps integers beyond 64 bits as text, and here they become numbers again. Numbers
    that JSON does not have, such as NaN, remain text.
    """
    if call.raw is None:
        return call.arguments
    try:
        # The values as the model wrote them, and as a file with JSON can have them.
        written = json.loads(call.raw)
        restored = json.loads(
            call.raw, parse_float=_parse_finite_number, parse_constant=lambda name: name
        )
    except (ValueError, RecursionError):
        return call.arguments

    # The store has no values below this level, so the text would say more than the call.
    if is_nested_deeper_than(restored, MAX_DEPTH - 1):
        return call.arguments
    # `raw` can also be another text, such as a whole reply. It counts only if the store would have
    # these arguments for it.
    is_text_of_arguments = to_plain_json(call.arguments) in _list_stored_forms(written)
    return restored if is_text_of_arguments else call.arguments


def _list_stored_forms(arguments: Any) -> list[Any]:
    """Return what the store can have of arguments: NaN is text, or null without long integers."""
    forms = [to_plain_json(arguments)]
    with contextlib.suppress(TypeError):
        forms.append(orjson.loads(orjson.dumps(arguments)))
    return forms


def _parse_finite_number(text: str) -> float | str:
    """Return a number, or the text of one that is too large for a number of 64 bits."""
    number = float(text)
    return number if math.isfinite(number) else text


def _count_numbers_as_text(item: Item, golden: Sequence[Call]) -> int:
    """Return how many values of calls and golden calls are texts of numbers that are not kept."""
    count = 0
    for call in item.predicted:
        if call.arguments is not None:
            count += _count_texts_of_numbers(_restore_numbers(call))
    for call in golden:
        for accepted in (call.arguments or {}).values():
            count += _count_texts_of_numbers(to_plain_json(accepted.any_of))
    return count


def _count_texts_of_numbers(value: Any) -> int:
    """Return how many texts in a JSON value look like a number that the store has as text."""
    if isinstance(value, Mapping):
        return sum(_count_texts_of_numbers(field) for field in value.values())
    if isinstance(value, list):
        return sum(_count_texts_of_numbers(element) for element in value)
    return int(isinstance(value, str) and _NUMBER_AS_TEXT.fullmatch(value) is not None)


# -- golden answers


def _make_golden_call(call: Call) -> JsonObject:
    arguments: JsonObject | None = None
    if call.arguments is not None:
        arguments = {name: _make_accepted(value) for name, value in call.arguments.items()}
    return {"name": call.name, "arguments": arguments, "turn": call.turn}


def _make_accepted(accepted: AcceptedValues) -> JsonObject:
    """Return the accepted values of an argument. Nested ones are marked."""
    values = to_plain_json(accepted.any_of)
    written: JsonObject = {"any_of": values}
    if accepted.optional:
        written["optional"] = True
    if _has_nested_values(values):
        written["nested"] = True
    return written


def _has_nested_values(value: Any) -> bool:
    """Whether a JSON value contains an object with accepted values for each field."""
    if isinstance(value, list):
        return any(_has_nested_values(part) for part in value)
    if not isinstance(value, Mapping):
        return False
    is_golden_object = value.keys() == {"fields"} and isinstance(value["fields"], dict)
    return is_golden_object or any(_has_nested_values(part) for part in value.values())
