"""Find sibling questions, which ask for the same in different categories or versions of a
benchmark, and contradictions between their golden answers.

An example are the items of BFCL's multi-turn categories `base` and `miss_func`. Siblings are
recognised by their content: the user's messages are equal, or long and nearly equal. A benchmark
that corrects the golden answer of one sibling often forgets the others. A question that runs have
with the golden answers of several datasets, such as two releases of tau2-bench, is a sibling of
itself.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from itertools import chain, islice
from typing import Any

from fcreview.golden_audit.question import normalize_text
from fcreview.model.item import AcceptedValues, Call
from fcreview.model.json_value import to_json_text
from fcreview.model.review import QuestionKey

MIN_SHARED_PART = 0.5
"""Smallest part of the word triples of the shorter text that the other text must contain.

In BFCL V4, siblings share at least 0.55, and other questions at most 0.36.
"""
MIN_WORD_TRIPLES = 20
"""Texts with fewer word triples must be equal, because short questions often differ in one value
only.
"""
MAX_QUESTIONS_OF_RARE_TRIPLE = 40
"""A word triple that more questions contain is a stock phrase and leads to no candidates."""
MAX_WORDS = 5_000
"""Number of words of a text that are compared. The triples of a text of megabytes would take much
more memory than the text.
"""
MAX_CANDIDATES = 200
"""Number of earlier questions with which a question is compared: those that share most rare word
triples with it. Without a limit, a file in which each question shares a phrase with every other one
would take hours. With 100, all siblings in BFCL V4 are found.
"""

EQUAL_TEXT = 2.0
"""Similarity of equal texts, which is above that of a text that contains another one."""

_WORD = re.compile(r"\w+")
_Feature = str | int
"""A text, or the hash of three words in a row."""
_DatasetPart = tuple[str, str]
"""Version of the benchmark, and category."""


@dataclass(frozen=True)
class SiblingQuestion:
    """A question with what decides whether it is a sibling of another one."""

    key: QuestionKey
    item: int
    """Number of an item with this question."""
    user_text: str
    """Messages of the user, or the instruction to the simulated user; not sanitized."""
    golden: Sequence[Call]
    """Golden calls that count now, so with errata and accepted corrections."""
    group: str | None = None
    """Id of the conversation that contains the question. None if there is none."""
    is_corrected: bool = False
    """Whether an erratum or an accepted correction replaced the dataset's golden answer."""
    function_docs: Mapping[str, str] = field(default_factory=dict)
    """Name of each function -> hash of its docs."""
    run_name: str = ""
    """Name of a run that has the question with this golden answer."""

    @property
    def part(self) -> _DatasetPart:
        return self.key.generation, self.key.category

    @cached_property
    def call_counts(self) -> Counter[str]:
        """The golden calls of all turns with their numbers. Siblings can have a call in another
        turn.
        """
        return count_calls(self.golden)

    @property
    def called_function_docs(self) -> dict[str, str]:
        """Hashes of the docs of the functions that the golden answer calls, by name."""
        called_names = {call.name for call in self.golden}
        return {name: docs for name, docs in self.function_docs.items() if name in called_names}

    @cached_property
    def normalized_text(self) -> str:
        return normalize_text(self.user_text)

    @cached_property
    def word_triples(self) -> frozenset[int]:
        """Hashes of the three words in a row at all places of the first `MAX_WORDS` words. Hashes
        take less memory than the words.
        """
        matches = islice(_WORD.finditer(self.user_text.lower()), MAX_WORDS)
        words = [match[0] for match in matches]
        return frozenset(map(hash, zip(words, words[1:], words[2:], strict=False)))


@dataclass(frozen=True, slots=True)
class SiblingAnswer:
    """A golden answer, and the siblings that have it."""

    questions: Sequence[SiblingQuestion]

    @property
    def is_corrected(self) -> bool:
        return any(question.is_corrected for question in self.questions)

    @property
    def call_counts(self) -> Counter[str]:
        return self.questions[0].call_counts

    def list_calls_missing_in(self, other: SiblingAnswer) -> list[str]:
        """Return the calls of this answer that the other answer does not have (as often)."""
        return list((self.call_counts - other.call_counts).elements())

    def has_same_function_docs(self, other: SiblingAnswer) -> bool:
        """Whether the docs of the called functions are equal. Otherwise, both golden answers can be
        right, for example because a default differs.
        """
        own_docs = self.questions[0].called_function_docs
        other_docs = other.questions[0].called_function_docs
        shared_names = own_docs.keys() & other_docs.keys()
        return all(own_docs[name] == other_docs[name] for name in shared_names)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Siblings of one question with different golden answers."""

    answers: Sequence[SiblingAnswer]
    """A corrected answer first, then the answers of the newest version, then the answer of the
    sibling with the shortest category, which is usually the original.
    """

    @property
    def has_correction(self) -> bool:
        return self.answers[0].is_corrected

    @property
    def reference(self) -> SiblingAnswer:
        return self.answers[0]

    @property
    def may_follow_from_docs(self) -> bool:
        """Whether the different golden answers may follow from different function docs: each other
        answer has other docs than the reference.
        """
        return not any(map(self.reference.has_same_function_docs, self.answers[1:]))

    @property
    def questions(self) -> list[SiblingQuestion]:
        return [question for answer in self.answers for question in answer.questions]

    @property
    def keys(self) -> set[QuestionKey]:
        return {question.key for question in self.questions}

    @property
    def has_several_datasets(self) -> bool:
        """Whether a question occurs with the golden answers of several datasets."""
        return len(self.keys) < len(self.questions)

    @property
    def identity(self) -> frozenset[tuple[str, frozenset[tuple[str, int]]]]:
        """What is equal for the trials of a task: the conversations with their golden calls."""
        parts = set()
        for question in self.questions:
            conversation = question.group or question.key.id
            name = "\0".join([*question.part, conversation])
            parts.add((name, frozenset(question.call_counts.items())))
        return frozenset(parts)

    @property
    def contradicting_questions(self) -> list[SiblingQuestion]:
        """Return the siblings whose golden answer is not that of the reference."""
        return [question for answer in self.answers[1:] for question in answer.questions]


def find_contradictions(questions: Sequence[SiblingQuestion]) -> list[Contradiction]:
    """Return the questions whose siblings have different golden answers: those with a corrected
    answer first, those with different function docs last.
    """
    contradictions: dict[Any, Contradiction] = {}
    for siblings in group_siblings(questions):
        answers = _group_by_answer(siblings)
        if len(answers) > 1:
            contradiction = Contradiction(answers)
            # The trials of a task contradict in the same way, so the first one stands for all.
            contradictions.setdefault(contradiction.identity, contradiction)
    return sorted(contradictions.values(), key=_rank_contradiction)


def _rank_contradiction(contradiction: Contradiction) -> tuple[bool, bool]:
    return not contradiction.has_correction, contradiction.may_follow_from_docs


def group_siblings(questions: Sequence[SiblingQuestion]) -> list[list[SiblingQuestion]]:
    """Return the groups of two or more siblings, in the order of their first questions.

    Two questions of different parts of a dataset (a version and category) are siblings if each is
    the most similar one to the other in its part. Several questions with the same text are equally
    similar. Two versions of one question, from different datasets, only need similar texts.
    """
    pairs = _list_similar_pairs(questions)
    best_similarities = _find_best_similarities(pairs)
    groups = _Groups(questions)
    for pair in pairs:
        is_best_for_first = pair.similarity == best_similarities[pair.first.item, pair.second.part]
        is_best_for_second = pair.similarity == best_similarities[pair.second.item, pair.first.part]
        is_same_question = pair.first.key == pair.second.key
        if is_same_question or (is_best_for_first and is_best_for_second):
            groups.join(pair.first, pair.second)
    return [group for group in groups.list_groups() if len(group) > 1 and not _is_ambiguous(group)]


def _is_ambiguous(group: Sequence[SiblingQuestion]) -> bool:
    """Whether two questions of a group come from the same conversation.

    Such questions are different ones, although the user's messages are equal. HammerBench, for
    example, asks for each step of a conversation.
    """
    question_keys: dict[tuple[_DatasetPart, str], QuestionKey] = {}
    for question in group:
        if not question.group:
            continue  # The question is no step of a conversation.
        # Conversations of different versions and categories may have the same id.
        conversation = (question.part, question.group)
        first_key = question_keys.setdefault(conversation, question.key)
        if question.key != first_key:
            return True
    return False


@dataclass(frozen=True, slots=True)
class _SimilarPair:
    first: SiblingQuestion
    second: SiblingQuestion
    similarity: float
    """Part of the word triples of the shorter text that the other text contains, from
    `MIN_SHARED_PART` to 1; `EQUAL_TEXT` for equal texts.
    """


def _list_similar_pairs(questions: Sequence[SiblingQuestion]) -> list[_SimilarPair]:
    """Return the pairs of questions whose texts are similar enough to be siblings."""
    pairs: list[_SimilarPair] = []
    for first, second in _iter_candidates(questions):
        if not _can_be_siblings(first, second):
            continue
        similarity = _measure_similarity(first, second)
        if similarity >= MIN_SHARED_PART:
            pairs.append(_SimilarPair(first, second, similarity))

    positions = {question.item: position for position, question in enumerate(questions)}
    pairs.sort(key=lambda pair: (positions[pair.first.item], positions[pair.second.item]))
    return pairs


def _find_best_similarities(
    pairs: Iterable[_SimilarPair],
) -> dict[tuple[int, _DatasetPart], float]:
    """Return how similar the most similar question of another part of the dataset is.

    The keys are (item of the question, other part of the dataset).
    """
    best: defaultdict[tuple[int, _DatasetPart], float] = defaultdict(float)
    for pair in pairs:
        for own, other in ((pair.first, pair.second), (pair.second, pair.first)):
            key = (own.item, other.part)
            best[key] = max(best[key], pair.similarity)
    return best


def _can_be_siblings(first: SiblingQuestion, second: SiblingQuestion) -> bool:
    """Whether two questions may be versions of the same question in different parts of a
    benchmark's dataset.
    """
    # The same question occurs twice only if runs have different versions of the dataset, and then
    # its golden answers are compared too.
    if first.key == second.key:
        return True
    has_same_benchmark = first.key.benchmark == second.key.benchmark
    has_same_language = first.key.language == second.key.language
    if not (has_same_benchmark and has_same_language):
        return False

    # Within a category, near-equal questions are different questions on purpose. So are the
    # questions of a conversation, which HammerBench repeats with one more message each.
    is_same_conversation = first.group is not None and first.group == second.group
    return first.part != second.part and not is_same_conversation


def _measure_similarity(first: SiblingQuestion, second: SiblingQuestion) -> float:
    """Return `_SimilarPair.similarity`, or 0 if one of two different texts is short."""
    if first.normalized_text == second.normalized_text:
        return EQUAL_TEXT if first.normalized_text else 0.0
    shorter, longer = sorted((first.word_triples, second.word_triples), key=len)
    if len(shorter) < MIN_WORD_TRIPLES:
        return 0.0
    return len(shorter & longer) / len(shorter)


def _iter_candidates(
    questions: Sequence[SiblingQuestion],
) -> Iterator[tuple[SiblingQuestion, SiblingQuestion]]:
    """Yield pairs of questions that may ask the same: they have the same text, or share three words
    in a row that few other questions have.
    """
    features_of_question = [_list_features(question) for question in questions]
    counts = Counter(chain.from_iterable(features_of_question))
    earlier_by_feature: defaultdict[_Feature, list[int]] = defaultdict(list)
    for number, features in enumerate(features_of_question):
        n_shared_by_earlier: Counter[int] = Counter()
        for feature in features:
            is_shared_by_few = 1 < counts[feature] <= MAX_QUESTIONS_OF_RARE_TRIPLE
            if is_shared_by_few:
                n_shared_by_earlier.update(earlier_by_feature[feature])
                earlier_by_feature[feature].append(number)
        for earlier in _select_candidates(n_shared_by_earlier):
            yield questions[earlier], questions[number]


def _list_features(question: SiblingQuestion) -> list[_Feature]:
    features: list[_Feature] = [question.normalized_text]
    if len(question.word_triples) >= MIN_WORD_TRIPLES:
        features += question.word_triples
    return features


def _select_candidates(n_shared_by_question: Mapping[int, int]) -> list[int]:
    """Return the questions that share most features, as many as `MAX_CANDIDATES`."""
    return nsmallest(
        MAX_CANDIDATES,
        n_shared_by_question,
        key=lambda number: (-n_shared_by_question[number], number),
    )


class _Groups:
    """Groups of questions, of which joins make larger groups."""

    def __init__(self, questions: Sequence[SiblingQuestion]) -> None:
        self._group_of_item = {question.item: [question] for question in questions}

    def join(self, first: SiblingQuestion, second: SiblingQuestion) -> None:
        """Join the groups of two questions. Each question of the second group then refers to the
        first.
        """
        group = self._group_of_item[first.item]
        other_group = self._group_of_item[second.item]
        if group is other_group:
            return
        group += other_group
        for question in other_group:
            self._group_of_item[question.item] = group

    def list_groups(self) -> list[list[SiblingQuestion]]:
        distinct_groups = {id(group): group for group in self._group_of_item.values()}
        return list(distinct_groups.values())


def _group_by_answer(siblings: Sequence[SiblingQuestion]) -> list[SiblingAnswer]:
    """Return the different golden answers in the order of `Contradiction.answers`."""
    questions_by_answer: defaultdict[frozenset[tuple[str, int]], list[SiblingQuestion]]
    questions_by_answer = defaultdict(list)
    for question in siblings:
        questions_by_answer[frozenset(question.call_counts.items())].append(question)

    answers = []
    for questions in questions_by_answer.values():
        answers.append(SiblingAnswer(sorted(questions, key=_rank_as_original)))
    return _sort_as_references(answers)


def _sort_as_references(answers: list[SiblingAnswer]) -> list[SiblingAnswer]:
    """Sort answers in the order of `Contradiction.answers`."""
    answers.sort(key=lambda answer: _rank_as_original(answer.questions[0]))
    answers.sort(key=_find_newest_version, reverse=True)
    answers.sort(key=lambda answer: not answer.is_corrected)
    return answers


def _find_newest_version(answer: SiblingAnswer) -> str:
    return max(question.key.generation for question in answer.questions)


def _rank_as_original(question: SiblingQuestion) -> tuple[int, QuestionKey]:
    """Rank the original of some siblings first. The categories of the others usually have longer
    names: `multi_turn_base`, `multi_turn_miss_func`.
    """
    return len(question.key.category), question.key


def count_calls(golden: Iterable[Call]) -> Counter[str]:
    """Return the number of each golden call, whatever its turn."""
    return Counter(map(format_golden_call, golden))


def format_golden_call(call: Call) -> str:
    """Return a call as a text that does not depend on the order of arguments and accepted values:
    `cp(destination="b", source="a")`.
    """
    arguments = []
    for name, value in sorted((call.arguments or {}).items()):
        arguments.append(f"{name}={_format_golden_value(value)}")
    return f"{call.name}({', '.join(arguments)})"


def _format_golden_value(value: object) -> str:
    """Format a golden value as JSON. Several accepted values are joined by `or`."""
    if not isinstance(value, AcceptedValues):
        return to_json_text(value)
    texts = sorted(map(to_json_text, value.any_of))
    if value.optional:
        texts.append("no value")
    return " or ".join(texts)
