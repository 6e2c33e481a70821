"""Load the result records of a category, and join them with score entries and dataset items.

A dataset may contain an id twice: in V3, two questions have the id `live_relevance_3-3-0`. They
become two items, `live_relevance_3-3-0` and `live_relevance_3-3-0#2`. Results and score entries are
assigned to one of these items by content. If the dataset contains an id once, a later result
replaces an earlier one.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.dataset import (
    Dataset,
    DatasetItem,
    Turns,
    convert_content_to_text,
    make_repeated_id,
    parse_turns,
    to_json_text,
)
from fcreview.importers.common.jsonl import (
    JsonRecord,
    is_large_file,
    make_excerpt,
    read_records,
    reread_value,
)
from fcreview.importers.common.records import function_names, is_integer
from fcreview.model.item import ImportIssue
from fcreview.model.sanitize import redact_third_party_keys

NO_NUMBER = 1 << 62
"""Sort key of ids without a number, which come last."""


class ResultRecord(NamedTuple):
    """A result record with its file. A record of a large file has no `value`."""

    path: Path
    record: JsonRecord

    def read_value(self) -> Any:
        """Return the content. Records of large files are read again; None if that is impossible."""
        if self.record.value is not None:
            return self.record.value
        return reread_value(self.path, self.record)


@dataclass(slots=True)
class Results:
    category: str
    records: dict[str, ResultRecord] = field(default_factory=dict)
    """Item id -> file and record, in dataset order."""
    repeated_ids: dict[str, list[str]] = field(default_factory=dict)
    """Record id that several items share -> ids of these items."""
    n_replaced: dict[str, int] = field(default_factory=dict)
    """Item id -> number of its records that were replaced by a later record with the same id."""
    issues: list[ImportIssue] = field(default_factory=list)

    def read_record(self, item_id: str) -> dict[str, Any] | None:
        """Return the result record of an item, without API keys; None if its file cannot be read
        again.
        """
        value: dict[str, Any] | None = self.records[item_id].read_value()
        return redact_third_party_keys(value) if self.category == "rest" else value


def load_results(
    paths: list[Path], category: str, dataset: Dataset | None = None, n_scored: int | None = None
) -> Results:
    """Load the result records of a category, by item id and in the order of the dataset.

    Several records can have the same id. They are either results of different items, or the later
    ones replace the earlier ones. The dataset and the number of scored records tell which.

    Args:
        paths: The result files.
        category: The category.
        dataset: The dataset of the category, if it is known.
        n_scored: The number of scored records in the score file's header, if there is one.
    """
    results = Results(category)
    records_by_id = _read_records_by_id(paths, results)

    dataset = dataset or Dataset()
    # If the evaluator scored as many items as there are records, each record was an item for it,
    # even if several have the same id.
    n_records = sum(len(records) for records in records_by_id.values())
    are_all_scored = n_scored == n_records
    for item_id, records in records_by_id.items():
        if len(records) == 1 and item_id not in dataset.repeated_ids:
            results.records[item_id] = records[0]
        else:
            _add_records_with_same_id(
                results, item_id, records, dataset, are_all_scored=are_all_scored
            )
    results.records = _sort_by_number(results.records)
    return results


def _read_records_by_id(
    paths: Sequence[Path], results: Results
) -> defaultdict[str, list[ResultRecord]]:
    """Return the records of result files by their ids, in the order of the files. Adds the issues
    of the files to `results`.
    """
    records_by_id: defaultdict[str, list[ResultRecord]] = defaultdict(list)
    for path in paths:
        file = _read_result_file(path)
        results.issues += file.issues
        # After other issues, only `registry.read_items` reports the file, as one without records.
        if not file.records and not results.issues:
            results.issues.append(ImportIssue(str(path), what="the result file is empty"))
        for item_id, record in zip(
            _make_item_ids(file, results.category), file.records, strict=True
        ):
            records_by_id[item_id].append(ResultRecord(path, record))
    return records_by_id


def _sort_by_number(records: dict[str, ResultRecord]) -> dict[str, ResultRecord]:
    """Sort records by the numbers in their ids, which follow the order of the dataset."""
    numbers: dict[str, int] = {}
    for item_id in records:
        number = filenames.parse_item_number(item_id)
        numbers[item_id] = NO_NUMBER if number is None else number
    return {item_id: records[item_id] for item_id in sorted(records, key=numbers.__getitem__)}


@dataclass(slots=True)
class _ResultFile:
    records: list[JsonRecord] = field(default_factory=list)
    """Valid records. Those of a large file have no `value`."""
    stated_ids: list[Any] = field(default_factory=list)
    """Id in each record: a text, a number, or None."""
    issues: list[ImportIssue] = field(default_factory=list)


def _read_result_file(path: Path) -> _ResultFile:
    """Read the result records of a file with the ids that they state. Unreadable and malformed
    records become issues.
    """
    file = _ResultFile()
    is_large = is_large_file(path)
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            file.issues.append(record)
            continue
        if not _is_result_record(record.value):
            file.issues.append(_make_invalid_record_issue(path, record))
            continue
        file.stated_ids.append(_read_stated_id(record.value))
        # The values of a large file do not fit in memory. They are read again on use.
        file.records.append(replace(record, value=None) if is_large else record)

    n_without_id = file.stated_ids.count(None)
    if n_without_id:
        what = (
            f"{n_without_id} records have no id; they are identified by their position in the file"
        )
        file.issues.append(ImportIssue(str(path), what=what))
    return file


def _is_result_record(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(("result", "id", "idx"))


def _read_stated_id(value: dict[str, Any]) -> Any:
    """Return the id of a record. Records of V1 may have a number in `idx` instead."""
    if value.get("id") is None:
        return value.get("idx")
    return value["id"]


def _make_invalid_record_issue(path: Path, record: JsonRecord) -> ImportIssue:
    """Report a line of a result file that is no result record."""
    return ImportIssue(
        str(path),
        record.line,
        what="the line is not a result record. Expected an object with id and result",
        raw=make_excerpt(str(record.value)),
        severity="error",
    )


def _make_item_ids(file: _ResultFile, category: str) -> list[str]:
    """Return an item id for each record of a file.

    A record whose id is a text keeps it. Records of V1 have numbers or no ids. They get the ids of
    the dataset, `CATEGORY_0`, `CATEGORY_1` and so on.
    """
    first_number = _find_first_number(file.stated_ids)
    item_ids = []
    for position, stated_id in enumerate(file.stated_ids):
        if isinstance(stated_id, str) and stated_id:
            item_ids.append(stated_id)
        elif is_integer(stated_id):
            item_ids.append(f"{category}_{stated_id - first_number}")
        else:
            item_ids.append(f"{category}_{position}")
    return item_ids


def _find_first_number(stated_ids: Sequence[Any]) -> int:
    """Return 1 if the numbers of a file count from 1 to their number, else 0."""
    numbers = [stated_id for stated_id in stated_ids if isinstance(stated_id, int)]
    if numbers and min(numbers) == 1 and max(numbers) == len(numbers):
        return 1
    return 0


def _add_records_with_same_id(
    results: Results,
    item_id: str,
    records: Sequence[ResultRecord],
    dataset: Dataset,
    *,
    are_all_scored: bool,
) -> None:
    """Add several result records with the same id to `results`.

    If the records belong to different items, each item gets a separate item id. Otherwise, only the
    last record counts, and an issue is added for each record that it replaces.

    Args:
        results: The results to which the records are added.
        item_id: The id that the records share.
        records: The records, in the order of the files.
        dataset: The dataset of the category. It may have several items with this id.
        are_all_scored: Whether the score file counts each record as an item.
    """
    values = [record.read_value() for record in records]
    replies = [value.get("result") if isinstance(value, dict) else None for value in values]
    item_ids = assign_item_ids(item_id, replies, dataset, are_all_scored=are_all_scored)
    if item_ids is not None:
        results.repeated_ids[item_id] = item_ids
        record_by_item = dict(zip(item_ids, records, strict=True))
        for own_id in sorted(item_ids):
            results.records[own_id] = record_by_item[own_id]
        return

    for replaced, replacement in pairwise(records):
        results.issues.append(_make_replacement_issue(item_id, replaced, replacement))
    results.records[item_id] = records[-1]
    results.n_replaced[item_id] = len(records) - 1


def _make_replacement_issue(
    item_id: str, earlier: ResultRecord, later: ResultRecord
) -> ImportIssue:
    what = f"{item_id} occurs again. This record replaces the one in line {earlier.record.line}"
    if earlier.path != later.path:
        what += f" of {earlier.path}"
    return ImportIssue(str(later.path), later.record.line, what=what, item=item_id)


API_KEY = re.compile(
    r"\[redacted\]|<?\b(?:(?:YOUR|MY|INSERT|THE)[-_ ]?|[A-Z0-9]{1,20}[-_]){0,4}(?:(?:RAPID|X)[-_"
    r" ]?)?API[-_ ]?KEY\b>?",
    re.IGNORECASE,
)
"""Placeholder of an unpublished API key.

Versions of a dataset have different placeholders in the same question.
"""


def is_same_question(turns: Turns, question: Any) -> bool:
    """Whether a question in a dataset and a quoted question have the same last user message in each
    turn.

    System messages are ignored, because runners add their own.
    """
    quoted_turns = parse_turns(question)
    if quoted_turns == turns:
        return True
    messages = _list_last_user_messages(turns)
    quoted_messages = _list_last_user_messages(quoted_turns)
    if len(messages) != len(quoted_messages):
        return False
    return all(map(_is_same_message, messages, quoted_messages))


def _is_same_message(message: str, quoted_message: str) -> bool:
    """Whether two user messages are equal, apart from placeholders of API keys.

    A message that is empty in the dataset matches any message, because the runner fills it with a
    message about new functions.
    """
    if not message or message == quoted_message:
        return True
    return mask_api_keys(message) == mask_api_keys(quoted_message)


def find_items_with_question(dataset: Dataset, question: Any) -> Iterator[DatasetItem]:
    """Yield the items that may have this question: those with its key, and those without a key."""
    if dataset.ids_by_question is None:
        dataset.ids_by_question = _index_questions(dataset)
    own_key = _make_question_key(parse_turns(question))
    for key in (own_key, None):
        for item_id in dataset.ids_by_question.get(key, ()):
            yield dataset.items[item_id]


def _index_questions(dataset: Dataset) -> dict[tuple[str, ...] | None, list[str]]:
    """Return key of a question -> ids of the items with such a question."""
    ids_by_question: dict[tuple[str, ...] | None, list[str]] = {}
    for item_id, item in dataset.items.items():
        key = _make_question_key(item.turns)
        ids_by_question.setdefault(key, []).append(item_id)
    return ids_by_question


def _make_question_key(turns: Turns) -> tuple[str, ...] | None:
    """Return a key that equal questions share. None if a turn has no user message: the question
    then matches any other one.
    """
    messages = _list_last_user_messages(turns)
    return tuple(map(mask_api_keys, messages)) if all(messages) else None


def is_same_golden_answer(answer: Any, quoted: Any) -> bool:
    """Whether two golden answers are equal, apart from placeholders of API keys."""
    if answer == quoted:
        return True
    return mask_api_keys(to_json_text(answer)) == mask_api_keys(to_json_text(quoted))


def is_same_reply(quoted: Any, result: Any) -> bool:
    """Whether the reply that a score entry quotes is this result.

    Some programs wrote `str(result)`, or converted arguments or parts of them to text, so the two
    can differ in form.
    """
    if quoted == result or (isinstance(quoted, str) and quoted == str(result)):
        return True
    # Values in texts may be nested deeper than Python can compare.
    with contextlib.suppress(RecursionError):
        if _is_same_value_or_text(quoted, result):
            return True
    return mask_api_keys(to_json_text(quoted)) == mask_api_keys(to_json_text(result))


def _is_same_value_or_text(first: Any, second: Any) -> bool:
    """Whether two values are equal, or one is the text of the other.

    Programs write the same arguments as objects or as text, also inside of each other. So these are
    the same: `{"a": 1}`, `{"a": "1"}` and `"{\"a\": 1}"`.
    """
    if isinstance(first, str) and isinstance(second, str):
        return first == second or _is_same_structure_in_texts(first, second)
    if isinstance(first, str):
        return _is_text_of_value(first, second)
    if isinstance(second, str):
        return _is_text_of_value(second, first)

    if isinstance(first, dict) and isinstance(second, dict):
        if first.keys() != second.keys():
            return False
        return all(_is_same_value_or_text(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_same_value_or_text, first, second))
    # In Python, 1 equals True. Here, they differ.
    return type(first) is type(second) and bool(first == second)


def _is_same_structure_in_texts(first: str, second: str) -> bool:
    """Whether two texts contain equal objects or lists, such as JSON with other blanks."""
    first_value = _parse_literal(first)
    second_value = _parse_literal(second)
    if not isinstance(first_value, (dict, list)) or not isinstance(second_value, (dict, list)):
        return False
    return _is_same_value_or_text(first_value, second_value)


def _is_text_of_value(text: str, value: Any) -> bool:
    if isinstance(value, (dict, list)):
        return _is_same_value_or_text(_parse_literal(text), value)
    return text in (str(value), str(value).lower(), to_json_text(value))


def _parse_literal(text: str) -> Any:
    """Parse JSON or a Python literal; None if the text is neither or too long."""
    if len(text) > MAX_LITERAL_LENGTH:
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return None


def mask_api_keys(text: str) -> str:
    # Most texts have no key, and the search for the pattern takes long.
    if "key" not in text.lower() and "[redacted]" not in text:
        return text
    return API_KEY.sub("KEY", text)


def _list_last_user_messages(turns: Turns) -> list[str]:
    """Return the last user message of each turn; an empty text for a turn without one."""
    messages = []
    for turn in turns:
        contents = [part.get("content") for part in turn if part.get("role") == "user"]
        message = ""
        if contents:
            message = convert_content_to_text(contents[-1])
        messages.append(message)
    return messages


MAX_LITERAL_LENGTH = 100_000
"""Longest quoted reply, in characters, that is parsed to compare it with a result."""
MAX_PERMUTED_REPLIES = 4
"""Maximum number of replies with the same id that are assigned by content. If there are more, they
are assigned in dataset order.
"""


def assign_replies_to_items(replies: Sequence[Any], items: Sequence[DatasetItem]) -> list[int]:
    """Assign replies to items that have the same id, and return the index of the item for each
    reply.

    A reply belongs to an item if it names a function of the item. All orders are tried, and the one
    in which most replies fit wins. If several are equally good, or there are too many to try, the
    order of the dataset is kept.
    """
    dataset_order = list(range(len(replies)))
    if len(replies) != len(items) or len(replies) > MAX_PERMUTED_REPLIES:
        return dataset_order

    # fits[reply][item] says whether the reply names a function of the item.
    texts = [to_json_text(reply) for reply in replies]
    fits = [[has_function_name(text, item) for item in items] for text in texts]

    def count_fitting_replies(order: Iterable[int]) -> int:
        return sum(fits[reply][item] for reply, item in enumerate(order))

    # `max` returns the first of equally good orders, which is the one of the dataset.
    return list(max(permutations(dataset_order), key=count_fitting_replies))


def has_function_name(reply: str, item: DatasetItem) -> bool:
    """Whether a reply contains the name of an available function, also with `_` for `.`."""
    names = function_names(item.functions) - {""}
    return any(name in reply or name.replace(".", "_") in reply for name in names)


def assign_item_ids(
    record_id: str, replies: list[Any], dataset: Dataset, *, are_all_scored: bool
) -> list[str] | None:
    """Return the item id of each of several results that have the same record id. Return None if
    all are results of one item, of which only the last one counts.

    Args:
        record_id: The id in the records.
        replies: The reply of each result.
        dataset: The dataset, which can have several items with the id.
        are_all_scored: Whether the score file counts each result as an item.
    """
    item_ids = dataset.repeated_ids.get(record_id)
    if item_ids is None:
        # Without a dataset, the results are different items if the score file counts them all.
        are_different_items = are_all_scored and not dataset.items
        if not are_different_items:
            return None
        return [make_repeated_id(record_id, n_earlier) for n_earlier in range(len(replies))]

    # The dataset has several items with the id. The functions that a reply calls tell its item.
    if len(replies) == 1:
        return [_choose_item_of_reply(replies[0], item_ids, dataset)]
    if len(item_ids) != len(replies):
        # It is unknown which results belong to which item. So the last one counts, as for any id
        # that a file repeats.
        return None
    items = [dataset.items[item_id] for item_id in item_ids]
    item_indexes = assign_replies_to_items(replies, items)
    return [item_ids[index] for index in item_indexes]


def _choose_item_of_reply(reply: Any, item_ids: Sequence[str], dataset: Dataset) -> str:
    """Return the id of the first item with a function that the reply names, else the first id."""
    text = to_json_text(reply)
    for item_id in item_ids:
        if has_function_name(text, dataset.items[item_id]):
            return item_id
    return item_ids[0]


def find_scored_item_id(
    entry_id: str, entry: Mapping[str, Any], results: Results, dataset: Dataset
) -> str:
    """Return the id of the item that a score entry scores.

    Usually this is the id in the entry. But several items can have that id. Then the question and
    the reply that the entry quotes tell which one is meant.
    """
    item_ids = _list_items_with_id(entry_id, results, dataset)
    if not item_ids:
        return entry_id

    candidates = _select_items_with_quoted_question(item_ids, entry, dataset) or item_ids
    quoted_reply = entry.get("model_result_raw", entry.get("model_result"))
    for item_id in candidates:
        record = results.read_record(item_id) if item_id in results.records else None
        if record is not None and is_same_reply(quoted_reply, record.get("result")):
            return item_id
    # If the reply does not tell it either, the first of them counts.
    return candidates[0]


def _select_items_with_quoted_question(
    item_ids: Sequence[str], entry: Mapping[str, Any], dataset: Dataset
) -> list[str]:
    """Return the items whose question in the dataset is the one that a score entry quotes."""
    prompt = entry.get("prompt")
    question = prompt.get("question") if isinstance(prompt, dict) else prompt
    selected = []
    for item_id in item_ids:
        item = dataset.items.get(item_id)
        if item is not None and is_same_question(item.turns, question):
            selected.append(item_id)
    return selected


def _list_items_with_id(entry_id: str, results: Results, dataset: Dataset) -> list[str]:
    """Return the items that share the id of a score entry. Empty if only one item has it."""
    if results.repeated_ids.get(entry_id):
        return results.repeated_ids[entry_id]
    if results.records:
        return []
    return dataset.repeated_ids.get(entry_id, [])
