"""Write reviewed verdicts and golden fixes to files in the generic format.

A golden fix is `{"golden": [{"name", "arguments", "turn"}]}`, a list of `GoldenCall`. Reviewed
verdicts replace the verdicts in the records. A line of a chat log cannot represent verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fcreview.importers.common import writeback
from fcreview.importers.common.records import as_list, function_names
from fcreview.importers.common.writeback import GoldenFixes, JsonObject, LineEdits
from fcreview.importers.generic_format.discovery import convert_chat_log_line
from fcreview.importers.generic_format.read import GoldenCall, parse_golden_calls
from fcreview.matching.align import align_calls_by_turn
from fcreview.model.address import ITEM
from fcreview.model.effective_verdict import SCORING_ORDER
from fcreview.model.item import AcceptedValues, Call, GoldenObject, Item, Run
from fcreview.model.json_value import to_plain_json
from fcreview.model.metric import ScoredItem
from fcreview.model.review import CORRECT, ITEM_CORRECT
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

GOLDEN_FIELD = "golden"
GOLDEN_CALLS = TypeAdapter(list[GoldenCall])


def check_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> str | None:  # noqa: ARG001
    """Check the golden calls that a reviewer wrote. Return the first problem, or None.

    They must match the schema of the generic format, and call only available functions.
    """
    problem = writeback.check_fix_fields(golden_fix, GOLDEN_FIELD)
    if problem is not None:
        return problem
    try:
        calls = GOLDEN_CALLS.validate_python(golden_fix[GOLDEN_FIELD])
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field_name = ".".join(map(str, (GOLDEN_FIELD, *first["loc"])))
        return f"{field_name}: {first['msg']}"

    available = function_names(item.functions)
    for call in calls:
        if available and call.name not in available:
            return f"the function {call.name} is not available to the model"
        if call.arguments is None:
            return f"{GOLDEN_FIELD}: the arguments of {call.name} are null"
    return None


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Apply golden fixes to the records of a run, which contain the golden answers."""
    return writeback.rewrite_golden_file(plan.results[0], writeback.key_fixes_by_record(fixes))


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Write the reviewed verdicts of a run into its records.

    Yields the file if it changes, and the reviews of items that it does not contain.
    """
    path = plan.results[0]
    raw = read_file(path)
    overridden = {item.id: item for item in items if item.overrides}
    edits = LineEdits()
    representable_ids: set[str] = set()
    for line, item_id, record in _list_item_records(raw):
        item = overridden.get(item_id)
        if item is None:
            continue
        representable_ids.add(item_id)
        new_record = apply_overrides_to_record(record, item)
        if new_record != record:
            edits.replaced[line] = new_record

    yield from writeback.find_unrepresentable_reviews(
        items, lambda item, _: item.id in representable_ids
    )
    if edits:
        yield RewrittenFile(path, writeback.apply_line_edits(raw, edits))


def _list_item_records(raw: bytes) -> Iterator[tuple[int, str, JsonObject]]:
    """Yield (line number, item id, record) of each record that can represent verdicts."""
    known_ids: set[str] = set()
    for line, record in writeback.parse_numbered_records(raw):
        stated_id = record.get("id")
        is_header = "fcreview" in record
        if not isinstance(stated_id, str) or is_header:
            continue
        # A line of a chat log has no place for verdicts. The import makes a record of it.
        is_chat_log_line = convert_chat_log_line(record, line) is not record
        if is_chat_log_line:
            continue
        # The import gives repeated ids in the same way.
        item_id = f"{stated_id}#{line}" if stated_id in known_ids else stated_id
        known_ids.add(stated_id)
        yield line, item_id, record


def find_summary_files(plan: RunPlan) -> list[Path]:  # noqa: ARG001
    """Return no files, because no program derives metrics files from the generic format."""
    return []


def apply_overrides_to_record(record: JsonObject, item: ScoredItem) -> JsonObject:
    """Return a record with the reviewed verdicts of its item.

    A reviewed verdict replaces the one in the record that counts, without its error type if it is
    no fail any more. If the record has none, the reviewed one is added.
    """
    verdicts: list[JsonObject] = [dict(verdict) for verdict in as_list(record.get("verdicts"))]
    for (target, criterion), value in item.overrides.items():
        replaced = _find_replaceable_verdict(
            verdicts, target, criterion, has_golden="golden" in record
        )
        if replaced is None:
            verdicts.append(_make_reviewed_verdict(target, criterion, value))
            continue
        replaced["value"] = value
        if value is not False:
            replaced.pop("error_type", None)
    if not verdicts:
        return record
    return record | {"verdicts": verdicts}


def _find_replaceable_verdict(
    verdicts: Sequence[JsonObject], target: str, criterion: str, *, has_golden: bool
) -> JsonObject | None:
    """Return the verdict that counts for a target and criterion: the official one, else the
    recomputed one, else the judge's.

    With a golden answer, fcreview recomputes the verdict on the item, which counts before the
    judge's. Replacing the judge's verdict would then change nothing, so None is returned.
    """
    counting = _find_counting_verdict(verdicts, target, criterion)
    if counting is None:
        return None
    is_judge_verdict = counting.get("source") == "judge"
    is_on_item = (target, criterion) == ITEM_CORRECT
    if is_judge_verdict and is_on_item and has_golden:
        return None
    return counting


def _find_counting_verdict(
    verdicts: Sequence[JsonObject], target: str, criterion: str
) -> JsonObject | None:
    """Return the verdict that counts for a target and criterion: the last one of the first source
    that has one.
    """
    for source in SCORING_ORDER:
        for verdict in reversed(verdicts):
            if (
                verdict.get("source") == source
                and verdict.get("target", ITEM) == target
                and verdict.get("criterion", CORRECT) == criterion
                and verdict.get("value") is not None
            ):
                return verdict
    return None


def _make_reviewed_verdict(target: str, criterion: str, value: Any) -> JsonObject:
    """Make the verdict of a record that reviewers gave."""
    return {
        "source": "rule",
        "value": value,
        "target": target,
        "criterion": criterion,
        "by": "people",
    }


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    if not writeback.has_only_decoded_calls(item.golden):
        return None
    return {GOLDEN_FIELD: [_make_call_template(call) for call in item.golden]}


def _make_call_template(call: Call) -> JsonObject:
    """Return a golden call in the form in which a reviewer edits it."""
    arguments = {
        name: _make_argument_template(accepted) for name, accepted in (call.arguments or {}).items()
    }
    template: JsonObject = {"name": call.name, "arguments": arguments}
    if call.turn:
        template["turn"] = call.turn
    return template


def _make_argument_template(accepted: AcceptedValues) -> Any:
    """Return the accepted values of an argument in the form in which a reviewer edits them."""
    if len(accepted.any_of) == 1 and not accepted.optional:
        return accepted.any_of[0]
    template: JsonObject = {"any_of": to_plain_json(accepted.any_of)}
    if contains_golden_object(accepted.any_of):
        template["nested"] = True
    if accepted.optional:
        template["optional"] = True
    return template


def contains_golden_object(value: Any) -> bool:
    """Whether a golden value contains an object with accepted values for each field."""
    if isinstance(value, GoldenObject):
        return True
    if isinstance(value, list):
        return any(contains_golden_object(part) for part in value)
    if isinstance(value, dict):
        return any(contains_golden_object(part) for part in value.values())
    return False


def recompute_verdict(run: Run, item: Item, golden_fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """Recompute the verdict of an item with a golden fix.

    None without a record or with an invalid fix.
    """
    if not isinstance(record, dict):
        return None
    try:
        golden = parse_golden_calls(GOLDEN_CALLS.validate_python(golden_fix.get(GOLDEN_FIELD)))
    except ValidationError:
        return None
    pairs = align_calls_by_turn(golden, item.predicted, keep_order=record.get("ordered") is True)
    return all(pair.state == "=" for pair in pairs)


def parse_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> list[Call]:  # noqa: ARG001
    return parse_golden_calls(GOLDEN_CALLS.validate_python(golden_fix.get(GOLDEN_FIELD)))
