"""Write reviewed verdicts to ACEBench's score and process files, and recompute verdicts with golden
fixes.

If an annotator fails an item that the evaluator passed, the new entry has the same fields as the
evaluator's entries (`eval_main.py` and the checkers, revision e6db74b). fcreview does not write
`result.xlsx`, which covers all models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.acebench.checker import (
    GROUND_TRUTH,
    MILE_STONE,
    check_calls,
    check_special_reply,
)
from fcreview.importers.acebench.decoding import (
    NEWEST_RULE_SET,
    RULE_SETS,
    RuleSet,
    decode_reply,
    select_decoded_text,
)
from fcreview.importers.acebench.filenames import FileName, parse_file_name
from fcreview.importers.acebench.inputs import CategoryInputs
from fcreview.importers.acebench.leaderboard import (
    MULTI_TURN_CATEGORIES,
    PROCESS_ACCURACY,
    compute_dialogue_accuracies,
    compute_mean_process_accuracy,
    get_process_accuracy,
)
from fcreview.importers.acebench.read import (
    OTHER_ANSWERS,
    check_golden_fix,
    parse_golden_calls,
)
from fcreview.importers.acebench.run_inputs import load_run_inputs
from fcreview.importers.common import writeback
from fcreview.importers.common.jsonl import read_objects_with_id
from fcreview.importers.common.records import FailureList, Undecodable, as_object, list_objects
from fcreview.importers.common.writeback import CriterionKey, GoldenFixes, JsonObject, LineEdits
from fcreview.model.address import ITEM
from fcreview.model.item import Call, Item, Run
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

__all__ = [
    "check_golden_fix",
    "find_summary_files",
    "make_golden_template",
    "recompute_verdict",
    "rewrite_golden",
    "rewrite_scores",
]


def load_results_by_id(path: Path) -> dict[str, JsonObject]:
    """Load the result records by id.

    If an id occurs twice, the first record counts, as in the evaluator.
    """
    found: dict[str, JsonObject] = {}
    for record in read_objects_with_id(path):
        found.setdefault(record["id"], record)
    return found


def make_failure_entry(inputs: CategoryInputs, item: ScoredItem, result: JsonObject) -> JsonObject:
    """Make the score file entry of a failing item.

    Its `error_type` is null if no annotator set one.
    """
    failure: JsonObject = {
        "valid": False,
        "error": [writeback.ANNOTATOR_REASON],
        "error_type": item.error_type,
    }
    if inputs.category.startswith("agent_"):
        return (
            {"id": inputs.get_dataset_position(item.id)}
            | failure
            | {"error": [[writeback.ANNOTATOR_REASON]]}
        )
    golden = (inputs.answers.get(item.id) or {}).get(GROUND_TRUTH)
    reply = result.get("result")
    if inputs.category.startswith("special"):
        return (
            {"id": item.id} | failure | {"model_result_decoded": reply, "possible_answer": golden}
        )
    decoded_text = reply
    if isinstance(reply, str):
        decoded_text = select_decoded_text(reply, inputs.category, inputs.rule_set)
    if inputs.category in MULTI_TURN_CATEGORIES:
        turn = {"id": item.id, "turn": str(item.group).rpartition("_")[2]}
        return turn | failure | {"model_result": decoded_text, "possible_answer": [golden]}
    return {"id": item.id} | failure | {"model_result": decoded_text, "possible_answer": golden}


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    yield from writeback.find_unrepresentable_reviews(items, _is_representable)
    if not any(map(_has_override, items)):
        return
    for inputs in load_run_inputs(plan).categories:
        category_items = [item for item in items if item.category == inputs.category]
        if not any(map(_has_override, category_items)):
            continue
        score_files = {parse_file_name(file): file for file in reversed(plan.scores)}
        scores, process = (
            score_files.get(FileName(inputs.category, kind)) for kind in ("score", "process")
        )
        if scores is None or not inputs.scored.is_complete:
            which = "which has no score file" if scores is None else "whose score file is damaged"
            yield Unrepresentable(
                f"items of {inputs.category}, {which}", sum(map(_has_override, category_items))
            )
            continue
        yield RewrittenFile(
            scores, _rewrite_score_file(read_file(scores), inputs.scored, inputs, category_items)
        )
        if process is not None and inputs.process_entries is not None:
            yield RewrittenFile(
                process, _rewrite_process_file(read_file(process), inputs, category_items)
            )
            n_unknown = sum(
                _has_override(item) and get_process_accuracy(item) is None
                for item in category_items
            )
            if n_unknown:  # An item without an entry in the process file met all milestones.
                yield Unrepresentable(
                    f"items of {inputs.category} whose process accuracy is unknown", n_unknown
                )


def find_summary_files(plan: RunPlan) -> list[Path]:
    tables = dict.fromkeys(
        folder / "result.xlsx" for path in plan.scores for folder in list(path.parents)[1:4]
    )
    return [path for path in tables if path.is_file()]


def _is_representable(item: ScoredItem, criterion_key: CriterionKey) -> bool:
    is_process = criterion_key == (ITEM, PROCESS_ACCURACY) and item.category.startswith("agent_")
    return is_process or writeback.is_item_verdict(item, criterion_key)


def _has_override(item: ScoredItem) -> bool:
    process_accuracy = item.overrides.get((ITEM, PROCESS_ACCURACY))
    return writeback.get_item_override(item) is not None or isinstance(
        process_accuracy, (int, float)
    )


def _rewrite_score_file(
    content: bytes, failures: FailureList, inputs: CategoryInputs, items: Sequence[ScoredItem]
) -> bytes:
    order = writeback.positions_by_name([item.id for item in items])
    records = list(writeback.parse_numbered_records(content))
    lines = {
        inputs.get_item_id(record["id"]): line
        for line, record in records
        if record.get("id") is not None
    }
    edits = LineEdits(
        positions={line: order[item_id] for item_id, line in lines.items() if item_id in order}
    )
    results = load_results_by_id(inputs.result_file)
    n_gained_passes = 0
    verdicts: list[bool] = []
    for item in items:
        override = writeback.get_item_override(item)
        verdicts.append(item.id not in failures.entries if override is None else override)
        if override is True and item.id in lines:
            edits.removed.add(lines[item.id])
            n_gained_passes += 1
        elif override is False and item.id not in failures.entries:
            if item.id in lines:  # The file also lists items that match only a later golden answer.
                edits.removed.add(lines[item.id])
            edits.added.append(
                (order[item.id], make_failure_entry(inputs, item, results.get(item.id, {})))
            )
            n_gained_passes -= 1
    header = next((record for _, record in records if "total_count" in record), {})
    new_header = _update_header(header, inputs.category, items, verdicts, n_gained_passes)
    edits.replaced[writeback.find_header_line_number(content)] = new_header
    return writeback.apply_line_edits(content, edits)


def _rewrite_process_file(
    content: bytes, inputs: CategoryInputs, items: Sequence[ScoredItem]
) -> bytes:
    """Update the entries of reviewed items in a process file, which lists items with a process
    accuracy below 1.
    """
    lines = {
        name: line for line, record in writeback.parse_numbered_records(content) for name in record
    }
    names = {item.id: f"{inputs.category}_{inputs.get_dataset_position(item.id)}" for item in items}
    order = writeback.positions_by_name([names[item.id] for item in items])
    edits = LineEdits(
        positions={line: order[name] for name, line in lines.items() if name in order}
    )
    results = load_results_by_id(inputs.result_file)
    for item in filter(_has_override, items):
        name, share = names[item.id], get_process_accuracy(item)
        if name in lines:
            edits.removed.add(lines[name])
        if share is not None and share != 1:
            entry = (inputs.process_entries or {}).get(name)
            if not entry:
                process = results.get(item.id, {}).get("process") or []
                milestones = (inputs.answers.get(item.id) or {}).get(MILE_STONE) or []
                entry = {
                    PROCESS_ACCURACY: None,
                    "model_output": process,
                    "call_process": milestones,
                }
            accuracy = share if (ITEM, PROCESS_ACCURACY) in item.overrides else round(share, 3)
            edits.added.append((order[name], {name: entry | {PROCESS_ACCURACY: accuracy}}))
    return writeback.apply_line_edits(content, edits)


def _update_header(
    header: JsonObject,
    category: str,
    items: Sequence[ScoredItem],
    verdicts: Sequence[bool],
    n_gained_passes: int,
) -> JsonObject:
    if category.startswith("agent_"):
        updated = writeback.update_score_header(
            header, n_gained_passes, digits=3, rate_field="end_to_end_accuracy"
        )
        share = compute_mean_process_accuracy(items).value
        return updated | ({"process_accuracy": share} if share is not None else {})
    if category in MULTI_TURN_CATEGORIES:
        steps = [(str(item.group), verdict) for item, verdict in zip(items, verdicts, strict=True)]
        accuracy, process = compute_dialogue_accuracies(steps)
        rates = {"accuracy": accuracy.value, "process_accuracy": process.value}
        return writeback.update_score_header(header, n_gained_passes) | rates
    return writeback.update_score_header(
        header, n_gained_passes, digits=None if category.startswith("special") else 3
    )


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    answers = {
        path.name: path for path in reversed(plan.data) if path.parent.name == "possible_answer"
    }
    return writeback.rewrite_answer_files(
        fixes, lambda category: answers.get(f"data_{category}.json")
    )


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """Return the golden answer as a golden fix.

    Return None for agent and special items, because their `golden` has only a part of the answer.
    """
    if not item.category.startswith("normal") or not writeback.has_only_decoded_calls(item.golden):
        return None
    arguments = list(map(writeback.first_accepted_arguments, item.golden))
    first = writeback.key_by_function_name(item.golden, arguments)
    others = item.extra.metadata.get(OTHER_ANSWERS)
    return {GROUND_TRUTH: [first, *others] if isinstance(others, list) and others else first}


def recompute_verdict(run: Run, item: Item, golden_fix: JsonObject, record: Any) -> bool | None:
    """Recompute the verdict with a corrected golden answer.

    Return None for agent items and without a reply.
    """
    reply, golden = as_object(record).get("result"), golden_fix.get(GROUND_TRUTH)
    if reply is None or item.category.startswith("agent_"):
        return None
    if item.category.startswith("special"):
        return check_special_reply(reply, golden, item.category).valid
    try:
        calls = decode_reply(reply, item.category, _get_rule_set(run))
    except Undecodable:
        return False
    return check_calls(calls, golden, item.functions).valid


def _get_rule_set(run: Run) -> RuleSet:
    """Return the version of the rules with which the run was imported."""
    fact = run.facts.get("evaluator")
    for rule_set in RULE_SETS:
        if fact is not None and fact.value == rule_set:
            return rule_set
    return NEWEST_RULE_SET


def parse_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> list[Call]:  # noqa: ARG001
    answer = golden_fix.get(GROUND_TRUTH)
    answers = list_objects(answer if isinstance(answer, list) else [answer])
    is_normal = item.category.startswith("normal")
    return parse_golden_calls(answers[0], item.functions) if is_normal and answers else []
