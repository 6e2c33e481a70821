"""Read the values of one record, count them, and collect what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from fcreview.importers.common.json_text import make_excerpt
from fcreview.importers.dialects.conversation import MessageIssue
from fcreview.importers.mapping.counts import MappingCounts
from fcreview.importers.mapping.files import MappedRecord
from fcreview.importers.mapping.joins import JoinRow
from fcreview.importers.mapping.mapping_file import Value, VerdictRule
from fcreview.importers.mapping.values import (
    MISSING,
    FoundValue,
    NotAVerdict,
    UnreadableValue,
    decide_verdict,
    find_value,
    to_name,
    to_number,
    to_written_text,
)
from fcreview.model.item import ImportIssue
from fcreview.model.json_value import to_json_text

T = TypeVar("T")
NOT_A_VERDICT = "not a verdict"
NOT_READABLE = "not readable"


class ValueReader:
    """Reads the values of one record and of the join rows that belong to it.

    A value that is missing is counted. A value that is not what the mapping says is counted, and
    becomes an issue. Both are read as None.
    """

    def __init__(self, record: MappedRecord, counts: MappingCounts) -> None:
        self.record = record
        self.rows: Mapping[str, Sequence[JoinRow]] = {}
        """Rows of each join that belong to the item."""
        self.issues: list[ImportIssue] = []
        self._counts = counts

    def add_issue(
        self,
        what: str,
        *,
        raw: Any = None,
        severity: Literal["error", "warning", "notice"] = "warning",
    ) -> None:
        """Report a problem with a value of the record. `raw` is the value, of which an excerpt is
        shown.
        """
        excerpt = None if raw is None else make_excerpt(to_json_text(raw))
        issue = ImportIssue(str(self.record.file), self.record.line, what=what, raw=excerpt)
        issue.severity = severity
        self.issues.append(issue)

    def add_message_issues(self, key: str, problems: Iterable[MessageIssue]) -> None:
        for problem in problems:
            self.add_issue(
                f"{key}: {problem.path}: {problem.what}",
                raw=problem.raw,
                severity=problem.severity,
            )

    def read(self, value: Value | None, row: JoinRow | None = None) -> Any:
        """Return a value as it is written."""
        return self._convert(value, row, lambda written: written)

    def read_name(self, value: Value | None, row: JoinRow | None = None) -> str | None:
        """Return a text or a number as a text."""
        return self._convert(value, row, to_name)

    def read_text(self, value: Value | None, row: JoinRow | None = None) -> str | None:
        """Return a text. Any other JSON value becomes its JSON text."""
        return self._convert(value, row, to_written_text)

    def read_number(self, value: Value | None, row: JoinRow | None = None) -> int | float | None:
        return self._convert(value, row, to_number)

    def read_verdict(
        self, value: Value | None, rule: VerdictRule, row: JoinRow | None = None
    ) -> bool | None:
        return self._convert(value, row, lambda written: decide_verdict(rule, written))

    def _convert(
        self, value: Value | None, row: JoinRow | None, convert: Callable[[Any], T | None]
    ) -> T | None:
        """Find a value and convert it. Values that are missing, unreadable or no verdict are
        counted and become None.
        """
        if value is None:
            return None
        located = self._find(value, row)
        if located.problem:
            self._report(value, located.problem, NOT_READABLE)
            return None
        if located.value is None:
            self._counts.add_missing(value.key, self.record)
            return None

        try:
            converted = convert(located.value)
        except NotAVerdict as error:
            self._report(value, str(error), NOT_A_VERDICT)
            return None
        except UnreadableValue as error:
            self._report(value, str(error), NOT_READABLE)
            return None
        if converted is None:
            self._counts.add_missing(value.key, self.record)
        else:
            self._counts.add_found(value.key)
        return converted

    def _find(self, value: Value, row: JoinRow | None) -> FoundValue:
        if row is not None:
            return row.values.get(value.key, MISSING)
        if not value.join:
            return find_value(value, self.record)
        return self._find_in_rows(value)

    def _find_in_rows(self, value: Value) -> FoundValue:
        """Return a value of the item from the rows that were joined with it.

        If the rows have different values, the first one is returned, and an issue is added.
        """
        rows = self.rows.get(value.join, ())
        found_values = [row.values[value.key] for row in rows if value.key in row.values]
        if not found_values:
            return MISSING
        first, *others = found_values
        if any(other != first for other in others):
            places = ", ".join(row.place for row in rows[:2])
            what = f"{value.key}: {len(found_values)} rows of {value.join} differ ({places})"
            self.add_issue(what)
        return first

    def _report(self, value: Value, problem: str, kind: str) -> None:
        self._counts.add_other(value.key, kind, self.record)
        self.add_issue(f"{value.key} {problem}")
