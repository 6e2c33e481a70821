"""Find how often each question was asked, also if the configuration of the run is missing.

The id of a sample is question times repeats plus repeat, so the samples of one question follow each
other. Reviews state the repeat, predictions do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from fcreview.importers.common.records import is_integer, list_objects
from fcreview.importers.evalscope.discovery import SubsetFiles, TaskConfig
from fcreview.importers.evalscope.samples import Sample, read_samples
from fcreview.model.item import ImportIssue
from fcreview.model.json_value import json_hash, to_plain_json

OUTCOME_FIELDS = ("generation", "task_result", "process", "end_state", "rollout_error")
"""Fields of the metadata that differ between the repeats of a question."""
DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Repeats:
    """Number of answers to each question, and where it was found."""

    number: int
    source: str = ""
    """Phrase for an issue. Empty if the configuration states the number."""


@dataclass(slots=True)
class _Subset:
    stated_repeats: int = 0
    """Number of repeats by the reviews. 0 if no review states its repeat."""
    questions: dict[int, str] = field(default_factory=dict)
    """Index of a sample -> digest of its question."""


def find_repeats(subsets: Sequence[SubsetFiles], config: TaskConfig) -> Repeats:
    """Find out how often EvalScope repeated each question.

    The configuration states it, or the reviews do. Without both, equal questions that follow each
    other are repeats.
    """
    if config.repeats > 1:
        return Repeats(config.repeats)

    found = [_read_subset(files) for files in subsets]
    stated_repeats = max((subset.stated_repeats for subset in found), default=0)
    if stated_repeats > 1:
        return Repeats(stated_repeats, source="by the reviews")
    # One of both says that nothing was repeated, so equal questions are no repeats.
    if stated_repeats == 1 or config.path is not None:
        return Repeats(1)

    equal_questions = infer_repeats([subset.questions for subset in found])
    if equal_questions > 1:
        return Repeats(equal_questions, source="because equal questions follow each other")
    return Repeats(1)


def infer_repeats(subsets: Sequence[Mapping[int, str]]) -> int:
    """Return how often each question was asked, judging by the order of the questions: the largest
    number n at which samples 0 to n - 1 have the same question, samples n to 2n - 1 too, and so on.

    Returns 1 if no question was repeated. `subsets` are the questions of each subset by the index
    of the sample.
    """
    # A sample with another question than the one before has an index that n divides. So n is the
    # greatest common divisor of these indexes. Without such samples, it is 0.
    repeats = 0
    for questions in subsets:
        repeats = math.gcd(repeats, *_list_boundaries(questions))
    has_equal_questions = any(
        len(set(questions.values())) < len(questions) for questions in subsets
    )
    if repeats < 2 or not has_equal_questions:
        return 1

    # A sample without the one before it tells no boundary, so the blocks can still differ.
    for questions in subsets:
        if not _has_one_question_in_each_block(questions, repeats):
            return 1
    return repeats


def _list_boundaries(questions: Mapping[int, str]) -> list[int]:
    """Return the indexes whose question differs from that of the index before."""
    return [
        index
        for before, index in pairwise(sorted(questions))
        if before == index - 1 and questions[before] != questions[index]
    ]


def _has_one_question_in_each_block(questions: Mapping[int, str], repeats: int) -> bool:
    """Whether each block of `repeats` samples has only one question."""
    question_by_block: dict[int, str] = {}
    for index, question in questions.items():
        known_question = question_by_block.setdefault(index // repeats, question)
        if known_question != question:
            return False
    return True


def _read_subset(files: SubsetFiles) -> _Subset:
    """Read the questions of a subset, and how often each was asked."""
    subset = _Subset()
    for sample in read_samples(files):
        # `read_items` reads the samples again and reports their issues.
        if isinstance(sample, ImportIssue):
            continue
        subset.questions[sample.index] = _hash_question(sample)
        repeat = sample.sample_score.get("generation_index")
        if is_integer(repeat):
            subset.stated_repeats = max(subset.stated_repeats, repeat + 1)
    return subset


def _hash_question(sample: Sample) -> str:
    """Return a digest of the dataset's record and of the messages before the first reply.

    The ids of messages are random.
    """
    messages = []
    for message in list_objects(sample.messages):
        if message.get("role") == "assistant":
            break
        messages.append([message.get("role"), message.get("content")])
    record = {name: value for name, value in sample.metadata.items() if name not in OUTCOME_FIELDS}
    question = [messages, record]
    try:
        return json_hash(question, DIGEST_BYTES)
    except TypeError:
        # The question is nested too deeply.
        return json_hash(to_plain_json(question), DIGEST_BYTES)
