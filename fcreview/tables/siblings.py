"""Words and JSON of contradictions between the golden answers of sibling questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.golden_audit.siblings import Contradiction, SiblingAnswer, SiblingQuestion
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count

NO_CONTRADICTIONS = "All siblings have the same golden answers."


def describe_contradiction_counts(contradictions: Sequence[Contradiction]) -> str:
    """Return `3 questions have siblings with another golden answer (4 siblings) · 1 corrected`."""
    if not contradictions:
        return NO_CONTRADICTIONS
    n_siblings = sum(len(found.contradicting_questions) for found in contradictions)
    n_corrected = sum(found.has_correction for found in contradictions)
    questions = format_count(len(contradictions), "question")
    verb = "has" if len(contradictions) == 1 else "have"
    text = (
        f"{questions} {verb} siblings with another golden answer"
        f" ({format_count(n_siblings, 'sibling')})"
    )
    return f"{text} · {n_corrected} corrected" if n_corrected else text


def describe_answer_holders(contradiction: Contradiction, answer: SiblingAnswer) -> str:
    """Return the items with a golden answer: `multi_turn_base_3, multi_turn_miss_func_3`,
    sanitized. Items of a benchmark with versions are followed by theirs. If runs have the golden
    answers of several datasets, the items are followed by a run, too.
    """
    names = []
    for question in answer.questions:
        name = describe_sibling(question)
        if contradiction.has_several_datasets:
            name += f" in {sanitize(question.run_name)}"
        names.append(name)
    return ", ".join(names)


def describe_sibling(question: SiblingQuestion) -> str:
    """Return the name of a question among its siblings, sanitized: its id, the category if the id
    lacks it, and the version of the benchmark.
    """
    key = question.key
    name = key.id if key.category in key.id else f"{key.category} {key.id}"
    return sanitize(f"{name} ({key.generation})" if key.generation else name)


def describe_question(contradiction: Contradiction) -> str:
    """Return the messages of the user in one line, sanitized."""
    return sanitize(" ".join(contradiction.reference.questions[0].user_text.split()))


def build_contradiction_json(contradiction: Contradiction) -> dict[str, Any]:
    """Build the JSON object of a contradiction between similar questions: each golden answer with
    the items that have it. The reference comes first.
    """
    reference = contradiction.reference
    answers = []
    for answer in contradiction.answers:
        answers.append(
            {
                "corrected": answer.is_corrected,
                "same_function_docs": answer.has_same_function_docs(reference),
                "items": [
                    question.key._asdict() | {"run_name": question.run_name}
                    for question in answer.questions
                ],
                "only_here": answer.list_calls_missing_in(reference),
                "missing_here": reference.list_calls_missing_in(answer),
            }
        )
    return {
        "question": contradiction.reference.questions[0].user_text,
        "corrected": contradiction.has_correction,
        "answers": answers,
    }
