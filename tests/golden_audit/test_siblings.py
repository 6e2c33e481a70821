"""Siblings are found by their content, and their golden answers are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, count
from pathlib import Path

import pytest

from benchmarks.siblings import AFTER_CORRECTION, find_contradictions_in, list_siblings_against_base
from fcreview.golden_audit import siblings
from fcreview.golden_audit.siblings import (
    SiblingQuestion,
    find_contradictions,
    group_siblings,
)
from fcreview.model.item import AcceptedValues, Call
from fcreview.model.review import QuestionKey

TASK = (
    "Please copy every report of the last quarter from the folder archive into a new folder with"
    " the name backup, then sort the copies by date and tell me which one is the largest of them"
)
"""A text of more than 20 words."""
numbers = count()


def make_question(
    category: str,
    text: str,
    *names: str,
    generation: str = "V4",
    benchmark: str = "bfcl",
    language: str = "en",
    group: str | None = None,
    turn: int = 0,
    is_corrected: bool = False,
    function_docs: Mapping[str, str] | None = None,
) -> SiblingQuestion:
    """Return a question whose golden answer calls functions with these names."""
    number = next(numbers)
    key = QuestionKey(benchmark, generation, language, category, f"{category}_{number}")
    golden = [Call("golden", name, arguments={}, turn=turn) for name in names]
    return SiblingQuestion(
        key,
        item=number,
        user_text=text,
        golden=golden,
        group=group,
        is_corrected=is_corrected,
        function_docs=function_docs or {},
    )


def test_near_equal_long_texts_of_other_categories_are_siblings() -> None:
    base = make_question("base", TASK, "copy")
    shortened = make_question("miss_param", TASK.replace("from the folder archive ", ""), "copy")
    other = make_question("miss_param", "Book a table for two " * 8, "book")
    assert group_siblings([base, shortened, other]) == [[base, shortened]]


def test_short_texts_are_siblings_only_if_they_are_equal() -> None:
    oslo = make_question("simple", "What is the weather like in Oslo today?", "weather")
    same = make_question("multiple", "what is the weather like in Oslo today", "weather")
    rome = make_question("parallel", "What is the weather like in Rome today?", "weather")
    assert group_siblings([oslo, same, rome]) == [[oslo, same]]


def test_only_the_most_similar_question_of_a_category_is_a_sibling() -> None:
    base = make_question("base", TASK, "copy")
    equal = make_question("flat", TASK, "copy")
    longer = make_question("flat", f"{TASK} and delete the others", "copy", "delete")
    assert group_siblings([longer, base, equal]) == [[base, equal]]


@pytest.mark.parametrize("place", [{"benchmark": "tau"}, {"language": "zh"}, {"category": "base"}])
def test_questions_of_other_datasets_and_of_one_category_are_no_siblings(
    place: Mapping[str, str],
) -> None:
    base = make_question("base", TASK, "copy")
    options = {"category": "miss_func", **place}
    other = make_question(options.pop("category"), TASK, "move", **options)  # type: ignore[arg-type]
    assert group_siblings([base, other]) == []


def test_snapshots_of_a_conversation_are_no_siblings() -> None:
    first = make_question("snapshot", TASK, "copy", group="chat 1")
    second = make_question("snapshot", TASK, "copy", "sort", group="chat 1")
    flat = make_question("flat", TASK, "copy")
    assert group_siblings([first, second, flat]) == []


def test_calls_in_another_turn_or_order_are_no_contradiction() -> None:
    base = make_question("base", TASK, "copy", "sort")
    later = make_question("miss_func", TASK, "sort", "copy", turn=1)
    assert find_contradictions([base, later]) == []


def test_order_of_accepted_values_is_no_contradiction() -> None:
    questions = []
    for category, values in (("simple", ["Oslo", "oslo"]), ("multiple", ["oslo", "Oslo"])):
        question = make_question(category, TASK)
        call = Call("golden", "weather", arguments={"city": AcceptedValues(values)})
        questions.append(
            SiblingQuestion(question.key, question.item, question.user_text, golden=[call])
        )
    assert find_contradictions(questions) == []


def make_versions(first: SiblingQuestion, text: str, *names: str) -> list[SiblingQuestion]:
    """Return a question and the same question in another dataset, with another golden answer."""
    golden = [Call("golden", name, arguments={}) for name in names]
    return [first, replace(first, item=next(numbers), user_text=text, golden=golden)]


def test_question_with_the_answers_of_two_datasets_contradicts_itself() -> None:
    changed_text = TASK.replace("from the folder archive ", "")
    questions = make_versions(make_question("airline", TASK, "copy", group="task 1"), TASK, "move")
    questions += make_versions(make_question("airline", TASK, "copy"), changed_text, "copy")
    (found,) = find_contradictions(questions)
    assert [answer.questions[0].golden[0].name for answer in found.answers] == ["copy", "move"]
    assert found.has_several_datasets


def test_reused_id_of_another_question_is_no_sibling() -> None:
    question = make_question("airline", TASK, "copy")
    assert not group_siblings(make_versions(question, "Book a table for two " * 8, "book"))


def test_trials_of_a_task_are_one_contradiction() -> None:
    questions = []
    for _ in range(3):
        trial = make_question("airline", TASK, "copy", group="task 1")
        questions += make_versions(trial, TASK, "move")
    other = make_question("airline", f"{TASK} and delete the others", "copy", group="task 2")
    questions += make_versions(other, other.user_text, "move")
    assert len(find_contradictions(questions)) == 2


def test_contradiction_names_the_calls_of_each_side() -> None:
    base = make_question("base", TASK, "copy", "sort", "sort")
    other = make_question("miss_func", TASK, "copy", "sort", "list")
    (contradiction,) = find_contradictions([other, base])
    assert contradiction.contradicting_questions == [other]
    reference, answer = contradiction.answers
    assert answer.list_calls_missing_in(reference) == ["list()"]
    assert reference.list_calls_missing_in(answer) == ["sort()"]


def test_corrected_answer_is_the_reference_and_comes_first() -> None:
    base = make_question("base", TASK, "copy")
    other = make_question("miss_func", TASK, "move")
    corrected = make_question("miss_param", "Sort the files", "sort", is_corrected=True)
    old = make_question("base", "Sort the files", "list")
    first, second = find_contradictions([base, other, old, corrected])
    assert (first.reference.questions, first.contradicting_questions) == ([corrected], [old])
    assert (first.has_correction, second.has_correction) == (True, False)
    assert second.reference.questions == [base]


def test_newer_version_is_the_reference() -> None:
    old = make_question("simple", TASK, "copy", generation="V3")
    new = make_question("simple_python", TASK, "move", generation="V4")
    (contradiction,) = find_contradictions([old, new])
    assert contradiction.reference.questions == [new]


def test_answers_that_may_follow_from_other_function_docs_come_last() -> None:
    docs = [{"copy": "default 1"}, {"copy": "default 2"}]
    by_docs = [
        make_question("simple", "Copy it", "copy", function_docs=docs[0]),
        make_question("multiple", "Copy it", "copy", "copy", function_docs=docs[1]),
    ]
    same_docs = [
        make_question("simple", TASK, "copy", function_docs=docs[0]),
        make_question("multiple", TASK, "copy", "copy", function_docs=docs[0]),
    ]
    first, second = find_contradictions([*by_docs, *same_docs])
    assert (first.may_follow_from_docs, second.may_follow_from_docs) == (False, True)


def test_siblings_that_bfcl_corrected_later_are_found(bench: Path) -> None:
    """Figures of the history of BFCL's corrections: 52, 53 and 65 siblings contradict `base` after
    it was corrected.
    """
    found = find_contradictions_in(bench / "bfcl_siblings" / AFTER_CORRECTION)
    categories = [question.key.category for question in list_siblings_against_base(found)]
    numbers_by_category = {category: categories.count(category) for category in categories}
    assert numbers_by_category == {
        "multi_turn_miss_func": 52,
        "multi_turn_miss_param": 53,
        "multi_turn_long_context": 65,
    }


def test_questions_that_share_phrases_with_all_others_are_compared_with_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Comparing each pair would take hours for a file of some megabytes."""
    monkeypatch.setattr(siblings, "MAX_CANDIDATES", 3)
    n_questions = 30
    words: list[list[str]] = [[] for _ in range(n_questions)]
    for first, second in combinations(range(n_questions), 2):
        phrase = [f"{place}{first}x{second}" for place in "abc"]
        words[first] += phrase
        words[second] += phrase
    questions = [make_question("base", " ".join(phrases), "f") for phrases in words]
    twin = make_question("miss_func", questions[7].user_text, "f")

    n_pairs = len(list(siblings._iter_candidates([*questions, twin])))
    assert n_questions <= n_pairs <= 3 * (n_questions + 1)
    assert group_siblings([*questions, twin]) == [[questions[7], twin]]


def test_only_the_beginning_of_a_very_long_text_is_compared() -> None:
    """The word triples of a text of megabytes would take gigabytes."""
    text = " ".join(f"word{number}" for number in range(3 * siblings.MAX_WORDS))
    question = make_question("base", text, "f")
    other = make_question("miss_func", f"{text} and more", "f")
    assert len(question.word_triples) == siblings.MAX_WORDS - 2
    assert group_siblings([question, other]) == [[question, other]]
