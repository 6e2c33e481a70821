"""What `fcreview merge` does with errata and accepted rules of the other workspace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fcreview.cli.output import emit, note, text_of
from fcreview.errors import FcreviewError
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.errata.entry import Key
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
    from fcreview.cli.finding.errata import applied, content, read_file
    from fcreview.errata.file import Errata
    from fcreview.errata.merging import united
    from fcreview.store.kept import write_whole

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
    from fcreview.cli.commands.rules.kept import keep_rules, rules_of

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
