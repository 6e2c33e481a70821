"""Requests to models in traces, as the readers of all tracing programs produce them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_text import JsonRecord, make_excerpt, parse_json_text
from fcreview.importers.dialects.token_counts import TokenCounts
from fcreview.importers.dialects.values import to_text
from fcreview.model.item import ImportIssue
from fcreview.model.wording import format_count

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TraceLine:
    """Line of a file with traces."""

    path: Path
    record: JsonRecord

    def make_issue(self, message: str, *, item: str, raw: Any = None) -> ImportIssue:
        """Return an issue about an entry of the line. `raw` is the JSON value that is not read."""
        excerpt = None if raw is None else make_excerpt(to_text(raw))
        return ImportIssue(str(self.path), self.record.line, what=message, raw=excerpt, item=item)

    def report_further_replies(
        self, name: str, replies: Sequence[Any], *, item: str
    ) -> Iterator[ImportIssue]:
        """Yield an issue if a request has several replies, of which only the first one is read.

        `name` is the field with the replies.
        """
        further = replies[1:]
        if further:
            count = format_count(len(further), "further reply", "further replies")
            message = f"{name}[1]: {count} to the same request not read, only the first"
            yield self.make_issue(message, item=item, raw=further)


@dataclass(frozen=True, slots=True)
class TracedContent:
    """Content of a request and of the response to it, in the dialect of any API."""

    messages: list[Any]
    replies: list[Any]
    """Replies to the same request. Each is a choice of the model, and only the first one counts."""
    tools: list[Any]


@dataclass(slots=True)
class TracedRequest:
    """A request to a model, and the reply."""

    id: str
    group: str | None
    messages: list[Any]
    """Messages of the request and the reply, in the dialect of any API."""
    tools: list[Any]
    tokens: TokenCounts
    extra: JsonObject
    finish_reason: str | None = None
    error: str | None = None

    def make_record(self, line: TraceLine) -> JsonRecord:
        """Return the request as a record of the generic format, in its line of the file."""
        record = {
            "id": self.id,
            "category": "chat",
            "group": self.group,
            "messages": self.messages,
            "tools": self.tools,
            "tokens_in": self.tokens.tokens_in,
            "tokens_out": self.tokens.tokens_out,
            "finish_reason": self.finish_reason,
            "extra": self.extra,
        }
        if self.error is not None:
            record["error"] = self.error
        return replace(line.record, value=record)


@dataclass(slots=True)
class UnreadEntries:
    """Counts the spans and runs that give no item, by the reason."""

    counts: Counter[str] = field(default_factory=Counter)
    first_lines: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, line: int) -> None:
        self.counts[reason] += 1
        self.first_lines.setdefault(reason, line)

    def report(self, path: Path) -> Iterator[ImportIssue]:
        for reason, count in self.counts.items():
            message = f"{format_count(count, 'entry', 'entries')} not read: {reason}"
            line = self.first_lines[reason]
            yield ImportIssue(str(path), line, what=message, severity="notice")


def get_text(fields: Mapping[str, Any], name: str) -> str | None:
    """Return the text of a field, or None for another value and an empty text."""
    value = fields.get(name)
    return value if isinstance(value, str) and value else None


def choose_id(fields: Mapping[str, Any], name: str, line: TraceLine) -> str:
    return get_text(fields, name) or f"chat_{line.record.line}"


def decode(value: Any) -> Any:
    """Return a value that may be JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json_text(value, [])
    except (ValueError, RecursionError):
        return value
