"""Read score files that contain only a header and the failing items.

An item without an entry passed, provided that the number of entries equals the number of failures in the header. If the
numbers differ, the file is damaged. Failures would then be read as passes, so all its official verdicts are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import make_excerpt, read_records
from fcreview.model.item import ImportIssue

JsonObject = dict[str, Any]
NOT_A_FAILURE = 'an entry among the failures has "valid": true. It does not count as a failure'


def count_failures(header: Mapping[str, Any]) -> int | None:
    """Return the number of failures that a header states; None without valid `total_count` and `correct_count`."""
    total, correct = header.get("total_count"), header.get("correct_count")
    if type(total) is not int or type(correct) is not int or not 0 <= correct <= total:
        return None
    return total - correct


def describe_count_error(header: Mapping[str, Any], n_failing: int) -> str | None:
    """Return why the number of failing items in a score file is wrong, or None if it equals the header's count."""
    n_failures = count_failures(header)
    if n_failures is None:
        return "no header with correct_count and total_count. The official verdicts are unknown"
    if n_failures != n_failing:
        what = f"the header states {n_failures} failures, but the file lists {n_failing}"
        return f"{what}. The official verdicts are unknown"
    return None


@dataclass(slots=True)
class FailureList:
    """The content of a score file with a header and entries of failing items."""

    path: Path
    header: JsonObject = field(default_factory=dict)
    entries: dict[str, JsonObject] = field(default_factory=dict)
    """Item id -> entry of a failing item."""
    is_complete: bool = False
    """Whether the file lists as many failures as its header states. If not, all official verdicts are unknown."""
    knows_passes: bool = False
    """Whether items without an entry passed. False if there are more items than the header states."""

    def get_verdict(self, item_id: str) -> bool | None:
        """Return the official verdict on an item; None if it is unknown."""
        if not self.is_complete:
            return None
        return False if item_id in self.entries else True if self.knows_passes else None

    def get_failure(self, item_id: str) -> JsonObject | None:
        """Return the entry of an item whose official verdict is fail, or None."""
        return self.entries.get(item_id) if self.is_complete else None


def load_failure_list(path: Path, find_item_id: Callable[[JsonObject], str], issues: list[ImportIssue]) -> FailureList:
    """Load the entries of a score file. All its verdicts are unknown until `check_counts` is called.

    `find_item_id` returns the item id of an entry.
    """
    scored = FailureList(path)
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            issues.append(record)
            continue
        value, line = record.value, record.line
        if not isinstance(value, dict):
            issues.append(ImportIssue(str(path), line, "not an object", make_excerpt(str(value)), severity="error"))
        elif "id" not in value and "total_count" in value and not scored.header:
            scored.header = value
        elif "id" not in value:
            what = "a score entry has no id and belongs to no item"
            issues.append(ImportIssue(str(path), line, what, make_excerpt(str(value)), severity="error"))
        elif value.get("valid") is True:
            issues.append(ImportIssue(str(path), line, NOT_A_FAILURE, item=find_item_id(value), severity="error"))
        elif scored.entries.setdefault(find_item_id(value), value) is not value:
            item_id = find_item_id(value)
            what = f"{item_id} is scored more than once. The first entry counts"
            issues.append(ImportIssue(str(path), line, what, item=item_id))
    return scored


def check_counts(scored: FailureList, result_ids: Collection[str], issues: list[ImportIssue]) -> None:
    """Check a score file's header against its entries and the results, and set `is_complete` and `knows_passes`.

    `result_ids` are the ids of all result records, including repeated ids.
    """
    error = describe_count_error(scored.header, len(scored.entries))
    if error is not None:
        issues.append(ImportIssue(str(scored.path), 1, error, severity="error"))
        return
    scored.is_complete = scored.knows_passes = True
    total = scored.header["total_count"]
    n_items = len(result_ids) + len(scored.entries.keys() - set(result_ids))
    if n_items > total:
        scored.knows_passes = False
        what = f"{total} items were scored, but there are {n_items}, so it is unknown which items passed"
        issues.append(ImportIssue(str(scored.path), 1, what, severity="error"))
    elif n_items < total:
        what = f"{total} items were scored, but only {n_items} results can be read"
        issues.append(ImportIssue(str(scored.path), 1, what))
