"""Helpers to read records, to fill items, and to load score files that list only the failing
items.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeGuard

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.common.file_cache import FileCache
from fcreview.importers.common.jsonl import JsonRecord, make_excerpt, read_records
from fcreview.model.item import ImportIssue, Item, Message
from fcreview.model.json_value import to_json_text

JsonObject = dict[str, Any]
MAX_QUESTION_LENGTH = 400
"""Maximum number of characters of `Item.question`.

The item's messages contain the whole question.
"""


CODE_FENCE = re.compile(r"\s*(```\w*)\s(.*)```\s*", re.DOTALL)


class Undecodable(ValueError):
    """Raised for a reply that does not contain calls. The message is the reason."""


def explain_decoding_error(reply: Any, error: ValueError, decode: Callable[[str], object]) -> str:
    """Return a text that says why `decode` rejected a reply with `error`.

    If a code fence surrounds the whole reply, the text names the fence, and the error that remains
    without it. If the error is the same without the fence, the text is this error only.
    """
    fenced = CODE_FENCE.fullmatch(reply) if isinstance(reply, str) else None
    if fenced is None:
        return str(error)

    fence, content = fenced.groups()
    reason = f"wrapped in a code fence ({fence})"
    try:
        decode(content)
    except (ValueError, RecursionError, MemoryError) as error_without_fence:
        if str(error_without_fence) == str(error):
            # The decoder removes the fence itself.
            return str(error)
        return f"{reason}; without the fence: {error_without_fence}"
    return reason


def shorten_question(text: str) -> str:
    """Return the text on one line.

    A text longer than MAX_QUESTION_LENGTH is cut and ends in `…`.
    """
    longest_read = 4 * MAX_QUESTION_LENGTH
    line = " ".join(text[:longest_read].split())
    if len(line) <= MAX_QUESTION_LENGTH and len(text) <= longest_read:
        return line
    return line[: MAX_QUESTION_LENGTH - 1].rstrip() + "…"


def first_question(messages: Iterable[Message]) -> str:
    """Return the first user message as a short line, or an empty string."""
    for message in messages:
        if message.role == "user":
            return shorten_question(message.content)
    return shorten_question("")


def last_question(messages: Sequence[Message]) -> str:
    """Return the last user message as a short line, or an empty string."""
    return first_question(reversed(messages))


def as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def list_objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list. Returns an empty list if the value is not a list."""
    return [each for each in as_list(value) if isinstance(each, dict)]


def is_number(value: Any) -> TypeGuard[int | float]:
    """Return whether a value is a number. Booleans, which are integers in Python, are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_integer(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def add_issue(
    item: Item,
    what: str,
    file: str | None = None,
    severity: Literal["error", "warning", "notice"] = "warning",
) -> None:
    """Add an import issue to an item. Without `file`, it refers to the item's own file and line."""
    if file is None:
        issue = ImportIssue(item.file, item.line, what=what, item=item.id, severity=severity)
    else:
        issue = ImportIssue(file, what=what, item=item.id, severity=severity)
    item.issues.append(issue)


class PlacedRecord(Protocol):
    """A record with its line from 1, and its offset and length in bytes."""

    @property
    def line(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def length(self) -> int: ...


def set_position(item: Item, record: PlacedRecord) -> None:
    """Set where an item's record is in its file."""
    item.line = record.line
    item.offset = record.offset
    item.length = record.length


def fill_safely(item: Item, fill: Callable[[], object]) -> Item:
    """Call `fill`, which fills an item from its record, and return the item.

    If the record is malformed, the item stays incomplete and gets an issue, and the import goes on.
    """
    try:
        fill()
    except MALFORMED_DATA as error:
        reason = f"{type(error).__name__}: {str(error)[:200]}"
        what = f"the record has an unexpected format ({reason}), so the item is incomplete"
        item.issues.append(
            ImportIssue(item.file, item.line, what=what, item=item.id, severity="error")
        )

    # Everything that reads function docs relies on their being objects.
    are_objects = all(isinstance(function, dict) for function in item.functions)
    if not are_objects:
        item.functions = [function for function in item.functions if isinstance(function, dict)]
    return item


def make_id_key(written_id: Any) -> Any:
    """Return an id as a key of a dictionary. In a damaged file, it can be an object or a list."""
    return to_json_text(written_id) if isinstance(written_id, (dict, list)) else written_id


def find_function_doc(name: Any, function_docs: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    for function_doc in function_docs:
        if function_doc.get("name") == name:
            return function_doc
    return None


def read_function_docs(value: Any) -> list[dict[str, Any]]:
    """Return function docs as a list.

    A valid list is not copied, because the store recognizes shared lists.
    """
    if isinstance(value, list):
        docs = [entry for entry in value if isinstance(entry, dict)]
        if len(docs) == len(value):
            return value
        return docs
    if isinstance(value, dict):
        return [value]
    return []


def read_tools(value: Any) -> list[dict[str, Any]]:
    """Return the function docs of a list of OpenAI tools.

    A tool without `function` is a function doc itself.
    """
    tools = read_function_docs(value)
    return [tool["function"] if isinstance(tool.get("function"), dict) else tool for tool in tools]


@dataclass(frozen=True, slots=True)
class DatasetRecords:
    """The records of a dataset file by id. All runs share them, so that nobody may change them."""

    by_id: dict[str, JsonObject]
    issues: list[ImportIssue]


def load_dataset_records(path: Path) -> DatasetRecords:
    """Load the records of a dataset file as `load_records_by_id` does, or return those that an
    earlier run has loaded.
    """
    return _dataset_files.load(path)


def _read_dataset_file(path: Path) -> DatasetRecords:
    issues: list[ImportIssue] = []
    return DatasetRecords(load_records_by_id(path, issues), issues)


_dataset_files = FileCache(_read_dataset_file)


def load_records_by_id(path: Path, issues: list[ImportIssue]) -> dict[str, dict[str, Any]]:
    """Load the records of a JSON Lines file by their field `id`.

    If several records have the same id, the first one is used. If they differ, and for records
    without an id, an issue is added to `issues`.
    """
    record_by_id: dict[str, dict[str, Any]] = {}
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            issues.append(record)
            continue

        item_id = as_object(record.value).get("id")
        if not isinstance(item_id, str):
            issues.append(_make_missing_id_issue(path, record))
            continue
        first_record = record_by_id.setdefault(item_id, record.value)
        if first_record != record.value:
            issues.append(_make_repeated_id_issue(path, record.line, item_id))
    return record_by_id


def _make_missing_id_issue(path: Path, record: JsonRecord) -> ImportIssue:
    what = "the record is not an object with an id"
    excerpt = make_excerpt(str(record.value))
    return ImportIssue(str(path), record.line, what=what, raw=excerpt)


def _make_repeated_id_issue(path: Path, line: int, item_id: str) -> ImportIssue:
    what = f"{item_id} occurs more than once, with different content. The first record is used"
    return ImportIssue(str(path), line, what=what, item=item_id)


def report_missing_records(
    questions_file: Path,
    question_ids: Container[str],
    answer_ids: Container[str],
    item_ids: Collection[str],
) -> Iterator[ImportIssue]:
    """Yield an issue if the dataset lacks questions of results, and another one if it lacks
    golden answers.
    """
    n_items = len(item_ids)
    n_without_question = sum(item_id not in question_ids for item_id in item_ids)
    if n_without_question:
        yield make_missing_records_issue(questions_file, "question", n_without_question, n_items)

    n_without_answer = sum(item_id not in answer_ids for item_id in item_ids)
    if n_without_answer:
        answers_file = questions_file.parent / "possible_answer" / questions_file.name
        yield make_missing_records_issue(answers_file, "golden answer", n_without_answer, n_items)


def make_missing_records_issue(
    path: Path, missing_noun: str, n_missing: int, n_results: int
) -> ImportIssue:
    """Return the issue that a file has no question or golden answer (`missing_noun`) for some
    results.
    """
    where = "in this file" if path.is_file() else "because this file does not exist"
    text = f"{n_missing:,} of {n_results:,} results have no {missing_noun} {where}"
    return ImportIssue(
        str(path), what=text, severity="error" if n_missing == n_results else "warning"
    )


def function_names(functions: Iterable[dict[str, Any]]) -> set[str]:
    """Return the names in function docs. Names that are not strings are ignored."""
    names = (function.get("name") for function in functions)
    return {name for name in names if isinstance(name, str)}


NOT_A_FAILURE = 'a score entry has "valid": true, so it does not count as a failure'


def read_failure_count(header: Mapping[str, Any]) -> int | None:
    """Return the number of failures in a header; None if `total_count` or `correct_count` is
    missing or invalid.
    """
    total = header.get("total_count")
    correct = header.get("correct_count")
    if type(total) is not int or type(correct) is not int or not 0 <= correct <= total:
        return None
    return total - correct


def describe_count_error(header: Mapping[str, Any], n_failing: int) -> str | None:
    """Return the error if a score file's number of failing items differs from its header, or
    None.
    """
    n_failures = read_failure_count(header)
    if n_failures == n_failing:
        return None

    if n_failures is None:
        error = "the file has no header with correct_count and total_count"
    else:
        error = f"the header states {n_failures} failures, but the file lists {n_failing}"
    return f"{error}. The official verdicts are unknown"


@dataclass(slots=True)
class FailureList:
    """The content of a score file with a header and entries of failing items."""

    path: Path = Path()
    """Path of the score file; empty if there is none."""
    header: JsonObject = field(default_factory=dict)
    entries: dict[str, JsonObject] = field(default_factory=dict)
    repeated_ids: set[str] = field(default_factory=set)
    """Items with several entries."""
    is_complete: bool = False
    """Whether the file lists as many failures as its header states.

    If not, all official verdicts are unknown.
    """
    knows_passes: bool = False
    """Whether items without an entry passed.

    False if there are more items than the header states.
    """

    def get_verdict(self, item_id: str) -> bool | None:
        """Return the official verdict on an item, or None if it is unknown."""
        if not self.is_complete:
            return None
        if item_id in self.entries:
            return False
        if self.knows_passes:
            return True
        return None

    def get_failure(self, item_id: str) -> JsonObject | None:
        """Return what the score file lists for an item that failed; None for any other item."""
        return self.entries.get(item_id) if self.is_complete else None


def load_failure_list(
    path: Path, find_item_id: Callable[[JsonObject], str], issues: list[ImportIssue]
) -> FailureList:
    """Load a score file, which has a header with counts and an entry for each failing item.

    The verdicts are unknown until `validate_failure_list` has compared the counts.

    Args:
        path: The score file.
        find_item_id: Returns the id of the item that an entry is about.
        issues: The list to which problems are added.
    """
    scored = FailureList(path)
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            issues.append(record)
            continue

        value = record.value
        if _is_failure_entry(value):
            item_id = find_item_id(value)
            if item_id in scored.entries:
                scored.repeated_ids.add(item_id)
                issues.append(_make_repeated_entry_issue(path, record.line, item_id))
            else:
                scored.entries[item_id] = value
        elif _is_score_header(value) and not scored.header:
            scored.header = value
        else:
            issues.append(_make_invalid_entry_issue(path, record.line, value, find_item_id))
    return scored


def _make_repeated_entry_issue(path: Path, line: int, item_id: str) -> ImportIssue:
    what = f"{item_id} is scored more than once. The first entry counts"
    return ImportIssue(str(path), line, what=what, item=item_id)


def _is_failure_entry(value: Any) -> bool:
    return isinstance(value, dict) and "id" in value and value.get("valid") is not True


def _is_score_header(value: Any) -> bool:
    return isinstance(value, dict) and "id" not in value and "total_count" in value


def _make_invalid_entry_issue(
    path: Path, line: int | None, value: Any, find_item_id: Callable[[JsonObject], str]
) -> ImportIssue:
    """Return why a line of a score file is neither the header nor the entry of a failing item."""
    if isinstance(value, dict) and "id" in value:
        return ImportIssue(
            str(path), line, what=NOT_A_FAILURE, item=find_item_id(value), severity="error"
        )

    what = "the line is not a JSON object"
    if isinstance(value, dict):
        what = "a score entry has no id and belongs to no item"
    excerpt = make_excerpt(str(value))
    return ImportIssue(str(path), line, what=what, raw=excerpt, severity="error")


def validate_failure_list(
    scored: FailureList, result_ids: Collection[str], issues: list[ImportIssue]
) -> None:
    """Compare the counts in a score file's header with its entries, to learn whether items without
    an entry passed.

    A score file lists only the failing items. Its header states how many items were scored and how
    many passed. If the counts fit the entries, the list is complete (`scored.is_complete`). If the
    run also has no more items than were scored, each item without an entry passed
    (`scored.knows_passes`).
    """
    error = describe_count_error(scored.header, len(scored.entries))
    if error is not None:
        issues.append(ImportIssue(str(scored.path), line=1, what=error, severity="error"))
        return

    n_scored = scored.header["total_count"]
    entries_without_result = scored.entries.keys() - set(result_ids)
    n_items = len(result_ids) + len(entries_without_result)
    scored.is_complete = True
    scored.knows_passes = n_items <= n_scored
    if n_items != n_scored:
        issues.append(_make_count_issue(scored.path, n_scored, n_items))


def _make_count_issue(path: Path, n_scored: int, n_items: int) -> ImportIssue:
    """Make an issue about a run with more or fewer items than were scored."""
    if n_items > n_scored:
        what = (
            f"{n_scored} items were scored, but the run has {n_items}, so it is unknown which items"
            " passed"
        )
        return ImportIssue(str(path), line=1, what=what, severity="error")
    what = f"{n_scored} items were scored, but only {n_items} results can be read"
    return ImportIssue(str(path), line=1, what=what)
