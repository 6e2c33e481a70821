"""Golden fixes for tau-bench: none, because its result files carry their tasks and no dataset is corrected."""

from __future__ import annotations

from typing import Any

from fcreview.model.item import Item, Run

NO_DATASET = "the tasks of tau-bench are part of the result file, so golden answers cannot be corrected here"


def check_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:  # noqa: ARG001
    return NO_DATASET


def make_golden_template(run: Run, item: Item) -> dict[str, Any] | None:  # noqa: ARG001
    return None


def recheck(run: Run, item: Item, golden_fix: dict[str, Any], record: Any) -> bool | None:  # noqa: ARG001
    return None
