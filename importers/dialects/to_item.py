"""Fill an item with a conversation that was read in any dialect."""

from __future__ import annotations

from collections.abc import Iterable

from fcreview.importers.common.json_text import make_excerpt
from fcreview.importers.common.records import first_question
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    ParsedConversation,
    ParsedMessage,
    Role,
    ToolCall,
    ToolResult,
)
from fcreview.importers.dialects.values import to_text
from fcreview.model.item import UNKNOWN_PARTS, Call, ImportIssue, Item, Message

REASONING = "reasoning"
"""Name of messages with the model's reasoning."""
ERROR_MARK = "[error] "
"""Begins the text of a result that the tool marked as an error."""
NO_RESULT = "[no result recorded]"
"""Placeholder for the result of a call that was not answered, although a later one was."""
MAX_ISSUES_WITH_ONE_TEXT = 3
"""Number of issues with equal texts that an item lists. The rest is counted."""


def fill_conversation(item: Item, conversation: ParsedConversation) -> None:
    """Fill messages, question, predicted calls and issues of an item.

    A user message after an assistant message begins a turn. Each assistant message is a step.
    """
    filler = _ConversationFiller(item)
    for message in conversation.messages:
        filler.add(message)
    filler.add_pending_results()
    item.n_turns = filler.turn + 1
    item.n_steps = max(filler.n_steps, 1)
    item.question = first_question(item.messages)
    item.issues.extend(make_issues(item, conversation.issues))


def find_last_reply(item: Item) -> str | None:
    """Return the text of the model's last message, or None if the conversation does not end with
    one.
    """
    for message in reversed(item.messages):
        if message.role == "log":
            continue
        is_reply = message.role == "assistant" and message.name != REASONING
        return message.content if is_reply else None
    return None


class _ConversationFiller:
    """Numbers turns, steps and calls while messages are added to an item.

    Results are added after their reply, in the order of the calls, because screens show the n-th
    result below the n-th call. Files may have them in the order in which the tools answered.
    """

    def __init__(self, item: Item) -> None:
        self._item = item
        self.turn = 0
        self.n_steps = 0
        self._step = -1
        self._n_calls_in_turn = 0
        self._is_answered = False
        self._calls: list[ToolCall] = []
        self._n_calls_before_reply = 0
        self._pending_results: list[ToolResult] = []

    def add(self, message: ParsedMessage) -> None:
        """Add the next message of a conversation to the item.

        A reply of the model begins a step, and a user message after a reply begins a turn.
        """
        # Results wait until the next message, so that they can be brought into the order of their
        # calls.
        if message.role == "tool":
            self._pending_results.extend(message.results)
            return
        self.add_pending_results()
        if message.role == "user" and self._is_answered:
            self._start_turn()
        if message.role == "assistant":
            self._start_step()

        self._add_texts(message)
        if message.unknown_parts:
            self._add_unknown_parts(message)
        for call in message.calls:
            self._add_call(call)
        self._pending_results.extend(message.results)

    def _add_texts(self, message: ParsedMessage) -> None:
        """Add the reasoning and the text of a message."""
        if message.reasoning:
            self._add_message(message, message.reasoning, name=REASONING)
        text = get_shown_text(message)
        # A reply of only calls needs no message, but an empty message of the user is shown.
        has_no_text = message.role in ("assistant", "log") and not text
        if not has_no_text:
            self._add_message(message, text, name=message.name)

    def add_pending_results(self) -> None:
        """Add the results since the last reply as tool messages, in the order of the reply's calls.

        Results that answer no call of this reply follow at the end.
        """
        # A call index counts all calls of the conversation, so those of this reply are the last.
        first_call = self._n_calls_before_reply
        self._add_results_of_calls(first_call)
        for result in self._pending_results:
            is_of_reply = result.call_index is not None and result.call_index >= first_call
            if not is_of_reply:
                self._add_result(result)
        self._pending_results = []

    def _add_results_of_calls(self, first_call: int) -> None:
        """Add the pending results of the calls from `first_call` on.

        The item view matches tool messages and calls by position. A call without a result therefore
        gets a placeholder, unless no later call has a result.
        """
        result_by_call = {}
        for result in self._pending_results:
            if result.call_index is not None:
                result_by_call[result.call_index] = result
        last_answered_call = max(result_by_call, default=-1)
        for call_index in range(first_call, last_answered_call + 1):
            if call_index in result_by_call:
                self._add_result(result_by_call[call_index])
            else:
                self._add_tool_message(NO_RESULT, name=self._calls[call_index].name)

    def _start_turn(self) -> None:
        self.turn += 1
        self._step = -1
        self._n_calls_in_turn = 0
        self._is_answered = False

    def _start_step(self) -> None:
        self._step += 1
        self.n_steps += 1
        self._is_answered = True
        self._n_calls_before_reply = len(self._calls)

    def _add_message(self, message: ParsedMessage, text: str, *, name: str | None) -> None:
        step = self._find_step(message.role)
        self._item.messages.append(
            Message(self.turn, step, role=message.role, content=text, name=name)
        )

    def _find_step(self, role: Role) -> int:
        """Return the step of a message. What comes after the first reply of a turn stays in its
        place.
        """
        opens_turn = role in ("user", "system", "log") and self._step < 0
        return -1 if opens_turn else max(self._step, 0)

    def _add_unknown_parts(self, message: ParsedMessage) -> None:
        step = self._find_step("log")
        text = to_text(message.unknown_parts)
        self._item.messages.append(
            Message(self.turn, step, role="log", content=text, name=UNKNOWN_PARTS)
        )

    def _add_call(self, call: ToolCall) -> None:
        """Add a call to the item, at the current turn and step. A result that stands in the call
        itself is added after the reply.
        """
        self._calls.append(call)
        self._item.predicted.append(
            Call(
                "predicted",
                call.name,
                arguments=call.arguments,
                turn=self.turn,
                step=max(self._step, 0),
                index=self._n_calls_in_turn,
                raw=call.raw,
                decode_error=f"the arguments {call.problem}" if call.problem else None,
            )
        )
        self._n_calls_in_turn += 1
        if call.result is not None:
            self._pending_results.append(call.result)

    def _add_result(self, result: ToolResult) -> None:
        self._add_tool_message(format_result(result), name=self._find_function(result))

    def _add_tool_message(self, text: str, *, name: str | None) -> None:
        self._item.messages.append(
            Message(self.turn, max(self._step, 0), role="tool", content=text, name=name)
        )

    def _find_function(self, result: ToolResult) -> str | None:
        if result.name is not None:
            return result.name
        if result.call_index is not None:
            return self._calls[result.call_index].name
        return result.call_id


def format_result(result: ToolResult) -> str:
    """Return the text of a result, with a mark if the tool failed, and then its placeholders."""
    mark = ERROR_MARK if result.is_error else ""
    lines = [mark + result.text, *result.attachments]
    return "\n".join(line for line in lines if line)


def get_shown_text(message: ParsedMessage) -> str:
    """Return the text of a message, and then the placeholders of its images and files."""
    placeholders = [note for note in message.notes if isinstance(note, str)]
    return "\n".join(text for text in (message.text, *placeholders) if text)


def make_issues(item: Item, issues: Iterable[MessageIssue]) -> list[ImportIssue]:
    """Convert the issues of a conversation to import issues of its item.

    If many have the same text, only the first ones are listed, and one more counts the rest.
    """
    listed: list[ImportIssue] = []
    count_by_text: dict[str, int] = {}
    for issue in issues:
        count_by_text[issue.what] = count_by_text.get(issue.what, 0) + 1
        if count_by_text[issue.what] <= MAX_ISSUES_WITH_ONE_TEXT:
            listed.append(_make_issue(item, issue))

    for what, count in count_by_text.items():
        n_more = count - MAX_ISSUES_WITH_ONE_TEXT
        if n_more > 0:
            more = f"{what} ({n_more} more in this item)"
            listed.append(ImportIssue(item.file, item.line, what=more, item=item.id))
    return listed


def _make_issue(item: Item, issue: MessageIssue) -> ImportIssue:
    """Convert an issue of a message to one of the item, with the place in its file."""
    raw = None if issue.raw is None else make_excerpt(to_text(issue.raw))
    return ImportIssue(
        item.file,
        item.line,
        what=f"{issue.path}: {issue.what}",
        raw=raw,
        item=item.id,
        severity=issue.severity,
    )
