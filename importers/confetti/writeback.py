"""The way back: this benchmark's own files by what people say.

Records of the files beside CONFETTI's scores by what people say: soft scores, hallucinated arguments, labels.

Golden answers of CONFETTI's dataset. A fix is `{"ground_truth": ...}`: one call `[{function: {parameter: [accepted
values]}}]`, or the labels of a dialog act.

CONFETTI's score files and the judges' files beside them by what people say. `metrics.json` holds aggregates of them
and is left to whoever made it.

CONFETTI's golden answers from stored items, and the verdict with another one. Forms as in `golden`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.writeback import (
    ANNOTATOR_REASON,
    LineEdits,
    GoldenFixes,
    JsonObject,
    CriterionKey,
    update_counts,
    apply_edits,
    header_line_number,
    positions_by_name,
    parse_numbered_records,
    check_fix_fields,
    item_override,
    has_decoded_calls,
    rewrite_answer_files,
    find_unrepresentable,
    check_golden_call,
)
from fcreview.importers.confetti import checker
from fcreview.importers.confetti.checker import ACT_CRITERION, LABELS, has_common_label, check_call, make_dataset_item
from fcreview.importers.confetti.discovery import (
    ACT_JUDGE_FILE,
    ACTS_CATEGORY,
    CALLS_CATEGORY,
    HALLUCINATION_FILE,
    METRICS_FILE,
    QUESTION_FILES,
    RESULT_FILES,
    SCORE_FILES,
    RunRecords,
    load_run_records,
)
from fcreview.importers.confetti.discovery import SOFT_SCORE_FILE as DISCOVERY_SOFT
from fcreview.importers.confetti.leaderboard import HALLUCINATED_CRITERION, SOFT_SCORE_CRITERION, get_hallucination_flags, get_soft_score
from fcreview.importers.confetti.leaderboard import SOFT_SCORE_CRITERION as SOFT_SCORE
from fcreview.model.address import ITEM, RESPONSE, enclosing_call, parse_address
from fcreview.model.item import AcceptedValues, GoldenObject, Item, Run
from fcreview.model.json_value import child_path
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import AppliedGoldenFix, Unrepresentable, RewrittenFile, RunPlan
from fcreview.safe_files import read_file


def override_soft_scores(record: JsonObject, row: ScoredItem) -> JsonObject:
    """`valid` is the item's verdict; scores of arguments and of the call as the figures have them."""
    found = dict(record)
    if "valid" in found and isinstance(row.overrides.get(ITEM_CORRECT), bool):
        found["valid"] = row.overrides[ITEM_CORRECT]
    scores = dict(found["param_scores"]) if isinstance(found.get("param_scores"), dict) else {}
    said = {target: value for (target, criterion), value in row.overrides.items() if criterion == SOFT_SCORE_CRITERION}
    for name in scores:
        for target, value in said.items():
            part = parse_address(target)
            if part is not None and part.argument == child_path("", name) and isinstance(value, (int, float)):
                scores[name] = value
    if scores:
        found["param_scores"] = scores
    score = get_soft_score(row)
    if said and score is not None:
        found["soft_score"] = score
    return found


def override_hallucination_flags(record: JsonObject, row: ScoredItem) -> JsonObject:
    """`hallucinated_parameters` has a list of names for each predicted call, in order. Names that are no arguments of
    their call stay."""
    before = record.get("hallucinated_parameters")
    if not isinstance(before, list) or not any(criterion == HALLUCINATED_CRITERION for _, criterion in row.overrides):
        return record
    flags = get_hallucination_flags(row)
    actions = record.get("predicted_actions")
    calls = [target for target, criterion, _ in row.part_verdicts if criterion == "name_matches"]
    lists = [list(names) if isinstance(names, list) else [] for names in before]
    for position, (call, names) in enumerate(zip(calls, lists, strict=False)):
        known = _argument_names_by_path(actions[position]) if isinstance(actions, list) and position < len(actions) else {}
        for target, flagged in flags.items():
            part = parse_address(target)
            if part is None or part.argument is None or enclosing_call(target) != call:
                continue
            name = known.get(part.argument, part.argument)
            if flagged and name not in names:
                names.append(name)
            elif not flagged and name in names:
                names.remove(name)
    return record | {"hallucinated_parameters": lists}


def _argument_names_by_path(action: Any) -> dict[str, str]:
    """Path -> name of the arguments of `{function: {argument: value}}`."""
    inner = next(iter(action.values()), None) if isinstance(action, dict) else None
    return {child_path("", str(name)): str(name) for name in inner} if isinstance(inner, dict) else {}


def override_act_labels(record: JsonObject, row: ScoredItem) -> JsonObject:
    labels = row.overrides.get((RESPONSE, checker.ACT_CRITERION))
    if not isinstance(labels, list):
        return record
    golden = row.metadata.get(checker.GOLDEN_ACTS_KEY)
    found = record | {"predicted_dialog_acts": labels}
    if "match" in found and isinstance(golden, list):
        found["match"] = checker.has_common_label(labels, golden)
    return found


FIX_FIELD = "ground_truth"


def check_golden_fix(run: Run, item: Item, fix: JsonObject) -> str | None:  # noqa: ARG001
    """What is wrong with a golden fix of an item; None if nothing is."""
    wrong = check_fix_fields(fix, FIX_FIELD)
    if wrong:
        return wrong
    truth = fix[FIX_FIELD]
    if item.category != CALLS_CATEGORY:
        good = isinstance(truth, list) and truth and all(each in LABELS for each in truth)
        return None if good else f"{FIX_FIELD} is a list of {', '.join(LABELS)}"
    if not isinstance(truth, list) or len(truth) != 1 or not isinstance(truth[0], dict) or len(truth[0]) != 1:
        return f'{FIX_FIELD} is [{{"function": {{"parameter": [accepted values]}}}}], one call'
    ((name, given),) = truth[0].items()
    wrong = check_golden_call(name, given, item.functions)
    if wrong:
        return wrong
    plain = next((each for each, accepted in given.items() if not isinstance(accepted, list) or not accepted), None)
    return f"{plain} is no list of accepted values" if plain is not None else None


def rewrite_golden(plan: RunPlan, fixes: GoldenFixes) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """The files in `possible_answer/` with these golden answers."""
    answers = [each for each in plan.data if each.parent.name == "possible_answer"]
    return rewrite_answer_files(
        fixes, lambda category: next((each for each in answers if QUESTION_FILES[each.name] == category), None)
    )


ITEM_FILES = {
    ITEM_CORRECT: SCORE_FILES,
    (ITEM, SOFT_SCORE): (DISCOVERY_SOFT,),
    (ITEM, HALLUCINATED_CRITERION): (HALLUCINATION_FILE,),
    (RESPONSE, checker.ACT_CRITERION): (ACT_JUDGE_FILE,),
}
"""What is held of an item, and by which file."""
ARGUMENT_FILES = {SOFT_SCORE: DISCOVERY_SOFT, HALLUCINATED_CRITERION: HALLUCINATION_FILE}


def rewrite_scores(plan: RunPlan, rows: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
    sources = load_run_records(plan, [])
    there = {path.name for path in plan.scores}
    yield from find_unrepresentable(rows, lambda row, key: bool(there.intersection(_files_with_verdict(row, key))))
    by_id = {row.id: row for row in rows}
    beside: dict[str, Callable[[dict[str, Any], ScoredItem], dict[str, Any]]] = {
        DISCOVERY_SOFT: override_soft_scores, HALLUCINATION_FILE: override_hallucination_flags, ACT_JUDGE_FILE: override_act_labels,
    }  # fmt: skip
    for path in plan.scores:
        raw = read_file(path)
        if path.name in SCORE_FILES:
            edits = _edit_score_file(plan, SCORE_FILES[path.name], raw, sources, rows)
        else:
            edits = LineEdits()
            for line, record in parse_numbered_records(raw):
                row = by_id.get(str(record.get("id")))
                new = beside[path.name](record, row) if row is not None and row.overrides else record
                if new != record:
                    edits.replaced[line] = new
        if edits:
            yield RewrittenFile(path, apply_edits(raw, edits))


def find_summary_files(plan: RunPlan) -> list[Path]:
    folders = dict.fromkeys(path.parent for path in plan.scores)
    return [folder / METRICS_FILE for folder in folders if (folder / METRICS_FILE).is_file()]


def _files_with_verdict(row: ScoredItem, key: CriterionKey) -> Sequence[str]:
    target, criterion = key
    if key == ITEM_CORRECT:
        return [name for name, category in SCORE_FILES.items() if category == row.category]
    part = parse_address(target)
    if part is not None and part.argument is not None:
        return [ARGUMENT_FILES[criterion]] if criterion in ARGUMENT_FILES else []
    return list(ITEM_FILES.get(key, ()))


def get_overridden_verdict(row: ScoredItem) -> bool | None:
    """What the score file says of the item by what people say; None where it says the same as before."""
    if row.category == ACTS_CATEGORY and (RESPONSE, checker.ACT_CRITERION) in row.overrides:
        return checker.get_act_verdict(row)
    return item_override(row)


def _edit_score_file(plan: RunPlan, category: str, raw: bytes, sources: RunRecords, rows: Sequence[ScoredItem]) -> LineEdits:
    part = [row for row in rows if row.category == category]
    failing = sources.failures_by_category.get(category) or {}
    order = positions_by_name([row.id for row in part])
    lines = {_get_item_id(record, category): line for line, record in parse_numbered_records(raw) if "id" in record}
    edits = LineEdits(positions={line: order[name] for name, line in lines.items() if name in order})
    results = _read_results(plan, category)
    gained = 0
    for row in part:
        said = get_overridden_verdict(row)
        if said is True and row.id in lines:
            edits.removed.add(lines[row.id])
            gained += 1
        elif said is False and row.id not in failing:
            edits.added.append((order[row.id], _make_failure_record(plan, sources, row, results.get(row.id))))
            gained -= 1
    header = next((record for _, record in parse_numbered_records(raw) if "total_count" in record), None)
    if edits and header is not None:
        edits.replaced[header_line_number(raw)] = update_counts(header, gained)
    return edits


def _get_item_id(record: dict[str, Any], category: str) -> str:
    """As `sources` joins them: by the question that is repeated, else by the position, from 1."""
    prompt, position = record.get("prompt"), record["id"]
    name = prompt.get("id") if isinstance(prompt, dict) else None
    return str(name or (f"{category}_{position - 1}" if isinstance(position, int) else position))


def _read_results(plan: RunPlan, category: str) -> dict[str, Any]:
    paths = [path for path in plan.results if RESULT_FILES[path.name] == category]
    found = (row.value for path in paths for row in read_records(path) if isinstance(row, JsonRecord))
    return {
        value["id"]: value.get("result")
        for value in found
        if isinstance(value, dict) and isinstance(value.get("id"), str | int)
    }


def _make_failure_record(plan: RunPlan, sources: RunRecords, row: ScoredItem, result: Any) -> dict[str, Any]:
    number = row.id.rpartition("_")[2]
    found: dict[str, Any] = {
        "id": int(number) + 1 if number.isdigit() else row.id,
        "model_name": plan.run.model,
        "test_category": row.category,
        "valid": False,
        "error": [ANNOTATOR_REASON],
        "error_type": row.error_type,
    }
    if row.id in sources.questions:
        found["prompt"] = sources.questions[row.id]
    found["model_result_raw"] = result
    if row.category == CALLS_CATEGORY and row.id in sources.answers:
        found["possible_answer"] = sources.answers[row.id].get("ground_truth")
    return found


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """The golden call or labels as a fix of them; None without any."""
    if item.category != CALLS_CATEGORY:
        return {FIX_FIELD: item.extra.golden_labels} if item.extra.golden_labels else None
    if not has_decoded_calls(item.golden):
        return None
    return {
        FIX_FIELD: [
            {call.name: {name: [_make_fix_value(value) for value in one.any_of] for name, one in (call.arguments or {}).items()}}
            for call in item.golden
        ]
    }


def _make_fix_value(value: Any) -> Any:
    return {name: _only(one) for name, one in value.fields.items()} if isinstance(value, GoldenObject) else value


def _only(accept: AcceptedValues) -> Any:
    return accept.any_of[0] if accept.any_of else None


def recheck(run: Run, item: Item, fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """The rule verdict with that golden answer; None where there is nothing to compare it with."""
    golden = fix.get(FIX_FIELD)
    if item.category != CALLS_CATEGORY:
        labels = next((v.value for v in item.verdicts if v.criterion == ACT_CRITERION and v.source == "judge"), None)
        return has_common_label(labels, golden) if isinstance(labels, list) and isinstance(golden, list) else None
    if not isinstance(record, dict) or not item.functions:
        return None
    return check_call(record.get("result"), make_dataset_item(item.id, item.functions, golden)).valid
