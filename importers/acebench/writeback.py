"""Write reviewed verdicts to ACEBench's score and process files, and recompute verdicts with golden
fixes.

If an annotator fails an item that the evaluator passed, the new entry has the same fields as the
evaluator's entries (`eval_main.py` and the checkers, revision e6db74b). fcreview does not write
`result.xlsx`, which covers all models.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
    DialogueStep,
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
from fcreview.importers.common.records import Undecodable, as_object, list_objects
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
    results: dict[str, JsonObject] = {}
    for record in read_objects_with_id(path):
        results.setdefault(record["id"], record)
    return results


def make_failure_entry(inputs: CategoryInputs, item: ScoredItem, result: JsonObject) -> JsonObject:
    """Make the score file entry of an item that fails by a review.

    A score file lists the failing items. The fields of an entry depend on the kind of category.

    Args:
        inputs: Files of the item's category.
        item: The item. Its `error_type` is None if no annotator chose one.
        result: The item's record in the result file, or empty.
    """
    if inputs.category.startswith("agent_"):
        # The evaluator identifies agent items by their position, and nests their errors.
        return {
            "id": inputs.get_dataset_position(item.id),
            "valid": False,
            "error": [[writeback.ANNOTATOR_REASON]],
            "error_type": item.error_type,
        }

    entry: JsonObject = {"id": item.id}
    if inputs.category in MULTI_TURN_CATEGORIES:
        _, _, dialogue_number = str(item.group).rpartition("_")
        entry["turn"] = dialogue_number
    entry["valid"] = False
    entry["error"] = [writeback.ANNOTATOR_REASON]
    entry["error_type"] = item.error_type
    return entry | _quote_reply_and_golden_answer(inputs, item.id, result.get("result"))


def _quote_reply_and_golden_answer(inputs: CategoryInputs, item_id: str, reply: Any) -> JsonObject:
    """Return the fields of an entry that quote the reply and the golden answer."""
    golden = inputs.get_golden_answer(item_id)
    if inputs.category.startswith("special"):
        return {"model_result_decoded": reply, "possible_answer": golden}

    # Of a normal reply, the evaluator writes only the part that it decoded.
    quoted_reply = reply
    if isinstance(reply, str):
        quoted_reply = select_decoded_text(reply, inputs.category, inputs.rule_set)
    if inputs.category in MULTI_TURN_CATEGORIES:
        return {"model_result": quoted_reply, "possible_answer": [golden]}
    return {"model_result": quoted_reply, "possible_answer": golden}


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the score files with the reviewed verdicts, and the reviews that they cannot
    represent.
    """
    yield from writeback.find_unrepresentable_reviews(items, _is_representable)
    if not any(_has_override(item) for item in items):
        return
    for inputs in load_run_inputs(plan).categories:
        category_items = [item for item in items if item.category == inputs.category]
        yield from _rewrite_category(plan, inputs, category_items)


def _rewrite_category(
    plan: RunPlan, inputs: CategoryInputs, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the score file and the process file of a category with the reviewed verdicts.

    Also yields the numbers of reviewed items that no file can represent.
    """
    reviewed = [item for item in items if _has_override(item)]
    if not reviewed:
        return

    score_file = _find_score_file(plan, FileName(inputs.category, "score"))
    if score_file is None:
        kind = f"items of {inputs.category}, which has no score file"
        yield Unrepresentable(kind, len(reviewed))
        return
    if not inputs.scored.is_complete:
        kind = f"items of {inputs.category}, whose score file is damaged"
        yield Unrepresentable(kind, len(reviewed))
        return

    content = _rewrite_score_file(read_file(score_file), inputs, items)
    yield RewrittenFile(score_file, content)
    yield from _rewrite_process_accuracies(plan, inputs, reviewed, items)


def _rewrite_process_accuracies(
    plan: RunPlan,
    inputs: CategoryInputs,
    reviewed: Sequence[ScoredItem],
    items: Sequence[ScoredItem],
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the process file of a category with the reviewed process accuracies: the share of
    golden calls that the agent made in order.

    Args:
        plan: The plan of the run.
        inputs: Files of the category.
        reviewed: The items with reviews.
        items: All items of the category.
    """
    process_file = _find_score_file(plan, FileName(inputs.category, "process"))
    if process_file is None or inputs.process_entries is None:
        return
    content = _rewrite_process_file(read_file(process_file), inputs, reviewed, items)
    yield RewrittenFile(process_file, content)

    # An item without an entry in the process file has the accuracy 1, so the file cannot say that
    # an accuracy is unknown.
    n_unknown = sum(get_process_accuracy(item) is None for item in reviewed)
    if n_unknown:
        kind = f"items of {inputs.category} whose process accuracy is unknown"
        yield Unrepresentable(kind, n_unknown)


def _find_score_file(plan: RunPlan, name: FileName) -> Path | None:
    for path in plan.scores:
        if parse_file_name(path) == name:
            return path
    return None


def find_summary_files(plan: RunPlan) -> list[Path]:
    """Find the tables beside the folder of the model or in the two folders above."""
    tables: dict[Path, None] = {}
    for path in plan.scores:
        for folder in list(path.parents)[1:4]:
            tables[folder / "result.xlsx"] = None
    return [path for path in tables if path.is_file()]


def _is_representable(item: ScoredItem, criterion_key: CriterionKey) -> bool:
    is_agent_item = item.category.startswith("agent_")
    if is_agent_item and criterion_key == (ITEM, PROCESS_ACCURACY):
        return True
    return writeback.is_item_verdict(item, criterion_key)


def _has_override(item: ScoredItem) -> bool:
    if writeback.get_item_override(item) is not None:
        return True
    return isinstance(item.overrides.get((ITEM, PROCESS_ACCURACY)), (int, float))


def _rewrite_score_file(
    content: bytes, inputs: CategoryInputs, items: Sequence[ScoredItem]
) -> bytes:
    """Apply the reviews to a score file, which has a header with the accuracy and one line for
    each failing item.

    Lines of items that now pass are removed, lines of items that now fail are added in the order of
    the dataset, and the header is updated. All other lines stay as they are.
    """
    line_by_id = _find_entry_lines(content, inputs)
    changed_items = _select_changed_items(items, inputs, line_by_id)
    position_by_id = writeback.positions_by_name([item.id for item in items])

    edits = LineEdits(positions=_map_lines_to_positions(line_by_id, position_by_id))
    for item in [*changed_items.passing, *changed_items.failing]:
        # An item that fails by a review can have a line although it passed: the evaluator also
        # lists items that do not match the first golden answer but a later one.
        if item.id in line_by_id:
            edits.removed.add(line_by_id[item.id])
    for item, entry in _make_failure_entries(inputs, changed_items.failing):
        edits.added.append((position_by_id[item.id], entry))

    header = _update_header(
        _find_header(content),
        inputs.category,
        items=items,
        verdicts=[_get_final_verdict(item, inputs) for item in items],
        n_gained_passes=len(changed_items.passing) - len(changed_items.failing),
    )
    edits.replaced[writeback.find_header_line_number(content)] = header
    return writeback.apply_line_edits(content, edits)


def _make_failure_entries(
    inputs: CategoryInputs, failing: Sequence[ScoredItem]
) -> Iterator[tuple[ScoredItem, JsonObject]]:
    """Yield each item that fails by a review, with its new entry."""
    results_by_id = load_results_by_id(inputs.result_file)
    for item in failing:
        yield item, make_failure_entry(inputs, item, results_by_id.get(item.id, {}))


class _ChangedItems(NamedTuple):
    passing: list[ScoredItem]
    """Items with an entry that pass according to their review."""
    failing: list[ScoredItem]
    """Items that passed, and fail according to their review."""


def _select_changed_items(
    items: Sequence[ScoredItem], inputs: CategoryInputs, ids_with_entry: Container[str]
) -> _ChangedItems:
    """Select the items whose reviewed verdict contradicts the score file: passing ones with a
    (failing) entry, and failing ones without.

    `ids_with_entry` are all items with a line in the file. `inputs.scored.entries` lacks those that
    the file lists although they passed, by a later golden answer. Such an item can be failed by a
    review, and also loses its line if a review passes it.
    """
    changed_items = _ChangedItems([], [])
    for item in items:
        override = writeback.get_item_override(item)
        if override is True and item.id in ids_with_entry:
            changed_items.passing.append(item)
        elif override is False and item.id not in inputs.scored.entries:
            changed_items.failing.append(item)
    return changed_items


def _get_final_verdict(item: ScoredItem, inputs: CategoryInputs) -> bool:
    """Return whether the item passes according to its review or, without one, to the benchmark."""
    override = writeback.get_item_override(item)
    if override is None:
        return item.id not in inputs.scored.entries
    return override


def _find_entry_lines(content: bytes, inputs: CategoryInputs) -> dict[str, int]:
    """Return item id -> number of the line with its score entry."""
    line_by_id = {}
    for line, record in writeback.parse_numbered_records(content):
        if record.get("id") is not None:
            line_by_id[inputs.get_item_id(record["id"])] = line
    return line_by_id


def _map_lines_to_positions(line_by_name: dict[str, int], order: dict[str, int]) -> dict[int, int]:
    """Return line number -> position of its record among all records (`order`)."""
    return {line: order[name] for name, line in line_by_name.items() if name in order}


def _find_header(content: bytes) -> JsonObject:
    for _, record in writeback.parse_numbered_records(content):
        if "total_count" in record:
            return record
    return {}


def _rewrite_process_file(
    content: bytes,
    inputs: CategoryInputs,
    reviewed: Sequence[ScoredItem],
    items: Sequence[ScoredItem],
) -> bytes:
    """Apply the reviews to a process file.

    The file has a line `{"agent_multi_turn_3": {...}}` for each agent item with a process accuracy
    below 1. Each reviewed item loses its old line, and gets a new one if its accuracy is below 1.

    Args:
        content: The old file.
        inputs: Files of the category.
        reviewed: The items with reviews.
        items: All items of the category, in the order of the file.
    """
    line_by_name = _find_process_lines(content)
    all_names = [_get_process_entry_name(inputs, item) for item in items]
    position_by_name = writeback.positions_by_name(all_names)

    # Old lines are removed by their number. New ones are added by the position of their item, and
    # `positions` tells between which old lines that is.
    edits = LineEdits(positions=_map_lines_to_positions(line_by_name, position_by_name))
    results_by_id = load_results_by_id(inputs.result_file)
    for item in reviewed:
        name = _get_process_entry_name(inputs, item)
        if name in line_by_name:
            edits.removed.add(line_by_name[name])
        entry = _make_process_entry(inputs, item, results_by_id.get(item.id, {}))
        if entry is not None:
            edits.added.append((position_by_name[name], {name: entry}))
    return writeback.apply_line_edits(content, edits)


def _find_process_lines(content: bytes) -> dict[str, int]:
    """Return name of an entry -> number of its line."""
    line_by_name: dict[str, int] = {}
    for line, record in writeback.parse_numbered_records(content):
        line_by_name |= dict.fromkeys(record, line)
    return line_by_name


def _get_process_entry_name(inputs: CategoryInputs, item: ScoredItem) -> str:
    return f"{inputs.category}_{inputs.get_dataset_position(item.id)}"


def _make_process_entry(
    inputs: CategoryInputs, item: ScoredItem, result: JsonObject
) -> JsonObject | None:
    """Make the entry of an agent item in the process file, with its accuracy after the reviews.

    Returns None if the file needs no entry: the accuracy is 1, or it is unknown.
    """
    accuracy = get_process_accuracy(item)
    if accuracy is None or accuracy == 1:
        return None
    is_reviewed_value = (ITEM, PROCESS_ACCURACY) in item.overrides
    if not is_reviewed_value:
        # As the evaluator does in this file.
        accuracy = round(accuracy, 3)

    old_entry = (inputs.process_entries or {}).get(_get_process_entry_name(inputs, item))
    if old_entry:
        return old_entry | {PROCESS_ACCURACY: accuracy}
    answer = inputs.answers.get(item.id) or {}
    return {
        PROCESS_ACCURACY: accuracy,
        "model_output": result.get("process") or [],
        "call_process": answer.get(MILE_STONE) or [],
    }


def _update_header(
    header: JsonObject,
    category: str,
    *,
    items: Sequence[ScoredItem],
    verdicts: Sequence[bool],
    n_gained_passes: int,
) -> JsonObject:
    """Return the header of a score file with the figures after the reviews.

    Each kind of category has other figures, and the evaluator rounds them differently.

    Args:
        header: The old header.
        category: The category of the file.
        items: All items of the category.
        verdicts: Whether each item passes after the reviews.
        n_gained_passes: How many more items pass than before. May be negative.
    """
    if category.startswith("agent_"):
        updated = writeback.update_score_header(
            header, n_gained_passes, digits=3, rate_field="end_to_end_accuracy"
        )
        return updated | _compute_agent_figures(items)
    if category in MULTI_TURN_CATEGORIES:
        updated = writeback.update_score_header(header, n_gained_passes)
        return updated | _compute_dialogue_figures(items, verdicts)
    # The evaluator does not round the accuracy of special categories.
    digits = None if category.startswith("special") else 3
    return writeback.update_score_header(header, n_gained_passes, digits=digits)


def _compute_agent_figures(items: Sequence[ScoredItem]) -> JsonObject:
    """Return the mean process accuracy as a field of the header; empty if it is unknown."""
    process_accuracy = compute_mean_process_accuracy(items).value
    return {} if process_accuracy is None else {"process_accuracy": process_accuracy}


def _compute_dialogue_figures(items: Sequence[ScoredItem], verdicts: Sequence[bool]) -> JsonObject:
    """Return the figures of dialogues as fields of the header. An item is a step of a dialogue."""
    steps = []
    for item, verdict in zip(items, verdicts, strict=True):
        steps.append(DialogueStep(str(item.group), verdict))
    accuracies = compute_dialogue_accuracies(steps)
    return {
        "accuracy": accuracies.all_steps.value,
        "process_accuracy": accuracies.mean_share.value,
    }


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Yield the answer files with the reviewers' golden answers."""

    def find_answer_file(category: str) -> Path | None:
        for path in plan.data:
            is_answer_file = path.parent.name == "possible_answer"
            if is_answer_file and path.name == f"data_{category}.json":
                return path
        return None

    return writeback.rewrite_answer_files(fixes, find_answer_file)


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """Return the golden answer as a golden fix.

    Return None for agent and special items, because their `golden` has only a part of the answer.
    """
    if not item.category.startswith("normal") or not writeback.has_only_decoded_calls(item.golden):
        return None
    arguments = [writeback.first_accepted_arguments(call) for call in item.golden]
    first_answer = writeback.key_by_function_name(item.golden, arguments)
    other_answers = item.extra.metadata.get(OTHER_ANSWERS)
    if isinstance(other_answers, list) and other_answers:
        return {GROUND_TRUTH: [first_answer, *other_answers]}
    return {GROUND_TRUTH: first_answer}


def recompute_verdict(run: Run, item: Item, golden_fix: JsonObject, record: Any) -> bool | None:
    """Recompute the verdict with a corrected golden answer.

    Return None for agent items and without a reply.
    """
    reply = as_object(record).get("result")
    if reply is None or item.category.startswith("agent_"):
        return None

    golden = golden_fix.get(GROUND_TRUTH)
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
    """Return the calls of the first accepted answer. Empty for agent and special items."""
    if not item.category.startswith("normal"):
        return []
    answer = golden_fix.get(GROUND_TRUTH)
    answers = list_objects(answer if isinstance(answer, list) else [answer])
    if not answers:
        return []
    # As at the import, the first of several accepted answers is shown.
    return parse_golden_calls(answers[0], item.functions)
