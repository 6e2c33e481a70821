"""Write reviews and golden fixes to CONFETTI's own files.

Overrides change the score files, the soft scores and the judge's files. fcreview does not write
`metrics.json`, whose metrics are derived from these files.

A golden fix is `{"ground_truth": ...}`: one call as `[{function: {parameter: [accepted values]}}]`,
or the labels of a dialog act item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from fcreview.model.derivation import GOLDEN_ACTS_KEY
from fcreview.model.item import Call, GoldenObject, Item, Run
from fcreview.model.json_value import append_to_path
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import DIALOG_ACTS
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file


def apply_overrides_to_soft_score(record: JsonObject, item: ScoredItem) -> JsonObject:
    """Write the reviews of an item into its soft score record, and return the new record.

    Reviews can change the verdict on the item, the scores of its arguments, and the soft score,
    which is their mean.
    """
    new_record = dict(record)
    verdict = item.overrides.get(ITEM_CORRECT)
    if "valid" in record and isinstance(verdict, bool):
        new_record["valid"] = verdict

    argument_scores = as_object(record.get("param_scores"))
    if argument_scores:
        new_record["param_scores"] = argument_scores | _list_reviewed_scores(item, argument_scores)

    has_reviewed_score = any(criterion == SOFT_SCORE_CRITERION for _, criterion in item.overrides)
    score = get_soft_score(item)
    if has_reviewed_score and score is not None:
        new_record["soft_score"] = score
    return new_record


def _list_reviewed_scores(item: ScoredItem, argument_scores: JsonObject) -> JsonObject:
    """Return the reviewed soft scores of arguments by the names that the record has for them."""
    # Reviews name an argument by its path, in which some characters are quoted.
    name_by_path = {append_to_path("", name): name for name in argument_scores}
    reviewed_scores: JsonObject = {}
    for (target, criterion), value in item.overrides.items():
        address = parse_address(target)
        if criterion != SOFT_SCORE_CRITERION or address is None or address.argument is None:
            continue
        name = name_by_path.get(address.argument)
        if name is not None and isinstance(value, (int, float)):
            reviewed_scores[name] = value
    return reviewed_scores


def apply_overrides_to_hallucination_flags(record: JsonObject, item: ScoredItem) -> JsonObject:
    """Write the reviews of an item into the record of the judge that flags made-up arguments.

    The record has a list of flagged names for each call: `[["date"], []]`. Flags that match no
    argument of their call are kept.
    """
    recorded_lists = record.get("hallucinated_parameters")
    is_reviewed = any(criterion == HALLUCINATED_CRITERION for _, criterion in item.overrides)
    if not isinstance(recorded_lists, list) or not is_reviewed:
        return record

    # The judge's lists, the actions in its record and the calls of the item are in the same order.
    # There can be fewer actions or calls than lists.
    actions = as_list(record.get("predicted_actions"))
    new_lists = [list(as_list(names)) for names in recorded_lists]
    for position, address in enumerate(_list_call_addresses(item)[: len(new_lists)]):
        action = actions[position] if position < len(actions) else None
        reviewed_flags = _list_flags_of_call(item, address)
        new_lists[position] = _apply_flags(new_lists[position], reviewed_flags, action)
    return record | {"hallucinated_parameters": new_lists}


def _list_call_addresses(item: ScoredItem) -> list[str]:
    """Return the addresses of the predicted calls.

    They are the targets of the verdicts on the names of calls, which the import adds in the order
    of the calls.
    """
    return [target for target, criterion, _ in item.part_verdicts if criterion == "name_matches"]


def _apply_flags(names: list[Any], flags: Mapping[str, Any], action: Any) -> list[Any]:
    """Return the names of hallucinated arguments of a call, changed by flags by argument path."""
    name_by_path = _map_argument_paths_to_names(action)
    new_names = list(names)
    for path, is_flagged in flags.items():
        name = name_by_path.get(path, path)
        if is_flagged and name not in new_names:
            new_names.append(name)
        elif not is_flagged and name in new_names:
            new_names.remove(name)
    return new_names


def _list_flags_of_call(item: ScoredItem, call_target: str) -> dict[str, Any]:
    """Return argument path -> whether the argument of a call is hallucinated."""
    flags = {}
    for target, is_flagged in get_hallucination_flags(item).items():
        address = parse_address(target)
        if address is None or address.argument is None:
            continue
        if get_enclosing_call_address(target) == call_target:
            flags[address.argument] = is_flagged
    return flags


def _map_argument_paths_to_names(predicted_call: Any) -> dict[str, str]:
    """Return argument path -> argument name for a predicted call `{function: {argument:
    value}}`.
    """
    if not isinstance(predicted_call, dict):
        return {}
    arguments = next(iter(predicted_call.values()), None)
    if not isinstance(arguments, dict):
        return {}
    return {append_to_path("", str(name)): str(name) for name in arguments}


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
    """Check the golden answer that a reviewer wrote. Return the first error, or None.

    It is one call with the accepted values of each argument, or for a dialog act item, a list of
    labels.
    """
    error = writeback.check_fix_fields(golden_fix, FIX_FIELD)
    if error:
        return error
    if item.category != discovery.CALLS_CATEGORY:
        return _find_label_error(golden_fix[FIX_FIELD])
    return _find_call_error(golden_fix[FIX_FIELD], item)


def _find_call_error(golden_answer: Any, item: Item) -> str | None:
    calls = as_list(golden_answer)
    if len(calls) != 1 or not isinstance(calls[0], dict) or len(calls[0]) != 1:
        return f'{FIX_FIELD} must be one call: [{{"function": {{"parameter": [accepted values]}}}}]'
    ((name, arguments),) = calls[0].items()
    error = writeback.check_golden_call(name, arguments, item.functions)
    if error:
        return error
    for parameter, accepted in arguments.items():
        if not isinstance(accepted, list) or not accepted:
            return f"{parameter} must be a list of accepted values"
    return None


def _find_label_error(golden_answer: Any) -> str | None:
    labels = as_list(golden_answer)
    if labels and all(label in DIALOG_ACTS for label in labels):
        return None
    return f"{FIX_FIELD} must be a list of these labels: {', '.join(DIALOG_ACTS)}"


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Yield the answer files with the reviewers' golden answers."""

    def find_answer_file(category: str) -> Path | None:
        for path in plan.data:
            is_answer_file = path.parent.name == "possible_answer"
            if is_answer_file and discovery.QUESTION_FILES[path.name] == category:
                return path
        return None

    return writeback.rewrite_answer_files(fixes, find_answer_file)


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
OVERRIDE_FUNCTIONS: dict[str, Callable[[JsonObject, ScoredItem], JsonObject]] = {
    discovery.SOFT_SCORE_FILE: apply_overrides_to_soft_score,
    discovery.HALLUCINATION_FILE: apply_overrides_to_hallucination_flags,
    discovery.ACT_JUDGE_FILE: apply_overrides_to_act_labels,
}
"""Name of a file with a record for each item -> function that applies overrides to a record."""


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Write the reviewed verdicts of a run into its score files and judge files.

    Yields the files that change, and the reviews that these files cannot represent.
    """
    records = load_run_records(plan)
    score_file_names = {path.name for path in plan.scores}

    # A review can be written if at least one score file of the run has a verdict of its kind.
    def is_representable(item: ScoredItem, key: CriterionKey) -> bool:
        return not score_file_names.isdisjoint(_list_files_with_verdict(item, key))

    yield from writeback.find_unrepresentable_reviews(items, is_representable)
    for path in plan.scores:
        if path.name in discovery.SCORE_FILES:
            yield from _rewrite_score_file(plan, path, records, items)
        else:
            yield from _rewrite_record_file(path, items)


def _rewrite_score_file(
    plan: RunPlan, path: Path, records: RunRecords, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield a score file, which lists failing items, if reviews change it.

    If the file is damaged, yield the number of reviews that it cannot represent.
    """
    raw = read_file(path)
    category = discovery.SCORE_FILES[path.name]
    category_items = [item for item in items if item.category == category]
    scored = records.scores_by_category.get(category)
    if scored is None or not scored.is_complete:
        yield from _report_damaged_score_file(category, category_items)
        return
    edits = _plan_score_file_edits(plan, category, raw, records, category_items)
    if edits:
        yield RewrittenFile(path, writeback.apply_line_edits(raw, edits))


def _rewrite_record_file(path: Path, items: Sequence[ScoredItem]) -> Iterator[RewrittenFile]:
    """Yield a file with a record for each item, such as the soft scores, if reviews change it."""
    raw = read_file(path)
    edits = _plan_record_edits(path, raw, items)
    if edits:
        yield RewrittenFile(path, writeback.apply_line_edits(raw, edits))


def _report_damaged_score_file(
    category: str, items: Sequence[ScoredItem]
) -> Iterator[Unrepresentable]:
    n_overridden = sum(get_overridden_verdict(item) is not None for item in items)
    if n_overridden:
        yield Unrepresentable(f"items of {category}, whose score file is damaged", n_overridden)


def _plan_record_edits(path: Path, raw: bytes, items: Sequence[ScoredItem]) -> LineEdits:
    """Plan the edits of a file with a record for each item: soft scores or a judge's verdicts."""
    apply_overrides = OVERRIDE_FUNCTIONS[path.name]
    overridden_items = {item.id: item for item in items if item.overrides}
    edits = LineEdits()
    for line, record in writeback.parse_numbered_records(raw):
        item = overridden_items.get(str(record.get("id")))
        if item is None:
            continue
        new_record = apply_overrides(record, item)
        if new_record != record:
            edits.replaced[line] = new_record
    return edits


def find_summary_files(plan: RunPlan) -> list[Path]:
    folders = dict.fromkeys(path.parent for path in plan.scores)
    paths = [folder / discovery.METRICS_FILE for folder in folders]
    return [path for path in paths if path.is_file()]


def _list_files_with_verdict(item: ScoredItem, criterion_key: CriterionKey) -> Sequence[str]:
    """Return the names of the files that contain the verdict on a target and criterion of an
    item.
    """
    if criterion_key == ITEM_CORRECT:
        score_files = discovery.SCORE_FILES.items()
        return [name for name, category in score_files if category == item.category]

    target, criterion = criterion_key
    address = parse_address(target)
    if address is None or address.argument is None:
        return list(ITEM_FILES.get(criterion_key, ()))
    if criterion in ARGUMENT_FILES:
        return [ARGUMENT_FILES[criterion]]
    return []


def get_overridden_verdict(item: ScoredItem) -> bool | None:
    """Return the overridden verdict on an item, or None if the score file keeps its verdict."""
    has_overridden_labels = (RESPONSE, checker.ACT_CRITERION) in item.overrides
    if item.category == discovery.ACTS_CATEGORY and has_overridden_labels:
        return get_act_verdict(item)
    return writeback.get_item_override(item)


def _plan_score_file_edits(
    plan: RunPlan, category: str, raw: bytes, records: RunRecords, items: Sequence[ScoredItem]
) -> LineEdits:
    """Plan the changes to a score file, which has a header and a line for each failing item.

    Lines of items that now pass are removed, lines of items that now fail are added at their place,
    and the counts in the header are updated.

    Args:
        plan: The plan of the run.
        category: The category of the score file.
        raw: The content of the file.
        records: The contents of the other files of the run.
        items: The items of the category.
    """
    line_by_id = _find_entry_lines(raw, category)
    position_by_id = writeback.positions_by_name([item.id for item in items])
    edits = LineEdits(positions=_map_lines_to_positions(line_by_id, position_by_id))

    replies = _read_replies_by_id(plan, category)
    for item in items:
        verdict = get_overridden_verdict(item)
        is_listed = item.id in line_by_id
        if verdict is True and is_listed:
            edits.removed.add(line_by_id[item.id])
        elif verdict is False and not is_listed:
            entry = _make_failure_entry(plan, records, item=item, reply=replies.get(item.id))
            edits.added.append((position_by_id[item.id], entry))

    n_gained_passes = len(edits.removed) - len(edits.added)
    if edits:
        edits.replaced = _update_header(raw, n_gained_passes)
    return edits


def _update_header(raw: bytes, n_gained_passes: int) -> dict[int, JsonObject]:
    """Return the line of the header and its new content; empty without a header."""
    header = _find_header(raw)
    if header is None:
        return {}
    line = writeback.find_header_line_number(raw)
    return {line: writeback.update_score_header(header, n_gained_passes)}


def _map_lines_to_positions(
    line_by_id: Mapping[str, int], position_by_id: Mapping[str, int]
) -> dict[int, int]:
    """Return line of a score entry -> position of its item, for the items of the run."""
    return {
        line: position_by_id[item_id]
        for item_id, line in line_by_id.items()
        if item_id in position_by_id
    }


def _find_entry_lines(raw: bytes, category: str) -> dict[str, int]:
    """Return item id -> number of the line with its score entry."""
    line_by_id = {}
    for line, record in writeback.parse_numbered_records(raw):
        if "id" in record:
            line_by_id[get_failing_item_id(record, category)] = line
    return line_by_id


def _find_header(raw: bytes) -> JsonObject | None:
    for _, record in writeback.parse_numbered_records(raw):
        if "total_count" in record:
            return record
    return None


def _read_replies_by_id(plan: RunPlan, category: str) -> dict[str, Any]:
    """Return item id -> reply in the result file."""
    replies: dict[Any, Any] = {}
    for path in plan.results:
        if discovery.RESULT_FILES[path.name] != category:
            continue
        for record in read_records(path):
            if isinstance(record, JsonRecord) and isinstance(record.value, dict):
                item_id = record.value.get("id")
                if isinstance(item_id, str | int):
                    replies[item_id] = record.value.get("result")
    return replies


def _make_failure_entry(
    plan: RunPlan, records: RunRecords, *, item: ScoredItem, reply: Any
) -> dict[str, Any]:
    """Make the score entry of an item that fails by a review.

    CONFETTI uses the score files of BFCL V2, in which the id of an entry is the line number of the
    item.
    """
    _, _, number = item.id.rpartition("_")
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
    """Return the golden answer of an item in the form in which reviewers edit it.

    This is the golden call with the accepted values of each argument, or the golden labels. None if
    the item has no complete golden answer.
    """
    if item.category != discovery.CALLS_CATEGORY:
        labels = item.extra.golden_labels
        return {FIX_FIELD: labels} if labels else None
    if not writeback.has_only_decoded_calls(item.golden):
        return None

    calls = []
    for call in item.golden:
        arguments = {}
        for name, accepted in (call.arguments or {}).items():
            arguments[name] = [_to_golden_fix_value(value) for value in accepted.any_of]
        calls.append({call.name: arguments})
    return {FIX_FIELD: calls}


def _to_golden_fix_value(value: Any) -> Any:
    if not isinstance(value, GoldenObject):
        return value
    return {name: next(iter(accepted.any_of), None) for name, accepted in value.fields.items()}


def recompute_verdict(run: Run, item: Item, golden_fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """Recompute the verdict on an item with a golden answer that a reviewer wrote.

    `record` is the result record with the reply. Of a dialog act item, the labels that the judge
    gave are compared again. None if that is not possible.
    """
    golden_answer = golden_fix.get(FIX_FIELD)
    if item.category != discovery.CALLS_CATEGORY:
        labels = _find_judged_labels(item)
        if not isinstance(labels, list) or not isinstance(golden_answer, list):
            return None
        return checker.has_common_act_label(labels, golden_answer)

    if not isinstance(record, dict) or not item.functions:
        return None
    dataset_item = checker.make_bfcl_dataset_item(item.id, item.functions, golden_answer)
    return checker.check_reply(record.get("result"), dataset_item).valid


def _find_judged_labels(item: Item) -> Any:
    """Return the labels that the judge gave to the predicted reply, or None."""
    for verdict in item.verdicts:
        if verdict.source == "judge" and verdict.criterion == checker.ACT_CRITERION:
            return verdict.value
    return None


def parse_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> list[Call]:  # noqa: ARG001
    """Return the golden calls of a golden fix. Dialog act items have none."""
    if item.category != discovery.CALLS_CATEGORY:
        return []
    return checker.make_golden_calls(golden_fix.get(FIX_FIELD), 0)
