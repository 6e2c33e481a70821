"""Clean the texts of runs, items and issues: the door through which everything passes that
importers read.

A JSON text can contain lone surrogates such as `\\ud800`. They are no characters: no terminal, file
or database can hold them. They become the text `\\ud800`. Staging cleans the content of items in
the same way.
"""

from __future__ import annotations

from dataclasses import fields

from fcreview.importers.common.json_text import escape_and_cut_strings, is_nested_too_deeply
from fcreview.model.item import ImportIssue, Item, MissingItem, ReadRecord, Run
from fcreview.model.json_value import to_plain_json
from fcreview.run_plan import RunPlan

_UNCLEANED_RUN_FIELDS = frozenset({"facts", "not_run"})
"""Fields with objects, which are empty before a run is read."""


def clean_plan(plan: RunPlan) -> None:
    """Clean the names and settings of a run, and the issues of its plan."""
    clean_run(plan.run)
    for issue in plan.issues:
        clean_issue(issue)


def clean_run(run: Run) -> None:
    for each in fields(run):
        if each.name in _UNCLEANED_RUN_FIELDS:
            continue
        value = getattr(run, each.name)
        # The settings of a run can have any form.
        if is_nested_too_deeply(value):
            value = to_plain_json(value)
        setattr(run, each.name, escape_and_cut_strings(value))


def clean_issue(issue: ImportIssue) -> None:
    issue.what = clean_text(issue.what)
    issue.raw = None if issue.raw is None else clean_text(issue.raw)
    issue.item = None if issue.item is None else clean_text(issue.item)


def clean_record(record: ReadRecord) -> ReadRecord:
    """Clean what identifies an item, or the texts of an issue.

    Facts contain only texts of fcreview.
    """
    if isinstance(record, ImportIssue):
        clean_issue(record)
        return record
    if isinstance(record, Item):
        _clean_item(record)
        return record
    if isinstance(record, MissingItem):
        return MissingItem(clean_text(record.id), clean_text(record.category))
    return record


def _clean_item(item: Item) -> None:
    item.id = clean_text(item.id)
    item.category = clean_text(item.category)
    item.group = None if item.group is None else clean_text(item.group)
    for issue in item.issues:
        clean_issue(issue)


def clean_text(text: str) -> str:
    return text if text.isascii() else str(escape_and_cut_strings(text))
