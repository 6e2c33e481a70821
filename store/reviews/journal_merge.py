"""The union of two workspaces' journals: every event once, lines as they are, nothing overwritten.

A journal of the other workspace goes to the one of the same name here. A line is taken if it is whole, its hash fits
its content and its event is not here yet; so merging again, or the other way round, changes nothing more, and both
sides then hold the same events in the same order of the chain (`lines.in_chain_order`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.errors import FcreviewError
from fcreview.model.review import Event
from fcreview.safe_files import MAX_JOURNAL_BYTES, read_file
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.journal_format import LineError, parse_line
from fcreview.store.reviews.journal_reader import list_journals, read_journals
from fcreview.store.workspace import is_same_filename

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace


class MergeError(FcreviewError):
    """Workspaces that cannot be merged; nothing was written."""


@dataclass(slots=True)
class MergedJournal:
    """What came of one journal of the other workspace."""

    annotator: str
    """The file's name without `.jsonl`."""
    new: int = 0
    """Events written here."""
    known: int = 0
    """Events that were here already."""
    warnings: list[str] = field(default_factory=list)
    """Lines that were not taken, and breaks of the chain: one line of text each."""


@dataclass(slots=True)
class _Copy:
    """A journal of the other workspace."""

    merged: MergedJournal
    journal: Journal
    """The one here that it goes to."""
    lines: dict[str, bytes] = field(default_factory=dict)
    """By event."""


def merge_journals(workspace: Workspace, other: Workspace) -> list[MergedJournal]:
    """Takes in what the other workspace's journals have and this one's have not; one answer a journal, by name.

    MergeError for a workspace and itself; JournalError, AnnotatorError for a journal that cannot be one here. Then
    nothing was written. JournalError too if the disk says no: what was written until then counts, and merging again
    goes on from there.
    """
    if _same(workspace.root, other.root) or _same(workspace.reviews, other.reviews):
        raise MergeError(f"{other.root} is this workspace itself")
    paths = list_journals(other)
    for at, path in enumerate(paths):
        double = next((each.stem for each in paths[:at] if is_same_filename(each.stem, path.stem)), None)
        if double is not None:
            raise MergeError(f"{other.root} has annotators {double!a} and {path.stem!a}: here they would be one file")
    here = {event.event: event.hash for event in read_journals(workspace)[0]}
    copies = []
    for path in paths:
        copy = _Copy(MergedJournal(path.stem), Journal(workspace, path.stem))
        _sort(path.name, _read(path, copy.merged.warnings), here, copy)
        copies.append(copy)
    for copy in copies:
        copy.merged.new = copy.journal.append_lines(list(copy.lines.values()))
        copy.merged.known += len(copy.lines) - copy.merged.new  # another process wrote them meanwhile
    return [copy.merged for copy in copies]


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    line: bytes
    event: Event


def _read(path: Path, told: list[str]) -> list[_Line]:
    """The lines that are whole and as they were written; of the others is told."""
    found = []
    try:
        lines = read_file(path, MAX_JOURNAL_BYTES).split(b"\n")
    except OSError as error:
        told.append(f"{path.name}: cannot be read: {error.strerror or error}")
        return []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(_Line(number, line, parse_line(line)))
            except LineError as error:
                told.append(f"{path.name} line {number}: {error}, not taken")
    return found


def _sort(name: str, lines: list[_Line], here: dict[str, str], copy: _Copy) -> None:
    """What is new and what is here already, by event and hash; what is new is `here` from then on."""
    known = {*here.values(), *(each.event.hash for each in lines)}
    for each in lines:
        event, place = each.event, f"{name} line {each.number}"
        if here.get(event.event, event.hash) != event.hash:
            copy.merged.warnings.append(f"{place}: another event has the id {event.event[:32]!a}, not taken")
        elif event.event in here:
            copy.merged.known += 1
        else:
            if event.previous and event.previous not in known:
                copy.merged.warnings.append(f"{place}: chain broken: the event before it is not here")
            here[event.event] = event.hash
            copy.lines[event.event] = each.line


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
