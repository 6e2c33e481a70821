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
from fcreview.importers.bfcl.dataset import Case, Dataset, as_json
from fcreview.importers.bfcl.decoders.base import Decoder
from fcreview.importers.bfcl.decoders.detect import decoder_for, decoder_in
from fcreview.importers.bfcl.discovery import Categories, CategoryFiles
from fcreview.importers.bfcl.golden_corrections import Mending
from fcreview.importers.bfcl.joining import same_answer, same_question, same_reply, scored_one
from fcreview.importers.common.jsonl import Record, excerpt, head
from fcreview.model.item import ImportIssue, Item, Message
from fcreview.run_plan import RunPlan

_NO_GOLDEN = ("relevance", "rest", "chatable", "sql")
"""Parts of the names of categories without golden answers."""


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


def question_of(entry: scores.Entry) -> Any:
    """The embedded question: in `prompt`, which for agentic failures is the question itself; None if there is none."""
    prompt = entry.record.get("prompt")
    if isinstance(prompt, dict):
        return prompt.get("question")
    return prompt if isinstance(prompt, list) else None


def case_of(
    category: Category, name: str, entry: scores.Entry | None, file: str, line: int | None, issues: list[ImportIssue]
) -> tuple[Case, list[Message]]:
    """The case of an item: the dataset's, unless the score entry shows that another one was scored."""
    context = category.context
    key = filenames.dataset_id(name, context.category) if category.renamed else name
    case = category.data.cases.get(key) if category.joined else None
    if case is not None:
        if entry is None:
            if case.answer is None and not any(part in context.category for part in _NO_GOLDEN):
                issues.append(ImportIssue(file, line, "the dataset has no golden answer for this item", item=name))
            return case, case.opening
        question = question_of(entry)
        if question is not None and not same_question(case.turns, question):
            issues.append(_joined_elsewhere(category, entry, name, "question"))
        elif "possible_answer" in entry.record and not same_answer(case.answer, entry.record["possible_answer"]):
            issues.append(_joined_elsewhere(category, entry, name, "golden answer"))
        else:
            return case, case.opening
    elif category.data.cases and category.joined:
        issues.append(ImportIssue(file, line, f"{key} is not in the dataset", item=name))
    made = _embedded(category, key, entry, case)
    return made, made.opening


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
    except MALFORMED_DATA:
        return Case(key, context.category)


def _case_category(category: str, key: str) -> str:
    return filenames.split_id(key)[0] if category == "format_sensitivity" else category


QUOTED = 160
"""Characters of a reply in an issue."""


def read(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """The items of a run, category by category, in dataset order. Sets `plan.run.official_metrics` on the way."""
    categories: Categories = plan.private
    decoder, issues = decoder_for(plan)
    yield from issues
    for name, parts in categories.items():
        mending = Mending(plan.errata, plan.run, name)
        yield from _category(plan, mending, parts, decoder)
        yield from mending.issues


def joined_category(plan: RunPlan, name: str, parts: CategoryFiles, decoder: Decoder | None = None) -> Category:
    """A category's results, scores and dataset, joined. Sets its official metrics on the way."""
    if decoder is None:
        decoder, _ = decoder_for(plan)
    data = _dataset(plan.run.generation, name, parts.sources)
    found = results.load(parts.results, name, data, _scored_count(parts.scores))
    scored = _scores(parts.scores, name, found, data)
    if scored is not None:
        plan.run.official_metrics[name] = scored.header
    decoder = decoder_in(name, decoder, found, scored, (parts.results or parts.scores)[0])
    context = items.Context(plan.run.generation, name, plan.run.model, decoder)
    category = Category(context, data, found, scored, False)
    category.renamed = name.startswith(("memory", "web_search", "format_sensitivity"))
    _check(category)
    return category


def _category(plan: RunPlan, mending: Mending, parts: CategoryFiles, decoder: Decoder) -> Iterator[Item | ImportIssue]:
    category = joined_category(plan, mending.category, parts, decoder)
    found, scored = category.found, category.scores
    told = len(category.data.issues)
    yield from category.data.issues[:told]
    yield from found.issues
    if scored is not None:
        yield from scored.issues
    yield from category.issues
    failing = scored.failing if scored is not None else {}
    for item in found.found:
        yield _item(category, item, failing.get(item), mending)
    if scored is not None:
        yield from _without_result(
            category, mending, [entry for item, entry in failing.items() if item not in found.found]
        )
    yield from category.data.issues[told:]
    if category.data.cases and not category.renamed:
        mending.tell_absent(category.data.cases)
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


def _scored_count(paths: list[Path]) -> int | None:
    """How many records were scored, as the header says."""
    header = head(paths[0]) if paths else None
    total = header.get("total_count") if isinstance(header, dict) else None
    return total if isinstance(total, int) else None


def _scores(paths: list[Path], category: str, found: results.Results, data: Dataset) -> scores.Scores | None:
    if not paths:
        return None
    names = partial(_by_position, list(found.found) or list(data.cases))
    which = partial(_which, found=found, data=data)
    scored = scores.load(paths[0], category, names, keep_log=not found.found, which=which)
    for other in paths[1:]:
        what = f"a second score file of {category}; only {paths[0]} is read"
        scored.issues.append(ImportIssue(str(other), None, what))
    return scored


def _which(item: str, entry: dict[str, Any], *, found: results.Results, data: Dataset) -> str:
    """The item that a score entry is about, where several have its id."""
    names = found.shared.get(item) or ([] if found.found else data.repeated.get(item, []))
    if not names:
        return item
    replies = {name: value.get("result") for name in names if name in found.found and (value := found.value(name))}
    return scored_one(names, entry, data, replies)


def _by_position(names: list[str]) -> dict[int, str]:
    """0-based dataset position -> item id, as the ids state it; of several with one id, the first."""
    found: dict[int, str] = {}
    for item in names:
        number = filenames.sort_number(item)
        if number is not None:
            found.setdefault(number, item)
    return found


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
    """One question that differs is one entry's matter; only where most do, the dataset is another one."""
    compared = different = 0
    for item, entry in scored.failing.items():
        turns = category.data.cases.turns(filenames.dataset_id(item, category.context.category))
        question = question_of(entry) if turns is not None else None
        if turns is not None and question is not None:
            compared += 1
            different += not same_question(turns, question)
    if different > 1 and different * 2 > compared:
        category.joined = False
        what = (
            f"{different} of {compared} questions in the scores are not the dataset's: the dataset is of another "
            f"version and is not joined with {category.context.category}"
        )
        category.issues.append(ImportIssue(str(scored.path), None, what, severity="error"))


def _item(category: Category, name: str, entry: scores.Entry | None, mending: Mending) -> Item:
    path, record = category.found.found[name]
    issues: list[ImportIssue] = []
    case, opening = case_of(category, name, entry, str(path), record.line, issues)
    mended = mending.mended(name, case, opening)
    official = None
    if category.scores is not None:
        official = False if entry is not None else (True if category.passes else None)
    value = category.found.value(name)
    known = items.Known(name, mended, opening, official, entry, str(path), record)
    if entry is not None and category.scores is not None:
        known.again = category.scores.again.get(name, [])
        issues += _other_reply(category.scores, entry, value)
    try:
        if value is None:
            raise ValueError("the file changed while it was read")
        if isinstance(value, dict) and "result" not in value:
            raise ValueError("it has no field 'result'")
        item = items.build(category.context, known, value)
    except MALFORMED_DATA as error:
        why = f"the record could not be interpreted: {type(error).__name__}: {error}"
        item = items.degraded(category.context, known, why)
    if "result" not in (value or ()):
        issues.append(ImportIssue(str(path), record.line, "the record has no result", item=name))
    if issues:
        item.issues += issues
    return item


def _other_reply(scored: scores.Scores, entry: scores.Entry, value: dict[str, Any] | None) -> Iterator[ImportIssue]:
    """Whether the score entry quotes another reply than the result file has: it is not about this one then."""
    for key in ("model_result_raw", "model_result"):
        if key in entry.record and value is not None and "result" in value:
            if not same_reply(entry.record[key], value["result"]):
                what = (
                    "the reply that was scored is not the result's: the official verdict is about another output, "
                    f"{excerpt(as_json(entry.record[key]), QUOTED)}"
                )
                yield ImportIssue(str(scored.path), entry.line, what, severity="error")
            return


def _without_result(category: Category, mending: Mending, entries: list[scores.Entry]) -> Iterator[Item | ImportIssue]:
    """Items of failing entries whose results are missing: the score file repeats what the model said."""
    scored = category.scores
    if scored is None or not entries:
        return
    if category.found.found:
        what = f"{len(entries)} failing items have no result record; they are shown as the score file tells them"
        yield ImportIssue(str(scored.path), None, what)
    names = {id(entry): name for name, entry in scored.failing.items()}
    for entry in sorted(entries, key=lambda entry: filenames.sort_number(names[id(entry)]) or 0):
        name = names[id(entry)]
        issues: list[ImportIssue] = []
        case, opening = case_of(category, name, entry, str(scored.path), entry.line, issues)
        mended = mending.mended(name, case, opening)
        place = Record(entry.line, entry.offset, entry.length, None)
        known = items.Known(name, mended, opening, False, entry, str(scored.path), place)
        try:
            item = items.build(category.context, known, _as_result(entry))
        except MALFORMED_DATA as error:
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
