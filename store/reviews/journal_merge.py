"""Merge of two workspaces' journals: the union of their events, with lines copied unchanged and nothing overwritten.

Lines of the other workspace's journal go to the journal of the same name. A line is copied if it is complete, its hash
matches its content, and its event is not in this workspace. So merging again, or in the other direction, changes
nothing, and both workspaces then have the same events in the same order (`journal_format.sort_by_chain`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.errors import FcreviewError
from fcreview.model.review import Event
from fcreview.safe_files import MAX_JOURNAL_BYTES, WorkspaceFiles
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.journal_format import LineError, parse_line
from fcreview.store.reviews.journal_reader import list_journals, read_journals
from fcreview.store.workspace import is_same_filename

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace


class MergeError(FcreviewError):
    """Raised when two workspaces cannot be merged. Nothing has been written."""


@dataclass(slots=True)
class MergedJournal:
    """Result of merging one journal of the other workspace."""

    annotator: str
    """File name without `.jsonl`."""
    new: int = 0
    """Number of events that were written here."""
    known: int = 0
    """Number of events that this workspace had already."""
    warnings: list[str] = field(default_factory=list)
    """One message for each journal line that was not copied, and for each break of the chain."""


@dataclass(slots=True)
class _JournalCopy:
    """Lines to copy from one journal of the other workspace."""

    result: MergedJournal
    target: Journal
    """This workspace's journal of the same annotator."""
    lines: dict[str, bytes] = field(default_factory=dict)
    """New lines by event id."""


def merge_journals(workspace: Workspace, other: Workspace) -> list[MergedJournal]:
    """Append the events of the other workspace that this one lacks, and return one result for each journal, by name.

    Raises MergeError if both are the same workspace, and JournalError or AnnotatorError if this workspace cannot have
    one of the journals; then nothing has been written. Also raises JournalError if a write fails. Events that were
    written before count, and another merge continues from there.
    """
    if _is_same_folder(workspace.root, other.root) or _is_same_folder(workspace.reviews, other.reviews):
        raise MergeError(f"{other.root} is the same workspace")
    paths = list_journals(other)
    for at, path in enumerate(paths):
        double = next((each.stem for each in paths[:at] if is_same_filename(each.stem, path.stem)), None)
        if double is not None:
            raise MergeError(f"{other.root} has annotators {double!a} and {path.stem!a}, which differ in case only")
    existing = {event.event: event.hash for event in read_journals(workspace)[0]}
    copies = []
    for path in paths:
        copy = _JournalCopy(MergedJournal(path.stem), Journal(workspace, path.stem))
        _select_new_lines(path.name, _read_lines(other.files, path, copy.result.warnings), existing, copy)
        copies.append(copy)
    for copy in copies:
        copy.result.new = copy.target.append_lines(list(copy.lines.values()))
        # Another process has written the remaining lines meanwhile.
        copy.result.known += len(copy.lines) - copy.result.new
    return [copy.result for copy in copies]


@dataclass(frozen=True, slots=True)
class _JournalLine:
    number: int
    line: bytes
    event: Event


def _read_lines(files: WorkspaceFiles, path: Path, warnings: list[str]) -> list[_JournalLine]:
    """Return the valid lines of a journal, and add a warning for each invalid line."""
    try:
        lines = files.read(path, MAX_JOURNAL_BYTES).split(b"\n")
    except OSError as error:
        warnings.append(f"{path.name}: cannot be read: {error.strerror or error}")
        return []
    valid = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                valid.append(_JournalLine(number, line, parse_line(line)))
            except LineError as error:
                warnings.append(f"{path.name} line {number}: {error}, not copied")
    return valid


def _select_new_lines(name: str, lines: list[_JournalLine], existing: dict[str, str], copy: _JournalCopy) -> None:
    """Add the lines of new events to `copy.lines`, and their hashes to `existing` (event id -> hash)."""
    known_hashes = {*existing.values(), *(each.event.hash for each in lines)}
    for each in lines:
        event, place = each.event, f"{name} line {each.number}"
        if existing.get(event.event, event.hash) != event.hash:
            copy.result.warnings.append(f"{place}: another event has the id {event.event[:32]!a}, not copied")
        elif event.event in existing:
            copy.result.known += 1
        else:
            if event.previous and event.previous not in known_hashes:
                copy.result.warnings.append(f"{place}: chain broken: the previous event is missing")
            existing[event.event] = event.hash
            copy.lines[event.event] = each.line


def _is_same_folder(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
