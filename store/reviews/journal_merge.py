"""Merge the journals of two workspaces. New events are copied as unchanged lines, and nothing is
overwritten.

The merge appends lines of the other workspace's journal to the journal of the same annotator. It
copies a line if the line is complete, its hash matches its content, the annotator in the line is
the owner of the file, and this workspace does not have the event yet. A second merge changes
nothing. After merges in both directions, both workspaces have the same events in the same order
(see `line_order`).

If both workspaces imported the same labels, they have the same events with different hashes,
because the previous events differ. The merge copies a line with such an event only if a new event
follows it in the chain, so that the chain of the new event has no gap.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.errors import FcreviewError
from fcreview.model.review import Event
from fcreview.safe_files import WorkspaceFiles
from fcreview.store.reviews.journal import Journal, JournalLine, JournalNames, read_valid_lines
from fcreview.store.reviews.journal_reader import (
    describe_foreign_events,
    is_same_event,
    list_journals,
    list_team_journals,
)
from fcreview.store.reviews.line_order import Place, order_events
from fcreview.store.reviews.server_places import ServerPlaces
from fcreview.store.workspace import is_same_filename

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace

_SHOWN_ID_LENGTH = 32  # number of characters of an id in a warning: an id can have any length


class MergeError(FcreviewError):
    """Raised when two workspaces cannot be merged. Nothing has been written."""


@dataclass(slots=True)
class MergedJournal:
    annotator: str
    new: int = 0  # number of events that this workspace did not have
    known: int = 0  # number of events that this workspace already had
    # lines that were not copied, and breaks of the chain
    warnings: list[str] = field(default_factory=list)
    adjudications: int = 0  # number of adjudications among the new events
    retractions: int = 0  # number of retractions among the new events
    # number of events in the user's own journal that this workspace lacks but that were not copied
    withheld: int = 0


@dataclass(slots=True)
class _JournalCopy:
    result: MergedJournal
    target: Journal  # this workspace's journal of the same annotator
    # lines to append, by the hash of their event
    lines: dict[str, bytes] = field(default_factory=dict)
    # New events in `lines`, by hash. Their chain needs the others.
    new: dict[str, Event] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JournalMerge:
    """A planned merge of journals. Nothing is written until `write` is called."""

    copies: list[_JournalCopy]
    user: str | None

    def list_changed_journals_of_others(self) -> list[MergedJournal]:
        """Return the results for journals with new events, except the journal of the user."""
        return [
            copy.result
            for copy in self.copies
            if copy.new and not _is_journal_of_user(copy.target, self.user)
        ]

    def write(self) -> list[MergedJournal]:
        """Append the lines to the journals, and return one result per journal.

        Raises JournalError if a journal cannot be written. The journals before it are complete
        then, and a new merge copies the rest.
        """
        for copy in self.copies:
            appended_hashes = copy.target.append_missing_lines(copy.lines)
            appended = [event for name, event in copy.new.items() if name in appended_hashes]
            # Another process may have written some of the events after this merge was planned.
            copy.result.known += len(copy.new) - len(appended)
            _count_new_events(copy.result, appended)
        return [copy.result for copy in self.copies]


def plan_journal_merge(
    workspace: Workspace, other: Workspace, user: str | None = None, *, include_own: bool = False
) -> JournalMerge:
    """Find the events in the journals of another workspace that this workspace lacks.

    Raises MergeError if both are the same workspace; JournalError or AnnotatorError if this
    workspace cannot have a journal with one of the names.

    Args:
        workspace: This workspace.
        other: The other workspace.
        user: The annotator who merges.
        include_own: Whether the journal of `user` may change. By default it does not, so that
            nobody can add reviews in their name.
    """
    _raise_if_unusable(workspace, other)
    names = JournalNames(workspace)
    copies = []
    for path in list_journals(other):
        target = Journal(workspace, path.stem, names)
        copy = _plan_journal_copy(target, other.files, [path])
        if not include_own:
            _withhold_journal_of_user(copy, user)
        copies.append(copy)
    return JournalMerge(copies, user)


def _raise_if_unusable(workspace: Workspace, other: Workspace) -> None:
    """Raise MergeError if the other workspace is the same, or if names in it differ only in case."""
    has_same_root = _is_same_folder(workspace.root, other.root)
    if has_same_root or _is_same_folder(workspace.reviews, other.reviews):
        raise MergeError(f"{other.root} is the same workspace")
    confusable_names = JournalNames(other).find_pair()
    if confusable_names is not None:
        first, second = confusable_names
        raise MergeError(
            f"{other.root} has annotators {first!a} and {second!a}, which differ only in case"
        )


def plan_file_merge(workspace: Workspace, path: Path) -> JournalMerge:
    """Find the reviews in a single journal file that this workspace lacks.

    The file can have any name, such as that of a copy that a sync program made. Raises MergeError
    unless all reviews are by one annotator.
    """
    files = WorkspaceFiles(path.absolute().parent)
    lines = read_valid_lines(files, path.absolute(), [])
    annotators = sorted({line.event.annotator for line in lines})
    if len(annotators) != 1:
        content = f"reviews by {len(annotators)} annotators" if annotators else "no valid review"
        raise MergeError(f"{path} contains {content}. A journal has reviews by one annotator")
    copy = _plan_journal_copy(Journal(workspace, annotators[0]), files, [path.absolute()])
    return JournalMerge([copy], user=None)


def plan_team_merge(workspace: Workspace, user: str) -> JournalMerge:
    """Find the events, received from the team, that the journals of this workspace lack (see
    `plan_journal_merge`).

    The journal of `user`, who merges, is not changed.
    """
    sources: dict[str, list[Path]] = {}
    for path in list_team_journals(workspace):
        sources.setdefault(path.stem, []).append(path)
    places = ServerPlaces(workspace)
    places.refresh()
    names = JournalNames(workspace)
    copies = []
    for annotator, paths in sources.items():
        # The journal cannot store the server's places, so the lines are copied in order.
        places_of_annotator = places.get_places(unicodedata.normalize("NFC", annotator))
        copy = _plan_journal_copy(
            Journal(workspace, annotator, names), workspace.files, paths, places_of_annotator
        )
        _withhold_journal_of_user(copy, user)
        copies.append(copy)
    return JournalMerge(copies, user)


def _plan_journal_copy(
    target: Journal,
    files: WorkspaceFiles,
    paths: Sequence[Path],
    server_places: Mapping[str, Place] | None = None,
) -> _JournalCopy:
    """Plan to copy the lines of one annotator from several files to the journal `target`.

    Pass `server_places` for files that the team's server sent. They have parts of the same journal,
    and their lines are sorted by these places.
    """
    copy = _JournalCopy(MergedJournal(target.annotator), target)
    own_lines: list[JournalLine] = []
    if target.path.exists():
        own_lines = read_valid_lines(target.workspace.files, target.path, [])

    other_lines: list[JournalLine] = []
    for path in paths:
        other_lines += read_valid_lines(files, path, copy.result.warnings)
    if server_places is not None:
        other_lines = _sort_team_lines(other_lines, server_places)

    _add_lines_to_copy(copy, own_lines, other_lines, path=paths[0])
    _count_new_events(copy.result, list(copy.new.values()))
    return copy


def _withhold_journal_of_user(copy: _JournalCopy, user: str | None) -> None:
    """Copy nothing to the journal of the user, so that nobody can add reviews in their name."""
    if not _is_journal_of_user(copy.target, user):
        return
    copy.result.withheld = len(copy.new)
    copy.lines = {}
    copy.new = {}
    _count_new_events(copy.result, [])


def _sort_team_lines(
    lines: Sequence[JournalLine], server_places: Mapping[str, Place]
) -> list[JournalLine]:
    """Sort the lines of one annotator, which the server sent in several parts, by their places."""
    line_by_hash = {line.event.hash: line for line in lines}
    events = order_events((line.event for line in lines), server_places, is_partial=True)
    return [line_by_hash[event.hash] for event in events]


def _is_journal_of_user(journal: Journal, user: str | None) -> bool:
    return user is not None and is_same_filename(journal.annotator, user)


def _count_new_events(result: MergedJournal, events: Sequence[Event]) -> None:
    result.new = len(events)
    result.adjudications = sum(event.act == "adjudicate" for event in events)
    result.retractions = sum(event.act == "retract" for event in events)


def _add_lines_to_copy(
    copy: _JournalCopy,
    own_lines: Sequence[JournalLine],
    other_lines: Sequence[JournalLine],
    *,
    path: Path,
) -> None:
    """Add to `copy` the lines of new events, which only the other copy of a journal has.

    Each line contains the hash of the line before it. So all missing lines before a new line are
    added too, even if their events are known here.

    Args:
        copy: The planned copy, which gets the lines, counts and warnings.
        own_lines: The lines of this copy of the journal.
        other_lines: The lines of the other copy.
        path: The file of the other lines, for warnings.
    """
    # Only the lines of the journal's owner count.
    annotator = copy.target.annotator
    copy.result.warnings += _describe_foreign_lines(path, other_lines, annotator)
    lines_of_owner = [line for line in other_lines if line.event.annotator == annotator]

    own_events = _get_events_by_id(own_lines, annotator)
    other_ids = {line.event.event for line in lines_of_owner}
    copy.result.known = len(own_events.keys() & other_ids)

    first_events = _get_first_events(own_events, lines_of_owner)
    valid_lines = _select_valid_lines(lines_of_owner, first_events)
    for line in lines_of_owner:
        if line.event.hash not in valid_lines:
            copy.result.warnings.append(_describe_repeated_id(path, line))
    copy.new = _select_new_events(lines_of_owner, first_events)

    own_hashes = {line.event.hash for line in own_lines}
    lines_to_copy = _select_lines_to_copy(copy.new, valid_lines, own_hashes)
    copy.lines = {line.event.hash: line.line for line in lines_to_copy}
    copy.result.warnings += _describe_broken_chains(
        path, lines_to_copy, known_hashes=own_hashes | copy.lines.keys()
    )


def _select_lines_to_copy(
    new_hashes: Iterable[str], lines_by_hash: Mapping[str, JournalLine], own_hashes: set[str]
) -> list[JournalLine]:
    """Return the lines of the new events, and the lines before them in the chain that this
    workspace does not have (`own_hashes`).
    """
    missing_lines = {
        line_hash: line for line_hash, line in lines_by_hash.items() if line_hash not in own_hashes
    }
    needed_hashes = _find_needed_lines(new_hashes, missing_lines)
    return [line for line in missing_lines.values() if line.event.hash in needed_hashes]


def _get_first_events(
    own_events: Mapping[str, Event], lines: Iterable[JournalLine]
) -> dict[str, Event]:
    """Return the first event with each id. The events of this workspace come first."""
    first_events = dict(own_events)
    for line in lines:
        first_events.setdefault(line.event.event, line.event)
    return first_events


def _select_valid_lines(
    lines: Iterable[JournalLine], first_events: Mapping[str, Event]
) -> dict[str, JournalLine]:
    """Return the lines by hash, without events whose id another event has before them."""
    return {
        line.event.hash: line
        for line in lines
        if is_same_event(first_events[line.event.event], line.event)
    }


def _select_new_events(
    lines: Iterable[JournalLine], first_events: Mapping[str, Event]
) -> dict[str, Event]:
    """Return the events of the lines that this workspace does not have, by hash.

    Each line has an `Event` of its own. If the first event with its id is another object, this
    workspace or an earlier line has that id.
    """
    new_events = {}
    for line in lines:
        if first_events[line.event.event] is line.event:
            new_events[line.event.hash] = line.event
    return new_events


def _get_events_by_id(lines: Iterable[JournalLine], annotator: str) -> dict[str, Event]:
    """Return the events of an annotator by their ids."""
    return {line.event.event: line.event for line in lines if line.event.annotator == annotator}


def _describe_repeated_id(path: Path, line: JournalLine) -> str:
    event_id = line.event.event[:_SHOWN_ID_LENGTH]
    return (
        f"{path.name} line {line.number}: another event has the id {event_id!a}, so this event was"
        " not copied"
    )


def _describe_broken_chains(
    path: Path, copied_lines: Iterable[JournalLine], known_hashes: Collection[str]
) -> list[str]:
    """Return a warning for each copied event whose previous event is in neither workspace."""
    warnings = []
    for line in copied_lines:
        previous = line.event.previous
        if previous and previous not in known_hashes:
            warnings.append(
                f"{path.name} line {line.number}: broken hash chain: the previous event is missing"
            )
    return warnings


def _find_needed_lines(
    new_hashes: Iterable[str], candidates: Mapping[str, JournalLine]
) -> set[str]:
    """Return the hashes of the lines to copy: the lines of the new events, and all candidates
    before them in the chain of hashes.
    """
    needed: set[str] = set()
    for new_hash in new_hashes:
        current_hash = new_hash
        while current_hash in candidates and current_hash not in needed:
            needed.add(current_hash)
            current_hash = candidates[current_hash].event.previous
    return needed


def _describe_foreign_lines(path: Path, lines: Iterable[JournalLine], owner: str) -> list[str]:
    """Return a warning for each other annotator who has events in the owner's journal."""
    line_numbers: dict[str, list[int]] = {}
    for line in lines:
        if line.event.annotator != owner:
            line_numbers.setdefault(line.event.annotator, []).append(line.number)

    warnings = []
    for annotator, numbers in line_numbers.items():
        warnings.append(describe_foreign_events(path, annotator, numbers, "does not copy"))
    return warnings


def _is_same_folder(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
