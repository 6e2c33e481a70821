"""Golden fixes for Inspect logs. A log is not a dataset, so its golden answers cannot be corrected here.

`export --format inspect` writes reviewed scores.
"""

from __future__ import annotations

from typing import Any

from fcreview.model.item import Item, Run

NO_DATASET = "an Inspect log has no dataset whose golden answers can be corrected"


def check_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:  # noqa: ARG001
    return NO_DATASET


def make_golden_template(run: Run, item: Item) -> dict[str, Any] | None:  # noqa: ARG001
    return None


def recheck(run: Run, item: Item, golden_fix: dict[str, Any], record: Any) -> bool | None:  # noqa: ARG001
    return None
