"""`fcreview merge`: the reviews, queues and errata of another copy of a workspace.

What `fcreview merge` does with errata and accepted rules of the other workspace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.errors import CommandError
from fcreview.cli.options import AsJson, PathArgument, WorkspaceOption
from fcreview.cli.output import emit, emit_json, note, text_of
from fcreview.cli.workspace import Place, workspace_of
from fcreview.errors import FcreviewError
from fcreview.model.wording import count_of

if TYPE_CHECKING:
    from fcreview.corrections.erratum import Key
    from fcreview.store.workspace import Workspace


CONFLICTS = 10
"""Items named of those that the two workspaces correct otherwise."""


@dataclass(slots=True)
class Merged:
    """As JSON an object with these fields."""

    kind: str
    """`errata`: those that runs are read with; `rules`: those accepted for the next errata."""
    new: int = 0
    """Golden answers, or rules of `rules`, that are new here."""
    known: int = 0
    rules: int = 0
    """New rules of `errata`."""
    conflicts: Sequence[Key] = field(default_factory=list)
    """[benchmark, generation, language, category, id] of items that the two correct otherwise: what was here stays."""
    kept_as: str = ""
    """The file in .fcreview that has the other's errata whole, where there are conflicts."""
    why: str = ""
    """Why nothing was taken."""


def merge_errata(workspace: Workspace, other: Workspace) -> Iterator[Merged]:
    """Of each of the two files that the other workspace has. The other is only read."""
    for kind, path, take in (("errata", other.errata, _take_errata), ("rules", other.rules, _take_rules)):
        if path.is_file():
            try:
                yield take(workspace, other)
            except FcreviewError as error:  # a damaged file of either side: reviews and queues are merged all the same
                yield Merged(kind, why=str(error))


def _take_errata(workspace: Workspace, other: Workspace) -> Merged:
    from fcreview.cli.import_options import applied, content, read_file
    from fcreview.corrections.errata_file import Errata, united
    from fcreview.safe_files import write_whole

    raw, there, here = content(other.errata), read_file(other.errata), applied(workspace)
    found = united(here or Errata(), there)
    kept = ""
    if found.conflicts:
        kept = f"errata-{there.digest[:8]}.jsonl"
        write_whole(workspace.root / kept, raw)
    if found.file is not None:
        write_whole(workspace.errata, found.file if here is not None else raw)
    return Merged("errata", found.new, found.known, found.rules, found.conflicts, kept)


def _take_rules(workspace: Workspace, other: Workspace) -> Merged:
    from fcreview.cli.commands.rules import keep_rules, rules_of

    here, there = rules_of(workspace), rules_of(other)
    new = [rule for rule in dict.fromkeys(there) if rule not in here]
    if new:
        keep_rules(workspace, [*here, *new])
    return Merged("rules", len(new), len(there) - len(new))


def show(found: Merged) -> None:
    if found.why:
        note(f"fcreview: {found.kind} not merged: {found.why}")
        return
    known = f"{found.known:,} here already"
    if found.kind == "rules":
        emit(f"accepted rules: {found.new:,} new, {known}")
        return
    emit(f"errata: {count_of(found.new, 'new golden answer')}, {known}; {count_of(found.rules, 'new rule')}")
    if found.new or found.rules:
        note("fcreview: runs are rescored with these errata when they are next opened; --errata none is without them")
    for key in found.conflicts[:CONFLICTS]:
        note(f"fcreview: {text_of(' '.join(filter(None, key)))}: another correction is here, which stays")
    if found.conflicts:
        more = len(found.conflicts) - CONFLICTS
        rest = f"and {count_of(more, 'item')} more; " if more > 0 else ""
        note(f"fcreview: {rest}the other's errata are kept whole as {found.kept_as} in .fcreview")


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
    from fcreview.store.queues.create import merge_queues
    from fcreview.store.reviews.journal_merge import merge as merged
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
