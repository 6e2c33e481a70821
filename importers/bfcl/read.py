"""Read BFCL runs: join results, scores and dataset of each category, and yield items.

If possible, records are joined not only by id but also by content. If the question or golden answer in a failing score
entry differs from the dataset, the item gets the one in the score entry, and an issue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.bfcl import filenames, items, joining, scores
from fcreview.importers.bfcl.dataset import (
    Dataset,
    DatasetFiles,
    DatasetItem,
    json_text,
    load_dataset,
    make_dataset_item,
    merge_datasets,
)
from fcreview.importers.bfcl.decoders.base import Decoder
from fcreview.importers.bfcl.decoders.detect import select_category_decoder, select_decoder
from fcreview.importers.bfcl.discovery import CategoryFiles, FilesByCategory
from fcreview.importers.bfcl.items import GoldenCorrector
from fcreview.importers.bfcl.joining import find_scored_item, is_same_answer, is_same_question, is_same_reply
from fcreview.importers.common.jsonl import JsonRecord, make_excerpt, read_first_record
from fcreview.importers.common.records import as_object, missing_records_issue
from fcreview.model.item import ImportIssue, Item
from fcreview.run_plan import RunPlan

_WITHOUT_GOLDEN = ("relevance", "rest", "chatable", "sql")
"""Words in the names of categories without golden answers."""
MAX_QUOTED_REPLY = 160


@dataclass(slots=True)
class JoinedCategory:
    context: items.CategoryContext
    dataset: Dataset
    results: joining.Results
    scores: scores.ScoreFile | None
    knows_passes: bool = False
    """Whether an item without a score entry passed. Otherwise its official verdict is unknown."""
    has_derived_ids: bool = False
    """Whether item ids differ from the dataset's ids."""
    matches_dataset: bool = True
    """Whether the questions in the dataset are the same as in the score files."""
    without_question: int = 0
    """Number of items without a question in the dataset."""
    without_answer: int = 0
    """Number of items with a question but no golden answer in the dataset, in a category with golden answers."""
    issues: list[ImportIssue] = field(default_factory=list)


def choose_dataset_item(
    category: JoinedCategory,
    item_id: str,
    entry: scores.ScoreEntry | None,
    path: str,
    line: int | None,
    issues: list[ImportIssue],
) -> DatasetItem:
    """Return the dataset's item, or one made from the score entry if its question or golden answer differs."""
    context = category.context
    dataset_id = filenames.to_dataset_id(item_id, context.category) if category.has_derived_ids else item_id
    item = category.dataset.items.get(dataset_id) if category.matches_dataset else None
    if item is not None:
        record = entry.record if entry is not None else {}
        question = entry.question if entry is not None else None
        if question is not None and not is_same_question(item.turns, question):
            different = "question"
        elif item.ground_truth is None and not any(word in context.category for word in _WITHOUT_GOLDEN):
            category.without_answer += 1
            if entry is None:
                issues.append(ImportIssue(path, line, "the dataset has no golden answer for this item", item=item_id))
            return _make_quoted_item(category, dataset_id, entry, item) if "possible_answer" in record else item
        elif "possible_answer" in record and not is_same_answer(item.ground_truth, record["possible_answer"]):
            different = "golden answer"
        else:
            return item
        what = f"the {different} in the score file differs from the dataset. The item shows the one in the score file"
        score_path = str(category.scores.path) if category.scores else ""
        issues.append(ImportIssue(score_path, entry.line if entry else None, what, item=item_id))
    elif category.matches_dataset:
        category.without_question += 1
        if category.dataset.items:
            issues.append(ImportIssue(path, line, f"{dataset_id} is not in the dataset", item=item_id))
    return _make_quoted_item(category, dataset_id, entry, item)


def _make_quoted_item(
    category: JoinedCategory, dataset_id: str, entry: scores.ScoreEntry | None, item: DatasetItem | None
) -> DatasetItem:
    """Make a dataset item from a score entry, with the function docs of `item` if the entry has none."""
    context = category.context
    name = filenames.split_item_id(dataset_id)[0] if context.category == "format_sensitivity" else context.category
    if entry is None:
        return DatasetItem(dataset_id, name)
    prompt = entry.record.get("prompt")
    record = prompt if isinstance(prompt, dict) else {"question": prompt} if isinstance(prompt, list) else {}
    answer = {"ground_truth": entry.record["possible_answer"]} if "possible_answer" in entry.record else None
    functions = None
    if "function" not in record and item is not None:
        functions = item.functions
    elif "involved_classes" in record and "function" not in record:
        functions = []
    try:
        return make_dataset_item(dataset_id, name, record, answer, functions)
    except MALFORMED_DATA:
        return DatasetItem(dataset_id, context.category)


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Read the items of a run, category by category, in dataset order. Also sets `plan.run.official_metrics`."""
    categories: FilesByCategory = plan.importer_data
    decoder, issues = select_decoder(plan)
    yield from issues
    for name, files in categories.items():
        corrector = GoldenCorrector(plan.errata, plan.run, name)
        yield from _read_category(plan, corrector, files, decoder)
        yield from corrector.issues


def join_category(plan: RunPlan, name: str, files: CategoryFiles, decoder: Decoder | None = None) -> JoinedCategory:
    """Load and join results, scores and dataset of a category. Also sets its official metrics."""
    if decoder is None:
        decoder, _ = select_decoder(plan)
    version = plan.run.generation
    dataset = _load_category_dataset(version, name, files.dataset_files)
    header = as_object(read_first_record(files.scores[0]) if files.scores else None)
    found = joining.load_results(files.results, name, dataset, header.get("total_count"))
    scored = _load_score_file(files.scores, name, found, dataset)
    if scored is not None:
        plan.run.official_metrics[name] = scored.header
    decoder = select_category_decoder(version, name, decoder, found, scored)
    context = items.CategoryContext(version, name, decoder)
    category = JoinedCategory(context, dataset, found, scored)
    category.has_derived_ids = name.startswith(("memory", "web_search", "format_sensitivity"))
    if scored is not None:
        _check_counts(category, scored)
        if dataset.items:
            _check_questions(category, scored)
    return category


def _read_category(
    plan: RunPlan, corrector: GoldenCorrector, files: CategoryFiles, decoder: Decoder
) -> Iterator[Item | ImportIssue]:
    category = join_category(plan, corrector.category, files, decoder)
    found, scored, dataset = category.results, category.scores, category.dataset
    n_issues = len(dataset.issues)
    yield from dataset.issues[:n_issues]
    yield from found.issues
    if scored is not None:
        yield from scored.issues
    yield from category.issues
    failing = scored.failing if scored is not None else {}
    for item_id in found.records:
        yield _read_item(category, item_id, failing.get(item_id), corrector)
    if scored is not None:
        missing = {item_id: entry for item_id, entry in failing.items() if item_id not in found.records}
        yield from _read_items_without_result(category, scored, missing, corrector)
    yield from _missing_records_issues(category, files)
    yield from dataset.issues[n_issues:]  # issues from loading the items above
    if dataset.items and not category.has_derived_ids:
        corrector.report_absent_items(dataset.items)
    for key, line in category.context.unknown_fields.items():
        path = str(files.results[0]) if files.results else str(plan.run.path)
        yield ImportIssue(path, line, f"unknown field {key!r}. It is in the items' metadata", severity="notice")


def _missing_records_issues(category: JoinedCategory, files: CategoryFiles) -> Iterator[ImportIssue]:
    failing = category.scores.failing if category.scores else {}
    n_items = len(category.results.records.keys() | failing.keys())
    for each in files.dataset_files[:1]:
        if category.without_question:
            yield missing_records_issue(each.questions, "question", category.without_question, n_items)
        if category.without_answer and each.answers is not None:
            yield missing_records_issue(each.answers, "golden answer", category.without_answer, n_items)


def _load_category_dataset(version: str, category: str, files: list[DatasetFiles]) -> Dataset:
    if category != "format_sensitivity":
        return load_dataset(files[0], category) if files else Dataset()
    prefix = f"BFCL_{version.lower()}_"
    return merge_datasets(load_dataset(each, each.questions.stem.removeprefix(prefix)) for each in files)


def _load_score_file(
    paths: list[Path], category: str, found: joining.Results, dataset: Dataset
) -> scores.ScoreFile | None:
    if not paths:
        return None

    def ids_by_position() -> dict[int, str]:
        numbers = {item_id: filenames.item_number(item_id) for item_id in found.records or dataset.items}
        # If several ids have the same number, the reverse order keeps the first one.
        return {number: item_id for item_id, number in reversed(numbers.items()) if number is not None}

    select_item = partial(_select_repeated_item, found=found, dataset=dataset)
    keep_log, replaced = not found.records, found.replaced
    scored = scores.load_score_file(
        paths[0], category, ids_by_position, keep_log=keep_log, select_item=select_item, replaced_results=replaced
    )
    for other in paths[1:]:
        what = f"a second score file of {category}. Only {paths[0]} is imported"
        scored.issues.append(ImportIssue(str(other), None, what))
    return scored


def _select_repeated_item(item_id: str, entry: dict[str, Any], *, found: joining.Results, dataset: Dataset) -> str:
    ids = found.repeated_ids.get(item_id) or ([] if found.records else dataset.repeated_ids.get(item_id, []))
    if not ids:
        return item_id
    replies = {
        each: value.get("result") for each in ids if each in found.records and (value := found.read_record(each))
    }
    return find_scored_item(ids, entry, dataset, replies)


def _check_counts(category: JoinedCategory, scored: scores.ScoreFile) -> None:
    """Compare the numbers of results and scored items. If there are more results, it is unknown which ones passed."""
    category.context.score_file_name, category.context.score_file_path = scored.path.name, str(scored.path)
    category.knows_passes = scored.is_complete
    total, records, name = scored.n_scored, category.results.records, category.context.category
    if total is None or not scored.is_complete:
        return
    n_items = len(records) + sum(item_id not in records for item_id in scored.failing)
    if not records:
        n_failing = len(scored.failing)
        what = f"no result file of {name}. Its {n_failing} failing items come from the score file; "
        what += f"the {total - n_failing} that passed are not shown"
        category.issues.append(ImportIssue(str(scored.path), None, what))
    elif n_items > total:
        category.knows_passes = False
        what = f"{total} items of {name} were scored, but there are {n_items}, so it is unknown which items passed"
        category.issues.append(ImportIssue(str(scored.path), 1, what, severity="error"))
    elif n_items < total:
        what = f"{total} items of {name} were scored, but only {n_items} results can be read"
        category.issues.append(ImportIssue(str(scored.path), 1, what))


def _check_questions(category: JoinedCategory, scored: scores.ScoreFile) -> None:
    """Ignore the dataset if at least two, and more than half, of the questions in the score entries differ from it.

    If fewer questions differ, only the items with these questions are imported without the dataset.
    """
    compared = different = 0
    for item_id, entry in scored.failing.items():
        turns = category.dataset.items.read_question(filenames.to_dataset_id(item_id, category.context.category))
        question = entry.question if turns is not None else None
        if turns is not None and question is not None:
            compared += 1
            different += not is_same_question(turns, question)
    if different > 1 and different * 2 > compared:
        category.matches_dataset = False
        what = f"{different} of {compared} questions in the score file differ from the dataset. "
        what += f"The dataset is of another version, so {category.context.category} is imported without it"
        category.issues.append(ImportIssue(str(scored.path), None, what, severity="error"))


def _read_item(
    category: JoinedCategory, item_id: str, entry: scores.ScoreEntry | None, corrector: GoldenCorrector
) -> Item:
    path, record = category.results.records[item_id]
    issues: list[ImportIssue] = []
    dataset_item = choose_dataset_item(category, item_id, entry, str(path), record.line, issues)
    official = None
    if category.scores is not None and category.scores.is_complete:
        official = False if entry is not None else (True if category.knows_passes else None)
    value = category.results.read_record(item_id)
    corrected = corrector.apply_errata(item_id, dataset_item)
    inputs = items.ItemInputs(item_id, corrected, official, entry, str(path), record)
    if entry is not None and category.scores is not None:
        inputs.further_entries = category.scores.further_entries.get(item_id, [])
        issues += _reply_issues(category.scores, entry, value)
    try:
        if value is None:
            raise ValueError("the file changed while it was read")
        if isinstance(value, dict) and "result" not in value:
            raise ValueError("it has no field 'result'")
        item = items.build_item(category.context, inputs, value)
    except MALFORMED_DATA as error:
        reason = f"the record could not be interpreted: {type(error).__name__}: {error}"
        item = items.make_degraded_item(category.context, inputs, reason)
    if "result" not in (value or ()):
        issues.append(ImportIssue(str(path), record.line, "the record has no result", item=item_id))
    if issues:
        item.issues += issues
    return item


def _reply_issues(
    scored: scores.ScoreFile, entry: scores.ScoreEntry, value: dict[str, Any] | None
) -> Iterator[ImportIssue]:
    for key in ("model_result_raw", "model_result"):
        if key in entry.record and value is not None and "result" in value:
            if not is_same_reply(entry.record[key], value["result"]):
                reply = make_excerpt(json_text(entry.record[key]), MAX_QUOTED_REPLY)
                what = f"the replies in the result file and the score file differ. The official verdict is on {reply}"
                yield ImportIssue(str(scored.path), entry.line, what, severity="error")
            return


def _read_items_without_result(
    category: JoinedCategory,
    scored: scores.ScoreFile,
    entries: Mapping[str, scores.ScoreEntry],
    corrector: GoldenCorrector,
) -> Iterator[Item | ImportIssue]:
    if entries and category.results.records:
        what = f"{len(entries)} failing items have no result record. They come from the score file"
        yield ImportIssue(str(scored.path), None, what)
    for item_id, entry in sorted(entries.items(), key=lambda pair: filenames.item_number(pair[0]) or 0):
        issues: list[ImportIssue] = []
        dataset_item = choose_dataset_item(category, item_id, entry, str(scored.path), entry.line, issues)
        corrected = corrector.apply_errata(item_id, dataset_item)
        position = JsonRecord(entry.line, entry.offset, entry.length, None)
        official = False if scored.is_complete else None
        inputs = items.ItemInputs(item_id, corrected, official, entry, str(scored.path), position)
        try:
            item = items.build_item(category.context, inputs, _make_result_record(entry))
        except MALFORMED_DATA as error:
            reason = f"the score entry could not be interpreted: {type(error).__name__}: {error}"
            item = items.make_degraded_item(category.context, inputs, reason)
        item.issues += issues
        yield item


def _make_result_record(entry: scores.ScoreEntry) -> dict[str, Any]:
    """Make a result record from a score entry. Old entries contain Python's `str` of the result, which stays text."""
    result = entry.record.get("model_result_raw", entry.record.get("model_result"))
    log = {key: value for key, value in entry.record.items() if key == "inference_log"}
    return {"id": entry.id, "result": result, **log}
