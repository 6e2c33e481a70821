"""Reading a BFCL run: its categories one after the other, results joined with scores and dataset.

The question, golden answer and documents of an item: the dataset's, or what the score entry repeats of them.

A join is never by id alone where content is there to compare: where the question or golden answer that a failing entry
was judged by differs from the dataset's, the scored one is taken, with an issue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.bfcl import dataset, filenames, items, results, scores
from fcreview.importers.bfcl.dataset import Dataset, DatasetItem, json_text
from fcreview.importers.bfcl.decoders.base import Decoder
from fcreview.importers.bfcl.decoders.detect import select_category_decoder, select_decoder
from fcreview.importers.bfcl.discovery import CategoryFiles, FilesByCategory
from fcreview.importers.bfcl.golden_corrections import GoldenCorrector
from fcreview.importers.bfcl.joining import find_scored_item, is_same_answer, is_same_question, is_same_reply
from fcreview.importers.common.jsonl import Record, excerpt, head
from fcreview.model.item import ImportIssue, Item, Message
from fcreview.run_plan import RunPlan

_NO_GOLDEN = ("relevance", "rest", "chatable", "sql")
"""Parts of the names of categories without golden answers."""


@dataclass(slots=True)
class JoinedCategory:
    """One category of a run while it is read."""

    context: items.CategoryContext
    dataset: Dataset
    results: results.Results
    scores: scores.ScoreFile | None
    knows_passes: bool
    """Whether an item that is not among the failing ones is known to have passed."""
    has_derived_ids: bool = False
    """Whether item ids are not the dataset's ids."""
    matches_dataset: bool = True
    """False if the dataset's questions are not those that were scored."""
    issues: list[ImportIssue] = field(default_factory=list)


def embedded_question(entry: scores.ScoreEntry) -> Any:
    """The embedded question: in `prompt`, which for agentic failures is the question itself; None if there is none."""
    prompt = entry.record.get("prompt")
    if isinstance(prompt, dict):
        return prompt.get("question")
    return prompt if isinstance(prompt, list) else None


def choose_dataset_item(
    category: JoinedCategory,
    name: str,
    entry: scores.ScoreEntry | None,
    file: str,
    line: int | None,
    issues: list[ImportIssue],
) -> tuple[DatasetItem, list[Message]]:
    """The case of an item: the dataset's, unless the score entry shows that another one was scored."""
    context = category.context
    key = filenames.to_dataset_id(name, context.category) if category.has_derived_ids else name
    case = category.dataset.items.get(key) if category.matches_dataset else None
    if case is not None:
        if entry is None:
            if case.ground_truth is None and not any(part in context.category for part in _NO_GOLDEN):
                issues.append(ImportIssue(file, line, "the dataset has no golden answer for this item", item=name))
            return case, case.opening_messages
        question = embedded_question(entry)
        if question is not None and not is_same_question(case.turns, question):
            issues.append(_scored_differently_issue(category, entry, name, "question"))
        elif "possible_answer" in entry.record and not is_same_answer(
            case.ground_truth, entry.record["possible_answer"]
        ):
            issues.append(_scored_differently_issue(category, entry, name, "golden answer"))
        else:
            return case, case.opening_messages
    elif category.dataset.items and category.matches_dataset:
        issues.append(ImportIssue(file, line, f"{key} is not in the dataset", item=name))
    made = _embedded_item(category, key, entry, case)
    return made, made.opening_messages


def _scored_differently_issue(category: JoinedCategory, entry: scores.ScoreEntry, name: str, what: str) -> ImportIssue:
    told = f"the {what} that was scored is not the dataset's; the scored one is shown"
    return ImportIssue(str(category.scores.path if category.scores else ""), entry.line, told, item=name)


def _embedded_item(
    category: JoinedCategory, key: str, entry: scores.ScoreEntry | None, case: DatasetItem | None
) -> DatasetItem:
    """A case of what the score entry repeats; an empty one if there is nothing."""
    context = category.context
    if entry is None:
        return DatasetItem(key, _original_category(context.category, key))
    prompt = entry.record.get("prompt")
    record = prompt if isinstance(prompt, dict) else {"question": prompt} if isinstance(prompt, list) else {}
    answer = {"ground_truth": entry.record["possible_answer"]} if "possible_answer" in entry.record else None
    documents = None
    if "function" not in record and case is not None:
        documents = case.functions
    elif "involved_classes" in record and "function" not in record:
        documents = []
    try:
        return dataset.make_dataset_item(
            key, _original_category(context.category, key), context.version, record, answer, documents
        )
    except MALFORMED_DATA:
        return DatasetItem(key, context.category)


def _original_category(category: str, key: str) -> str:
    return filenames.split_item_id(key)[0] if category == "format_sensitivity" else category


MAX_QUOTED_REPLY = 160
"""Characters of a reply in an issue."""


def read(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """The items of a run, category by category, in dataset order. Sets `plan.run.official_metrics` on the way."""
    categories: FilesByCategory = plan.importer_data
    decoder, issues = select_decoder(plan)
    yield from issues
    for name, parts in categories.items():
        mending = GoldenCorrector(plan.errata, plan.run, name)
        yield from _read_category(plan, mending, parts, decoder)
        yield from mending.issues


def join_category(plan: RunPlan, name: str, parts: CategoryFiles, decoder: Decoder | None = None) -> JoinedCategory:
    """A category's results, scores and dataset, joined. Sets its official metrics on the way."""
    if decoder is None:
        decoder, _ = select_decoder(plan)
    data = _load_category_dataset(plan.run.generation, name, parts.dataset_files)
    found = results.load_results(parts.results, name, data, _scored_count(parts.scores))
    scored = _load_score_file(parts.scores, name, found, data)
    if scored is not None:
        plan.run.official_metrics[name] = scored.header
    decoder = select_category_decoder(name, decoder, found, scored, (parts.results or parts.scores)[0])
    context = items.CategoryContext(plan.run.generation, name, plan.run.model, decoder)
    category = JoinedCategory(context, data, found, scored, False)
    category.has_derived_ids = name.startswith(("memory", "web_search", "format_sensitivity"))
    _check_counts(category)
    return category


def _read_category(
    plan: RunPlan, mending: GoldenCorrector, parts: CategoryFiles, decoder: Decoder
) -> Iterator[Item | ImportIssue]:
    category = join_category(plan, mending.category, parts, decoder)
    found, scored = category.results, category.scores
    told = len(category.dataset.issues)
    yield from category.dataset.issues[:told]
    yield from found.issues
    if scored is not None:
        yield from scored.issues
    yield from category.issues
    failing = scored.failing if scored is not None else {}
    for item in found.records:
        yield _read_item(category, item, failing.get(item), mending)
    if scored is not None:
        yield from _read_items_without_result(
            category, mending, [entry for item, entry in failing.items() if item not in found.records]
        )
    yield from category.dataset.issues[told:]
    if category.dataset.items and not category.has_derived_ids:
        mending.report_absent_items(category.dataset.items)
    for key, line in category.context.unknown_fields.items():
        what = f"unknown field {key!r}: kept with the items"
        file = str(parts.results[0]) if parts.results else str(plan.run.path)
        yield ImportIssue(file, line, what, severity="notice")


def _load_category_dataset(generation: str, category: str, sources: list[dataset.DatasetFiles]) -> Dataset:
    if category != "format_sensitivity":
        return dataset.load_dataset(sources[0], generation, category) if sources else Dataset()
    prefix = f"BFCL_{generation.lower()}_"
    return dataset.merge_datasets(
        dataset.load_dataset(source, generation, source.questions.stem.removeprefix(prefix)) for source in sources
    )


def _scored_count(paths: list[Path]) -> int | None:
    """How many records were scored, as the header says."""
    header = head(paths[0]) if paths else None
    total = header.get("total_count") if isinstance(header, dict) else None
    return total if isinstance(total, int) else None


def _load_score_file(
    paths: list[Path], category: str, found: results.Results, data: Dataset
) -> scores.ScoreFile | None:
    if not paths:
        return None
    names = partial(_ids_by_position, list(found.records) or list(data.items))
    which = partial(_select_repeated_item, found=found, data=data)
    scored = scores.load_score_file(paths[0], category, names, keep_log=not found.records, which=which)
    for other in paths[1:]:
        what = f"a second score file of {category}; only {paths[0]} is read"
        scored.issues.append(ImportIssue(str(other), None, what))
    return scored


def _select_repeated_item(item: str, entry: dict[str, Any], *, found: results.Results, data: Dataset) -> str:
    """The item that a score entry is about, where several have its id."""
    names = found.repeated_ids.get(item) or ([] if found.records else data.repeated_ids.get(item, []))
    if not names:
        return item
    replies = {
        name: value.get("result") for name in names if name in found.records and (value := found.read_record(name))
    }
    return find_scored_item(names, entry, data, replies)


def _ids_by_position(names: list[str]) -> dict[int, str]:
    """0-based dataset position -> item id, as the ids state it; of several with one id, the first."""
    found: dict[int, str] = {}
    for item in names:
        number = filenames.item_number(item)
        if number is not None:
            found.setdefault(number, item)
    return found


def _check_counts(category: JoinedCategory) -> None:
    """What can be said of items that no score entry names, and whether the dataset is the one that was scored."""
    scored, found = category.scores, category.results.records
    if scored is None:
        return
    category.context.score_file_name, category.context.score_file_path = scored.path.name, str(scored.path)
    category.knows_passes = scored.is_complete
    total = scored.n_scored
    name = category.context.category
    if total is not None and scored.is_complete:
        missing = sum(item not in found for item in scored.failing)
        known = len(found) + missing
        if not found:
            what = (
                f"no result file of {name}: only its {len(scored.failing)} failing items are known; the "
                f"{total - len(scored.failing)} that passed are not shown"
            )
            category.issues.append(ImportIssue(str(scored.path), None, what))
        elif known > total:
            category.knows_passes = False
            what = f"{total} items of {name} were scored, but there are {known}: which of the others passed is unknown"
            category.issues.append(ImportIssue(str(scored.path), 1, what))
        elif known < total:
            what = f"{total} items of {name} were scored, but only {known} results can be read"
            category.issues.append(ImportIssue(str(scored.path), 1, what))
    if category.dataset.items:
        _check_questions(category, scored)


def _check_questions(category: JoinedCategory, scored: scores.ScoreFile) -> None:
    """One question that differs is one entry's matter; only where most do, the dataset is another one."""
    compared = different = 0
    for item, entry in scored.failing.items():
        turns = category.dataset.items.read_question(filenames.to_dataset_id(item, category.context.category))
        question = embedded_question(entry) if turns is not None else None
        if turns is not None and question is not None:
            compared += 1
            different += not is_same_question(turns, question)
    if different > 1 and different * 2 > compared:
        category.matches_dataset = False
        what = (
            f"{different} of {compared} questions in the scores are not the dataset's: the dataset is of another "
            f"version and is not joined with {category.context.category}"
        )
        category.issues.append(ImportIssue(str(scored.path), None, what, severity="error"))


def _read_item(category: JoinedCategory, name: str, entry: scores.ScoreEntry | None, mending: GoldenCorrector) -> Item:
    path, record = category.results.records[name]
    issues: list[ImportIssue] = []
    case, opening = choose_dataset_item(category, name, entry, str(path), record.line, issues)
    mended = mending.correct(name, case, opening)
    official = None
    if category.scores is not None:
        official = False if entry is not None else (True if category.knows_passes else None)
    value = category.results.read_record(name)
    known = items.ItemInputs(name, mended, opening, official, entry, str(path), record)
    if entry is not None and category.scores is not None:
        known.further_entries = category.scores.further_entries.get(name, [])
        issues += _reply_issues(category.scores, entry, value)
    try:
        if value is None:
            raise ValueError("the file changed while it was read")
        if isinstance(value, dict) and "result" not in value:
            raise ValueError("it has no field 'result'")
        item = items.build_item(category.context, known, value)
    except MALFORMED_DATA as error:
        why = f"the record could not be interpreted: {type(error).__name__}: {error}"
        item = items.make_degraded_item(category.context, known, why)
    if "result" not in (value or ()):
        issues.append(ImportIssue(str(path), record.line, "the record has no result", item=name))
    if issues:
        item.issues += issues
    return item


def _reply_issues(
    scored: scores.ScoreFile, entry: scores.ScoreEntry, value: dict[str, Any] | None
) -> Iterator[ImportIssue]:
    """Whether the score entry quotes another reply than the result file has: it is not about this one then."""
    for key in ("model_result_raw", "model_result"):
        if key in entry.record and value is not None and "result" in value:
            if not is_same_reply(entry.record[key], value["result"]):
                what = (
                    "the reply that was scored is not the result's: the official verdict is about another output, "
                    f"{excerpt(json_text(entry.record[key]), MAX_QUOTED_REPLY)}"
                )
                yield ImportIssue(str(scored.path), entry.line, what, severity="error")
            return


def _read_items_without_result(
    category: JoinedCategory, mending: GoldenCorrector, entries: list[scores.ScoreEntry]
) -> Iterator[Item | ImportIssue]:
    """Items of failing entries whose results are missing: the score file repeats what the model said."""
    scored = category.scores
    if scored is None or not entries:
        return
    if category.results.records:
        what = f"{len(entries)} failing items have no result record; they are shown as the score file tells them"
        yield ImportIssue(str(scored.path), None, what)
    names = {id(entry): name for name, entry in scored.failing.items()}
    for entry in sorted(entries, key=lambda entry: filenames.item_number(names[id(entry)]) or 0):
        name = names[id(entry)]
        issues: list[ImportIssue] = []
        case, opening = choose_dataset_item(category, name, entry, str(scored.path), entry.line, issues)
        mended = mending.correct(name, case, opening)
        place = Record(entry.line, entry.offset, entry.length, None)
        known = items.ItemInputs(name, mended, opening, False, entry, str(scored.path), place)
        try:
            item = items.build_item(category.context, known, _result_from_entry(entry))
        except MALFORMED_DATA as error:
            why = f"the score entry could not be interpreted: {type(error).__name__}: {error}"
            item = items.make_degraded_item(category.context, known, why)
        item.issues += issues
        yield item


def _result_from_entry(entry: scores.ScoreEntry) -> dict[str, Any]:
    """What a score entry repeats of the result record. Old entries hold Python's text of it, which stays text."""
    record = entry.record
    result = record.get("model_result_raw", record.get("model_result"))
    made = {"id": entry.id, "result": result}
    if "inference_log" in record:
        made["inference_log"] = record["inference_log"]
    return made
