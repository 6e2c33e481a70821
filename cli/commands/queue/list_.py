"""`fcreview queue list`: the queues of a workspace, and how far everybody is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fcreview.cli.common import Place, opened
from fcreview.cli.options import AsJson, Data, ErrataOption, PathArgument, WorkspaceOption
from fcreview.cli.output import aligned, emit, emit_json, note, text_of
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.cli.opened import Opened
    from fcreview.store.queues.file import QueueFile


def list_(
    path: PathArgument,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """List the queues of a workspace with each annotator's progress.

    Example: fcreview queue list runs/gpt4o --json
    """
    from fcreview.store.queues.file import QueueError, read_queues

    with opened(Place([path], data, workspace, errata=errata)) as session:
        found = list(read_queues(session.workspace))
        for broken in found:
            if isinstance(broken, QueueError):
                note(f"fcreview: {broken}")
        queues = [each for each in found if not isinstance(each, QueueError)]
        if as_json:
            for queue in queues:
                emit_json(summary(session, queue))
            return
        rows = [
            [text_of(queue.name), f"{len(queue.items):,}", text_of(each.annotator), each.said]
            for queue in queues
            for each in session.store.progress(queue.name)
        ]
        for line in aligned(["queue", "items", "annotator", "done"], rows, right=(1,)) if rows else ():
            emit(line)
    note(count_of(len(queues), "queue file"))


def summary(session: Opened, queue: QueueFile) -> dict[str, Any]:
    """{queue, created, seed, where, stratify, size, overlap, repeats, population, annotators}, where `annotators` has
    {annotator, done, total, missing}: `total` counts an item that comes twice as two."""
    design = queue.design
    return {
        "queue": queue.name,
        "created": queue.created,
        **{name: getattr(design, name) for name in ("seed", "where", "stratify", "size")},
        **{name: getattr(design, name) for name in ("overlap", "repeats", "population")},
        "annotators": session.store.progress(queue.name),
    }
