"""JSON Lines: one label a line, fields as in `fcreview.store.labels.fields`.

`official`, `rule`, `judge`, `human`, `effective` are JSON values of the criterion's scale (true, false, 0-2, a list
of labels) or null; `human` may also be "disputed" or "unsure". `tags`, `notes`, `annotators` are lists of strings.
`automatic` is a list of `{"source", "value", "by", "error_type", "rationale"}`, `opinions` one of `{"annotator", "act",
"value", "fault", "tags", "note", "golden_fix", "time", "blind", "stale"}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from fcreview.exporters.base import Sink, Source
from fcreview.model.review import ANNOTATION_FIELDS
from fcreview.store.labels.fields import VERDICT_KEY
from fcreview.store.labels.import_labels import ImportedReview, InvalidRecord, parse_review

SAID = tuple(VERDICT_KEY if name == "verdict" else name for name in ANNOTATION_FIELDS)
"""Of an opinion, and of a line that stands for one."""


def write(source: Source, out: Sink) -> None:
    for chunk in source.lines():
        out.write("\n".join([*chunk, ""]).encode())


def read(content: bytes) -> Iterator[ImportedReview | InvalidRecord]:
    """Every opinion of every label. A line without `opinions` is one itself: `{"id": "x", "value": true}`."""
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield from _of_line(number, line)


def _of_line(number: int, line: bytes) -> Iterator[ImportedReview | InvalidRecord]:
    try:
        label = orjson.loads(line)
    except ValueError:
        yield InvalidRecord(number, "not readable as JSON")
        return
    if not isinstance(label, dict):
        yield InvalidRecord(number, "not a JSON object")
        return
    opinions: Any = label.get("opinions", [label])
    if not isinstance(opinions, list) or not all(isinstance(each, dict) for each in opinions):
        yield InvalidRecord(number, "opinions is not a list of objects")
        return
    if "opinions" not in label and all(label.get(name) is None for name in SAID):
        yield InvalidRecord(number, f"says nothing: there is none of {', '.join(SAID)}")
        return
    for opinion in opinions:
        if any(opinion.get(name) is not None for name in SAID):
            try:
                yield parse_review(number, label, opinion, check_scale="opinions" not in label)
            except ValueError as error:
                yield InvalidRecord(number, str(error))
