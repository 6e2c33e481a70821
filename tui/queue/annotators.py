"""List the annotators of a workspace, and define the request to continue as another annotator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.store.queue_file import QueueError, queue_names, read_queue
from fcreview.store.reviews.journal_reader import list_journals, list_team_journals
from fcreview.store.workspace import to_safe_annotator
from fcreview.tui.queue.overview import QueueProgress
from fcreview.tui.queue.state import CursorPosition, QueuePosition, QueueSettings
from fcreview.tui.text.lines import ChoiceTable, TextColumn

if TYPE_CHECKING:
    from fcreview.store.store import Store
    from fcreview.store.workspace import Workspace

MAX_DEFAULT_ANNOTATORS = 4
NEW_NAME = ""
"""Choice in the list of annotators that asks for another name."""


@dataclass(frozen=True, slots=True)
class AnnotatorSwitch:
    """Request to end the session and to start a new one as another annotator."""

    annotator: str
    position: QueuePosition | None = None
    """Position in the queue at which the new session starts. None for the first screen."""


@dataclass(frozen=True, slots=True)
class KnownAnnotator:
    """Annotator with a journal in the workspace or with items in a queue file."""

    name: str
    facts: str = ""
    """Items assigned to the annotator, such as `20 items left of sample`, sanitized."""
    queue: str | None = None
    """Name of the first queue file in which the annotator has items left. In blind mode, of the first queue file that
    assigns items to the annotator."""


def read_annotators(store: Store) -> list[KnownAnnotator]:
    """Return the annotators of the workspace except the store's own, those with items left first.

    In blind mode, the list depends only on the queue files, and omits the progress of the annotators.
    """
    workspace, found = store.workspace, dict[str, KnownAnnotator]()
    for queue in queue_names(workspace):
        try:
            shares = store.measure_progress(queue) if not store.blind else []
            totals = [(share.annotator, len(share.order)) for share in read_queue(workspace, queue).shares]
        except QueueError:
            continue
        left = {share.annotator: share.total - share.done for share in shares}
        for name, total in totals:
            items = total if store.blind else left.get(name, 0)
            if found.get(name, KnownAnnotator(name)).queue is None:
                count = format_count(items, "item") if items else "no items"
                facts = f"{count}{'' if store.blind else ' left'} of {sanitize(queue)}"
                found[name] = KnownAnnotator(name, facts, queue if items else None)
    journals = [] if store.blind else [*list_journals(workspace), *list_team_journals(workspace)]
    for journal in journals:
        found.setdefault(journal.stem, KnownAnnotator(journal.stem, "has reviews"))
    others = [each for each in found.values() if each.name != store.annotator and _is_valid(each.name)]
    return sorted(others, key=lambda each: (each.queue is None, each.name.casefold()))


def _is_valid(name: str) -> bool:
    """Return whether the name of a journal is an annotator name. Any program can write a file to the folder."""
    return to_safe_annotator(name) == name


def annotator_choices(annotators: Sequence[KnownAnnotator], current: str) -> ChoiceTable[str]:
    """Return the table of annotators. The last row asks for another name."""
    return ChoiceTable(
        title="review as another annotator",
        noun="other annotator",
        columns=(TextColumn("annotator"), TextColumn("items")),
        rows=[
            *([(sanitize(each.name), "people"), (each.facts, "")] for each in annotators),
            [("another name ...", ""), (f"you are {sanitize(current)}", "dim")],
        ],
        values=[*(each.name for each in annotators), NEW_NAME],
        compact=True,
        total=len(annotators),
    )


def default_annotators(annotators: Sequence[KnownAnnotator], current: str) -> str:
    """Return the annotators for a new sample: the user and the others of the workspace, unless they are many."""
    others = [each.name for each in annotators]
    return ", ".join([current, *(others if len(others) < MAX_DEFAULT_ANNOTATORS else [])])


def find_unfinished(shares: Sequence[QueueProgress], annotator: str) -> QueueProgress | None:
    """Return the first share of another annotator that has items left, or None."""
    return next((each for each in shares if each.left and each.share.annotator != annotator), None)


def switch_question(progress: QueueProgress) -> str:
    name, items = sanitize(progress.share.annotator), format_count(progress.left, "item")
    return f"You have no items left. {name} has {items} left of {sanitize(progress.queue)}. Review as {name}?"


def has_share(workspace: Workspace, queue: str, annotator: str | None) -> bool:
    """Return whether a queue file assigns items to the annotator. False if the file cannot be read."""
    try:
        return bool(read_queue(workspace, queue).share_of(annotator))
    except QueueError:
        return False


def position_in_queue(queue: str) -> QueuePosition:
    """Return the position of the first unreviewed item of a queue file."""
    return QueuePosition(QueueSettings(queue=queue, file=queue), CursorPosition(), opens_unreviewed=True)


def position_for(workspace: Workspace | None, annotator: str, position: QueuePosition, *, blind: bool) -> QueuePosition:
    """Return the same place for another annotator. Queue files without items for that annotator are left."""

    def is_shared(settings: QueueSettings) -> bool:
        return settings.file is None or (workspace is not None and has_share(workspace, settings.file, annotator))

    settings, cursor = position.settings, position.cursor
    if settings.file is not None:
        cursor = CursorPosition()  # each annotator has other items in another order
    if not is_shared(settings):
        order = settings.queue if settings.queue != settings.file else "dataset" if blind else "failures"
        settings = replace(settings, file=None, queue=order)
    levels = tuple(level for level in position.levels if is_shared(level.settings))
    return QueuePosition(settings, cursor, levels)
