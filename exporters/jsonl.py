"""JSON Lines: one label a line, fields as in `fcreview.store.labels.fields`.

`official`, `rule`, `judge`, `human`, `effective` are JSON values of the criterion's scale (true, false, 0-2, a list
of labels) or null; `human` may also be "disputed" or "unsure". `tags`, `notes`, `annotators` are lists of strings.
`automatic` is a list of `{"source", "value", "by", "error_type", "rationale"}`, `opinions` one of `{"annotator", "act",
"value", "fault", "tags", "note", "golden_fix", "time", "blind", "stale"}`.
"""

from __future__ import annotations

import orjson

from fcreview.exporters.base import Sink, Source


def write(source: Source, out: Sink) -> None:
    for chunk in source.labels():
        out.write(b"".join(orjson.dumps(label, option=orjson.OPT_APPEND_NEWLINE) for label in chunk))
