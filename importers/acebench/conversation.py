"""Join the dialogue history of an agent item with the messages in its result record.

`process` of a result record has the messages that were executed. The history has all messages and
the results of calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher

from fcreview.importers.acebench.decoding import remove_whitespace
from fcreview.importers.acebench.dialogue_history import DialogueHistory, HistoryMessage
from fcreview.model.item import Item, Message

OTHER_CONVERSATION = (
    "the dialogue history has none of the calls in the result record, so it is not shown"
)
MAX_COMPARED_MESSAGES = 200
"""Longest conversation whose messages are compared.

The official runner ends a conversation after 40 messages.
"""


@dataclass(frozen=True, slots=True)
class _ExecutedMessage:
    """A message of the agent that was executed."""

    step: int
    content: str


def find_call_expression(text: str) -> str | None:
    """Return the list of calls in a message of an agent: from the first `[` to the last `]`.

    None without one.
    """
    start = text.find("[")
    end = text.rfind("]")
    if 0 <= start < end:
        return text[start : end + 1]
    return None


def add_conversation(
    item: Item, process: Sequence[str], history: DialogueHistory | None
) -> list[int]:
    """Add the messages of a conversation to an item, and return the agent's step in which each call
    is made.

    The item gets no message for a call, only for the text around it. Steps are numbered from 0.
    """
    if history is None:
        steps = list(range(len(process)))
        _add_texts_around_calls(item, process, steps)
        return steps

    executed = list(_list_executed_messages(history.messages))
    steps = _find_steps(process, executed)
    process_by_step = dict(zip(steps, process, strict=True))
    _add_history_messages(item, history.messages, process_by_step)
    return steps


def is_other_conversation(process: Sequence[str], history: DialogueHistory) -> bool:
    """Whether a dialogue history has executed messages, but none of those in the result record."""
    executed = list(_list_executed_messages(history.messages))
    if not executed or not process:
        return False
    all_executed = "\n".join(_normalise(message.content) for message in executed)
    texts = [_normalise(text) for text in process]
    return not any(text and text in all_executed for text in texts)


def _list_executed_messages(messages: Sequence[HistoryMessage]) -> Iterator[_ExecutedMessage]:
    """Yield the agent's messages that were executed, with the number of their step."""
    step = -1
    for index, message in enumerate(messages):
        if not _is_of_agent(message):
            continue
        step += 1
        if _is_executed(messages, index):
            yield _ExecutedMessage(step, message.content)


def _is_of_agent(message: HistoryMessage) -> bool:
    return message.sender not in ("user", "execution")


def _is_executed(messages: Sequence[HistoryMessage], index: int) -> bool:
    """Whether a message of the agent was executed.

    In multi-step items, a message to the user is executed too.
    """
    if messages[index].recipient == "execution":
        return True
    return index + 1 < len(messages) and messages[index + 1].sender == "execution"


def _find_steps(process: Sequence[str], executed: Sequence[_ExecutedMessage]) -> list[int]:
    """Return the step of each message of the result record.

    The dialogue history numbers the steps of the agent. The messages in `process`, the result
    record, have no numbers, so they get the step of the same message in the history. Only
    `executed` messages, those with calls that were executed, can be in the result record.
    """
    if len(process) == len(executed):
        return [message.step for message in executed]
    # A comparison would take too long. Then each message of the record counts as a step.
    if max(len(process), len(executed)) > MAX_COMPARED_MESSAGES:
        return list(range(len(process)))

    # The counts differ, for example because the result record lacks the last message, which ends
    # the conversation. Then messages with the same text belong together.
    step_by_index = _pair_equal_messages(process, executed)
    steps = []
    step = 0
    for index in range(len(process)):
        # A message without a partner gets the step of the message before it, or the first step.
        step = step_by_index.get(index, step)
        steps.append(step)
    return steps


def _pair_equal_messages(
    process: Sequence[str], executed: Sequence[_ExecutedMessage]
) -> dict[int, int]:
    """Find the messages of the result record (`process`) that are also in the dialogue history.

    Returns for each of them its index in `process` and its step in the history. Both lists are in
    the order of the conversation, and the pairs keep this order.
    """
    texts = [_normalise(text) for text in process]
    executed_texts = [_find_partner_text(message.content, texts) for message in executed]
    matcher = SequenceMatcher(None, texts, executed_texts, autojunk=False)

    step_by_index: dict[int, int] = {}
    for block in matcher.get_matching_blocks():
        # A block is a series of equal texts, from `block.a` in the record and `block.b` in the
        # history.
        for offset in range(block.size):
            step_by_index[block.a + offset] = executed[block.b + offset].step
    return step_by_index


def _find_partner_text(content: str, process_texts: Sequence[str]) -> str:
    """Find the message of the result record that corresponds to a message of the dialogue history.

    The history can add text, such as a thought before the call. So the result is an equal message,
    or else the first message of the result record that `content` contains. If there is none, the
    result is `content` itself, with normalised white space.

    `content` is the message of the history, and `process_texts` are the messages of the record.
    """
    history_text = _normalise(content)
    if history_text in process_texts:
        return history_text
    for process_text in process_texts:
        if process_text and process_text in history_text:
            return process_text
    return history_text


def _is_same_message(process_text: str, content: str) -> bool:
    text = _normalise(process_text)
    return bool(text) and text in _normalise(content)


def _normalise(text: str) -> str:
    """Remove white space, and read escapes such as `\\n` as the official runner does when it
    writes a history.
    """
    with suppress(ValueError):
        decoded = json.loads(f'"{text}"')
        return remove_whitespace(decoded)
    return remove_whitespace(text)


def _add_history_messages(
    item: Item, messages: Sequence[HistoryMessage], process_by_step: dict[int, str]
) -> None:
    """Add the messages of a dialogue history to an item.

    `process_by_step` maps the agent's steps to its messages in the result record, which contain
    the calls.
    """
    known_texts = set()
    for known_message in item.messages:
        if known_message.role == "user":
            known_texts.add(remove_whitespace(known_message.content))

    # Step -1: the agent has not spoken yet.
    step = -1
    for message in messages:
        if message.sender not in ("execution", "user"):
            # Each message of the agent begins a step.
            step += 1
        # The history begins with the question, which the item already contains.
        is_question = (
            message.sender == "user"
            and step < 0
            and remove_whitespace(message.content) in known_texts
        )
        if not is_question:
            item.messages += _convert_history_message(message, step, process_by_step.get(step))


def _convert_history_message(
    message: HistoryMessage, step: int, process_text: str | None
) -> list[Message]:
    """Convert a message of a dialogue history. A message of the agent with only a call is left out.

    The item shows the agent's calls separately, so they are cut from the agent's messages.
    `process_text` is the agent's message of the step in the result record.
    """
    content = message.content
    if message.sender == "execution":
        return [Message(turn=0, step=max(step, 0), role="tool", content=content)]
    if message.sender == "user":
        return [Message(turn=0, step=step, role="user", content=content)]
    text = _remove_call(content, process_text)
    return [Message(turn=0, step=step, role="assistant", content=text)] if text else []


def _remove_call(content: str, process_text: str | None) -> str:
    """Return a message of the agent without its call, which the item shows as a call.

    `process_text` is the text that was executed in this step, from the result record. None if the
    message was not executed.
    """
    if process_text is None:
        return content
    is_undecodable = find_call_expression(process_text) is None
    if is_undecodable and _is_same_message(process_text, content):
        # The item shows the whole message as a call that could not be decoded.
        return ""
    expression = find_call_expression(content)
    if expression is None:
        return content
    return content.replace(expression, "", 1).strip()


def _add_texts_around_calls(item: Item, process: Sequence[str], steps: Sequence[int]) -> None:
    for step, text in zip(steps, process, strict=True):
        rest = _remove_call(text, text)
        if rest:
            item.messages.append(Message(turn=0, step=step, role="assistant", content=rest))
