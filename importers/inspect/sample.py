"""Read one sample of an Inspect log: a small one as a whole, and of a large one only the fields
that items need, within the text budget of an item.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.budgets import MAX_ITEM_TEXT, MAX_ITEM_TEXT_SHOWN, TextBudget
from fcreview.importers.common.jsonl import MAX_VALUES, JsonRecord, count_values, parse_record
from fcreview.importers.common.records import list_objects
from fcreview.importers.inspect.attachments import AttachmentResolver, find_references
from fcreview.importers.inspect.events import EventData, collect_event_data
from fcreview.importers.inspect.json_stream import JsonStream, JsonStreamError
from fcreview.model.item import ImportIssue
from fcreview.model.wording import format_count

MAX_WHOLE_BYTES = 4 << 20
"""Maximum size, in bytes, of a sample that is parsed as a whole."""
MAX_EVENT_BYTES = 8 << 20
"""Maximum number of bytes of a large sample's events in which fcreview searches for the
available functions.
"""
MAX_READ_EVENTS = 20_000
"""Maximum number of a large sample's events in which fcreview searches for them."""
MAX_LISTED_FIELDS = 3
MAX_NAME_LENGTH = 60
AGENT_STATE_PREFIX = "StoredAgentState:"
"""Prefix of the keys of a sample's store that contain the conversations of agents."""
_ATTACHMENT_REFERENCE = re.compile(rb'"attachment://([^"\\]{1,200})"')
_OMITTED_FIELDS = frozenset({"events_data", "timelines", "sandbox", "files", "setup"})


@dataclass(slots=True)
class LogSample:
    """A sample of a log, without its events, and the position of its record."""

    value: dict[str, Any]
    event_data: EventData
    file: str
    line: int
    """Number of the line in a `.json` log or of the member in an `.eval` log, from 1."""
    offset: int
    length: int
    issues: list[ImportIssue] = field(default_factory=list)

    def parse_field(self, text: bytes) -> Any:
        """Parse a JSON text of the sample, and keep the issues. Raises JsonStreamError."""
        return parse_json(text, Path(self.file), self.issues, self.line)

    def add_issue(self, what: str) -> None:
        self.issues.append(ImportIssue(self.file, self.line, what=what))


def fill_sample_from_text(sample: LogSample, text: bytes) -> LogSample:
    """Fill a sample from its JSON text, and return it. Raises JsonStreamError if the text is no
    JSON object.

    Inspect stores long texts once, as attachments. References to them are replaced by the texts.
    """
    value = sample.parse_field(text)
    if not isinstance(value, dict):
        raise JsonStreamError("the sample is not a JSON object")

    sample.event_data = collect_event_data(value.pop("events", None))
    attachments = value.pop("attachments", None)
    for name in _OMITTED_FIELDS:
        value.pop(name, None)
    sample.value = value
    if isinstance(attachments, dict):
        budget = TextBudget(MAX_ITEM_TEXT - len(text))
        _resolve_attachments(sample, AttachmentResolver(attachments, budget))
    return sample


def fill_sample_from_stream(sample: LogSample, stream: JsonStream) -> LogSample:
    """Fill a sample that is too large to be parsed as a whole, and return it.

    Only the fields that items need are read from the stream. Raises JsonStreamError.
    """
    reader = _LargeSampleReader(sample, stream)
    reader.read_fields()
    _report_omitted_fields(sample, reader.omitted)
    sample.value = {name: sample.parse_field(text) for name, text in reader.texts.items()}
    _resolve_attachments(sample, AttachmentResolver(reader.attachments, reader.budget))
    if not _has_reply(sample):
        # Then the model's replies are only in the events.
        limit = f"{MAX_WHOLE_BYTES >> 20} MB"
        what = f"the sample has more than {limit}, so replies in its events may be missing"
        notice = ImportIssue(sample.file, sample.line, what=what, severity="notice")
        sample.issues.append(notice)
    return sample


def _has_reply(sample: LogSample) -> bool:
    """Whether a message of a sample is a reply of the model."""
    messages = list_objects(sample.value.get("messages"))
    return any(message.get("role") == "assistant" for message in messages)


class _LargeSampleReader:
    """Reads the fields of a large sample one after the other, up to the budget of an item."""

    def __init__(self, sample: LogSample, stream: JsonStream) -> None:
        self.sample = sample
        self.stream = stream
        self.budget = TextBudget()
        self.texts: dict[str, bytes] = {}
        """Name of a field -> its JSON text."""
        self.attachments: dict[str, Any] = {}
        self.omitted: list[str] = []
        """Names of fields that did not fit the budget."""
        self._n_values = 0

    def read_fields(self) -> None:
        """Read the fields of a large sample one after the other, in the order of the file.

        Of events, attachments and the store, only the parts that items need are read. Fields that
        items do not need are skipped.
        """
        for name in self.stream.iterate_keys():
            first_byte = self.stream.peek_after_space()
            if name == "events" and first_byte == b"[":
                self.sample.event_data = self._read_first_events()
            elif name == "attachments" and first_byte == b"{":
                self._read_needed_attachments()
            elif name == "store" and first_byte == b"{":
                self.texts[name] = self._read_agent_states()
            # Events and attachments come here if they are not of the expected JSON type.
            elif name in _OMITTED_FIELDS or name in ("events", "attachments"):
                self.stream.skip_value()
            else:
                text = self._read_value(name)
                if text is not None:
                    self.texts[name] = text

    def _read_value(self, name: str) -> bytes | None:
        """Return the text of the next value and spend its length. If it does not fit the budget,
        skip it and return None.
        """
        text = self.stream.read_value(self.budget.remaining)
        if text is None or not self._count_values(text):
            self.omitted.append(name)
            return None
        self.budget.spend(len(text))
        return text

    def _count_values(self, text: bytes) -> bool:
        """Count the values of a text, and return whether they fit the budget.

        Each value takes memory as a Python object.
        """
        n_values = count_values(text)
        if self._n_values + n_values > MAX_VALUES:
            return False
        self._n_values += n_values
        return True

    def _read_agent_states(self) -> bytes:
        """Return the conversations of agents in a store as a JSON object.

        The store may also contain whole databases.
        """
        members = []
        for name in self.stream.iterate_keys():
            if not name.startswith(AGENT_STATE_PREFIX):
                self.stream.skip_value()
                continue
            text = self._read_value(name)
            if text is not None:
                members.append(json.dumps(name).encode() + b":" + text)
        return b"{" + b",".join(members) + b"}"

    def _read_needed_attachments(self) -> None:
        """Read the attachments to which the fields read so far refer, as far as they fit the budget
        of text.

        The budget itself is spent later, where an attachment is used.
        """
        needed = self._find_needed_attachments()
        n_read_bytes = 0
        n_omitted = 0
        for name in self.stream.iterate_keys():
            if name not in needed:
                self.stream.skip_value()
                continue
            text = self.stream.read_value(max(self.budget.remaining - n_read_bytes, 0))
            # The text is None if it is longer than what is left of the budget.
            if text is None or not self._count_values(text):
                n_omitted += 1
                continue
            n_read_bytes += len(text)
            self.attachments[name] = self.sample.parse_field(text)

        if n_omitted:
            attachments = format_count(n_omitted, "attachment was", "attachments were")
            reason = f"because an item may have at most {MAX_ITEM_TEXT_SHOWN} of text"
            self.sample.add_issue(f"{attachments} omitted {reason}")

    def _find_needed_attachments(self) -> set[str]:
        names = find_references(self.sample.event_data.functions)
        for text in self.texts.values():
            for match in _ATTACHMENT_REFERENCE.finditer(text):
                names.add(match[1].decode("utf-8", "replace"))
        return names

    def _read_first_events(self) -> EventData:
        """Read the events of a large sample up to the one that lists the available functions, and
        skip the others.

        There are also limits on the number and the size of the events that are read.
        """
        path = Path(self.sample.file)
        start = self.stream.position
        events: list[Any] = []
        for index in self.stream.iterate_elements():
            text = self.stream.read_value(MAX_EVENT_BYTES)
            if text is not None and len(text) < MAX_EVENT_BYTES:
                events.append(parse_json(text, path, []))

            has_functions = bool(collect_event_data(events[-1:]).functions)
            n_bytes = self.stream.position - start
            if has_functions or n_bytes > MAX_EVENT_BYTES or index >= MAX_READ_EVENTS:
                self.stream.skip_rest_of_container()
                break
        return collect_event_data(events)


def _report_omitted_fields(sample: LogSample, names: list[str]) -> None:
    if not names:
        return
    budget = f"{MAX_ITEM_TEXT_SHOWN} of text and {MAX_VALUES:,} values"
    sample.add_issue(
        f"fields omitted because an item may have at most {budget}: {list_names(names)}"
    )


def list_names(names: list[str]) -> str:
    """Return the first names, shortened, and the number of the others: `a, b, c and 2 more`."""
    listed = ", ".join(name[:MAX_NAME_LENGTH] for name in names[:MAX_LISTED_FIELDS])
    n_others = len(names) - MAX_LISTED_FIELDS
    if n_others <= 0:
        return listed
    return f"{listed} and {n_others:,} more"


def _resolve_attachments(sample: LogSample, resolver: AttachmentResolver) -> None:
    """Replace the references in a sample by the texts of its attachments.

    Report references that stay.
    """
    if not resolver.attachments:
        return
    sample.value = resolver.resolve(sample.value)
    resolver.resolve_event_data(sample.event_data)
    refusals = resolver.describe_refusals()
    if refusals:
        sample.add_issue(refusals)


def parse_json(text: bytes, path: Path, issues: list[ImportIssue], line: int = 1) -> Any:
    """Parse a JSON text of a log, and add its issues. Raises JsonStreamError if it has no value."""
    value_found = False
    value: Any = None
    reason = "the text contains no JSON value"
    for part in parse_record(text, str(path), line, 0):
        if isinstance(part, JsonRecord):
            value = part.value
            value_found = True
        elif part.severity == "error":
            reason = part.what
        else:
            issues.append(part)
    if not value_found:
        raise JsonStreamError(reason)
    return value
