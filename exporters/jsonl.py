"""JSON Lines: one label a line, fields as in `fcreview.store.queries.labels.COLUMNS`.

`official`, `rule`, `judge`, `human`, `effective` are JSON values of the criterion's scale (true, false, 0-2, a list
of labels) or null; `human` may also be "disputed" or "unsure". `tags`, `notes`, `annotators` are lists of strings.
"""

from __future__ import annotations

import orjson

from fcreview.exporters.base import Sink, Source


def write(source: Source, out: Sink) -> None:
    for chunk in source.labels():
        out.write(b"".join(orjson.dumps(label, option=orjson.OPT_APPEND_NEWLINE) for label in chunk))
