"""Read BFCL runs: join results, scores and dataset of each category, and yield items.

If the question or golden answer in a failing score entry differs from the dataset, the item shows the one in the score
entry and gets an issue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.bfcl import filenames, items, joining
from fcreview.importers.bfcl.dataset import (
    Dataset,
    DatasetFiles,
    DatasetItem,
    load_dataset,
    make_dataset_item,
    merge_datasets,
    to_json_text,
)
from fcreview.importers.bfcl.decoders.base import Decoder
from fcreview.importers.bfcl.decoders.detect import select_category_decoder, select_run_decoder
from fcreview.importers.bfcl.discovery import CategoryFiles, FilesByCategory
from fcreview.importers.bfcl.items import GoldenCorrector
from fcreview.importers.bfcl.joining import is_same_golden_answer, is_same_question, is_same_reply
from fcreview.importers.bfcl.scores import ScoreEntry, ScoreFile, load_score_file
from fcreview.importers.common.jsonl import JsonRecord, make_excerpt, read_first_record
from fcreview.importers.common.records import as_object, make_missing_records_issue
from fcreview.model.item import ImportIssue, Item
from fcreview.run_plan import RunPlan

_WITHOUT_GOLDEN = ("relevance", "rest", "chatable", "sql")
MAX_QUOTED_REPLY = 160


@dataclass(slots=True)
class JoinedCategory:
    """Results, scores and dataset of one category of a run."""

    context: items.CategoryContext
    dataset: Dataset
    results: joining.Results
    scores: ScoreFile
    knows_passes: bool = False
    """Whether items without a score entry passed officially. If false, their official verdict is unknown."""
    has_derived_ids: bool = False
    """Whether item ids differ from the dataset's ids."""
    matches_dataset: bool = True
    """Whether the score entries quote the questions of the dataset. If not, the dataset is ignored."""
    n_without_question: int = 0
    """Number of items that are not in the dataset."""
    n_without_answer: int = 0
    """Number of items with a question but no golden answer in the dataset, in a category with golden answers."""
    issues: list[ImportIssue] = field(default_factory=list)


def choose_dataset_item(
    category: JoinedCategory, item_id: str, entry: ScoreEntry | None, path: str, line: int, issues: list[ImportIssue]
) -> DatasetItem:
    """Return the item in the dataset, or make one from the score entry if its question or golden answer differs.

    `path` and `line` are the position of the item's record, for issues.
    """
    context = category.context
    dataset_id = filenames.to_dataset_id(item_id, context.category) if category.has_derived_ids else item_id
    item = category.dataset.items.get(dataset_id) if category.matches_dataset else None
    if item is not None:
        record = entry.record if entry is not None else {}
        question = entry.quoted_question if entry is not None else None
        if question is not None and not is_same_question(item.turns, question):
            different = "question"
        elif item.ground_truth is None and not any(word in context.category for word in _WITHOUT_GOLDEN):
            category.n_without_answer += 1
            if entry is None:
                issues.append(ImportIssue(path, line, "the dataset has no golden answer for this item", item=item_id))
            return _make_item_from_entry(category, dataset_id, entry, item) if "possible_answer" in record else item
        elif "possible_answer" in record and not is_same_golden_answer(item.ground_truth, record["possible_answer"]):
            different = "golden answer"
        else:
            return item
        what = f"the {different} in the score file differs from the dataset. The item shows the one in the score file"
        issues.append(ImportIssue(str(category.scores.path), entry.line if entry else None, what, item=item_id))
    elif category.matches_dataset:
        category.n_without_question += 1
        if category.dataset.items:
            issues.append(ImportIssue(path, line, f"{dataset_id} is not in the dataset", item=item_id))
    return _make_item_from_entry(category, dataset_id, entry, item)


def _make_item_from_entry(
    category: JoinedCategory, dataset_id: str, entry: ScoreEntry | None, item: DatasetItem | None
) -> DatasetItem:
    """Make a dataset item from a score entry. If the entry has no function docs, it gets those of `item`."""
    context = category.context
    name = filenames.get_id_category(dataset_id) if context.category == "format_sensitivity" else context.category
    if entry is None:
        return DatasetItem(dataset_id, name)
    prompt = entry.record.get("prompt")
    record = prompt if isinstance(prompt, dict) else {"question": prompt} if isinstance(prompt, list) else {}
    answer = {"ground_truth": entry.record["possible_answer"]} if "possible_answer" in entry.record else None
    functions = item.functions if item is not None else [] if "involved_classes" in record else None
    functions = None if "function" in record else functions
    try:
        return make_dataset_item(dataset_id, name, record, answer, functions)
    except MALFORMED_DATA:
        return DatasetItem(dataset_id, context.category)


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Read the items of a run, category by category, in dataset order. Also sets `plan.run.official_metrics`."""
    categories: FilesByCategory = plan.importer_data
    decoder, issues = select_run_decoder(plan)
    yield from issues
    for name, files in categories.items():
        corrector = GoldenCorrector(plan.errata, plan.run, name)
        yield from _read_category_items(plan, corrector, files, decoder)
        yield from corrector.issues


def join_category(plan: RunPlan, name: str, files: CategoryFiles, decoder: Decoder | None = None) -> JoinedCategory:
    """Load and join results, scores and dataset of a category. Also sets its entry in `plan.run.official_metrics`."""
    if decoder is None:
        decoder, _ = select_run_decoder(plan)
    version = plan.run.generation
    dataset = _load_category_dataset(version, name, files.dataset_files)
    header = as_object(read_first_record(files.scores[0]) if files.scores else None)
    found = joining.load_results(files.results, name, dataset, header.get("total_count"))
    scored = load_score_file(files.scores[0], name, found, dataset) if files.scores else ScoreFile()
    for other in files.scores[1:]:
        what = f"this is another score file of {name}. fcreview imports only {files.scores[0]}"
        scored.issues.append(ImportIssue(str(other), None, what))
    decoder = select_category_decoder(version, name, decoder, found, scored)
    category = JoinedCategory(items.CategoryContext(version, name, decoder), dataset, found, scored)
    category.has_derived_ids = name.startswith(("memory", "web_search", "format_sensitivity"))
    if files.scores:
        plan.run.official_metrics[name] = scored.header
        _check_item_counts(category)
        if dataset.items:
            _check_dataset_version(category)
    return category


def _read_category_items(
    plan: RunPlan, corrector: GoldenCorrector, files: CategoryFiles, decoder: Decoder
) -> Iterator[Item | ImportIssue]:
    category = join_category(plan, corrector.category, files, decoder)
    records, failing, dataset = category.results.records, category.scores.failing, category.dataset
    n_issues = len(dataset.issues)
    yield from [*dataset.issues, *category.results.issues, *category.scores.issues, *category.issues]
    for item_id in records:
        yield _read_item(category, item_id, failing.get(item_id), corrector)
    missing = [item_id for item_id in failing if item_id not in records]
    missing.sort(key=lambda item_id: filenames.parse_item_number(item_id) or 0)
    if missing and records:
        what = f"{len(missing)} failing items have no result record, so they are read from the score file"
        yield ImportIssue(str(category.scores.path), None, what)
    for item_id in missing:
        yield _read_item(category, item_id, failing[item_id], corrector)
    for each in files.dataset_files[:1]:
        n_items = len(records) + len(missing)
        if category.n_without_question:
            yield make_missing_records_issue(each.questions, "question", category.n_without_question, n_items)
        if category.n_without_answer and each.answers is not None:
            yield make_missing_records_issue(each.answers, "golden answer", category.n_without_answer, n_items)
    yield from dataset.issues[n_issues:]  # issues from loading the items above
    if dataset.items and not category.has_derived_ids:
        corrector.report_absent_items(dataset.items)
    for key, line in category.context.unknown_fields.items():
        path = str(files.results[0]) if files.results else str(plan.run.path)
        what = f"fcreview does not know the field {key!r}. The items' metadata contain it"
        yield ImportIssue(path, line, what, severity="notice")


def _load_category_dataset(version: str, category: str, files: list[DatasetFiles]) -> Dataset:
    if category != "format_sensitivity":
        return load_dataset(files[0], category) if files else Dataset()
    prefix = f"BFCL_{version.lower()}_"
    return merge_datasets(load_dataset(each, each.questions.stem.removeprefix(prefix)) for each in files)


def _check_item_counts(category: JoinedCategory) -> None:
    """Compare the numbers of items and scored items, and set `knows_passes`. Extra items may have failed or passed."""
    scored = category.scores
    category.context.score_file_name, category.context.score_file_path = scored.path.name, str(scored.path)
    category.knows_passes = scored.is_complete
    total, records, name = scored.n_scored, category.results.records, category.context.category
    if total is None or not scored.is_complete:
        return
    n_items = len(records) + sum(item_id not in records for item_id in scored.failing)
    if not records:
        n_failing = len(scored.failing)
        what = f"there is no result file of {name}. Its {n_failing} failing items are read from the score file; "
        what += f"the {total - n_failing} passing items are not shown"
        category.issues.append(ImportIssue(str(scored.path), None, what))
    elif n_items > total:
        category.knows_passes = False
        what = f"{total} items of {name} were scored, but the run has {n_items}, so it is unknown which items passed"
        category.issues.append(ImportIssue(str(scored.path), 1, what, severity="error"))
    elif n_items < total:
        what = f"{total} items of {name} were scored, but only {n_items} results can be read"
        category.issues.append(ImportIssue(str(scored.path), 1, what))


def _check_dataset_version(category: JoinedCategory) -> None:
    """Ignore the dataset if at least two, and more than half, of the questions in the score entries differ from it."""
    compared = different = 0
    for item_id, entry in category.scores.failing.items():
        turns = category.dataset.items.read_question_turns(filenames.to_dataset_id(item_id, category.context.category))
        question = entry.quoted_question if turns is not None else None
        if turns is not None and question is not None:
            compared += 1
            different += not is_same_question(turns, question)
    if different > 1 and different * 2 > compared:
        category.matches_dataset = False
        what = f"{different} of {compared} questions in the score file differ from the dataset. "
        what += f"The dataset is of another version, so {category.context.category} is imported without it"
        category.issues.append(ImportIssue(str(category.scores.path), None, what, severity="error"))


def _read_item(category: JoinedCategory, item_id: str, entry: ScoreEntry | None, corrector: GoldenCorrector) -> Item:
    """Read an item from its result record or, without one, from its score entry `entry`."""
    scored, issues = category.scores, list[ImportIssue]()
    is_quoted = entry is not None and item_id not in category.results.records
    if entry is not None and is_quoted:
        path, record = scored.path, JsonRecord(entry.line, entry.offset, entry.length, None)
        value: dict[str, Any] | None = _make_record_from_entry(entry)
    else:
        path, record = category.results.records[item_id]
        value = category.results.read_record(item_id)
    dataset_item = choose_dataset_item(category, item_id, entry, str(path), record.line, issues)
    official = None
    if scored.is_complete:
        official = False if entry is not None else (True if category.knows_passes else None)
    corrected = corrector.correct_item(item_id, dataset_item)
    inputs = items.ItemInputs(item_id, corrected, official, entry, str(path), record)
    inputs.further_entries = scored.further_entries.get(item_id, ())
    if entry is not None and not is_quoted:
        issues += _check_quoted_reply(scored, entry, value)
    try:
        if value is None:
            raise ValueError("the file changed while it was read")
        if isinstance(value, dict) and "result" not in value:
            raise ValueError("the field 'result' is missing")
        item = items.build_item(category.context, inputs, value)
    except MALFORMED_DATA as error:
        source = "score entry" if is_quoted else "record"
        reason = f"the {source} could not be interpreted: {type(error).__name__}: {error}"
        item = items.make_degraded_item(category.context, inputs, reason)
    if "result" not in (value or ()):
        issues.append(ImportIssue(str(path), record.line, "the record has no result", item=item_id))
    item.issues += issues
    return item


def _check_quoted_reply(scored: ScoreFile, entry: ScoreEntry, record: dict[str, Any] | None) -> Iterator[ImportIssue]:
    """Yield an issue if a score entry quotes another reply than the result record contains."""
    key = next((key for key in ("model_result_raw", "model_result") if key in entry.record), None)
    if key and record is not None and "result" in record and not is_same_reply(entry.record[key], record["result"]):
        reply = make_excerpt(to_json_text(entry.record[key]), MAX_QUOTED_REPLY)
        what = f"the replies in the result file and the score file differ. The official verdict refers to {reply}"
        yield ImportIssue(str(scored.path), entry.line, what, severity="error")


def _make_record_from_entry(entry: ScoreEntry) -> dict[str, Any]:
    """Make a result record from a score entry. Old entries contain the result as Python's `str`, which stays text."""
    result = entry.record.get("model_result_raw", entry.record.get("model_result"))
    log = {key: value for key, value in entry.record.items() if key == "inference_log"}
    return {"id": entry.id, "result": result, **log}
