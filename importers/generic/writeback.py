"""The way back: this benchmark's own files by what people say.

Golden calls of the generic format, which stand in the records themselves. A fix is `{"golden": [{"name",
"arguments", "turn"}]}` as in `schema.GoldenCall`.

Records of the generic format by what people say: the verdict that counted before says it now. A chat log has no
place for verdicts.

Golden calls of the generic format from stored items, and the verdict with others. Forms as in `golden`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fcreview.importers.common.records import function_names
from fcreview.importers.common.writeback import (
    LineEdits,
    GoldenFixes,
    JsonObject,
    list_accepted_values,
    fixes_by_record,
    apply_edits,
    parse_numbered_records,
    check_fix_fields,
    has_decoded_calls,
    rewrite_golden_file,
    find_unrepresentable,
)
from fcreview.importers.generic.discovery import chat_log_to_record
from fcreview.importers.generic.read import parse_golden_calls
from fcreview.importers.generic.schema import GoldenCall
from fcreview.matching.align import align_turns
from fcreview.model.address import ITEM
from fcreview.model.item import AcceptedValues, Item, Run
from fcreview.model.metric import ScoredItem
from fcreview.model.review import CORRECT, ITEM_CORRECT
from fcreview.model.verdict import SCORING_ORDER
from fcreview.run_plan import AppliedGoldenFix, Unrepresentable, RewrittenFile, RunPlan
from fcreview.safe_files import read_file

GOLDEN_FIELD = "golden"


def check_golden_fix(run: Run, item: Item, fix: JsonObject) -> str | None:  # noqa: ARG001
    """What is wrong with a golden fix of an item; None if nothing is."""
    wrong = check_fix_fields(fix, GOLDEN_FIELD)
    if wrong:
        return wrong
    try:
        calls = TypeAdapter(list[GoldenCall]).validate_python(fix[GOLDEN_FIELD])
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return f"{'.'.join(map(str, (GOLDEN_FIELD, *first['loc'])))}: {first['msg']}"
    known = function_names(item.functions)
    unknown = next((call.name for call in calls if known and call.name not in known), None)
    return f"no function {unknown} is offered" if unknown is not None else None


def rewrite_golden(plan: RunPlan, fixes: GoldenFixes) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    return rewrite_golden_file(plan.results[0], fixes_by_record(fixes))


def rewrite_scores(plan: RunPlan, rows: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
    path = plan.results[0]
    raw = read_file(path)
    by_id = {row.id: row for row in rows if row.overrides}
    edits, found, seen = LineEdits(), set[str](), set[str]()
    for line, record in parse_numbered_records(raw):
        stated = record.get("id")
        if not isinstance(stated, str) or "fcreview" in record or chat_log_to_record(record, line) is not record:
            continue
        name = f"{stated}#{line}" if stated in seen else stated
        seen.add(stated)
        if name in by_id:
            found.add(name)
            new = override_verdicts(record, by_id[name])
            if new != record:
                edits.replaced[line] = new
    yield from find_unrepresentable(rows, lambda row, _: row.id in found)
    if edits:
        yield RewrittenFile(path, apply_edits(raw, edits))


def find_summary_files(plan: RunPlan) -> list[Path]:  # noqa: ARG001 - nobody makes any
    return []


def override_verdicts(record: JsonObject, row: ScoredItem) -> JsonObject:
    """The record with people's verdicts in the place of the official ones, else the rule's, else the judge's; where it
    gives none on an item, the exact comparison counted, and the new one is the rule's too."""
    given = record.get("verdicts")
    verdicts: list[JsonObject] = [dict(one) for one in given] if isinstance(given, list) else []
    for (target, criterion), value in row.overrides.items():
        if value is None:
            continue
        same = [
            one for one in verdicts if (one.get("target", ITEM), one.get("criterion", CORRECT)) == (target, criterion)
        ]
        same = [one for one in same if one.get("value") is not None]
        counts = next((one for source in SCORING_ORDER for one in reversed(same) if one.get("source") == source), None)
        if counts is None or ((target, criterion) == ITEM_CORRECT and counts.get("source") == "judge" and "golden" in record):
            verdicts.append(
                {"source": "rule", "value": value, "target": target, "criterion": criterion, "by": "people"}
            )
            continue
        counts["value"] = value
        if value is not False:
            counts.pop("error_type", None)
    return record | {"verdicts": verdicts} if verdicts else record


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """The golden calls as a fix of them; None without any."""
    if not has_decoded_calls(item.golden):
        return None
    return {
        GOLDEN_FIELD: [
            {"name": call.name, "arguments": {name: _argument_template(one) for name, one in (call.arguments or {}).items()}}
            | ({"turn": call.turn} if call.turn else {})
            for call in item.golden
        ]
    }


def _argument_template(accept: AcceptedValues) -> Any:
    if len(accept.any_of) == 1 and not accept.optional:
        return accept.any_of[0]
    any_of = list_accepted_values(AcceptedValues(accept.any_of))
    return {"any_of": any_of} | ({"optional": True} if accept.optional else {})


def recheck(run: Run, item: Item, fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """The rule verdict with those golden calls."""
    if not isinstance(record, dict):
        return None
    try:
        calls = parse_golden_calls(TypeAdapter(list[GoldenCall]).validate_python(fix.get(GOLDEN_FIELD)))
    except ValidationError:
        return None
    pairs = align_turns(calls, item.predicted, ordered=record.get("ordered") is True)
    return all(pair.state == "=" for pair in pairs)
