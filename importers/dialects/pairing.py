"""Find the call that each result answers."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fcreview.importers.dialects.conversation import (
    MessageIssue,
    ParsedMessage,
    ToolCall,
    ToolResult,
)


def pair_results(messages: Sequence[ParsedMessage]) -> Iterator[MessageIssue]:
    """Find the call that each result answers, and set `call_index` of the result: the number of the
    call in the conversation, from 0.

    A result has the id of its call or, in some dialects, only the order of the calls. Yields an
    issue for each result that fits no call.
    """
    open_calls = _OpenCalls()
    for message in messages:
        if message.calls:
            open_calls.add_reply(message.calls)
        elif message.role == "user":
            open_calls.forget_last_reply()
        for result in message.results:
            open_call = open_calls.take(result)
            if open_call is None:
                yield _report_orphan(result, message)
                continue
            result.call_index = open_call.index
            if result.call_id is None and open_call.call.id is not None:
                what = f"result without an id, taken for the answer to call {open_call.call.id}"
                path = result.path or message.path
                yield MessageIssue(what, path=path, raw=result.text, severity="notice")


def _report_orphan(result: ToolResult, message: ParsedMessage) -> MessageIssue:
    label = result.call_id or result.name or "without an id"
    path = result.path or message.path
    return MessageIssue(f"result {label} belongs to no call", path=path, raw=result.text)


@dataclass(slots=True)
class _OpenCall:
    index: int
    call: ToolCall
    is_answered: bool = False


class _OpenCalls:
    """Calls of a conversation that have no result yet.

    A result with an id belongs to the last call with this id, because ids may repeat. Results
    without ids belong to the calls of the last reply, in their order, or to the first call of
    their name. They never belong to a call before a text of the user.
    """

    def __init__(self) -> None:
        self._n_calls = 0
        self._by_id: dict[str, list[_OpenCall]] = defaultdict(list)
        self._last_reply: deque[_OpenCall] = deque()
        """Calls of the last reply, to which results without ids belong."""
        self._last_reply_by_name: dict[str, deque[_OpenCall]] = defaultdict(deque)

    def add_reply(self, calls: Sequence[ToolCall]) -> None:
        """Add the calls of a reply. Their results come in later messages, unless the provider
        answered a call itself.
        """
        self.forget_last_reply()
        for call in calls:
            open_call = _OpenCall(self._n_calls, call)
            self._n_calls += 1
            # The provider's own result.
            if call.result is not None:
                call.result.call_index = open_call.index
                continue
            self._last_reply.append(open_call)
            self._last_reply_by_name[call.name].append(open_call)
            if call.id is not None:
                self._by_id[call.id].append(open_call)

    def forget_last_reply(self) -> None:
        """End the reply, so that results without ids do not belong to its calls any more."""
        self._last_reply = deque()
        self._last_reply_by_name = defaultdict(deque)

    def take(self, result: ToolResult) -> _OpenCall | None:
        """Return the call that a result answers, and mark it as answered."""
        if result.call_id is not None:
            open_call = self._take_last_with_id(result.call_id)
        else:
            open_call = self._take_next(result.name)
        if open_call is not None:
            open_call.is_answered = True
        return open_call

    def _take_last_with_id(self, call_id: str) -> _OpenCall | None:
        calls_with_id = self._by_id.get(call_id, [])
        while calls_with_id:
            open_call = calls_with_id.pop()
            if not open_call.is_answered:
                return open_call
        return None

    def _take_next(self, name: str | None) -> _OpenCall | None:
        """Return the next call of the last reply that has no result yet. With a name, it is the
        next call of this function.
        """
        _drop_answered(self._last_reply)
        if not self._last_reply:
            return None
        if name is None or self._last_reply[0].call.name == name:
            return self._last_reply.popleft()

        calls_of_name = self._last_reply_by_name[name]
        _drop_answered(calls_of_name)
        return calls_of_name.popleft() if calls_of_name else None


def _drop_answered(calls: deque[_OpenCall]) -> None:
    while calls and calls[0].is_answered:
        calls.popleft()
