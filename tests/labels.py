"""Read the labels of a store as objects."""

from __future__ import annotations

from typing import Any

import orjson

from fcreview.store.label_fields import LabelSelection
from fcreview.store.rows import View
from fcreview.store.store import Store


def fetch_labels(
    store: Store, view: View, selection: LabelSelection | None = None
) -> list[dict[str, Any]]:
    """Return the labels that an export of the view contains."""
    return [
        orjson.loads(line) for lines in store.iter_label_batches(view, selection) for line in lines
    ]
