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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import stdev
from typing import Any

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.checker.call_check import pair_calls
from fcreview.importers.bfcl.checker.evaluate import EvaluationSettings, evaluate_result
from fcreview.importers.bfcl.checker.schema import COMPARISON_RULES
from fcreview.importers.bfcl.dataset import (
    DatasetFiles,
    DatasetItem,
    make_repeated_id,
    parse_golden_calls,
    strip_repeat_suffix,
)
from fcreview.importers.bfcl.decoder_detection import (
    DECODER_FACT,
    DecoderChoice,
    select_run_decoder,
)
from fcreview.importers.bfcl.decoders.base import Decoder
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
from fcreview.matching.align import align_calls_by_turn
from fcreview.model.item import Call, CallPair, Extra, Item, Run
from fcreview.model.json_value import is_string_list
from fcreview.model.metric import ScoredItem
from fcreview.model.sanitize import redact_third_party_keys
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

GROUND_TRUTH = "ground_truth"
CALL_FORM = '{"name": {"parameter": [accepted values]}}'
"""Form of a golden call in messages."""
SPREAD_TOLERANCE = 0.01
"""Largest difference, in percentage points, of a header's spread from the recomputed one."""
LEADERBOARD_FILE = re.compile(r"data(_[a-z_]+)?\.csv")


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Write the reviewed verdicts of a run into its score files.

    Yields the files that change, and the reviews that score files cannot represent.
    """
    yield from writeback.find_unrepresentable_reviews(items, writeback.is_item_verdict)
    overridden = writeback.list_overridden_items(items)
    if not overridden:
        return
    # Score files of another run must not get the verdicts of this run.
    if compare_quoted_replies(plan.importer_data, CategoryLoader(plan)).are_scores_of_other_replies:
        yield Unrepresentable("items whose score files belong to other replies", len(overridden))
        return

    decoder = select_run_decoder(plan)
    files_by_category: FilesByCategory = plan.importer_data
    for category, files in files_by_category.items():
        overridden_in_category = [item for item in overridden if item.category == category]
        if overridden_in_category:
            yield from _rewrite_score_file(plan, category, files, decoder, overridden_in_category)


def _rewrite_score_file(
    plan: RunPlan,
    name: str,
    files: CategoryFiles,
    decoder: DecoderChoice,
    overridden: Sequence[ScoredItem],
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the score file of a category with the reviewed verdicts, or the number of reviews that
    it cannot represent.

    Args:
        plan: The plan of the run.
        name: The category.
        files: The files of the category.
        decoder: The decoder of the run.
        overridden: The items whose verdict a review decides.
    """
    if not files.scores:
        yield Unrepresentable(f"items of {name}, which has no score file", len(overridden))
        return
    category = join_category(plan, name, files, decoder)
    if not category.scores.is_complete:
        yield Unrepresentable(f"items of {name}, whose score file is damaged", len(overridden))
        return

    # The file lists only failing items. If it may lack some of them, a reviewed pass looks like the
    # passes that are not certain.
    n_passes = sum(writeback.get_item_override(item) is True for item in overridden)
    if n_passes and not category.knows_passes:
        what = (
            f"passing verdicts in {name}, because the counts in its score file differ from its"
            " entries or results"
        )
        yield Unrepresentable(what, n_passes)

    path = files.scores[0]
    old_content = read_file(path)
    edits = _make_line_edits(plan, category, overridden)
    header_line = writeback.find_header_line_number(old_content)
    edits.replaced[header_line] = _update_header(category.scores.header, overridden)
    yield RewrittenFile(path, writeback.apply_line_edits(old_content, edits))


def find_summary_files(plan: RunPlan) -> list[Path]:
    """Find the leaderboard tables beside the model folders."""
    folders = dict.fromkeys(filenames.find_model_folder(path).parent for path in plan.scores)
    tables: list[Path] = []
    for folder in folders:
        candidates = sorted(folder.glob("data*.csv"))
        tables += [path for path in candidates if LEADERBOARD_FILE.fullmatch(path.name)]
    return tables


def _make_line_edits(
    plan: RunPlan, category: JoinedCategory, overridden: Sequence[ScoredItem]
) -> LineEdits:
    """Plan the changes to a score file, which has a line for each failing item.

    Lines of items that now pass are removed. Lines of items that now fail are added at their place
    in the order of the dataset.
    """
    item_ids = list(category.results.records) or list(category.dataset.items)
    position_by_item = writeback.positions_by_name(item_ids)
    edits = LineEdits(positions=_map_lines_to_positions(category, position_by_item))
    for item in overridden:
        passes = writeback.get_item_override(item) is True
        is_listed = item.id in category.scores.failing
        if passes and is_listed:
            edits.removed.update(_list_lines_of_item(category, item.id))
        elif not passes and not is_listed:
            position = position_by_item.get(item.id, len(position_by_item))
            edits.added.append((position, make_failing_entry(plan, category, item)))
    return edits


def _map_lines_to_positions(
    category: JoinedCategory, position_by_item: Mapping[str, int]
) -> dict[int, int]:
    """Return line of a score entry -> position of its item."""
    return {
        entry.line: position_by_item[item_id]
        for item_id, entry in category.scores.failing.items()
        if item_id in position_by_item
    }


def _list_lines_of_item(category: JoinedCategory, item_id: str) -> list[int]:
    """Return the lines of all score entries of an item."""
    first_entry = category.scores.failing[item_id]
    further_entries = category.scores.further_entries.get(item_id, [])
    return [entry.line for entry in (first_entry, *further_entries)]


def _update_header(header: dict[str, Any], overridden: Sequence[ScoredItem]) -> dict[str, Any]:
    """Return the header of a score file with the counts and the accuracy after the reviews.

    The header of format sensitivity also has the counts of each prompt format, called
    configuration, and the spread of their accuracies.
    """
    # Each reviewed item changes the number of passes by one. The key None counts the items without
    # a configuration.
    change_by_config: Counter[str | None] = Counter()
    for item in overridden:
        change_by_config[item.setting] += 1 if writeback.get_item_override(item) else -1

    updated = writeback.update_score_header(header, change_by_config.total())
    for config, change in change_by_config.items():
        if config is not None and isinstance(updated.get(config), dict):
            updated[config] = writeback.update_score_header(updated[config], change)
    _update_spread(updated, header)
    return updated


def _update_spread(updated: dict[str, Any], header: dict[str, Any]) -> None:
    """Set the spread of the accuracies of the prompt formats in an updated header.

    A spread is only updated if our formula gives the value in the old header (`header`). Otherwise,
    its formula is unknown, and it is removed.
    """
    spread_before = _compute_accuracy_spread(header)
    spread_after = _compute_accuracy_spread(updated)
    for name in spread_before.keys() & header.keys():
        stated = header[name]
        is_known_formula = (
            isinstance(stated, (int, float))
            and abs(stated - spread_before[name]) < SPREAD_TOLERANCE
        )
        if not is_known_formula:
            updated.pop(name)
            continue
        is_rounded = stated == round(stated, 2)
        updated[name] = round(spread_after[name], 2) if is_rounded else spread_after[name]


def _compute_accuracy_spread(header: dict[str, Any]) -> dict[str, float]:
    """Return range, variance and standard deviation of the configurations' accuracies, in
    percentage points.
    """
    percentages = [
        100 * part["accuracy"]
        for part in header.values()
        if isinstance(part, dict) and "accuracy" in part
    ]
    if not percentages:
        return {}
    deviation = stdev(percentages) if len(percentages) > 1 else 0.0
    return {
        "accuracy_max_delta": max(percentages) - min(percentages),
        "accuracy_variance": deviation**2,
        "accuracy_std": deviation,
    }


def make_failing_entry(plan: RunPlan, category: JoinedCategory, item: ScoredItem) -> dict[str, Any]:
    """Make the score entry of an item that annotators failed.

    As in official entries, it quotes the question, the golden answer and the reply.
    """
    context = category.context
    is_single_turn = context.kind == "single"
    entry: dict[str, Any] = {
        "id": _choose_score_entry_id(category, item.id),
        "model_name": plan.run.model,
        "test_category": context.category,
        "valid": False,
        **_make_error_fields(item, is_single_turn=is_single_turn),
    }

    result = _read_result(category, item.id)
    entry |= _quote_item(plan, category, item, result.get("result"))
    if not is_single_turn and "inference_log" in result:
        entry["inference_log"] = result["inference_log"]

    # Questions of this category contain the API keys of the services that they call.
    if context.category == "rest":
        entry = redact_third_party_keys(entry)
    return entry


def _quote_item(
    plan: RunPlan, category: JoinedCategory, item: ScoredItem, reply: Any
) -> dict[str, Any]:
    """Return the fields of a score entry that quote the question, the reply and the golden answer
    of an item. What the dataset lacks is left out.
    """
    quoted: dict[str, Any] = {}
    category_name = category.context.category
    dataset_item = _find_dataset_item(category, item.id)
    if dataset_item is not None:
        files: CategoryFiles = plan.importer_data[category_name]
        question = _find_question_record(files, dataset_item.id)
        if question is not None:
            quoted["prompt"] = question

    # Official entries of categories without golden answers have another name for the reply.
    if "relevance" in category_name:
        quoted["model_result"] = reply
        return quoted
    quoted["model_result_raw"] = reply
    if dataset_item is not None and dataset_item.ground_truth is not None:
        quoted["possible_answer"] = dataset_item.ground_truth
    return quoted


def _read_result(category: JoinedCategory, item_id: str) -> dict[str, Any]:
    """Return the result record of an item; an empty one if it cannot be read."""
    if item_id not in category.results.records:
        return {}
    return category.results.read_record(item_id) or {}


def _make_error_fields(item: ScoredItem, *, is_single_turn: bool) -> dict[str, Any]:
    """Return the fields of an error. Other than single-turn entries have one object for both."""
    if is_single_turn:
        return {"error": [writeback.ANNOTATOR_REASON], "error_type": item.error_type}
    error = {"error_message": [writeback.ANNOTATOR_REASON], "error_type": item.error_type}
    return {"error": error}


def _find_dataset_item(category: JoinedCategory, item_id: str) -> DatasetItem | None:
    """Return the dataset item of an item; None if the dataset lacks it or is of another version."""
    if not category.matches_dataset:
        return None
    dataset_id = item_id
    if category.has_derived_ids:
        dataset_id = filenames.to_dataset_id(item_id, category.context.category)
    return category.dataset.items.get(dataset_id)


def _choose_score_entry_id(category: JoinedCategory, item_id: str) -> str | int:
    """Return the id of a new entry: a record id or, if the existing entries have positions, its
    position from 1.
    """
    number = filenames.parse_item_number(item_id)
    if number is not None and _has_positions_as_ids(category):
        return number + 1
    # Items that share a record id have ids of their own, such as `id#2`.
    for record_id, item_ids in category.results.repeated_ids.items():
        if item_id in item_ids:
            return record_id
    return item_id


def _has_positions_as_ids(category: JoinedCategory) -> bool:
    """Whether the entries have positions. Without any entry, it depends on the version."""
    for entry in category.scores.failing.values():
        return isinstance(entry.id, int)
    return category.context.version in ("V1", "V2")


def _find_question_record(files: CategoryFiles, dataset_id: str) -> dict[str, Any] | None:
    """Return the record of an item's question in the dataset, or None."""
    category = filenames.get_id_category(dataset_id)
    for dataset_files in _list_all_files(files.dataset_files):
        question = _read_question_records(dataset_files.questions, category).get(dataset_id)
        if question is not None:
            # Official score entries contain no function docs of API classes.
            omitted = "function" if "involved_classes" in question else None
            return {name: value for name, value in question.items() if name != omitted}
    return None


@lru_cache(maxsize=4)
def _read_question_records(path: Path, category: str) -> dict[str, dict[str, Any]]:
    """Return item id -> its record in a file of questions. Repeated ids get a number."""
    values = [record.value for record in read_records(path) if isinstance(record, JsonRecord)]
    record_by_item: dict[str, dict[str, Any]] = {}
    occurrences: Counter[str] = Counter()
    for position, value in enumerate(list_objects(values)):
        record_id = _make_record_id(category, position, value)
        item_id = make_repeated_id(record_id, occurrences[record_id])
        record_by_item[item_id] = value
        occurrences[record_id] += 1
    return record_by_item


def _make_record_id(category: str, index: int, record: JsonObject) -> str:
    stated = record.get("id")
    return stated if isinstance(stated, str) else f"{category}_{index}"


def check_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> str | None:
    """Check the form of a golden answer that a reviewer wrote. Return the first problem, or None.

    Each kind of category has its own form of golden answers: accepted texts, turns of calls, calls
    as text, or calls as objects.
    """
    problem = writeback.check_fix_fields(golden_fix, GROUND_TRUTH)
    if problem is not None:
        return problem

    category = item.category
    ground_truth = golden_fix[GROUND_TRUTH]
    if "relevance" in category:
        return f"{category} has no golden answers"

    if category.startswith(("memory", "web_search")):
        if not is_string_list(ground_truth) or not ground_truth:
            return f"{GROUND_TRUTH} must be a list of accepted strings"
        return None

    if category.startswith("multi_turn"):
        return _check_golden_turns(ground_truth, item)
    if category.startswith("exec"):
        if not is_string_list(ground_truth):
            return f"{GROUND_TRUTH} must be a list of call strings"
        return _check_golden_call_texts(ground_truth, item)

    if run.generation == "V1":
        return _check_v1_golden_calls(ground_truth, item)
    return _check_golden_calls(ground_truth, item)


def _check_v1_golden_calls(ground_truth: Any, item: Item) -> str | None:
    """Return the first error of a golden answer `{"f_1": {"a": [1]}}`; None if valid."""
    if not isinstance(ground_truth, dict) or not ground_truth:
        return f"{GROUND_TRUTH} must be {CALL_FORM}"
    names = function_names(item.functions)
    for name, arguments in ground_truth.items():
        problem = _check_golden_call(strip_repeat_suffix(name, names), arguments, item)
        if problem is not None:
            return problem
    return None


def _check_golden_calls(ground_truth: Any, item: Item) -> str | None:
    """Return the first error of a golden answer `[{"f": {"a": [1]}}]`; None if valid."""
    is_call_list = (
        isinstance(ground_truth, list)
        and len(ground_truth) > 0
        and all(isinstance(call, dict) and len(call) == 1 for call in ground_truth)
    )
    if not is_call_list:
        return f"{GROUND_TRUTH} must be a list of {CALL_FORM}, one for each call"
    for call in ground_truth:
        ((name, arguments),) = call.items()
        problem = _check_golden_call(name, arguments, item)
        if problem is not None:
            return problem
    return None


def _check_golden_call(name: str, arguments: Any, item: Item) -> str | None:
    """Return what is wrong with a golden call, or None. Each argument needs a list of accepted
    values.
    """
    problem = writeback.check_golden_call(name, arguments, item.functions)
    if problem is not None:
        return problem
    for parameter, values in arguments.items():
        if not isinstance(values, list) or not values:
            return f"{parameter} of {name} must be a list of accepted values"
    return None


def _check_golden_turns(ground_truth: Any, item: Item) -> str | None:
    """Return why a corrected golden answer cannot be written to the dataset, or None. It must list
    the calls of each turn as texts.
    """
    if not isinstance(ground_truth, list) or not all(map(is_string_list, ground_truth)):
        return f"{GROUND_TRUTH} must be a list of call strings for each turn"
    has_known_turns = item.n_turns > 0 and not _was_cut_off(item)
    if has_known_turns and len(ground_truth) != item.n_turns:
        return f"{GROUND_TRUTH} has {len(ground_truth)} turns, but {item.id} has {item.n_turns}"
    for texts in ground_truth:
        problem = _check_golden_call_texts(texts, item)
        if problem is not None:
            return problem
    return None


def _check_golden_call_texts(texts: list[str], item: Item) -> str | None:
    """Return the first error in golden calls that are written as text, or None."""
    for text in texts:
        call = parse_call_text(text, item.functions)
        if call is None:
            return f"not a call: {text}"
        name, arguments = call
        problem = writeback.check_golden_call(name, arguments, item.functions)
        if problem is not None:
            return problem
    return None


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Write the reviewers' golden answers into the dataset files of a run.

    Yields the files that change, the fixes that were applied, and those that no file can represent.
    """
    files_by_category: FilesByCategory = plan.importer_data
    for category, files in files_by_category.items():
        fixes_of_category = _select_fixes_of_category(fixes, category)
        if not fixes_of_category:
            continue
        if not files.dataset_files:
            what = f"golden answers of {category}, whose dataset was not found"
            yield Unrepresentable(what, len(fixes_of_category))

        for dataset_files in files.dataset_files:
            own_fixes = fixes_of_category
            # The items of this category come from the files of several other categories.
            if category == "format_sensitivity":
                own_fixes = _select_fixes_of_file(fixes_of_category, dataset_files, plan.run)
            yield from _rewrite_dataset_files(dataset_files, category, own_fixes)


def _select_fixes_of_category(fixes: GoldenFixes, category: str) -> FixesByRecord:
    """Return the fixes of one category by the ids of their dataset records."""
    selected: dict[str, tuple[tuple[str, str], JsonObject]] = {}
    for (fix_category, item_id), fix in fixes.items():
        if fix_category == category:
            selected[filenames.to_dataset_id(item_id, category)] = ((category, item_id), fix)
    return selected


def _select_fixes_of_file(fixes: FixesByRecord, files: DatasetFiles, run: Run) -> FixesByRecord:
    """Return the fixes whose items are in a question file, for items of several categories."""
    selected: dict[str, tuple[tuple[str, str], JsonObject]] = {}
    for dataset_id, fix in fixes.items():
        category = filenames.get_id_category(dataset_id)
        if files.questions.name == filenames.question_file_name(run.generation, category):
            selected[dataset_id] = fix
    return selected


def _rewrite_dataset_files(
    files: DatasetFiles, category: str, fixes: FixesByRecord
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    for path, fixes_of_file in _assign_fixes_to_files(files, category, fixes).items():
        yield from writeback.rewrite_golden_file(
            path, fixes_of_file, name_record=partial(_make_record_id, category)
        )


def _list_all_files(dataset_files: Sequence[DatasetFiles]) -> list[DatasetFiles]:
    """Return dataset files and those that the user added with --data, in order of use."""
    all_files: list[DatasetFiles] = []
    for files in dataset_files:
        all_files += [files, *files.others]
    return all_files


def _assign_fixes_to_files(
    files: DatasetFiles, category: str, fixes: FixesByRecord
) -> Mapping[Path, FixesByRecord]:
    """Return for each file with golden answers the fixes (corrected golden answers) to write into
    it.

    A dataset can be spread over several question files. The first file that has the question of a
    fix decides, because the same question in a later file is ignored. A fix whose question is in no
    file goes to the first file. `fixes` maps record ids to fixes.
    """
    all_files = _list_all_files([files])
    file_by_record: dict[str, Path] = {}
    if len(all_files) > 1:
        for dataset_files in all_files:
            golden_file = _get_golden_file(dataset_files)
            for record_id in _read_question_records(dataset_files.questions, category):
                file_by_record.setdefault(record_id, golden_file)

    first_file = _get_golden_file(all_files[0])
    fixes_by_file: dict[Path, dict[str, Any]] = {}
    for record_id, fix in fixes.items():
        path = file_by_record.get(record_id, first_file)
        fixes_by_file.setdefault(path, {})[record_id] = fix
    return fixes_by_file


def _get_golden_file(files: DatasetFiles) -> Path:
    """Return the file with the golden answers. Without one, they stand in the questions."""
    return files.answers or files.questions


def make_golden_template(run: Run, item: Item) -> JsonObject | None:
    """Return the golden answer of an item in the form of a golden fix; None if the item does not
    contain all of it.
    """
    ground_truth = _make_ground_truth(run, item)
    return {GROUND_TRUTH: ground_truth} if ground_truth else None


def make_fix_from_prediction(run: Run, item: Item) -> JsonObject | None:
    """Return the predicted calls in the form of a golden fix.

    None if a call could not be decoded, or if the golden answer is not a list of calls.
    """
    # Each call that could be decoded becomes a golden call. If one could not, the list is empty.
    golden = writeback.make_golden_calls_from_prediction(item, writeback.nest_accepted_values)
    if item.category.startswith(("multi_turn", "exec")):
        # The golden answers of these categories are texts of Python calls.
        golden = [
            replace(call, raw=_format_python_call(predicted))
            for call, predicted in zip(golden, item.predicted, strict=False)
        ]
    # The `Extra` of the item can have accepted answers, which are not the prediction.
    return make_golden_template(run, replace(item, golden=golden, extra=Extra()))


def _format_python_call(call: Call) -> str:
    """Return a decoded call as Python writes it: `cd(folder='a')`."""
    arguments = [f"{name}={value!r}" for name, value in (call.arguments or {}).items()]
    return f"{call.name}({', '.join(arguments)})"


def _make_ground_truth(run: Run, item: Item) -> Any:
    """Return the golden answer of an item in the form that its BFCL version has in files.

    Editors start from this value. It is empty if the item has no complete golden answer.
    """
    if item.category.startswith(("memory", "web_search")):
        return item.extra.accepted_answers
    if item.category.startswith("multi_turn"):
        return _list_call_texts_by_turn(item)
    if not writeback.has_only_decoded_calls(item.golden):
        return None
    if item.category.startswith("exec"):
        return [call.raw or "" for call in item.golden]

    arguments = [_list_accepted_values(call) for call in item.golden]
    if run.generation == "V1":
        return writeback.key_by_function_name(item.golden, arguments)
    return [{call.name: values} for call, values in zip(item.golden, arguments, strict=True)]


def _list_call_texts_by_turn(item: Item) -> list[list[str]]:
    """Return the golden calls of each turn as texts. Empty if there is no golden call, or if the
    number of turns is not known.
    """
    if not item.golden or _was_cut_off(item):
        return []
    turns: list[list[str]] = [[] for _ in range(item.n_turns)]
    for call in item.golden:
        turns[call.turn].append(call.raw or "")
    return turns if any(turns) else []


def _was_cut_off(item: Item) -> bool:
    """Whether the conversation ended before the last turn with golden calls, as after a failed
    request. The number of turns of the item is then not that of the golden answer.
    """
    return any(call.turn >= item.n_turns for call in item.golden)


def _list_accepted_values(call: Call) -> JsonObject:
    arguments = call.arguments or {}
    return {name: writeback.list_accepted_values(accepted) for name, accepted in arguments.items()}


def recompute_verdict(run: Run, item: Item, golden_fix: JsonObject, record: Any) -> bool | None:
    """Recompute the verdict with another golden answer.

    None if the category has no recomputed verdicts. Multi-turn calls are only executed with
    permission, see `executed_rescore`.
    """
    if not isinstance(record, dict) or item.category.startswith("multi_turn"):
        return None
    settings = _find_evaluation_settings(run, item)
    dataset_item = DatasetItem(
        item.id,
        settings.category,
        functions=item.functions,
        ground_truth=golden_fix.get(GROUND_TRUTH),
    )
    return evaluate_result(record.get("result"), dataset_item, settings).valid


def _find_evaluation_settings(run: Run, item: Item) -> EvaluationSettings:
    """Return the settings with which the import evaluated an item."""
    category, config = filenames.resolve_category_and_config(item.id, item.category)
    version = filenames.get_rules_version(run.generation)
    decoder = find_run_decoder(run, version)
    return EvaluationSettings(version, category=category, decoder=decoder, config=config)


def find_run_decoder(run: Run, version: str) -> Decoder:
    """Return the decoder that the import chose for the run."""
    fact = run.facts.get(DECODER_FACT)
    decoder = find_decoder(fact.value, version) if fact is not None else None
    return decoder or find_model_decoder(run.model, version).decoder


def parse_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> list[Call]:  # noqa: ARG001
    return parse_golden_calls(golden_fix.get(GROUND_TRUTH), item.category, item.functions)


def pair_with_golden_fix(
    run: Run, item: Item, golden_fix: JsonObject, golden: list[Call]
) -> list[CallPair]:
    """Pair the predicted calls with corrected golden calls, as the import does: by the rules of the
    checker in single-turn categories.
    """
    settings = _find_evaluation_settings(run, item)
    if settings.category.startswith("multi_turn"):
        return align_calls_by_turn(golden, item.predicted, COMPARISON_RULES)
    dataset_item = DatasetItem(
        item.id,
        settings.category,
        functions=item.functions,
        ground_truth=golden_fix.get(GROUND_TRUTH),
        golden_calls=golden,
    )
    rules = settings.find_rules(dataset_item)
    return pair_calls(dataset_item, item.predicted, rules, with_schema_violations=True)
