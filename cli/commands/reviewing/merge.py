"""`fcreview merge`: the reviews, queues and errata of another copy of a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fcreview.cli.common import Place, workspace_of
from fcreview.cli.errors import CommandError
from fcreview.cli.options import AsJson, PathArgument, WorkspaceOption
from fcreview.cli.output import emit, emit_json, note, text_of
from fcreview.text.words import count_of

STATES = {
    "new": "new here: ",
    "known": "the same is here: ",
    "differs": "another of this name is here: both are kept, this one as ",
}


def merge(
    path: PathArgument,
    other: Annotated[
        Path,
        typer.Argument(metavar="OTHER", help="A folder with .fcreview, or .fcreview itself.", show_default=False),
    ],
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Take in what another copy of a workspace holds.

    Its reviews, queues and errata.

    The union of both journals: every event once, nothing overwritten; OTHER is only read.
    A queue of the same name that holds something else is told, and both are kept.
    Errata and accepted rules are united; where both correct an item otherwise, the
    one here stays, and the other's file is kept beside it.
    Merging again changes nothing. Lines that are torn or were altered are told and not taken.

    Example: fcreview merge runs/gpt4o ~/from-alice/gpt4o
    """
    from fcreview.cli.commands.reviewing.merged_errata import merge_errata, show
    from fcreview.store.queues.merging import merge_queues
    from fcreview.store.reviews.merging import merge as merged
    from fcreview.store.workspace import find_workspace

    if not other.exists():
        raise CommandError(f"no such file or folder: {other}")
    here = workspace_of(Place([path], workspace=workspace), create=False)
    there = find_workspace(other, other, create=False)
    found = merged(here, there)
    for each in found:
        if as_json:
            emit_json(each)
            continue
        emit(f"{text_of(each.annotator)}: {count_of(each.new, 'new event')}, {each.known:,} here already")
        for warning in each.warnings:
            note(f"fcreview: {warning}")
    queues = merge_queues(here, there)
    for queue in queues:
        if as_json:
            emit_json(queue)
        elif queue.state == "unreadable":
            note(f"fcreview: {queue.why}")
        else:
            emit(f"queue {text_of(queue.queue)}: {STATES[queue.state]}{text_of(queue.kept_as)}")
    errata = list(merge_errata(here, there))
    for one in errata:
        if as_json:
            emit_json(one)
        else:
            show(one)
    if not (found or queues or errata or as_json):
        emit("no reviews there")
