"""Record why items of a mapping have no answer: an error that a key names, or what the reply shows.

A mapping may name no error, as that of LiveMCPBench, whose files have no field for failed requests.
"""

from __future__ import annotations

from fcreview.importers.common.error_replies import check_reply_text
from fcreview.importers.common.incidents import (
    apply_incident,
    make_empty_reply_incident,
    make_error_incident,
)
from fcreview.importers.dialects.to_item import REASONING
from fcreview.importers.mapping.mapping_file import ItemForm
from fcreview.importers.mapping.value_reader import ValueReader
from fcreview.model.item import Item, Message

TOOL_ERROR = "tool_error"
MESSAGES = "item.messages"
RESPONSE = "item.response"


def add_error(item: Item, form: ItemForm, reader: ValueReader) -> None:
    """Record the error that a record states. It does not change the verdict."""
    value = form.values.get("error")
    error = reader.read_text(value)
    if error is None or value is None:
        return
    # The mapping file says whether such errors are the fault of the infrastructure, not of the
    # model.
    if form.error_kind == "infrastructure":
        where = value.expression.text if value.expression is not None else value.text
        apply_incident(item, make_error_incident(error, where))
        return
    item.extra.metadata["error"] = error
    # An item can pass in spite of an error, which then explains nothing.
    if item.official is False:
        item.error_type = TOOL_ERROR


def check_answer(item: Item, form: ItemForm) -> None:
    """Record an incident on an item whose last reply is empty, and report an answer that looks like
    an error message. An empty reply is only a weak sign of a failed request.

    Only if the mapping names the messages, it is known that a missing reply is missing.
    """
    if "messages" not in form.values or item.incident is not None:
        return
    last = _find_last_message(item)
    if last is None or _is_without_answer(item, last):
        apply_incident(item, make_empty_reply_incident(MESSAGES))
    elif last.role == "assistant":
        where = RESPONSE if "response" in form.values else MESSAGES
        check_reply_text(item, last.content, where)


def _find_last_message(item: Item) -> Message | None:
    for message in reversed(item.messages):
        if message.role != "log" and message.name != REASONING:
            return message
    return None


def _is_without_answer(item: Item, last: Message) -> bool:
    """Whether the conversation ends with a reply without text and calls, or has no reply at all."""
    if last.role == "assistant":
        has_calls = any((call.turn, call.step) == (last.turn, last.step) for call in item.predicted)
        return not last.content.strip() and not has_calls
    has_reply = any(message.role == "assistant" for message in item.messages)
    return not has_reply and not item.predicted
