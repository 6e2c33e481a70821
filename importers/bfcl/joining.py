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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, permutations
from operator import getitem
from pathlib import Path
from typing import Any

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


@dataclass(slots=True)
class Results:
    category: str
    records: dict[str, tuple[Path, JsonRecord]] = field(default_factory=dict)
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
        value: dict[str, Any] | None = _get_or_reread_value(*self.records[item_id])
        return redact_third_party_keys(value) if self.category == "rest" else value


def _get_or_reread_value(path: Path, record: JsonRecord) -> Any:
    return record.value if record.value is not None else reread_value(path, record)


def load_results(
    paths: list[Path], category: str, dataset: Dataset | None = None, n_scored: int | None = None
) -> Results:
    """Load the result records of a category.

    `n_scored` is the number of scored records in the score file's header.
    """
    results = Results(category)
    by_id: dict[str, tuple[tuple[Path, JsonRecord], ...]] = {}
    for path in paths:
        read = _read_result_file(path, results)
        numbers = [stated for stated, _ in read if isinstance(stated, int)]
        first_index = 1 if numbers and min(numbers) == 1 and max(numbers) == len(numbers) else 0
        for position, (stated, record) in enumerate(read):
            number = stated - first_index if is_integer(stated) else position
            item_id = stated if isinstance(stated, str) and stated else f"{category}_{number}"
            by_id[item_id] = (*by_id.get(item_id, ()), (path, record))
        del read
    are_all_scored = n_scored == sum(map(len, by_id.values()))
    for item_id, found in by_id.items():
        if len(found) == 1 and (dataset is None or item_id not in dataset.repeated_ids):
            results.records[item_id] = found[0]
        else:
            _add_records_with_same_id(
                results, item_id, found, dataset or Dataset(), are_all_scored=are_all_scored
            )
    # Sort by the numbers in the ids, which follow the order of the dataset. Ids without a number
    # come last.
    places = {item_id: filenames.parse_item_number(item_id) for item_id in results.records}
    ordered = sorted(places.items(), key=lambda pair: 1 << 62 if pair[1] is None else pair[1])
    results.records = {item_id: results.records[item_id] for item_id, _ in ordered}
    return results


def _read_result_file(path: Path, results: Results) -> list[tuple[Any, JsonRecord]]:
    """Return (id in the record, record) of each valid line, and add issues.

    Records of large files have no `value`.
    """
    large = is_large_file(path)
    read: list[tuple[Any, JsonRecord]] = []
    n_without_id = 0
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            results.issues.append(record)
            continue
        value = record.value
        if not isinstance(value, dict) or (
            "result" not in value and "id" not in value and "idx" not in value
        ):
            what = "the line is not a result record. Expected an object with id and result"
            results.issues.append(
                ImportIssue(
                    str(path),
                    record.line,
                    what=what,
                    raw=make_excerpt(str(value)),
                    severity="error",
                )
            )
            continue
        stated = value.get("idx") if value.get("id") is None else value["id"]
        n_without_id += stated is None
        if large:
            record.value = None
        read.append((stated, record))
    if n_without_id:
        what = (
            f"{n_without_id} records have no id; they are identified by their position in the file"
        )
        results.issues.append(ImportIssue(str(path), None, what=what))
    if not read and not results.issues:
        results.issues.append(ImportIssue(str(path), None, what="the result file is empty"))
    return read


def _add_records_with_same_id(
    results: Results,
    item_id: str,
    found: Sequence[tuple[Path, JsonRecord]],
    dataset: Dataset,
    *,
    are_all_scored: bool,
) -> None:
    """Add records with the same id as separate items, or add only the last record, with an issue
    for each other one.
    """
    values = [_get_or_reread_value(*each) for each in found]
    replies = [value.get("result") if isinstance(value, dict) else None for value in values]
    item_ids = assign_item_ids(item_id, replies, dataset, are_all_scored=are_all_scored)
    if item_ids is not None:
        results.repeated_ids[item_id] = item_ids
        results.records.update(sorted(zip(item_ids, found, strict=True), key=lambda pair: pair[0]))
        return
    for (before, earlier), (path, record) in pairwise(found):
        what = f"{item_id} occurs again. This record replaces the one in line {earlier.line}"
        what += f" of {before}" if before != path else ""
        results.issues.append(ImportIssue(str(path), record.line, what=what, item=item_id))
    results.records[item_id] = found[-1]
    results.n_replaced[item_id] = len(found) - 1


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

    System messages are ignored, because runners add their own. A turn that is empty in the dataset
    matches any turn, because the runner fills it with a message about new functions.
    """
    quoted = parse_turns(question)
    if quoted == turns:
        return True
    ours, theirs = _list_last_user_messages(turns), _list_last_user_messages(quoted)
    return len(ours) == len(theirs) and all(
        not a or a == b or mask_api_keys(a) == mask_api_keys(b)
        for a, b in zip(ours, theirs, strict=True)
    )


def find_items_with_question(dataset: Dataset, question: Any) -> Iterator[DatasetItem]:
    """Yield the items that may have this question. An index of the dataset makes this fast."""
    if dataset.ids_by_question is None:
        dataset.ids_by_question = {}
        for item_id, item in dataset.items.items():
            dataset.ids_by_question.setdefault(_make_question_key(item.turns), []).append(item_id)
    for key in (_make_question_key(parse_turns(question)), None):
        for item_id in dataset.ids_by_question.get(key, ()):
            yield dataset.items[item_id]


def _make_question_key(turns: Turns) -> tuple[str, ...] | None:
    """Return a key that is equal for equal questions.

    None if a turn has no user message, because it matches any.
    """
    messages = _list_last_user_messages(turns)
    return tuple(map(mask_api_keys, messages)) if all(messages) else None


def is_same_golden_answer(answer: Any, quoted: Any) -> bool:
    """Whether two golden answers are equal, apart from placeholders of API keys."""
    return bool(answer == quoted) or mask_api_keys(to_json_text(answer)) == mask_api_keys(
        to_json_text(quoted)
    )


def is_same_reply(quoted: Any, result: Any) -> bool:
    """Whether a score entry quotes this result.

    Some programs wrote `str(result)`, or converted arguments or single values of arguments to text.
    """
    if quoted == result or (isinstance(quoted, str) and quoted == str(result)):
        return True
    # values in texts may be nested deeper than Python can compare
    with contextlib.suppress(RecursionError):
        if _is_same_value_or_text(quoted, result):
            return True
    return mask_api_keys(to_json_text(quoted)) == mask_api_keys(to_json_text(result))


def _is_same_value_or_text(first: Any, second: Any) -> bool:
    """Whether two values are equal, or one is text for the other: `{"a": 1}`, `{"a": "1"}` and
    `"{\\"a\\": 1}"`.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            _is_same_value_or_text(first[key], second[key]) for key in first
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_same_value_or_text, first, second))
    if isinstance(first, str) and isinstance(second, str):
        parsed = [_parse_literal(text) for text in (first, second)]
        is_structured = all(isinstance(value, (dict, list)) for value in parsed)
        return first == second or (is_structured and _is_same_value_or_text(*parsed))
    if isinstance(first, str) or isinstance(second, str):
        text, value = (first, second) if isinstance(first, str) else (second, first)
        if isinstance(value, (dict, list)):
            return _is_same_value_or_text(_parse_literal(text), value)
        return text in (str(value), str(value).lower(), to_json_text(value))
    return type(first) is type(second) and bool(first == second)


def _parse_literal(text: str) -> Any:
    if len(text) > MAX_LITERAL_LENGTH:
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return None


def mask_api_keys(text: str) -> str:
    return API_KEY.sub("KEY", text) if "key" in text.lower() or "[redacted]" in text else text


def _list_last_user_messages(turns: Turns) -> list[str]:
    by_turn = (
        [part.get("content") for part in turn if part.get("role") == "user"] for turn in turns
    )
    return [convert_content_to_text(contents[-1]) if contents else "" for contents in by_turn]


MAX_LITERAL_LENGTH = 100_000
"""Longest quoted reply, in characters, that is parsed to compare it with a result."""
MAX_PERMUTED_REPLIES = 4
"""Maximum number of replies with the same id that are assigned by content. If there are more, they
are assigned in dataset order.
"""


def assign_replies_to_items(replies: Sequence[Any], items: Sequence[DatasetItem]) -> list[int]:
    """Return the index of the item for each reply, chosen so that most replies name a function
    of their item.
    """
    positions = range(len(replies))
    if len(replies) != len(items) or len(replies) > MAX_PERMUTED_REPLIES:
        return list(positions)
    texts = [to_json_text(reply) for reply in replies]
    matches = [[has_function_name(text, item) for item in items] for text in texts]
    return list(max(permutations(positions), key=lambda order: sum(map(getitem, matches, order))))


def has_function_name(reply: str, item: DatasetItem) -> bool:
    return any(
        name in reply or name.replace(".", "_") in reply
        for name in function_names(item.functions) - {""}
    )


def assign_item_ids(
    record_id: str, replies: list[Any], dataset: Dataset, *, are_all_scored: bool
) -> list[str] | None:
    """Return an item id for each result with the same record id; None if all results belong to one
    item.

    Without a dataset, they are different items if the score file counts them all.
    """
    item_ids = dataset.repeated_ids.get(record_id)
    if item_ids is None:
        is_split = are_all_scored and not dataset.items
        return [make_repeated_id(record_id, n) for n in range(len(replies))] if is_split else None
    if len(replies) == 1:
        text = to_json_text(replies[0])
        return [
            next(
                (each for each in item_ids if has_function_name(text, dataset.items[each])),
                item_ids[0],
            )
        ]
    if len(item_ids) != len(replies):
        return None
    return [
        item_ids[n]
        for n in assign_replies_to_items(replies, [dataset.items[each] for each in item_ids])
    ]


def find_scored_item_id(
    entry_id: str, entry: Mapping[str, Any], results: Results, dataset: Dataset
) -> str:
    """Return the id of the item that a score entry scores.

    If several items have the entry's id, it is the item with the question and the reply in the
    entry.
    """
    item_ids = results.repeated_ids.get(entry_id) or (
        [] if results.records else dataset.repeated_ids.get(entry_id, [])
    )
    if not item_ids:
        return entry_id
    prompt = entry.get("prompt")
    question = prompt.get("question") if isinstance(prompt, dict) else prompt
    reply = entry.get("model_result_raw", entry.get("model_result"))
    records = {each: results.read_record(each) for each in item_ids if each in results.records}
    by_question = [
        n
        for n in item_ids
        if n in dataset.items and is_same_question(dataset.items[n].turns, question)
    ]
    candidates = by_question or item_ids
    has_reply = ((n, record) for n in candidates if (record := records.get(n)))
    return next(
        (n for n, record in has_reply if is_same_reply(reply, record.get("result"))), candidates[0]
    )
