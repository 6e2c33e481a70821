"""The question, golden answer and documents of an item: the dataset's, or what the score entry repeats of them.

A join is never by id alone where content is there to compare: where the question or golden answer that a failing entry
was judged by differs from the dataset's, the scored one is taken, with an issue.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.bfcl import dataset, files, items, results, scores
from fcreview.importers.bfcl.case import Case
from fcreview.importers.bfcl.dataset import Dataset
from fcreview.importers.bfcl.joining.questions import same_answer, same_question
from fcreview.model import ImportIssue, Message

_NO_GOLDEN = ("relevance", "rest", "chatable", "sql")
"""Parts of the names of categories without golden answers."""
BAD_CONTENT = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError, MemoryError)
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
    key = files.dataset_id(name, context.category) if category.renamed else name
    case = category.data.cases.get(key) if category.joined else None
    if case is not None:
        if entry is None:
            if case.answer is None and not any(part in context.category for part in _NO_GOLDEN):
                issues.append(ImportIssue(file, line, "the dataset has no golden answer for this item", item=name))
            return case, category.data.messages[key]
        question = question_of(entry)
        if question is not None and not same_question(case.turns, question):
            issues.append(_joined_elsewhere(category, entry, name, "question"))
        elif "possible_answer" in entry.record and not same_answer(case.answer, entry.record["possible_answer"]):
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
    except BAD_CONTENT:
        return Case(key, context.category)


def _case_category(category: str, key: str) -> str:
    return files.split_id(key)[0] if category == "format_sensitivity" else category
