"""The output of `claude -p --output-format stream-json`: what it says about the stream as a whole.

The first line describes the session, and the last one is its result. A session that goes on with
another prompt has several results. Lines of a running reply repeat the token counts of its start,
so that only the result, or the last piece of the reply, has the final ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.dialects.streams.pieces import merge_fields
from fcreview.importers.dialects.token_counts import NO_COUNTS, TokenCounts, read_token_counts
from fcreview.importers.sessions.session import OTHER_SESSION, Session

JsonObject = dict[str, Any]
MESSAGE_TYPES = ("user", "assistant")
RESULT = "result"
PIECE = "stream_event"
BROKE_OFF = "the streamed output broke off: it has no result after this line"


class StreamedOutput:
    """Collects the ids and results of the sessions in a file, and the token counts of replies."""

    def __init__(self) -> None:
        self._first_lines: dict[str, int] = {}
        """First line of each session, by its id."""
        self._open_sessions: dict[str, int] = {}
        """Last line of each session that has no result yet, by its id."""
        self._results: dict[str, list[JsonObject]] = {}
        """Results of each session, by its id."""
        self._streamed_replies: dict[str, str] = {}
        """Id of the reply whose pieces are streamed, by the agent that writes it."""
        self.usage_by_reply: dict[str, JsonObject] = {}
        """Token counts of replies of which pieces were streamed, by the id of the reply."""

    def add(self, value: Mapping[str, Any], line: int) -> None:
        """Note what a line of any kind says about the stream."""
        kind = value.get("type")
        session_id = value.get("session_id")
        is_streamed = isinstance(session_id, str) and "sessionId" not in value
        if kind == RESULT:
            self._add_result(dict(value), session_id)
        elif is_streamed and (kind in MESSAGE_TYPES or value.get("subtype") == "init"):
            self._first_lines.setdefault(str(session_id), line)
            self._open_sessions[str(session_id)] = line
        elif kind == PIECE:
            agent = str(value.get("parent_tool_use_id"))
            self._add_piece(agent, as_object(value.get("event")))

    def _add_result(self, result: JsonObject, session_id: Any) -> None:
        """Add the result of a session. A result without an id is that of the last one."""
        last_session_id = next(reversed(self._first_lines), "")
        session = session_id if isinstance(session_id, str) else last_session_id
        self._open_sessions.pop(session, None)
        self._results.setdefault(session, []).append(result)

    def _add_piece(self, agent: str, event: JsonObject) -> None:
        """Note the token counts in a piece of a reply. The last piece has the final ones."""
        if event.get("type") == "message_start":
            message = as_object(event.get("message"))
            self._streamed_replies[agent] = str(message.get("id"))
            self._add_usage(agent, message.get("usage"))
        elif event.get("type") == "message_delta":
            self._add_usage(agent, event.get("usage"))

    def _add_usage(self, agent: str, usage: Any) -> None:
        reply = self._streamed_replies.get(agent)
        if reply is not None:
            known_usage = self.usage_by_reply.get(reply, {})
            self.usage_by_reply[reply] = merge_fields([known_usage, as_object(usage)])

    def report(self, session: Session) -> None:
        """Add issues about sessions without a result, and about further sessions."""
        for line in self._open_sessions.values():
            session.add_issue(BROKE_OFF, line)
        for line in list(self._first_lines.values())[1:]:
            session.add_issue(OTHER_SESSION, line)

    def count_tokens(self) -> TokenCounts | None:
        """Return the token counts in the results, which are those of all replies and subagents.

        None if a session has no result, or none that has the counts of the whole session.
        """
        counts = [_count_tokens_of_session(results) for results in self._results.values()]
        if self._open_sessions or None in counts:
            return None
        return _add_up([count for count in counts if count is not None])


def _count_tokens_of_session(results: Sequence[JsonObject]) -> TokenCounts | None:
    """Return the token counts of a session with one or more results, or None.

    Each result adds up the counts by model since the start of the session. Its other counts can be
    those of the last prompt only.
    """
    usage_by_model = as_object(results[-1].get("modelUsage"))
    if usage_by_model:
        return _add_up([read_token_counts({"usage": usage}) for usage in usage_by_model.values()])
    counts = read_token_counts(results[-1])
    if len(results) > 1 or counts == NO_COUNTS:
        return None
    return counts


def _add_up(counts: Sequence[TokenCounts]) -> TokenCounts | None:
    if not counts:
        return None
    return TokenCounts(
        sum(count.tokens_in or 0 for count in counts),
        sum(count.tokens_out or 0 for count in counts),
    )
