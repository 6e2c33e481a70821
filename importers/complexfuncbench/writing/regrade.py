"""ComplexFuncBench's golden calls from stored items. Its verdicts are a judge's: they are not recomputed."""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.writing.forms import first_values, readable
from fcreview.importers.common.writing.records import Json
from fcreview.importers.complexfuncbench.writing.golden import FIELD
from fcreview.model import Item, Run


def draft(run: Run, item: Item) -> Json | None:  # noqa: ARG001
    """The golden calls of every step as a fix of them; None without any."""
    if not readable(item.golden):
        return None
    steps = sorted({call.step for call in item.golden})
    return {
        FIELD: [
            [{"name": call.name, "arguments": first_values(call)} for call in item.golden if call.step == step]
            for step in steps
        ]
    }


def passes(run: Run, item: Item, fix: Json, record: Any) -> bool | None:  # noqa: ARG001
    return None
