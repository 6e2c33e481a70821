"""`fcreview merge`: merge the reviews, queues, judges, errata and rules of another copy of a
workspace.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from fcreview.cli.config import load_config
from fcreview.cli.options import JsonOption, WorkspaceOptions, argument, option, workspace_command
from fcreview.cli.output import emit, emit_json, format_cell, format_table, print_message
from fcreview.cli.workspace import (
    load_accepted_rules,
    load_workspace_errata,
    locate_workspace,
    print_journal_warnings,
    read_workspace_file,
    resolve_annotator,
    save_accepted_rules,
    warn_about_sync_copies,
)
from fcreview.errors import CommandError, FcreviewError, UsageError
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.errata import ErrataKey
    from fcreview.store.judgements import MergedJudge
    from fcreview.store.queue_sampling import MergedQueue
    from fcreview.store.reviews.journal_merge import MergedJournal
    from fcreview.store.workspace import Workspace

FILE_DIGEST_LENGTH = 8  # number of characters of a digest in the name of a file
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
    """Merge the errata file and the rules file. If one is damaged, the other file and the reviews
    are still merged.
    """
    if other.errata.is_file():
        try:
            yield _merge_errata_file(workspace, other)
        except FcreviewError as error:
            yield MergedErrata("errata", why=str(error))
    if other.rules.is_file():
        try:
            yield _merge_rules(workspace, other)
        except FcreviewError as error:
            yield MergedErrata("rules", why=str(error))


def _merge_errata_file(workspace: Workspace, other: Workspace) -> MergedErrata:
    """Add the errata of another workspace to this one. Raises FcreviewError if a file is damaged.

    Errata are corrected golden answers. If both workspaces correct a golden answer differently,
    this one keeps its own correction, and the whole other file is kept under another name.
    """
    from fcreview.errata import Errata, combine_errata, parse_errata

    other_content = read_workspace_file(other, other.errata) or b""
    other_errata = parse_errata(other_content, str(other.errata))
    own_errata = load_workspace_errata(workspace)
    combined = combine_errata(own_errata or Errata(), other_errata)

    kept_as = ""
    if combined.conflicts:
        kept_as = f"errata-{other_errata.digest[:FILE_DIGEST_LENGTH]}.jsonl"
        workspace.files.write(workspace.root / kept_as, other_content)
    if combined.content is not None:
        # A workspace without errata gets the other file unchanged, with its comments.
        content = other_content if own_errata is None else combined.content
        workspace.files.write(workspace.errata, content)
    return MergedErrata(
        "errata",
        new=combined.n_new,
        known=combined.n_known,
        rules=combined.n_new_rules,
        conflicts=combined.conflicts,
        kept_as=kept_as,
    )


def _merge_rules(workspace: Workspace, other: Workspace) -> MergedErrata:
    """Add the accepted rules of the other workspace that this one does not have."""
    own_rules = load_accepted_rules(workspace)
    other_rules = load_accepted_rules(other)
    # The dictionary keeps each rule once.
    new_rules = [rule for rule in dict.fromkeys(other_rules) if rule not in own_rules]
    if new_rules:
        save_accepted_rules(workspace, [*own_rules, *new_rules])
    n_known = len(other_rules) - len(new_rules)
    return MergedErrata("rules", new=len(new_rules), known=n_known)


def _print_merged_errata(merged: MergedErrata) -> None:
    """Print how many corrections or rules are new, and which corrections contradict each other."""
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

    _print_errata_conflicts(merged)


def _print_errata_conflicts(merged: MergedErrata) -> None:
    """Print the golden answers that both workspaces correct differently, and where the others are
    kept.
    """
    if not merged.conflicts:
        return
    for key in merged.conflicts[:MAX_CONFLICTS]:
        name = format_cell(" ".join(part for part in key if part))
        print_message(
            f"fcreview: {name}: the workspaces correct this golden answer differently. This"
            " workspace keeps its own"
        )

    message = f"All errata of the other workspace are in .fcreview/{merged.kept_as}"
    n_more = len(merged.conflicts) - MAX_CONFLICTS
    if n_more > 0:
        message = f"There are {format_count(n_more, 'more conflict')}. {message}"
    print_message(f"fcreview: {message}")


T = TypeVar("T")
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

    Adds the reviews, queues, judges, errata and rules of OTHER to the workspace of PATH. Lists the
    annotators with new reviews and asks before it writes anything. Nothing is overwritten, and
    OTHER is not changed.

    If OTHER is a journal file, such as a copy that a sync program made, adds its reviews, also your
    own.

    Example: fcreview merge runs/gpt4o ~/from-alice/gpt4o
    """
    n_sources = [other is not None, from_team, to_team].count(True)
    if n_sources != 1:
        raise UsageError("pass one of OTHER, --from-team and --to-team")

    if from_team:
        _merge_from_team(options, is_confirmed=yes, as_json=as_json)
    elif to_team or other is None:
        _send_to_team(options, as_json=as_json)
    elif not other.exists():
        raise CommandError(f"no such file or folder: {other}")
    elif other.is_file():
        workspace = locate_workspace(options, create=False)
        _merge_journal_file(workspace, other, is_confirmed=yes, as_json=as_json)
    else:
        _merge_workspace(options, other, is_confirmed=yes, includes_own=mine, as_json=as_json)


def _merge_workspace(
    options: WorkspaceOptions,
    folder: Path,
    *,
    is_confirmed: bool,
    includes_own: bool,
    as_json: bool,
) -> None:
    """Merge the journals, queues, errata and rules of another workspace, and print what was merged.

    Journals of other annotators are merged only after confirmation.
    """

    from fcreview.store.judgements import merge_judges
    from fcreview.store.queue_sampling import merge_queues
    from fcreview.store.reviews.journal_merge import plan_journal_merge
    from fcreview.store.reviews.journal_reader import read_events_and_warnings
    from fcreview.store.workspace import find_workspace

    workspace = locate_workspace(options, create=False)
    other = find_workspace(folder, folder, create=False)
    annotator = resolve_annotator(options, load_config())

    plan = plan_journal_merge(workspace, other, annotator, include_own=includes_own)
    _, warnings = read_events_and_warnings(workspace)
    print_journal_warnings(warnings)
    warn_about_sync_copies(other)
    if not is_confirmed:
        _confirm_new_reviews(plan.list_changed_journals_of_others())

    n_merged = _report_all(plan.write(), _print_merged_journal, as_json=as_json)
    n_merged += _report_all(merge_queues(workspace, other), _print_merged_queue, as_json=as_json)
    n_merged += _report_all(merge_judges(workspace, other), _print_merged_judge, as_json=as_json)
    errata = _merge_errata_and_rules(workspace, other)
    n_merged += _report_all(errata, _print_merged_errata, as_json=as_json)
    if not n_merged and not as_json:
        emit("nothing to merge")


def _report_all(
    merged_parts: Iterable[T], print_merged: Callable[[T], None], *, as_json: bool
) -> int:
    """Report each part as soon as it is merged. Return the number of parts."""
    n_merged = 0
    for merged in merged_parts:
        _report(merged, print_merged, as_json=as_json)
        n_merged += 1
    return n_merged


def _report(merged: T, print_merged: Callable[[T], None], *, as_json: bool) -> None:
    if as_json:
        emit_json(merged)
    else:
        print_merged(merged)


def _merge_journal_file(
    workspace: Workspace, path: Path, *, is_confirmed: bool, as_json: bool
) -> None:
    """Add the reviews of a journal file to the workspace, after the user has confirmed those of
    others.
    """
    from fcreview.store.reviews.journal_merge import plan_file_merge

    plan = plan_file_merge(workspace, path)
    if not is_confirmed:
        _confirm_new_reviews(plan.list_changed_journals_of_others(), heading="New reviews:")
    for journal in plan.write():
        _report(journal, _print_merged_journal, as_json=as_json)


def _merge_from_team(options: WorkspaceOptions, *, is_confirmed: bool, as_json: bool) -> None:
    """Add the reviews that were received from the team's server to the workspace."""
    from fcreview.store.reviews.journal_merge import plan_team_merge

    workspace = locate_workspace(options, create=False)
    plan = plan_team_merge(workspace, resolve_annotator(options, load_config()))
    if not is_confirmed:
        _confirm_new_reviews(plan.list_changed_journals_of_others())
    for journal in plan.write():
        _report(journal, _print_merged_journal, as_json=as_json)


def _send_to_team(options: WorkspaceOptions, *, as_json: bool) -> None:
    """Send the journal of the team's member, and say whose reviews are not sent."""

    from fcreview.cli.team_sync import open_team_exchange
    from fcreview.store.reviews.journal_reader import list_journals

    workspace = locate_workspace(options, create=False)
    with open_team_exchange(workspace) as exchange:
        exchange.connect()
        n_sent = exchange.push_lines()
        member = exchange.link.annotator
    if as_json:
        emit_json({"sent": n_sent})
    else:
        emit(f"{n_sent:,} sent")

    others = [journal.stem for journal in list_journals(workspace) if journal.stem != member]
    if others:
        print_message(
            f"fcreview: reviews by {format_cell(', '.join(others))} were not sent. Each member"
            " sends their own reviews"
        )


def _confirm_new_reviews(
    journals: Sequence[MergedJournal], heading: str = "New reviews of other annotators:"
) -> None:
    """List the annotators with new reviews, and ask whether to merge them.

    Raises CommandError if the user says no, or cannot be asked.
    """
    if not journals:
        return

    print_message(heading)
    for line in _format_new_reviews(journals):
        print_message(f"  {line}")

    has_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if not has_terminal:
        raise CommandError(
            "nothing was merged, because there is no terminal for the confirmation. Pass --yes to"
            " merge the reviews of other annotators"
        )
    if not typer.confirm("Merge these reviews?", err=True):
        raise CommandError("nothing was merged, because you did not confirm")


def _format_new_reviews(journals: Sequence[MergedJournal]) -> list[str]:
    """Format a table with the numbers of new events in each journal."""
    rows = []
    for journal in journals:
        n_reviews = journal.new - journal.adjudications - journal.retractions
        rows.append(
            [
                format_cell(journal.annotator),
                str(n_reviews),
                str(journal.retractions),
                str(journal.adjudications),
            ]
        )
    headers = ("annotator", "reviews", "retractions", "adjudications")
    return format_table(headers, rows, right_aligned=(1, 2, 3))


def _print_merged_journal(merged: MergedJournal) -> None:
    """Print how many reviews of an annotator are new, and which ones were not merged."""
    annotator = format_cell(merged.annotator)
    new = format_count(merged.new, "new event")
    if merged.adjudications:
        new += f" ({format_count(merged.adjudications, 'adjudication')})"
    emit(f"{annotator}: {new}, {merged.known:,} already in this workspace")

    if merged.withheld:
        count = format_count(merged.withheld, "new event")
        print_message(
            f"fcreview: {annotator}: {count} not merged, because these are your own reviews. Pass"
            " --mine to merge them"
        )
    for warning in merged.warnings:
        print_message(f"fcreview: {warning}")


def _print_merged_judge(merged: MergedJudge) -> None:
    """Print how many verdicts of `fcreview judge` are new."""
    judge = format_cell(merged.judge)
    if merged.why:
        print_message(f"fcreview: the judge {judge} was not merged: {format_cell(merged.why)}")
        return
    verdicts = format_count(merged.new, "new verdict")
    emit(f"judge {judge}: {verdicts}, {merged.known:,} already in this workspace")
    if merged.kept_as != merged.judge:
        print_message(
            f"fcreview: this workspace has another judge {judge}, so the merged one is"
            f" {format_cell(merged.kept_as)}"
        )


def _print_merged_queue(merged: MergedQueue) -> None:
    """Print what happened to a queue file: new, equal, kept under another name, or unreadable."""
    if merged.state == "unreadable":
        print_message(f"fcreview: {merged.why}")
        return
    message = QUEUE_MESSAGES[merged.state]
    emit(message.format(queue=format_cell(merged.queue), kept_as=format_cell(merged.kept_as)))
