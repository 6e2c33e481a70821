"""Divide training rows into splits, such as train and test, without leakage.

Rows of one group are in one split. A group has the rows of a question in all runs, of all questions
of a conversation, of siblings (`fcreview.golden_audit.siblings`), and of questions with the same
text. A hash of the group chooses the split, so that a row stays in its split when other rows are
added, and the shares of the splits are approximate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import orjson

from fcreview.errors import UsageError
from fcreview.golden_audit.siblings import SiblingQuestion, group_siblings
from fcreview.store.label_fields import Split
from fcreview.store.siblings import fetch_sibling_questions

if TYPE_CHECKING:
    from fcreview.exporters.base import ExportSource
    from fcreview.model.review import QuestionKey

MAX_ROUNDING_ERROR = 1e-6
HASH_BYTES = 8


def parse_splits(text: str) -> tuple[Split, ...]:
    """Parse `train=0.9,test=0.1`. An empty text means no splits.

    Raises UsageError if a name occurs twice, or if the shares are not positive or their sum is not
    1.
    """
    splits = tuple(_parse_split(part) for part in text.split(",") if part)

    names = {split.name for split in splits}
    if len(names) < len(splits):
        raise UsageError(f"--split {text} names a split twice")
    total = sum(split.share for split in splits)
    if splits and abs(total - 1) > MAX_ROUNDING_ERROR:
        raise UsageError(f"the shares of --split {text} have the sum {total:g}, not 1")
    return splits


def _parse_split(text: str) -> Split:
    """Parse `train=0.9`."""
    name, _, share_text = text.partition("=")
    share = _parse_share(share_text)
    if not name.strip() or share is None or not 0 < share <= 1:
        raise UsageError(f"--split {text} is invalid. Use --split train=0.9,test=0.1")
    return Split(name.strip(), share)


def _parse_share(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


class SplitChooser:
    """Chooses the split of each question."""

    def __init__(self, splits: Sequence[Split], group_names: Mapping[QuestionKey, str]) -> None:
        """`group_names`: name of the group of each question that is in a group with others."""
        self._splits = splits
        self._group_names = group_names

    def choose(self, key: QuestionKey, conversation: str | None) -> str:
        """Return the name of the split of a question. `conversation`: id of the conversation that
        contains it, if there is one.
        """
        group_name = self._group_names.get(key) or _name_question(key, conversation)
        position = _hash_to_share(group_name)
        upper_end = 0.0
        for split in self._splits:
            upper_end += split.share
            if position < upper_end:
                return split.name
        return self._splits[-1].name  # the sum of the shares is rounded


def make_split_chooser(source: ExportSource) -> SplitChooser | None:
    """Return the chooser for the splits of an export; None if it has none."""
    splits = source.selection.training.splits
    if not splits:
        return None
    parse_golden_fix = source.benchmark_services.parse_golden_fix
    questions = fetch_sibling_questions(source.store, source.view, parse_golden_fix)
    return SplitChooser(splits, group_questions(questions))


def group_questions(questions: Sequence[SiblingQuestion]) -> dict[QuestionKey, str]:
    """Return the name of the group of each question: the first of the names of its questions."""
    groups = _NamedGroups()
    questions_by_text: dict[str, str] = {}
    for question in questions:
        name = _name_question(question.key, question.group)
        groups.add(name)
        if question.normalized_text:
            first_name = questions_by_text.setdefault(question.normalized_text, name)
            groups.join(first_name, name)

    for siblings in group_siblings(questions):
        first, *others = [_name_question(each.key, each.group) for each in siblings]
        for other in others:
            groups.join(first, other)
    return {
        question.key: groups.find(_name_question(question.key, question.group))
        for question in questions
    }


def _name_question(key: QuestionKey, conversation: str | None) -> str:
    """Return the text that identifies a question, or its conversation if it is in one."""
    if conversation is not None:
        return orjson.dumps([key.benchmark, key.generation, key.language, conversation]).decode()
    return orjson.dumps(list(key)).decode()


def _hash_to_share(text: str) -> float:
    """Return a number from 0 to below 1 that depends only on the text."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()
    return int.from_bytes(digest) / float(2 ** (8 * HASH_BYTES))


class _NamedGroups:
    """Groups of names. The name of a group is the first of its names in alphabetical order."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def add(self, name: str) -> None:
        self._parents.setdefault(name, name)

    def find(self, name: str) -> str:
        """Return the name of the group that contains a name."""
        root = name
        while self._parents[root] != root:
            root = self._parents[root]
        # Later searches of the same names are short.
        while self._parents[name] != root:
            parent = self._parents[name]
            self._parents[name] = root
            name = parent
        return root

    def join(self, first: str, second: str) -> None:
        """Make one group of the groups of two names."""
        roots = sorted((self.find(first), self.find(second)))
        self._parents[roots[1]] = roots[0]
