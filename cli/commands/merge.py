"""`fcreview merge`: merge the reviews, queues, errata and rules of another copy of a workspace."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.commands.rules import load_accepted_rules, save_accepted_rules
from fcreview.cli.config import load_config
from fcreview.cli.options import JsonOption, WorkspaceOptions, argument, option, workspace_command
from fcreview.cli.output import emit, emit_json, format_cell, format_table, print_message
from fcreview.cli.workspace import (
    load_workspace_errata,
    locate_workspace,
    print_journal_warnings,
    read_workspace_file,
    resolve_annotator,
)
from fcreview.errors import CommandError, FcreviewError, UsageError
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.errata import ErrataKey
    from fcreview.store.queue_sampling import MergedQueue
    from fcreview.store.reviews.journal_merge import MergedJournal
    from fcreview.store.workspace import Workspace

MAX_CONFLICTS = 10  # maximum number of conflicting corrections that a merge prints


@dataclass(slots=True)
class MergedErrata:
    """Result of merging errata or rules. The fields are also the keys of the JSON output."""

    # `errata`, which runs are imported with, or `rules`, which the next errata file will contain
    kind: str
    new: int = 0  # number of new golden answers or, for `rules`, number of new rules
    known: int = 0  # number of golden answers or rules that both workspaces have
    rules: int = 0  # number of new rules in `errata`
    conflicts: Sequence[ErrataKey] = field(default_factory=list)
    """Keys [benchmark, generation, language, category, id] of items with different corrections
    in the workspaces.
    """
    # name of the file in .fcreview with all errata of the other workspace; empty without conflicts
    kept_as: str = ""
    why: str = ""  # reason why the file could not be merged; empty on success


def _merge_errata_and_rules(workspace: Workspace, other: Workspace) -> Iterator[MergedErrata]:
    for kind, path, merge_file in (
        ("errata", other.errata, _merge_errata_file),
        ("rules", other.rules, _merge_rules),
    ):
        if path.is_file():
            try:
                yield merge_file(workspace, other)
            except (
                FcreviewError
            ) as error:  # fcreview merges reviews and queues even if a file is damaged
                yield MergedErrata(kind, why=str(error))


def _merge_errata_file(workspace: Workspace, other: Workspace) -> MergedErrata:
    from fcreview.errata import Errata, combine_errata, parse_errata

    raw = read_workspace_file(other, other.errata) or b""
    there, here = parse_errata(raw, str(other.errata)), load_workspace_errata(workspace)
    combined = combine_errata(here or Errata(), there)
    kept_as = ""
    if combined.conflicts:
        kept_as = f"errata-{there.digest[:8]}.jsonl"
        workspace.files.write(workspace.root / kept_as, raw)
    if combined.content is not None:
        workspace.files.write(workspace.errata, combined.content if here is not None else raw)
    return MergedErrata(
        "errata",
        new=combined.n_new,
        known=combined.n_known,
        rules=combined.n_new_rules,
        conflicts=combined.conflicts,
        kept_as=kept_as,
    )


def _merge_rules(workspace: Workspace, other: Workspace) -> MergedErrata:
    here, there = load_accepted_rules(workspace), load_accepted_rules(other)
    new = [rule for rule in dict.fromkeys(there) if rule not in here]
    if new:
        save_accepted_rules(workspace, [*here, *new])
    return MergedErrata("rules", new=len(new), known=len(there) - len(new))


def _print_merged_errata(merged: MergedErrata) -> None:
    if merged.why:
        print_message(f"fcreview: the {merged.kind} were not merged: {merged.why}")
        return
    known = f"{merged.known:,} already in this workspace"
    if merged.kind == "rules":
        emit(f"accepted rules: {merged.new:,} new, {known}")
        return
    emit(
        f"errata: {format_count(merged.new, 'new golden answer')}, {known};"
        f" {format_count(merged.rules, 'new rule')}"
    )
    if merged.new or merged.rules:
        print_message(
            "fcreview: the next command on these runs applies the errata. Pass --errata none to"
            " remove them"
        )
    for key in merged.conflicts[:MAX_CONFLICTS]:
        name = format_cell(" ".join(filter(None, key)))
        print_message(
            f"fcreview: {name}: the workspaces correct this golden answer differently. This"
            " workspace keeps its own"
        )
    if merged.conflicts:
        more = len(merged.conflicts) - MAX_CONFLICTS
        rest = f"There are {format_count(more, 'more conflict')}. " if more > 0 else ""
        print_message(
            f"fcreview: {rest}All errata of the other workspace are in .fcreview/{merged.kept_as}"
        )


QUEUE_MESSAGES = {
    "new": "queue {queue}: imported as {kept_as}",
    "known": "queue {queue}: already in this workspace as {kept_as}",
    "differs": "queue {queue}: this workspace has another queue {queue}, so the imported queue is"
    " saved as {kept_as}",
}


@workspace_command("annotator", common_options=("workspace",))
def merge(
    options: WorkspaceOptions,
    other: Annotated[
        Path | None,
        argument(
            "OTHER",
            "Other workspace: a folder that contains .fcreview, or .fcreview itself. Or a journal"
            " file.",
        ),
    ] = None,
    from_team: Annotated[
        bool,
        option(
            "--from-team", "Copy the reviews received from the team to the workspace's journals."
        ),
    ] = False,
    to_team: Annotated[bool, option("--to-team", "Send all of your reviews to the team.")] = False,
    yes: Annotated[
        bool, option("--yes -y", "Merge new reviews of other annotators without asking.")
    ] = False,
    mine: Annotated[
        bool,
        option("--mine", "Also merge your own new reviews, which you recorded in another copy."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Merge another workspace.

    Adds the reviews, queues, errata and rules of OTHER to the workspace of PATH. Lists the
    annotators with new reviews and asks before it writes anything. Nothing is overwritten, and
    OTHER is not changed.

    If OTHER is a journal file, such as a copy that a sync program made, adds its reviews, also your
    own.

    Example: fcreview merge runs/gpt4o ~/from-alice/gpt4o
    """
    if (other is not None) + from_team + to_team != 1:
        raise UsageError("pass one of OTHER, --from-team and --to-team")
    if from_team or to_team or other is None:
        _merge_with_team(options, from_team=from_team, is_confirmed=yes, as_json=as_json)
        return
    from fcreview.store.queue_sampling import merge_queues
    from fcreview.store.reviews.journal_merge import plan_journal_merge
    from fcreview.store.reviews.journal_reader import read_events_and_warnings
    from fcreview.store.workspace import find_workspace

    if not other.exists():
        raise CommandError(f"no such file or folder: {other}")
    here = locate_workspace(options, create=False)
    if other.is_file():
        _merge_journal_file(here, other, is_confirmed=yes, as_json=as_json)
        return
    there = find_workspace(other, other, create=False)
    plan = plan_journal_merge(
        here, there, resolve_annotator(options, load_config()), include_own=mine
    )
    print_journal_warnings(read_events_and_warnings(here)[1])
    if not yes:
        _confirm_new_reviews(plan.list_changed_journals_of_others())
    steps: list[tuple[Callable[[Workspace, Workspace], Iterable[Any]], Callable[[Any], None]]] = [
        (lambda _here, _there: plan.write(), _print_merged_journal),
        (merge_queues, _print_merged_queue),
        (_merge_errata_and_rules, _print_merged_errata),
    ]
    empty = True
    for merge_part, print_part in steps:
        for each in merge_part(here, there):
            (emit_json if as_json else print_part)(each)
            empty = False
    if empty and not as_json:
        emit("nothing to merge")


def _merge_journal_file(here: Workspace, path: Path, *, is_confirmed: bool, as_json: bool) -> None:
    from fcreview.store.reviews.journal_merge import plan_file_merge

    plan = plan_file_merge(here, path)
    if not is_confirmed:
        _confirm_new_reviews(plan.list_changed_journals_of_others(), heading="New reviews:")
    for merged in plan.write():
        (emit_json if as_json else _print_merged_journal)(merged)


def _merge_with_team(
    options: WorkspaceOptions, *, from_team: bool, is_confirmed: bool, as_json: bool
) -> None:
    from fcreview.cli.commands.team import open_team_exchange
    from fcreview.store.reviews.journal_merge import plan_team_merge
    from fcreview.store.reviews.journal_reader import list_journals

    here = locate_workspace(options, create=False)
    if from_team:
        plan = plan_team_merge(here, resolve_annotator(options, load_config()))
        if not is_confirmed:
            _confirm_new_reviews(plan.list_changed_journals_of_others())
        for merged in plan.write():
            (emit_json if as_json else _print_merged_journal)(merged)
        return
    with open_team_exchange(here) as exchange:
        exchange.connect()
        sent = exchange.push_lines()
        if as_json:
            emit_json({"sent": sent})
        else:
            emit(f"{sent:,} sent")
        others = [each.stem for each in list_journals(here) if each.stem != exchange.link.annotator]
    if others:
        print_message(
            f"fcreview: reviews by {format_cell(', '.join(others))} were not sent. Each member"
            " sends their own reviews"
        )


def _confirm_new_reviews(
    journals: Sequence[MergedJournal], heading: str = "New reviews of other annotators:"
) -> None:
    if not journals:
        return
    rows = [
        [
            format_cell(each.annotator),
            str(each.new - each.adjudications - each.retractions),
            str(each.retractions),
            str(each.adjudications),
        ]
        for each in journals
    ]
    print_message(heading)
    for line in format_table(
        ("annotator", "reviews", "retractions", "adjudications"), rows, right_aligned=(1, 2, 3)
    ):
        print_message(f"  {line}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(
            "nothing was merged, because there is no terminal for the confirmation. Pass --yes to"
            " merge the reviews of"
            " other annotators"
        )
    if not typer.confirm("Merge these reviews?", err=True):
        raise CommandError("nothing was merged, because you did not confirm")


def _print_merged_journal(merged: MergedJournal) -> None:
    apart = (
        f" ({format_count(merged.adjudications, 'adjudication')})" if merged.adjudications else ""
    )
    new = f"{format_count(merged.new, 'new event')}{apart}"
    emit(f"{format_cell(merged.annotator)}: {new}, {merged.known:,} already in this workspace")
    if merged.withheld:
        count = f"{format_cell(merged.annotator)}: {format_count(merged.withheld, 'new event')}"
        reason = "these are your own reviews. Pass --mine to merge them"
        print_message(f"fcreview: {count} not merged, because {reason}")
    for warning in merged.warnings:
        print_message(f"fcreview: {warning}")


def _print_merged_queue(merged: MergedQueue) -> None:
    if merged.state == "unreadable":
        print_message(f"fcreview: {merged.why}")
    else:
        names = {"queue": format_cell(merged.queue), "kept_as": format_cell(merged.kept_as)}
        emit(QUEUE_MESSAGES[merged.state].format(**names))
