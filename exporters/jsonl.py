"""Export and import labels as JSON Lines: one label per line, with the fields of `fcreview.store.label_fields`.

`official`, `rule`, `judge`, `human` and `effective` are values of the criterion's scale (true, false, 0 to 2, a list of
labels) or null; `human` may also be "disputed" or "unsure". `tags`, `notes` and `annotators` are lists of strings.
`automatic` is a list of `{"source", "value", "by", "error_type", "rationale"}`, and `opinions` a list of `{"annotator",
"act", "value", "fault", "tags", "note", "golden_fix", "time", "blind", "bulk", "stale"}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from fcreview.exporters.base import ExportSource, Sink
from fcreview.model.review import ANNOTATION_FIELDS
from fcreview.store.label_fields import VERDICT_KEY
from fcreview.store.label_import import ImportedReview, InvalidRecord, parse_review

OPINION_FIELDS = tuple(VERDICT_KEY if name == "verdict" else name for name in ANNOTATION_FIELDS)
"""Fields that an opinion may set."""


def write(source: ExportSource, out: Sink) -> None:
    for chunk in source.label_lines():
        out.write("\n".join([*chunk, ""]).encode())


def read(content: bytes) -> Iterator[ImportedReview | InvalidRecord]:
    """Read the opinions of all labels. A line without `opinions` is one opinion: `{"id": "x", "value": true}`."""
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield from _read_line(number, line)


def _read_line(number: int, line: bytes) -> Iterator[ImportedReview | InvalidRecord]:
    try:
        label = orjson.loads(line)
    except ValueError:
        yield InvalidRecord(number, "invalid JSON")
        return
    if not isinstance(label, dict):
        yield InvalidRecord(number, "not a JSON object")
        return
    opinions: Any = label.get("opinions", [label])
    if not isinstance(opinions, list) or not all(isinstance(each, dict) for each in opinions):
        yield InvalidRecord(number, "`opinions` must be a list of objects")
        return
    if "opinions" not in label and all(label.get(name) is None for name in OPINION_FIELDS):
        yield InvalidRecord(number, f"no review: expected one of {', '.join(OPINION_FIELDS)}")
        return
    for opinion in opinions:
        if any(opinion.get(name) is not None for name in OPINION_FIELDS):
            try:
                yield parse_review(number, label, opinion, check_scale="opinions" not in label)
            except ValueError as error:
                yield InvalidRecord(number, str(error))
