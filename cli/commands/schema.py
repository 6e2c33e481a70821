"""`fcreview schema`: print the JSON Schema of the generic format."""

from __future__ import annotations

import json

from fcreview.cli.output import emit


def schema() -> None:
    """Print the JSON Schema of the generic format.

    Write your own results as JSON Lines that match it, and fcreview can import them (docs/generic.md).

    Example: fcreview schema > fcreview.schema.json
    """
    from fcreview.importers.generic.schema import json_schema

    emit(json.dumps(json_schema(), indent=2, ensure_ascii=True))
