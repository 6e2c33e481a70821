"""Write reviews and golden fixes to CONFETTI's own files.

Overrides change the score files, the soft scores and the judge's files. fcreview does not write
`metrics.json`, whose metrics are derived from these files.

A golden fix is `{"ground_truth": ...}`: one call as `[{function: {parameter: [accepted values]}}]`,
or the labels of a dialog act item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.common import writeback
from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.common.writeback import CriterionKey, GoldenFixes, JsonObject, LineEdits
from fcreview.importers.confetti import checker, discovery
from fcreview.importers.confetti.leaderboard import (
    HALLUCINATED_CRITERION,
    SOFT_SCORE_CRITERION,
    get_act_verdict,
    get_hallucination_flags,
    get_soft_score,
)
from fcreview.importers.confetti.read import RunRecords, get_failing_item_id, load_run_records
from fcreview.model.address import ITEM, RESPONSE, get_enclosing_call_address, parse_address
from fcreview.model.item import Call, GoldenObject, Item, Run
from fcreview.model.json_value import append_to_path
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import DIALOG_ACTS, GOLDEN_ACTS_KEY
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file


def apply_overrides_to_soft_score(record: JsonObject, item: ScoredItem) -> JsonObject:
    """Return a soft score record with the overridden verdict, score of the call and scores of
    the arguments.
    """
    new_record = dict(record)
    if "valid" in new_record and isinstance(item.overrides.get(ITEM_CORRECT), bool):
        new_record["valid"] = item.overrides[ITEM_CORRECT]
    scores = dict(as_object(new_record.get("param_scores")))
    overrides = item.overrides.items()
    overridden_scores = {
        target: value for (target, each), value in overrides if each == SOFT_SCORE_CRITERION
    }
    names = {append_to_path("", name): name for name in scores}
    for target, value in overridden_scores.items():
        address = parse_address(target)
        if address is not None and address.argument in names and isinstance(value, (int, float)):
            scores[names[address.argument]] = value
    if scores:
        new_record["param_scores"] = scores
    score = get_soft_score(item)
    if overridden_scores and score is not None:
        new_record["soft_score"] = score
    return new_record


def apply_overrides_to_hallucination_flags(record: JsonObject, item: ScoredItem) -> JsonObject:
    """Return a judge's record with the overridden flags. It keeps flags that match no argument."""
    old_lists = record.get("hallucinated_parameters")
    is_overridden = any(criterion == HALLUCINATED_CRITERION for _, criterion in item.overrides)
    if not isinstance(old_lists, list) or not is_overridden:
        return record
    flags = get_hallucination_flags(item)
    actions = as_list(record.get("predicted_actions"))
    calls = [target for target, criterion, _ in item.part_verdicts if criterion == "name_matches"]
    new_lists = [list(as_list(names)) for names in old_lists]
    for position, (call, names) in enumerate(zip(calls, new_lists, strict=False)):
        argument_names = (
            _map_argument_paths_to_names(actions[position]) if position < len(actions) else {}
        )
        for target, flagged in flags.items():
            address = parse_address(target)
            if (
                address is None
                or address.argument is None
                or get_enclosing_call_address(target) != call
            ):
                continue
            name = argument_names.get(address.argument, address.argument)
            if flagged and name not in names:
                names.append(name)
            elif not flagged and name in names:
                names.remove(name)
    return record | {"hallucinated_parameters": new_lists}


def _map_argument_paths_to_names(predicted_call: Any) -> dict[str, str]:
    """Return argument path -> argument name for a predicted call `{function: {argument:
    value}}`.
    """
    arguments = (
        next(iter(predicted_call.values()), None) if isinstance(predicted_call, dict) else None
    )
    return (
        {append_to_path("", str(name)): str(name) for name in arguments}
        if isinstance(arguments, dict)
        else {}
    )


def apply_overrides_to_act_labels(record: JsonObject, item: ScoredItem) -> JsonObject:
    """Return a judge's dialog act record with the overridden labels, or unchanged without an
    override.
    """
    labels = item.overrides.get((RESPONSE, checker.ACT_CRITERION))
    if not isinstance(labels, list):
        return record
    golden = item.metadata.get(GOLDEN_ACTS_KEY)
    new_record = record | {"predicted_dialog_acts": labels}
    if "match" in new_record and isinstance(golden, list):
        new_record["match"] = checker.has_common_act_label(labels, golden)
    return new_record


FIX_FIELD = "ground_truth"


def check_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> str | None:  # noqa: ARG001
    if error := writeback.check_fix_fields(golden_fix, FIX_FIELD):
        return error
    golden_answer = golden_fix[FIX_FIELD]
    if item.category != discovery.CALLS_CATEGORY:
        labels = as_list(golden_answer)
        is_valid = labels and all(label in DIALOG_ACTS for label in labels)
        return (
            None
            if is_valid
            else f"{FIX_FIELD} must be a list of these labels: {', '.join(DIALOG_ACTS)}"
        )
    calls = as_list(golden_answer)
    if len(calls) != 1 or not isinstance(calls[0], dict) or len(calls[0]) != 1:
        return f'{FIX_FIELD} must be one call: [{{"function": {{"parameter": [accepted values]}}}}]'
    ((name, arguments),) = calls[0].items()
    if error := writeback.check_golden_call(name, arguments, item.functions):
        return error
    invalid = [
        parameter
        for parameter, accepted in arguments.items()
        if not isinstance(accepted, list) or not accepted
    ]
    return f"{invalid[0]} must be a list of accepted values" if invalid else None


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    answers = [each for each in plan.data if each.parent.name == "possible_answer"]
    return writeback.rewrite_answer_files(
        fixes,
        lambda category: next(
            (each for each in answers if discovery.QUESTION_FILES[each.name] == category), None
        ),
    )


ITEM_FILES = {
    ITEM_CORRECT: discovery.SCORE_FILES,
    (ITEM, SOFT_SCORE_CRITERION): (discovery.SOFT_SCORE_FILE,),
    (ITEM, HALLUCINATED_CRITERION): (discovery.HALLUCINATION_FILE,),
    (RESPONSE, checker.ACT_CRITERION): (discovery.ACT_JUDGE_FILE,),
}
"""Target and criterion of a verdict -> names of the files that contain the verdict."""
ARGUMENT_FILES = {
    SOFT_SCORE_CRITERION: discovery.SOFT_SCORE_FILE,
    HALLUCINATED_CRITERION: discovery.HALLUCINATION_FILE,
}
"""Criterion of an argument -> name of the file that contains the verdict."""


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the score files and judge files with the overrides, and the overrides that these
    files cannot represent.
    """
    records = load_run_records(plan, [])
    score_file_names = {path.name for path in plan.scores}
    yield from writeback.find_unrepresentable_reviews(
        items, lambda *key: bool(score_file_names.intersection(_list_files_with_verdict(*key)))
    )
    overridden_items = {item.id: item for item in items if item.overrides}
    override_functions: dict[str, Callable[[dict[str, Any], ScoredItem], dict[str, Any]]] = {
        discovery.SOFT_SCORE_FILE: apply_overrides_to_soft_score,
        discovery.HALLUCINATION_FILE: apply_overrides_to_hallucination_flags,
        discovery.ACT_JUDGE_FILE: apply_overrides_to_act_labels,
    }
    for path in plan.scores:
        raw = read_file(path)
        if path.name in discovery.SCORE_FILES:
            category = discovery.SCORE_FILES[path.name]
            scored = records.scores_by_category.get(category)
            if scored is None or not scored.is_complete:
                verdicts = [
                    get_overridden_verdict(item) for item in items if item.category == category
                ]
                if n_overridden := sum(verdict is not None for verdict in verdicts):
                    yield Unrepresentable(
                        f"items of {category}, whose score file is damaged", n_overridden
                    )
                continue
            edits = _plan_score_file_edits(plan, category, raw, records, items)
        else:
            edits = LineEdits()
            for line, record in writeback.parse_numbered_records(raw):
                item = overridden_items.get(str(record.get("id")))
                new_record = (
                    override_functions[path.name](record, item) if item is not None else record
                )
                if new_record != record:
                    edits.replaced[line] = new_record
        if edits:
            yield RewrittenFile(path, writeback.apply_line_edits(raw, edits))


def find_summary_files(plan: RunPlan) -> list[Path]:
    folders = dict.fromkeys(path.parent for path in plan.scores)
    return [
        folder / discovery.METRICS_FILE
        for folder in folders
        if (folder / discovery.METRICS_FILE).is_file()
    ]


def _list_files_with_verdict(item: ScoredItem, criterion_key: CriterionKey) -> Sequence[str]:
    """Return the names of the files that contain the verdict on a target and criterion of an
    item.
    """
    target, criterion = criterion_key
    if criterion_key == ITEM_CORRECT:
        return [
            name for name, category in discovery.SCORE_FILES.items() if category == item.category
        ]
    address = parse_address(target)
    if address is not None and address.argument is not None:
        return [ARGUMENT_FILES[criterion]] if criterion in ARGUMENT_FILES else []
    return list(ITEM_FILES.get(criterion_key, ()))


def get_overridden_verdict(item: ScoredItem) -> bool | None:
    """Return the overridden verdict on an item, or None if the score file keeps its verdict."""
    if (
        item.category == discovery.ACTS_CATEGORY
        and (RESPONSE, checker.ACT_CRITERION) in item.overrides
    ):
        return get_act_verdict(item)
    return writeback.get_item_override(item)


def _plan_score_file_edits(
    plan: RunPlan, category: str, raw: bytes, records: RunRecords, items: Sequence[ScoredItem]
) -> LineEdits:
    """Plan the edits of a score file: remove the items that now pass, and add the items that now
    fail.
    """
    category_items = [item for item in items if item.category == category]
    positions = writeback.positions_by_name([item.id for item in category_items])
    records_of_file = list(writeback.parse_numbered_records(raw))
    line_numbers = {
        get_failing_item_id(each, category): line for line, each in records_of_file if "id" in each
    }
    edits = LineEdits(
        positions={
            line: positions[name] for name, line in line_numbers.items() if name in positions
        }
    )
    results = _read_replies_by_id(plan, category)
    n_new_passes = 0
    for item in category_items:
        verdict = get_overridden_verdict(item)
        if verdict is True and item.id in line_numbers:
            edits.removed.add(line_numbers[item.id])
            n_new_passes += 1
        elif verdict is False and item.id not in line_numbers:
            edits.added.append(
                (positions[item.id], _make_failure_entry(plan, records, item, results.get(item.id)))
            )
            n_new_passes -= 1
    header = next((record for _, record in records_of_file if "total_count" in record), None)
    if edits and header is not None:
        edits.replaced[writeback.find_header_line_number(raw)] = writeback.update_score_header(
            header, n_new_passes
        )
    return edits


def _read_replies_by_id(plan: RunPlan, category: str) -> dict[str, Any]:
    result_files = [path for path in plan.results if discovery.RESULT_FILES[path.name] == category]
    records = (
        row.value
        for path in result_files
        for row in read_records(path)
        if isinstance(row, JsonRecord)
    )
    objects = (value for value in records if isinstance(value, dict))
    return {
        value["id"]: value.get("result")
        for value in objects
        if isinstance(value.get("id"), str | int)
    }


def _make_failure_entry(
    plan: RunPlan, records: RunRecords, item: ScoredItem, reply: Any
) -> dict[str, Any]:
    number = item.id.rpartition("_")[2]
    failure: dict[str, Any] = {
        "id": int(number) + 1 if number.isdigit() else item.id,
        "model_name": plan.run.model,
        "test_category": item.category,
        "valid": False,
        "error": [writeback.ANNOTATOR_REASON],
        "error_type": item.error_type,
    }
    if item.id in records.questions:
        failure["prompt"] = records.questions[item.id]
    failure["model_result_raw"] = reply
    if item.category == discovery.CALLS_CATEGORY and item.id in records.answers:
        failure["possible_answer"] = records.answers[item.id].get("ground_truth")
    return failure


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """Return the golden call or the golden labels as a golden fix, or None without them."""
    if item.category != discovery.CALLS_CATEGORY:
        return {FIX_FIELD: item.extra.golden_labels} if item.extra.golden_labels else None
    if not writeback.has_only_decoded_calls(item.golden):
        return None
    calls = []
    for call in item.golden:
        accepted = {name: each.any_of for name, each in (call.arguments or {}).items()}
        calls.append(
            {
                call.name: {
                    name: list(map(_to_golden_fix_value, each)) for name, each in accepted.items()
                }
            }
        )
    return {FIX_FIELD: calls}


def _to_golden_fix_value(value: Any) -> Any:
    if not isinstance(value, GoldenObject):
        return value
    return {name: next(iter(accepted.any_of), None) for name, accepted in value.fields.items()}


def recompute_verdict(run: Run, item: Item, golden_fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """Recompute the verdict with a golden fix. Return None if that is not possible."""
    golden_answer = golden_fix.get(FIX_FIELD)
    if item.category != discovery.CALLS_CATEGORY:
        judged = (
            each
            for each in item.verdicts
            if each.criterion == checker.ACT_CRITERION and each.source == "judge"
        )
        labels = next((verdict.value for verdict in judged), None)
        if not isinstance(labels, list) or not isinstance(golden_answer, list):
            return None
        return checker.has_common_act_label(labels, golden_answer)
    if not isinstance(record, dict) or not item.functions:
        return None
    dataset_item = checker.make_bfcl_dataset_item(item.id, item.functions, golden_answer)
    return checker.check_reply(record.get("result"), dataset_item).valid


def parse_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> list[Call]:  # noqa: ARG001
    return (
        checker.make_golden_calls(golden_fix.get(FIX_FIELD), 0)
        if item.category == discovery.CALLS_CATEGORY
        else []
    )
