"""Find the requests to models in exports of tracing programs: OpenTelemetry and LangSmith.

A line of OpenTelemetry's JSON has many spans, and a line of LangSmith is one run of any kind. Each
request with its messages becomes a record of the generic format. The others are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_text import JsonRecord
from fcreview.importers.common.records import as_object
from fcreview.importers.generic_format.langsmith_runs import is_run, read_runs
from fcreview.importers.generic_format.otel_spans import (
    RESOURCES,
    has_model_attribute,
    list_spans,
    read_spans,
)
from fcreview.importers.generic_format.traced_requests import TraceLine, UnreadEntries
from fcreview.model.item import ImportIssue


def is_trace(value: Any) -> bool:
    """Whether a JSON value has the form of OpenTelemetry's or LangSmith's exports.

    Spans need an attribute about models, because programs of any kind write spans.
    """
    fields = as_object(value)
    return is_run(fields) or any(map(has_model_attribute, list_spans(fields)))


def split_traces(
    path: Path, lines: Iterable[JsonRecord | ImportIssue]
) -> Iterator[JsonRecord | ImportIssue]:
    """Yield a record for each request to a model in the lines with traces. Other lines stay.

    Spans and runs without messages are counted in an issue at the end.
    """
    unread = UnreadEntries()
    for line in lines:
        if isinstance(line, ImportIssue):
            yield line
            continue
        fields = as_object(line.value)
        if is_run(fields):
            yield from read_runs(TraceLine(path, line), fields, unread)
        elif RESOURCES in fields:
            yield from read_spans(TraceLine(path, line), fields, unread)
        else:
            yield line
    yield from unread.report(path)
