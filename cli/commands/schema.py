"""`fcreview schema`: print the JSON Schema of the generic format."""

from __future__ import annotations

import json

from fcreview.cli.output import emit


def schema() -> None:
    """Print the JSON Schema of the generic format.

    fcreview can import your own results if you write them as JSON Lines that match this schema (docs/generic.md).

    Example: fcreview schema > fcreview.schema.json
    """
    from fcreview.importers.generic_format.read import json_schema

    emit(json.dumps(json_schema(), indent=2, ensure_ascii=True))
