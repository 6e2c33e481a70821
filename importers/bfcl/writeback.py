"""Write the annotators' verdicts and golden fixes to BFCL's own files.

A score file lists only failing items. fcreview removes the entries of items that now pass, adds
entries for items that now fail, in the order of the results, and updates the header. Leaderboard
tables cover all models, so only the official program can rewrite them. A golden fix is
`{"ground_truth": ...}` in the form of the BFCL version.

Source: `eval_runner.py` and `save_eval_results` of the official program, V1 to V4.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import stdev
from typing import Any

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.checker.evaluate import EvaluationSettings, evaluate_result
from fcreview.importers.bfcl.dataset import (
    DatasetFiles,
    DatasetItem,
    make_repeated_id,
    parse_golden_calls,
    strip_repeat_suffix,
)
from fcreview.importers.bfcl.decoders.base import Decoder
from fcreview.importers.bfcl.decoders.detect import DECODER_FACT, select_run_decoder
from fcreview.importers.bfcl.decoders.models import find_model_decoder
from fcreview.importers.bfcl.decoders.python_calls import parse_call_text
from fcreview.importers.bfcl.decoders.registry import find_decoder
from fcreview.importers.bfcl.discovery import CategoryFiles, FilesByCategory
from fcreview.importers.bfcl.read import (
    CategoryLoader,
    JoinedCategory,
    compare_quoted_replies,
    join_category,
)
from fcreview.importers.common import writeback
from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.records import function_names, list_objects
from fcreview.importers.common.writeback import FixesByRecord, GoldenFixes, JsonObject, LineEdits
from fcreview.model.item import Call, Item, Run
from fcreview.model.json_value import is_string_list
from fcreview.model.metric import ScoredItem
from fcreview.model.sanitize import redact_third_party_keys
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

GROUND_TRUTH = "ground_truth"
LEADERBOARD_FILE = re.compile(r"data(_[a-z_]+)?\.csv")


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    categories: FilesByCategory = plan.importer_data
    yield from writeback.find_unrepresentable_reviews(items, writeback.is_item_verdict)
    all_overridden = writeback.list_overridden_items(items)
    if not all_overridden:
        return
    if compare_quoted_replies(plan, CategoryLoader(plan)).are_scores_of_other_replies:
        yield Unrepresentable(
            "items whose score files belong to other replies", len(all_overridden)
        )
        return

    decoder = select_run_decoder(plan)
    for name, files in categories.items():
        overridden = writeback.list_overridden_items(
            item for item in items if item.category == name
        )
        if not overridden:
            continue
        if not files.scores:
            yield Unrepresentable(f"items of {name}, which has no score file", len(overridden))
            continue
        category = join_category(plan, name, files, decoder)
        if not category.scores.is_complete:
            yield Unrepresentable(f"items of {name}, whose score file is damaged", len(overridden))
            continue
        n_passes = sum(writeback.get_item_override(item) is True for item in overridden)
        # an item without an entry may have failed if entries are missing
        if n_passes and not category.knows_passes:
            what = (
                f"passing verdicts in {name}, because the counts in its score file differ from its"
                " entries"
            )
            yield Unrepresentable(f"{what} or results", n_passes)
        path = files.scores[0]
        raw = read_file(path)
        edits = _make_line_edits(plan, category, overridden)
        edits.replaced[writeback.find_header_line_number(raw)] = _update_header(
            category.scores.header, overridden
        )
        yield RewrittenFile(path, writeback.apply_line_edits(raw, edits))


def find_summary_files(plan: RunPlan) -> list[Path]:
    """Find the leaderboard tables beside the model folders."""
    folders = dict.fromkeys(filenames.find_model_folder(path).parent for path in plan.scores)
    paths = (path for folder in folders for path in sorted(folder.glob("data*.csv")))
    return [path for path in paths if LEADERBOARD_FILE.fullmatch(path.name)]


def _make_line_edits(
    plan: RunPlan, category: JoinedCategory, overridden: Sequence[ScoredItem]
) -> LineEdits:
    failing = category.scores.failing
    order = writeback.positions_by_name(
        list(category.results.records) or list(category.dataset.items)
    )
    edits = LineEdits(
        positions={entry.line: order[id_] for id_, entry in failing.items() if id_ in order}
    )
    for item in overridden:
        if writeback.get_item_override(item) and item.id in failing:
            further = category.scores.further_entries.get(item.id, [])
            edits.removed.update(entry.line for entry in (failing[item.id], *further))
        elif not writeback.get_item_override(item) and item.id not in failing:
            edits.added.append(
                (order.get(item.id, len(order)), make_failing_entry(plan, category, item))
            )
    return edits


def _update_header(header: dict[str, Any], overridden: Sequence[ScoredItem]) -> dict[str, Any]:
    """Return a header with new counts.

    For format sensitivity, also update counts and spread of the configurations.
    """
    changes = [
        (item.setting, 1 if writeback.get_item_override(item) else -1) for item in overridden
    ]
    updated = writeback.update_score_header(header, sum(change for _, change in changes))
    for config, change in changes:
        if config is not None and isinstance(updated.get(config), dict):
            updated[config] = writeback.update_score_header(updated[config], change)
    before, after = _compute_accuracy_spread(header), _compute_accuracy_spread(updated)
    for name in before.keys() & header.keys():
        stated = header[name]
        if isinstance(stated, (int, float)) and abs(stated - before[name]) < 0.01:
            updated[name] = round(after[name], 2) if stated == round(stated, 2) else after[name]
        else:  # the formula of this value is unknown, so the value is removed
            updated.pop(name)
    return updated


def _compute_accuracy_spread(header: dict[str, Any]) -> dict[str, float]:
    """Return range, variance and standard deviation of the configurations' accuracies, in
    percentage points.
    """
    values = [
        100 * each["accuracy"]
        for each in header.values()
        if isinstance(each, dict) and "accuracy" in each
    ]
    if not values:
        return {}
    deviation = stdev(values) if len(values) > 1 else 0.0
    spread = max(values) - min(values)
    return {
        "accuracy_max_delta": spread,
        "accuracy_variance": deviation**2,
        "accuracy_std": deviation,
    }


def make_failing_entry(plan: RunPlan, category: JoinedCategory, item: ScoredItem) -> dict[str, Any]:
    """Make the score entry of an dataset_item that annotators failed, from its result record and
    the dataset.
    """
    context = category.context
    result = (
        category.results.read_record(item.id) if item.id in category.results.records else None
    ) or {}
    entry: dict[str, Any] = {
        "id": _choose_score_entry_id(category, item.id),
        "model_name": plan.run.model,
    }
    entry |= {"test_category": context.category, "valid": False}
    if context.kind == "single":
        entry |= {"error": [writeback.ANNOTATOR_REASON], "error_type": item.error_type}
    else:
        entry["error"] = {
            "error_message": [writeback.ANNOTATOR_REASON],
            "error_type": item.error_type,
        }
    dataset_id = (
        filenames.to_dataset_id(item.id, context.category) if category.has_derived_ids else item.id
    )
    dataset_item = category.dataset.items.get(dataset_id) if category.matches_dataset else None
    files: CategoryFiles = plan.importer_data[context.category]
    question = _find_question_record(files, dataset_id) if dataset_item is not None else None
    if question is not None:
        entry["prompt"] = question
    has_no_golden = "relevance" in context.category
    entry["model_result" if has_no_golden else "model_result_raw"] = result.get("result")
    if dataset_item is not None and dataset_item.ground_truth is not None and not has_no_golden:
        entry["possible_answer"] = dataset_item.ground_truth
    if context.kind != "single" and "inference_log" in result:
        entry["inference_log"] = result["inference_log"]
    return redact_third_party_keys(entry) if context.category == "rest" else entry


def _choose_score_entry_id(category: JoinedCategory, item_id: str) -> str | int:
    """Return the id of a new entry: a record id or, if the existing entries have positions, its
    position from 1.
    """
    known = [entry.id for entry in category.scores.failing.values()]
    is_position = isinstance(known[0], int) if known else category.context.version in ("V1", "V2")
    number = filenames.parse_item_number(item_id)
    if number is not None and is_position:
        return number + 1
    return next(
        (stated for stated, ids in category.results.repeated_ids.items() if item_id in ids), item_id
    )


def _find_question_record(files: CategoryFiles, dataset_id: str) -> dict[str, Any] | None:
    for dataset_files in _list_all_files(files.dataset_files):
        question = _read_question_records(
            dataset_files.questions, filenames.get_id_category(dataset_id)
        ).get(dataset_id)
        if question is not None:
            # Official score entries contain no function docs of API classes.
            omitted = "function" if "involved_classes" in question else None
            return {name: value for name, value in question.items() if name != omitted}
    return None


@lru_cache(maxsize=4)
def _read_question_records(path: Path, category: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    occurrences: Counter[str] = Counter()
    values = list_objects(
        [each.value for each in read_records(path) if isinstance(each, JsonRecord)]
    )
    for position, value in enumerate(values):
        record_id = _make_record_id(category, position, value)
        found[make_repeated_id(record_id, occurrences[record_id])] = value
        occurrences[record_id] += 1
    return found


def _make_record_id(category: str, index: int, record: JsonObject) -> str:
    stated = record.get("id")
    return stated if isinstance(stated, str) else f"{category}_{index}"


def check_golden_fix(run: Run, item: Item, fix: JsonObject) -> str | None:
    if problem := writeback.check_fix_fields(fix, GROUND_TRUTH):
        return problem
    category, ground_truth = item.category, fix[GROUND_TRUTH]
    if "relevance" in category:
        return f"{category} has no golden answers"
    if category.startswith(("memory", "web_search")):
        is_valid = is_string_list(ground_truth) and ground_truth
        return None if is_valid else f"{GROUND_TRUTH} must be a list of accepted strings"
    if category.startswith("multi_turn"):
        return _check_golden_turns(ground_truth, item)
    if category.startswith("exec"):
        is_valid = is_string_list(ground_truth)
        return (
            _check_golden_call_texts(ground_truth, item)
            if is_valid
            else f"{GROUND_TRUTH} must be a list of call strings"
        )
    return _check_golden_calls(ground_truth, item, is_v1=run.generation == "V1")


def _check_golden_calls(ground_truth: Any, item: Item, *, is_v1: bool) -> str | None:
    """Return the first error of a golden answer `[{"f": {"a": [1]}}]` (in V1 `{"f_1": {"a":
    [1]}}`); None if valid.
    """
    if is_v1:
        names = function_names(item.functions)
        parts: list[Any] = list(ground_truth.items()) if isinstance(ground_truth, dict) else []
        calls = [(strip_repeat_suffix(name, names), arguments) for name, arguments in parts]
    else:
        parts = ground_truth if isinstance(ground_truth, list) else []
        calls = [
            next(iter(each.items())) for each in parts if isinstance(each, dict) and len(each) == 1
        ]
    if not calls or len(calls) != len(parts):
        form = '{"name": {"parameter": [accepted values]}}'
        return f"{GROUND_TRUTH} must be " + (
            form if is_v1 else f"a list of {form}, one for each call"
        )
    for name, arguments in calls:
        if problem := writeback.check_golden_call(name, arguments, item.functions):
            return problem
        for parameter, values in arguments.items():
            if not isinstance(values, list) or not values:
                return f"{parameter} of {name} must be a list of accepted values"
    return None


def _check_golden_turns(ground_truth: Any, item: Item) -> str | None:
    if not isinstance(ground_truth, list) or not all(map(is_string_list, ground_truth)):
        return f"{GROUND_TRUTH} must be a list of call strings for each turn"
    if item.n_turns and len(ground_truth) != item.n_turns:
        return f"{GROUND_TRUTH} has {len(ground_truth)} turns, but {item.id} has {item.n_turns}"
    return next(
        (problem for turn in ground_truth if (problem := _check_golden_call_texts(turn, item))),
        None,
    )


def _check_golden_call_texts(texts: list[str], item: Item) -> str | None:
    for text in texts:
        call = parse_call_text(text, item.functions)
        problem = (
            f"not a call: {text}"
            if call is None
            else writeback.check_golden_call(*call, item.functions)
        )
        if problem:
            return problem
    return None


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Apply golden fixes to answer files or, in executable categories, to question files."""
    categories: FilesByCategory = plan.importer_data
    for category, files in categories.items():
        wanted = {
            filenames.to_dataset_id(item_id, category): ((category, item_id), fix)
            for (fix_category, item_id), fix in fixes.items()
            if fix_category == category
        }
        for dataset_files in files.dataset_files:
            own = wanted
            # its golden answers are in the files of several categories
            if category == "format_sensitivity":
                name, version = dataset_files.questions.name, plan.run.generation
                own = {
                    dataset_id: fix
                    for dataset_id, fix in wanted.items()
                    if name
                    == filenames.question_file_name(version, filenames.get_id_category(dataset_id))
                }
            for path, fixes_of_file in _assign_fixes_to_files(dataset_files, category, own).items():
                yield from writeback.rewrite_golden_file(
                    path, fixes_of_file, partial(_make_record_id, category)
                )
        if wanted and not files.dataset_files:
            yield Unrepresentable(
                f"golden answers of {category}, whose dataset was not found", len(wanted)
            )


def _list_all_files(dataset_files: Sequence[DatasetFiles]) -> list[DatasetFiles]:
    """Return dataset files and those that the user added with --data, in order of use."""
    found = []
    for files in dataset_files:
        found += [files, *files.others]
    return found


def _assign_fixes_to_files(
    files: DatasetFiles, category: str, fixes: FixesByRecord
) -> dict[Path, FixesByRecord]:
    """Return the fixes for each file with golden answers.

    The first file that has the question of a fix gets it.
    """
    first, *others = _list_all_files([files])
    left = dict(fixes)
    found: dict[Path, FixesByRecord] = {}
    known_ids = set(_read_question_records(first.questions, category)) if others else set()
    for other in others:
        new_ids = _read_question_records(other.questions, category).keys() - known_ids
        own = {record_id: left.pop(record_id) for record_id in new_ids & left.keys()}
        if own:
            found[other.answers or other.questions] = own
        known_ids |= new_ids
    if left:
        found[first.answers or first.questions] = left
    return found


def make_golden_template(run: Run, item: Item) -> JsonObject | None:
    """Return the golden answer of an item in the form of a golden fix; None if the item does not
    contain all of it.
    """
    if item.category.startswith(("memory", "web_search")):
        return {GROUND_TRUTH: item.extra.accepted_answers} if item.extra.accepted_answers else None
    if item.category.startswith("multi_turn"):
        turns = [
            [call.raw or "" for call in item.golden if call.turn == turn]
            for turn in range(item.n_turns)
        ]
        return {GROUND_TRUTH: turns} if any(turns) else None
    if not item.golden or not writeback.has_only_decoded_calls(item.golden):
        return None
    if item.category.startswith("exec"):
        return {GROUND_TRUTH: [call.raw or "" for call in item.golden]}
    arguments = [
        {
            name: writeback.list_accepted_values(accepted)
            for name, accepted in (call.arguments or {}).items()
        }
        for call in item.golden
    ]
    if run.generation == "V1":
        return {GROUND_TRUTH: writeback.key_by_function_name(item.golden, arguments)}
    return {
        GROUND_TRUTH: [
            {call.name: values} for call, values in zip(item.golden, arguments, strict=True)
        ]
    }


def recompute_verdict(run: Run, item: Item, fix: JsonObject, record: Any) -> bool | None:
    """Recompute the verdict with another golden answer.

    None if the category has no recomputed verdicts.
    """
    if not isinstance(record, dict):
        return None
    category, config = filenames.resolve_category_and_config(item.id, item.category)
    golden = DatasetItem(
        item.id, category, functions=item.functions, ground_truth=fix.get(GROUND_TRUTH)
    )
    version = filenames.get_rules_version(run.generation)
    settings = EvaluationSettings(
        version, category=category, decoder=_find_run_decoder(run, version), config=config
    )
    return evaluate_result(record.get("result"), golden, settings).valid


def _find_run_decoder(run: Run, version: str) -> Decoder:
    """Return the decoder that the import chose for the run."""
    fact = run.facts.get(DECODER_FACT)
    decoder = find_decoder(fact.value, version) if fact is not None else None
    return decoder or find_model_decoder(run.model, version).decoder


def parse_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> list[Call]:  # noqa: ARG001
    return parse_golden_calls(golden_fix.get(GROUND_TRUTH), item.category, item.functions)
