"""Fill the parts of an item that a mapping names: messages, calls, golden answers and tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fcreview.importers.common.golden_comparison import compare_with_golden_calls
from fcreview.importers.common.records import is_integer, shorten_question
from fcreview.importers.dialects import tools
from fcreview.importers.dialects.conversation import MessageIssue, ParsedConversation
from fcreview.importers.dialects.read import read_conversation
from fcreview.importers.dialects.to_item import fill_conversation
from fcreview.importers.dialects.values import parse_arguments
from fcreview.importers.mapping.expressions import Expression, FailedExpression, evaluate
from fcreview.importers.mapping.mapping_file import CallForm, ItemForm
from fcreview.importers.mapping.value_reader import ValueReader
from fcreview.matching.align import align_calls_by_turn
from fcreview.model.item import AcceptedValues, Call, Item, Message, TaskSection
from fcreview.model.json_value import answer_hash, to_json_text

NO_GOLDEN_ANSWER = "the mapping names no golden answer of this item"
NO_GOLDEN_CALLS = "the golden answer has no calls to compare with"
REFERENCE_STATES = "-!+"
"""Differences from a reference conversation are no errors: other calls can be right, too."""
CRITERIA = "criteria"


def fill_answer(item: Item, form: ItemForm, reader: ValueReader) -> None:
    """Fill the conversation, the calls, the final answer and the function docs."""
    written_messages = reader.read(form.values.get("messages"))
    if written_messages is not None:
        _fill_messages(item, form, reader, written_messages)

    question = reader.read_text(form.values.get("question"))
    if question is not None:
        _add_question(item, question)

    written_calls = reader.read(form.values.get("calls"))
    if written_calls is not None and form.calls is not None:
        item.predicted = _read_predicted_calls(written_calls, form.calls, reader)

    response = reader.read_text(form.values.get("response"))
    if response is not None:
        _add_response(item, response)

    written_tools = reader.read(form.values.get("tools"))
    if written_tools is not None:
        item.functions = list(_read_tools(written_tools, reader))

    item.prediction_hash = answer_hash([written_messages, written_calls, response])


def _fill_messages(item: Item, form: ItemForm, reader: ValueReader, written: Any) -> None:
    """Fill the messages, calls and functions of an item from a written conversation."""
    if not isinstance(written, list | dict):
        reader.add_issue("item.messages is not a list of messages", raw=written)
        return
    conversation = read_conversation(written, dialect=form.dialect, call_style=form.tags)
    reader.add_message_issues("item.messages", conversation.issues)
    conversation.issues = []
    fill_conversation(item, conversation)
    item.functions = conversation.functions


def _add_question(item: Item, question: str) -> None:
    item.question = shorten_question(question)
    if not any(message.role == "user" for message in item.messages):
        item.messages.insert(0, Message(turn=0, step=-1, role="user", content=question))


def _add_response(item: Item, response: str) -> None:
    """Add the final answer as the last message, if it is not the last message already."""
    replies = [message for message in item.messages if message.role == "assistant"]
    if replies and replies[-1].content.strip() == response.strip():
        return

    # The answer is a step of its own, after all messages and calls of the last turn.
    last_turn = max((message.turn for message in item.messages), default=0)
    steps = [message.step for message in item.messages if message.turn == last_turn]
    steps += [call.step for call in item.predicted if call.turn == last_turn]
    next_step = max(steps, default=-1) + 1
    message = Message(last_turn, next_step, role="assistant", content=response)
    item.messages.append(message)
    item.n_steps = max(item.n_steps, next_step + 1)


def _read_predicted_calls(written: Any, form: CallForm, reader: ValueReader) -> list[Call]:
    """Read the calls of an item, numbered within their turns."""
    calls: list[Call] = []
    n_calls_of_turn: Counter[int] = Counter()
    for call in _read_calls("item.calls", written, form, reader):
        call.index = n_calls_of_turn[call.turn]
        n_calls_of_turn[call.turn] += 1
        calls.append(call)
    return calls


def _read_calls(key: str, written: Any, form: CallForm, reader: ValueReader) -> Iterator[Call]:
    """Yield the calls in a list, and report each element that is none."""
    elements = [written] if isinstance(written, dict) else written
    if not isinstance(elements, list):
        reader.add_issue(f"{key} is not a list of calls", raw=written)
        return
    for index, element in enumerate(elements):
        place = f"{key}[{index}]"
        name = _find_part(form.name, element, place, reader)
        if isinstance(name, str) and name:
            yield _read_call(name, element, form, place=place, reader=reader)
        else:
            reader.add_issue(f"{place}: call without a name", raw=element)


def _read_call(name: str, element: Any, form: CallForm, *, place: str, reader: ValueReader) -> Call:
    """Read the arguments and the turn of a call. Unreadable arguments become the reason why the
    call could not be decoded.
    """
    arguments = parse_arguments(_find_part(form.arguments, element, place, reader))
    if arguments.problem is not None:
        reader.add_issue(f"{place}: arguments of {name} {arguments.problem}", raw=element)
    call = Call("predicted", name, arguments=arguments.value, raw=arguments.raw)
    if arguments.value is None:
        call.decode_error = f"the arguments {arguments.problem}"

    turn = _find_part(form.turn, element, place, reader)
    if is_integer(turn) and turn >= 0:
        call.turn = turn
    elif turn is not None:
        reader.add_issue(f"{place}: the turn is not a number from 0", raw=turn)
    return call


def _find_part(expression: Expression, element: Any, place: str, reader: ValueReader) -> Any:
    try:
        return evaluate(expression, element)
    except FailedExpression as error:
        reader.add_issue(f"{place}: {error}")
        return None


def _read_tools(written: Any, reader: ValueReader) -> Iterator[dict[str, Any]]:
    """Yield function docs for the tools of an item.

    Tools that are only a name come first, as functions without parameters. The tools that the
    record describes follow.
    """
    if isinstance(written, str):
        reader.add_issue("item.tools is not a list of tools", raw=written)
        return
    described = written
    if isinstance(written, list):
        names = [tool for tool in written if isinstance(tool, str)]
        for name in names:
            yield {"name": name, "parameters": {"type": "object", "properties": {}}}
        described = [tool for tool in written if not isinstance(tool, str)]

    for reading in tools.read_tools(described, path="item.tools"):
        if isinstance(reading, MessageIssue):
            reader.add_message_issues("item.tools", [reading])
        else:
            yield reading


# -- golden answers


def fill_golden_answer(item: Item, form: ItemForm, reader: ValueReader) -> None:
    """Fill the golden answer, and compare golden calls with the model's."""
    written_golden = reader.read(form.values.get("golden"))
    written_reference = reader.read(form.values.get("golden_messages"))
    written_criteria = reader.read(form.values.get("criteria"))
    written_parts = [written_golden, written_reference, written_criteria]
    has_golden_answer = any(part is not None for part in written_parts)
    if has_golden_answer:
        item.golden_hash = answer_hash(written_parts)
    if written_criteria is not None:
        _add_criteria(item, written_criteria)
    if written_reference is not None:
        _fill_reference(item, form, reader, written_reference)
    if written_golden is not None:
        _fill_golden(item, form, reader, written_golden)

    # Only complete golden calls gave a verdict by rules (`item.rule`), and paired the calls.
    are_calls_compared = item.rule is not None
    if not are_calls_compared:
        item.rule_note = NO_GOLDEN_CALLS if has_golden_answer else NO_GOLDEN_ANSWER
        item.pairs = align_calls_by_turn(item.golden, item.predicted)


def _fill_golden(item: Item, form: ItemForm, reader: ValueReader, written: Any) -> None:
    """Fill the golden answer of an item, whose kind the mapping file states."""
    match form.golden_kind:
        case "text":
            item.extra.golden_reply = _to_text(written)
        case "criteria":
            _add_criteria(item, written)
        case "messages":
            _fill_reference(item, form, reader, written)
        case "calls":
            _fill_golden_calls(item, form, reader, written)


def _fill_golden_calls(item: Item, form: ItemForm, reader: ValueReader, written: Any) -> None:
    """Fill the golden calls: a list or, for one call, an object. An empty list means that the model
    must not make a call.
    """
    if form.golden_calls is None:
        return
    # A reference conversation may have added golden calls already.
    n_calls_of_turn = Counter(call.turn for call in item.golden)
    for call in _read_calls("item.golden", written, form.golden_calls, reader):
        if call.arguments is None:
            continue
        call.index = n_calls_of_turn[call.turn]
        n_calls_of_turn[call.turn] += 1
        item.golden.append(_to_golden_call(call))

    # Without one of the written calls, a comparison could be wrong. With those of a reference, too,
    # because a reply need not contain them.
    is_exact_list = isinstance(written, list) and len(written) == len(item.golden)
    if is_exact_list or isinstance(written, dict):
        compare_with_golden_calls(item)


def _to_golden_call(call: Call) -> Call:
    accepted = {
        name: AcceptedValues([argument]) for name, argument in (call.arguments or {}).items()
    }
    return Call("golden", call.name, arguments=accepted, turn=call.turn, index=call.index)


def _fill_reference(item: Item, form: ItemForm, reader: ValueReader, written: Any) -> None:
    """Fill golden calls from a reference conversation. Other calls can be right, too."""
    if not isinstance(written, list | dict):
        reader.add_issue("item.golden_messages is not a list of messages", raw=written)
        return
    conversation = read_conversation(written, dialect=form.golden_dialect)
    # An empty list means that there is no reference.
    if written:
        reader.add_message_issues("item.golden_messages", conversation.issues)
    item.golden = [_to_golden_call(call) for call in _list_calls(conversation)]
    item.extra.uncounted_states = REFERENCE_STATES
    if item.extra.golden_reply is None:
        item.extra.golden_reply = _find_last_reply(conversation)


def _list_calls(conversation: ParsedConversation) -> list[Call]:
    reference = Item("reference", category="")
    conversation.issues = []
    fill_conversation(reference, conversation)
    return reference.predicted


def _find_last_reply(conversation: ParsedConversation) -> str | None:
    for message in reversed(conversation.messages):
        if message.role == "assistant" and message.text:
            return message.text
    return None


def _add_criteria(item: Item, written: Any) -> None:
    criteria = written if isinstance(written, list) else [written]
    text = "\n".join(_to_text(criterion) for criterion in criteria)
    item.task_sections.append(TaskSection(CRITERIA, text, reveals_golden=True))


def _to_text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(_to_text(part) for part in value)
    return value if isinstance(value, str) else to_json_text(value)
