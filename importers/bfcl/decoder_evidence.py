"""Collect evidence of which decoder read the replies of a run: replies with their official
verdicts.

A failing score entry states whether the official program could decode the reply, and an item that
passed must decode to calls. If the dataset is known, the complete verdict is compared, because it
also depends on the names of functions, which some decoders expect with `_` for `.`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.bfcl import filenames, incidents, scores
from fcreview.importers.bfcl.checker.evaluate import (
    Evaluation,
    EvaluationSettings,
    evaluate_result,
)
from fcreview.importers.bfcl.checker.rules import find_category_rules
from fcreview.importers.bfcl.dataset import Dataset, DatasetItem, load_dataset, make_dataset_item
from fcreview.importers.bfcl.decoders.base import Decoder, DisplayCalls
from fcreview.importers.bfcl.discovery import CategoryFiles, FilesByCategory
from fcreview.importers.bfcl.joining import is_same_question, is_same_reply
from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.records import as_object, is_integer

QUICK_RECORDS = 25
"""Number of result records of each category that show whether a decoder with certain name is
contradicted.
"""
MAX_RECORDS = 2_000
"""Maximum number of result records of each category that are read to choose a decoder."""
MAX_ENTRIES = 20_000
"""Maximum number of entries that are read from a score file."""
DECODING_ERRORS = frozenset(
    {"ast_decoder:decoder_failed", "ast_decoder:decoder_wrong_output_format"}
)
_OTHER_EVIDENCE = frozenset({"format_sensitivity"})
"""Categories whose replies have other forms than the other replies of the model."""
_V1_SOURCE_TEXT = frozenset({"java", "javascript"})
"""Categories of V1 whose verdicts depend on the date of the evaluation, see
`detect.select_category_decoder`.
"""
FUNCTION_NAME = re.compile(r"[\w.:/-]{1,200}")
QUOTED_REPLY_FIELDS = ("model_result_raw", "model_result")


@dataclass(frozen=True, slots=True)
class ScoredReply:
    """A reply of a run and, if it is known, its official verdict."""

    reply: Any
    item: DatasetItem
    """Item of the dataset or of the score entry. Without either, it has no golden answer."""
    category: str
    needs_calls: bool
    """Whether the reply must contain calls to pass: false in categories without suitable
    functions.
    """
    official: bool | None = None
    error_type: str | None = None
    """Official error type; None for a reply that passed."""


@dataclass(slots=True)
class Evidence:
    """Replies of a run, with and without official verdicts, in the order of the files."""

    replies: list[ScoredReply] = field(default_factory=list)

    @property
    def scored(self) -> list[ScoredReply]:
        return [reply for reply in self.replies if reply.official is not None]

    @property
    def with_golden_calls(self) -> list[ScoredReply]:
        """Replies of categories whose items need calls."""
        return [reply for reply in self.replies if reply.needs_calls]


def collect_evidence(categories: FilesByCategory, generation: str, n_records: int) -> Evidence:
    """Collect the first `n_records` replies of each category, to find the decoder of the model.

    Categories whose verdicts cannot be recomputed are left out, and those whose replies or verdicts
    depend on more than the decoder.
    """
    is_v1 = filenames.get_rules_version(generation) == "V1"
    evidence = Evidence()
    for category, files in categories.items():
        rules = find_category_rules(category, is_v1=is_v1)
        if rules.check == "none" or category in _OTHER_EVIDENCE:
            continue
        if is_v1 and category in _V1_SOURCE_TEXT:
            continue
        reader = _CategoryReader(category, files, needs_calls=rules.compares_calls)
        evidence.replies += reader.read(n_records)
    return evidence


class _CategoryReader:
    """Reads the replies of one category, and joins them with score entries and dataset items.

    It reads less than the import does: for example, it leaves out records with ambiguous ids.
    """

    def __init__(self, category: str, files: CategoryFiles, *, needs_calls: bool) -> None:
        self._category = category
        self._files = files
        self._needs_calls = needs_calls
        self._dataset = (
            load_dataset(files.dataset_files[0], category) if files.dataset_files else Dataset()
        )

    def read(self, n_records: int) -> list[ScoredReply]:
        """Return the replies of the first result records, each with its dataset item and its
        official verdict as far as they are known.

        Without result records, the replies that the score entries quote are returned.
        """
        reply_by_item = self._read_replies(n_records)
        scores_of_replies = _ScoreReader(self._category, reply_by_item).read(self._files.scores)
        if not reply_by_item:
            return self._list_quoted_replies(scores_of_replies)

        self._remove_verdicts_on_other_replies(scores_of_replies, reply_by_item)
        matches_dataset = self._matches_dataset(scores_of_replies)

        scored_replies = []
        for item_id, reply in reply_by_item.items():
            entry = scores_of_replies.failing.get(item_id)
            scored_replies.append(
                ScoredReply(
                    reply=reply,
                    item=self._find_item(item_id, entry, matches_dataset=matches_dataset),
                    category=self._category,
                    needs_calls=self._needs_calls,
                    official=scores_of_replies.find_verdict(item_id),
                    error_type=scores.read_error_type(entry) if entry is not None else None,
                )
            )
        return scored_replies

    def _read_replies(self, n_records: int) -> dict[str, Any]:
        """Return item id -> reply for the first result records.

        A record is identified by its id, by its number in the category, or by its position in the
        file. Failed requests, and ids that the dataset contains twice, are left out.
        """
        records = list(islice(_read_objects(self._files.results), n_records))
        recorded_ids = [_get_recorded_id(record) for record in records]

        # Some files count from 1, but item ids count from 0.
        numbers = [recorded_id for recorded_id in recorded_ids if is_integer(recorded_id)]
        first_number = 1 if numbers and min(numbers) == 1 else 0

        reply_by_item = {}
        for position, record in enumerate(records):
            item_id = self._make_item_id(recorded_ids[position], position, first_number)
            has_reply = "result" in record and not _is_failed_request(record)
            if has_reply and item_id not in self._dataset.repeated_ids:
                reply_by_item[item_id] = record["result"]
        return reply_by_item

    def _make_item_id(self, recorded_id: Any, position: int, first_number: int) -> str:
        """Return the id of the item of a result record.

        Args:
            recorded_id: The id in the record: a text, a number in the category, or anything else.
            position: Position of the record in the file, from 0.
            first_number: The number of the first item, if the ids are numbers.
        """
        if is_integer(recorded_id):
            return f"{self._category}_{recorded_id - first_number}"
        if isinstance(recorded_id, str) and recorded_id:
            return recorded_id
        return f"{self._category}_{position}"

    def _remove_verdicts_on_other_replies(self, scored: _Scores, replies: dict[str, Any]) -> None:
        """Remove the verdicts that belong to other replies than those in the result file.

        A score entry quotes the reply that it scores. If most entries quote other replies, the
        scores are of another run, so that items without an entry did not pass either.
        """
        ids_with_other_reply = []
        for item_id, entry in scored.failing.items():
            quoted_field = _find_quoted_field(entry)
            if quoted_field is None:
                continue
            if not is_same_reply(entry[quoted_field], replies[item_id]):
                ids_with_other_reply.append(item_id)

        are_most_others = len(ids_with_other_reply) * 2 > len(scored.failing)
        if are_most_others:
            scored.knows_passes = False
        for item_id in ids_with_other_reply:
            del scored.failing[item_id]
            scored.unknown.add(item_id)

    def _list_quoted_replies(self, scored: _Scores) -> list[ScoredReply]:
        """Return the replies in failing score entries, for a category without result file."""
        found = []
        for item_id, entry in scored.failing.items():
            key = _find_quoted_field(entry)
            if key is not None:
                item = self._find_item(item_id, entry, matches_dataset=True)
                error_type = scores.read_error_type(entry)
                found.append(
                    ScoredReply(
                        entry[key],
                        item=item,
                        category=self._category,
                        needs_calls=self._needs_calls,
                        official=False,
                        error_type=error_type,
                    )
                )
        return found

    def _matches_dataset(self, scored: _Scores) -> bool:
        """Whether most score entries quote the questions of the dataset."""
        n_compared = 0
        n_different = 0
        for item_id, entry in scored.failing.items():
            item = self._dataset.items.get(item_id)
            question = as_object(entry.get("prompt")).get("question")
            if item is not None and question is not None:
                n_compared += 1
                if not is_same_question(item.turns, question):
                    n_different += 1
        # At most half differ. Without a quoted question, nothing speaks against the dataset.
        return n_different * 2 <= n_compared

    def _find_item(
        self, item_id: str, entry: dict[str, Any] | None, *, matches_dataset: bool
    ) -> DatasetItem:
        """Return an item with its functions and golden answer.

        They are from the dataset or, if the dataset is not that of the scores, from the score
        entry. The item is empty if neither has them.
        """
        empty_item = DatasetItem(item_id, self._category)
        item = self._dataset.items.get(item_id) if matches_dataset else None
        if item is not None:
            return item
        if entry is None:
            return empty_item

        prompt = as_object(entry.get("prompt"))
        if "function" not in prompt or "possible_answer" not in entry:
            return empty_item
        try:
            answer = {"ground_truth": entry["possible_answer"]}
            return make_dataset_item(item_id, self._category, prompt, answer)
        except MALFORMED_DATA:
            return empty_item


def _get_recorded_id(record: dict[str, Any]) -> Any:
    """Return the id of a result record. Old records have a number in `idx` instead."""
    item_id = record.get("id")
    return record.get("idx") if item_id is None else item_id


@dataclass(slots=True)
class _Scores:
    """What the score file of a category says about the replies that were read."""

    failing: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Item id -> first score entry."""
    unknown: set[str] = field(default_factory=set)
    """Ids of items whose score entry belongs to another reply."""
    knows_passes: bool = False
    """Whether a reply without a score entry passed."""

    def find_verdict(self, item_id: str) -> bool | None:
        if item_id in self.failing:
            return False
        if item_id in self.unknown:
            return None
        return True if self.knows_passes else None


class _ScoreReader:
    """Reads the entries of a score file that belong to the replies `replies`, whose keys are
    item ids.
    """

    def __init__(self, category: str, replies: dict[str, Any]) -> None:
        self._category = category
        self._item_ids = replies.keys()
        # Item ids without a number have the key None.
        self._ids_by_number = {filenames.parse_item_number(item_id): item_id for item_id in replies}
        numbers = [number for number in self._ids_by_number if number is not None]
        self._last_number = max(numbers, default=-1)

    def read(self, paths: Sequence[Path]) -> _Scores:
        """Read which items fail, from the first of the score files.

        The file has a header and an entry for each failing item, in the order of the dataset. So
        reading ends after the last item that is needed, or after `MAX_ENTRIES`. Items without an
        entry passed if there is a header, and if the entries were read up to that item or are as
        many as the header states.
        """
        scores_of_replies = _Scores()
        header: dict[str, Any] | None = None
        n_entries = 0
        for record in islice(_read_objects(paths[:1]), MAX_ENTRIES):
            is_header = "total_count" in record and "id" not in record
            if is_header:
                header = record
                continue

            n_entries += 1
            item_id, number = self._find_item_id(record)
            if item_id is not None and self._is_needed(item_id):
                scores_of_replies.failing.setdefault(item_id, record)
            if self._is_after_last_reply(number):
                scores_of_replies.knows_passes = header is not None
                return scores_of_replies

        scores_of_replies.knows_passes = header is not None and self._is_complete(header, n_entries)
        return scores_of_replies

    def _is_needed(self, item_id: str) -> bool:
        """Whether the entry of an item is needed. Without replies, those of all items are."""
        return item_id in self._item_ids or not self._item_ids

    def _is_after_last_reply(self, number: int | None) -> bool:
        return bool(self._item_ids) and number is not None and number > self._last_number

    def _is_complete(self, header: dict[str, Any], n_entries: int) -> bool:
        total = header.get("total_count")
        correct = header.get("correct_count")
        if not is_integer(total) or not is_integer(correct):
            return False
        return bool(total - correct == n_entries and len(self._item_ids) <= total)

    def _find_item_id(self, entry: dict[str, Any]) -> tuple[str | None, int | None]:
        """Return the id and the number of the item that a score entry is about, each None if
        unknown.

        An entry has the id of the item, such as `simple_12`, or its position in the file from 1.
        """
        stated = entry.get("id")
        if is_integer(stated):
            # The quoted question has the item's id, which is more certain than the position.
            quoted_id = as_object(entry.get("prompt")).get("id")
            if isinstance(quoted_id, str):
                number = filenames.parse_item_number(quoted_id)
            else:
                number = stated - 1
            return self._ids_by_number.get(number, f"{self._category}_{number}"), number
        if isinstance(stated, str) and stated:
            return stated, filenames.parse_item_number(stated)
        return None, None


def _find_quoted_field(entry: dict[str, Any]) -> str | None:
    """Return the field of a score entry that quotes the reply."""
    return next((name for name in QUOTED_REPLY_FIELDS if name in entry), None)


def _is_failed_request(record: dict[str, Any]) -> bool:
    """Whether the reply is an error of the API, which shows nothing about the model's calls."""
    incident = incidents.find_incident(record)
    return incident is not None and incident.counts


def _read_objects(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        for record in read_records(path):
            if isinstance(record, JsonRecord) and isinstance(record.value, dict):
                yield record.value


@dataclass(frozen=True, slots=True)
class Reading:
    """How a decoder reads one reply."""

    has_calls: bool
    is_passing: bool
    """Whether the reply passes by the rules of the benchmark."""
    agrees: bool
    """Whether the official program read the reply in the same way.

    False if the reply was not scored.
    """
    has_same_error: bool
    """Whether the error type is the official one, too."""


def read_reply(scored: ScoredReply, decoder: Decoder, version: str) -> Reading:
    """Evaluate a reply with one of the possible decoders, and compare the outcome with the official
    verdict.

    This shows how well the decoder fits. `version` is the BFCL version whose rules apply.
    """
    settings = EvaluationSettings(version, category=scored.category, decoder=decoder)
    evaluation = evaluate_result(scored.reply, scored.item, settings)
    has_calls = evaluation.decode_error is None and _has_function_names(evaluation.calls or ())
    is_passing = evaluation.valid is True
    if scored.official is None:
        return Reading(has_calls, is_passing, agrees=False, has_same_error=False)

    agrees = _agrees(scored, evaluation)
    has_same_error = agrees and evaluation.error_type == scored.error_type
    return Reading(has_calls, is_passing=is_passing, agrees=agrees, has_same_error=has_same_error)


def _has_function_names(calls: DisplayCalls) -> bool:
    """Whether there are calls, and their names can be names of functions.

    Other text is read by the wrong decoder.
    """
    return bool(calls) and all(FUNCTION_NAME.fullmatch(name) for name, _ in calls)


def _agrees(scored: ScoredReply, evaluation: Evaluation) -> bool:
    """Whether a reply has the official verdict and, if it fails, can be decoded as officially."""
    official_error = _get_decoding_error(scored.error_type)
    if evaluation.valid is not None:
        error = _get_decoding_error(evaluation.error_type)
        return evaluation.valid == scored.official and error == official_error

    # Without a golden answer, only the decoding can be compared. A reply that passed has calls.
    is_decoded = evaluation.decode_error is None
    if scored.official:
        return is_decoded and bool(evaluation.calls)
    return is_decoded == (official_error is None)


def _get_decoding_error(error_type: str | None) -> str | None:
    return error_type if error_type in DECODING_ERRORS else None
