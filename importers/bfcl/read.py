"""Reading a BFCL run: its categories one after the other, results joined with scores and dataset.

A join is never by id alone where content is there to compare: failing score entries repeat the question and the golden
answer they were judged by, and where these differ from the dataset's they are taken instead, with an issue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fcreview.importers.bfcl import dataset, files, items, results, scores
from fcreview.importers.bfcl.case import Case
from fcreview.importers.bfcl.dataset import Dataset
from fcreview.importers.bfcl.locate import Categories, CategoryFiles, same_question
from fcreview.importers.common.jsonl import Record
from fcreview.model import ImportIssue, Item, Message
from fcreview.plan import RunPlan

_NO_GOLDEN = ("relevance", "rest", "chatable", "sql")
"""Parts of the names of categories without golden answers."""
_BAD_CONTENT = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError, MemoryError)
"""What content of an unforeseen shape may raise. The item is then imported with what is sure, and an issue."""


@dataclass(slots=True)
class Category:
    """One category of a run while it is read."""

    context: items.Context
    data: Dataset
    found: results.Results
    scores: scores.Scores | None
    passes: bool
    """Whether an item that is not among the failing ones is known to have passed."""
    renamed: bool = False
    """Whether item ids are not the dataset's ids."""
    joined: bool = True
    """False if the dataset's questions are not those that were scored."""
    issues: list[ImportIssue] = field(default_factory=list)


def read(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """The items of a run, category by category, in dataset order. Sets `plan.run.official_metrics` on the way."""
    categories: Categories = plan.private
    for name, parts in categories.items():
        yield from _category(plan, name, parts)


def joined_category(plan: RunPlan, name: str, parts: CategoryFiles) -> Category:
    """A category's results, scores and dataset, joined. Sets its official metrics on the way."""
    generation = plan.run.generation
    data = _dataset(plan.run.generation, name, parts.sources)
    found = results.load(parts.results, name)
    scored = _scores(parts.scores, name, found, data)
    if scored is not None:
        plan.run.official_metrics[name] = scored.header
    context = items.Context(generation, name, plan.run.model, files.is_early((parts.results or parts.scores)[0]))
    category = Category(context, data, found, scored, False)
    category.renamed = name.startswith(("memory", "web_search", "format_sensitivity"))
    _check(category)
    return category


def _category(plan: RunPlan, name: str, parts: CategoryFiles) -> Iterator[Item | ImportIssue]:
    category = joined_category(plan, name, parts)
    found, scored = category.found, category.scores
    yield from category.data.issues
    yield from found.issues
    if scored is not None:
        yield from scored.issues
    yield from category.issues
    failing = scored.failing if scored is not None else {}
    for item in found.found:
        yield _item(category, item, failing.get(item))
    if scored is not None:
        yield from _without_result(category, [entry for item, entry in failing.items() if item not in found.found])
    for key, line in category.context.unknown.items():
        what = f"unknown field {key!r}: kept with the items"
        file = str(parts.results[0]) if parts.results else str(plan.run.path)
        yield ImportIssue(file, line, what, severity="notice")


def _dataset(generation: str, category: str, sources: list[dataset.Source]) -> Dataset:
    if category != "format_sensitivity":
        return dataset.load(sources[0], generation, category) if sources else Dataset()
    prefix = f"BFCL_{generation.lower()}_"
    return dataset.merged(
        dataset.load(source, generation, source.questions.stem.removeprefix(prefix)) for source in sources
    )


def _scores(paths: list[Path], category: str, found: results.Results, data: Dataset) -> scores.Scores | None:
    if not paths:
        return None
    names = partial(_by_position, list(found.found) or list(data.cases))
    scored = scores.load(paths[0], category, names, keep_log=not found.found)
    for other in paths[1:]:
        what = f"a second score file of {category}; only {paths[0]} is read"
        scored.issues.append(ImportIssue(str(other), None, what))
    return scored


def _by_position(names: list[str]) -> dict[int, str]:
    """0-based dataset position -> item id, as the ids state it."""
    return {number: item for item in names if (number := files.sort_number(item)) is not None}


def _check(category: Category) -> None:
    """What can be said of items that no score entry names, and whether the dataset is the one that was scored."""
    scored, found = category.scores, category.found.found
    if scored is None:
        return
    category.context.by, category.context.score_file = scored.path.name, str(scored.path)
    category.passes = scored.whole
    total = scored.total
    name = category.context.category
    if total is not None and scored.whole:
        missing = sum(item not in found for item in scored.failing)
        known = len(found) + missing
        if not found:
            what = (
                f"no result file of {name}: only its {len(scored.failing)} failing items are known; the "
                f"{total - len(scored.failing)} that passed are not shown"
            )
            category.issues.append(ImportIssue(str(scored.path), None, what))
        elif known > total:
            category.passes = False
            what = f"{total} items of {name} were scored, but there are {known}: which of the others passed is unknown"
            category.issues.append(ImportIssue(str(scored.path), 1, what))
        elif known < total:
            what = f"{total} items of {name} were scored, but only {known} results can be read"
            category.issues.append(ImportIssue(str(scored.path), 1, what))
    if category.data.cases:
        _compare_questions(category, scored)


def _compare_questions(category: Category, scored: scores.Scores) -> None:
    compared = different = 0
    for item, entry in scored.failing.items():
        case = category.data.cases.get(files.dataset_id(item, category.context.category))
        question = _question(entry)
        if case is not None and question is not None:
            compared += 1
            different += not same_question(case.turns, question)
    if different * 2 > compared:
        category.joined = False
        what = (
            f"{different} of {compared} questions in the scores are not the dataset's: the dataset is of another "
            f"version and is not joined with {category.context.category}"
        )
        category.issues.append(ImportIssue(str(scored.path), None, what, severity="error"))


def _question(entry: scores.Entry) -> Any:
    """The embedded question: in `prompt`, which for agentic failures is the question itself; None if there is none."""
    prompt = entry.record.get("prompt")
    if isinstance(prompt, dict):
        return prompt.get("question")
    return prompt if isinstance(prompt, list) else None


def _item(category: Category, name: str, entry: scores.Entry | None) -> Item:
    path, record = category.found.found[name]
    issues: list[ImportIssue] = []
    case, opening = _case(category, name, entry, str(path), record.line, issues)
    official = None
    if category.scores is not None:
        official = False if entry is not None else (True if category.passes else None)
    value = category.found.value(name)
    known = items.Known(name, case, opening, official, entry, str(path), record)
    try:
        if value is None:
            raise ValueError("the file changed while it was read")
        if isinstance(value, dict) and "result" not in value:
            raise ValueError("it has no field 'result'")
        item = items.build(category.context, known, value)
    except _BAD_CONTENT as error:
        why = f"the record could not be interpreted: {type(error).__name__}: {error}"
        item = items.degraded(category.context, known, why)
    if "result" not in (value or ()):
        issues.append(ImportIssue(str(path), record.line, "the record has no result", item=name))
    if issues:
        item.issues += issues
    return item


def _case(
    category: Category, name: str, entry: scores.Entry | None, file: str, line: int | None, issues: list[ImportIssue]
) -> tuple[Case, list[Message]]:
    """The case of an item: the dataset's, unless the score entry shows that another one was scored."""
    context = category.context
    key = files.dataset_id(name, context.category) if category.renamed else name
    case = category.data.cases.get(key) if category.joined else None
    if case is not None:
        if entry is None:
            if case.answer is None and not any(part in context.category for part in _NO_GOLDEN):
                issues.append(ImportIssue(file, line, "the dataset has no golden answer for this item", item=name))
            return case, category.data.messages[key]
        question = _question(entry)
        if question is not None and not same_question(case.turns, question):
            issues.append(_joined_elsewhere(category, entry, name, "question"))
        elif "possible_answer" in entry.record and case.answer != entry.record["possible_answer"]:
            issues.append(_joined_elsewhere(category, entry, name, "golden answer"))
        else:
            return case, category.data.messages[key]
    elif category.data.cases and category.joined:
        issues.append(ImportIssue(file, line, f"{key} is not in the dataset", item=name))
    made = _embedded(category, key, entry, case)
    return made, dataset.opening_messages(made)


def _joined_elsewhere(category: Category, entry: scores.Entry, name: str, what: str) -> ImportIssue:
    told = f"the {what} that was scored is not the dataset's; the scored one is shown"
    return ImportIssue(str(category.scores.path if category.scores else ""), entry.line, told, item=name)


def _embedded(category: Category, key: str, entry: scores.Entry | None, case: Case | None) -> Case:
    """A case of what the score entry repeats; an empty one if there is nothing."""
    context = category.context
    if entry is None:
        return Case(key, _case_category(context.category, key))
    prompt = entry.record.get("prompt")
    record = prompt if isinstance(prompt, dict) else {"question": prompt} if isinstance(prompt, list) else {}
    answer = {"ground_truth": entry.record["possible_answer"]} if "possible_answer" in entry.record else None
    documents = None
    if "function" not in record and case is not None:
        documents = case.functions
    elif "involved_classes" in record and "function" not in record:
        documents = []
    try:
        return dataset.make_case(
            key, _case_category(context.category, key), context.generation, record, answer, documents
        )
    except _BAD_CONTENT:
        return Case(key, context.category)


def _case_category(category: str, key: str) -> str:
    return files.split_id(key)[0] if category == "format_sensitivity" else category


def _without_result(category: Category, entries: list[scores.Entry]) -> Iterator[Item | ImportIssue]:
    """Items of failing entries whose results are missing: the score file repeats what the model said."""
    scored = category.scores
    if scored is None or not entries:
        return
    if category.found.found:
        what = f"{len(entries)} failing items have no result record; they are shown as the score file tells them"
        yield ImportIssue(str(scored.path), None, what)
    names = {id(entry): name for name, entry in scored.failing.items()}
    for entry in sorted(entries, key=lambda entry: files.sort_number(names[id(entry)]) or 0):
        name = names[id(entry)]
        issues: list[ImportIssue] = []
        case, opening = _case(category, name, entry, str(scored.path), entry.line, issues)
        place = Record(entry.line, entry.offset, entry.length, None)
        known = items.Known(name, case, opening, False, entry, str(scored.path), place)
        try:
            item = items.build(category.context, known, _as_result(entry))
        except _BAD_CONTENT as error:
            why = f"the score entry could not be interpreted: {type(error).__name__}: {error}"
            item = items.degraded(category.context, known, why)
        item.issues += issues
        yield item


def _as_result(entry: scores.Entry) -> dict[str, Any]:
    """What a score entry repeats of the result record. Old entries hold Python's text of it, which stays text."""
    record = entry.record
    result = record.get("model_result_raw", record.get("model_result"))
    made = {"id": entry.id, "result": result}
    if "inference_log" in record:
        made["inference_log"] = record["inference_log"]
    return made
