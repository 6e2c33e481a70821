"""Golden calls of the generic format, which stand in the records themselves. A fix is `{"golden": [{"name",
"arguments", "turn"}]}` as in `schema.GoldenCall`."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import TypeAdapter, ValidationError

from fcreview.importers.common.guard import names_of
from fcreview.importers.common.writing.records import Fixes, Json, fields_replaced, only_fields, with_golden
from fcreview.importers.generic.schema import GoldenCall
from fcreview.model import Item, Run
from fcreview.plan import GoldenFixed, NoPlace, Rewritten, RunPlan

FIELD = "golden"


def problem(run: Run, item: Item, fix: Json) -> str | None:  # noqa: ARG001
    """What is wrong with a golden fix of an item; None if nothing is."""
    wrong = only_fields(fix, FIELD)
    if wrong:
        return wrong
    try:
        calls = TypeAdapter(list[GoldenCall]).validate_python(fix[FIELD])
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return f"{'.'.join(map(str, (FIELD, *first['loc'])))}: {first['msg']}"
    known = names_of(item.functions)
    unknown = next((call.name for call in calls if known and call.name not in known), None)
    return f"no function {unknown} is offered" if unknown is not None else None


def regolden(plan: RunPlan, fixes: Fixes) -> Iterator[Rewritten | GoldenFixed | NoPlace]:
    wanted = {item: ((where, item), fix) for (where, item), fix in fixes.items()}
    yield from with_golden(plan.results[0], wanted, lambda _, record: str(record.get("id")), fields_replaced)
