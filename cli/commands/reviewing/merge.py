"""`fcreview merge`: the reviews of another copy of a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fcreview.cli.common import Place, workspace_of
from fcreview.cli.errors import CommandError
from fcreview.cli.options import AsJson, PathArgument, WorkspaceOption
from fcreview.cli.output import emit, emit_json, note, text_of
from fcreview.text.words import count_of


def merge(
    path: PathArgument,
    other: Annotated[
        Path,
        typer.Argument(metavar="OTHER", help="A folder with .fcreview, or .fcreview itself.", show_default=False),
    ],
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Take in the reviews of another copy of a workspace.

    The union of both journals: every event once, nothing overwritten; OTHER is only read.
    Merging again changes nothing. Lines that are torn or were altered are told and not taken.

    Example: fcreview merge runs/gpt4o ~/from-alice/gpt4o
    """
    from fcreview.store.reviews.merging import merge as merged
    from fcreview.store.workspace import find_workspace

    if not other.exists():
        raise CommandError(f"no such file or folder: {other}")
    here = workspace_of(Place([path], workspace=workspace), create=False)
    found = merged(here, find_workspace(other, other, create=False))
    for each in found:
        if as_json:
            emit_json(each)
            continue
        emit(f"{text_of(each.annotator)}: {count_of(each.new, 'new event')}, {each.known:,} here already")
        for warning in each.warnings:
            note(f"fcreview: {warning}")
    if not found and not as_json:
        emit("no reviews there")
