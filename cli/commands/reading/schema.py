"""`fcreview schema`: the generic format as JSON Schema."""

from __future__ import annotations

import json

from fcreview.cli.output import emit


def schema() -> None:
    """Print the JSON Schema of a line of the generic format.

    For benchmarks of your own.

    Example: fcreview schema > fcreview.schema.json
    """
    from fcreview.importers.generic.schema import json_schema

    emit(json.dumps(json_schema(), indent=2, ensure_ascii=True))
