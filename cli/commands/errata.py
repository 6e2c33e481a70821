"""Create, check and publish errata files.

An errata file contains corrected golden answers and equivalence rules. Apply it to runs with
--errata FILE.

Example: fcreview errata create result/ -o errata.jsonl
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fcreview.cli.options import (
    ForceOption,
    JsonOption,
    WorkspaceOptions,
    argument,
    option,
    workspace_command,
)
from fcreview.cli.output import emit, emit_json, print_message, print_warning
from fcreview.cli.run_options import warn_of_execution
from fcreview.cli.workspace import load_accepted_rules, load_errata, load_workspace_errata
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError, UsageError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.errata import Errata
    from fcreview.exporters.base import ExportSource
    from fcreview.exporters.upstream.patch import UpstreamResult
    from fcreview.model.review import ItemKey
    from fcreview.store.golden_fix_effect import Rescorer, UnrescoredFix
    from fcreview.store.store import Store
    from fcreview.store.workspace import Workspace

SHORT_DIGEST_LENGTH = 16  # number of characters of a digest in text output; --json prints all
ErrataFileArgument = Annotated[Path, argument("FILE", "Errata file from `fcreview errata create`.")]


def check_errata(file: ErrataFileArgument, as_json: JsonOption = False) -> None:
    """Verify an errata file and list its contents.

    The exit code is 1 if the file is invalid or was modified. Only --errata reports entries that no
    longer match the dataset. --json prints {file, date, who, digest, goldens, rules}.

    Example: fcreview errata check errata.jsonl
    """
    errata = load_errata(file)
    rules = [str(rule) for rule in errata.rules]
    if as_json:
        emit_json(
            {
                "file": str(file),
                "date": errata.date,
                "who": errata.who,
                "digest": errata.digest,
                "goldens": len(errata.entries),
                "rules": rules,
            }
        )
        return

    # `load_errata` has compared the digest with the contents.
    digest = f"the digest {errata.digest[:SHORT_DIGEST_LENGTH]}… is correct"
    emit(f"{sanitize(errata.date)}  {sanitize(errata.who)}  {digest}")
    _print_golden_answer_counts(errata)
    for rule in rules:
        emit(f"  rule  {sanitize(rule)}")


def _print_golden_answer_counts(errata: Errata) -> None:
    """Print a line with the number of corrected golden answers of each category."""
    counts: Counter[tuple[str, str]] = Counter()
    for entry in errata.entries.values():
        title = entry.title or entry.benchmark
        counts[title, entry.category] += 1
    for (title, category), count in counts.items():
        emit(f"  {format_count(count, 'golden answer')}  {sanitize(title)}  {sanitize(category)}")


@workspace_command("policy")
def create_errata(
    options: WorkspaceOptions,
    out: Annotated[Path, option("-o --output FILE", "Output file.")],
    force: ForceOption = False,
) -> None:
    """Write corrected golden answers and accepted rules to a file.

    Includes corrections from reviews (`fcreview label --golden-fix`) unless annotators disagree on
    them, and the errata that the workspace already applies. docs/errata.md describes the format.

    Example: fcreview errata create result/ -o errata.jsonl
    """
    from fcreview.cli.wiring import build_benchmark_services
    from fcreview.errata import serialize_errata
    from fcreview.exporters.base import ExportSource
    from fcreview.exporters.export import OverwriteRules, write_output_file
    from fcreview.store.label_fields import ALL_LABELS

    with open_workspace(options) as session:
        source = ExportSource(
            session.store, session.build_view(), ALL_LABELS, build_benchmark_services(options)
        )
        errata = _collect_errata(session.workspace, source)
        if not errata.entries and not errata.rules:
            raise CommandError(
                "there are no corrected golden answers or accepted rules. Use fcreview label"
                " --golden-fix or fcreview rules add"
            )

        content = serialize_errata(
            list(errata.entries.values()),
            errata.rules,
            datetime.now(UTC).isoformat(timespec="seconds"),
            session.annotator,
        )
        write_output_file(out, content, OverwriteRules.for_store(session.store, force=force))

    n_answers = format_count(len(errata.entries), "golden answer")
    n_rules = format_count(len(errata.rules), "rule")
    print_message(f"wrote {n_answers} and {n_rules} to {sanitize(str(out))}")


def _collect_errata(workspace: Workspace, source: ExportSource) -> Errata:
    """Return all errata of a workspace: those that it applies, and those accepted since.

    An erratum is a corrected golden answer. A correction from reviews replaces an applied
    correction of the same golden answer. Rules that treat values as equal are included.
    """
    from fcreview.errata import Errata
    from fcreview.exporters.golden_patch import collect_resolved_fixes

    applied = load_workspace_errata(workspace) or Errata()
    entries = dict(applied.entries)
    for fix in collect_resolved_fixes(source).fixes:
        entry = fix.to_errata_entry()
        entries[entry.key] = entry

    # A rule may be applied and accepted. The dictionary keeps each rule once, in this order.
    rules = dict.fromkeys([*applied.rules, *load_accepted_rules(workspace)])
    return Errata(entries, tuple(rules))


def write_issue(
    file: ErrataFileArgument,
    out: Annotated[
        Path | None, option("-o --output FILE", "Output file.", show_default="standard output")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write a GitHub issue for the maintainers, as Markdown.

    The issue lists each corrected golden answer with question, old and new answer, reason,
    adjudicator and the number of runs that passed with the old answer.

    Example: fcreview errata issue errata.jsonl -o issue.md
    """
    from fcreview.exporters.export import OverwriteRules, write_output_file
    from fcreview.exporters.golden_patch import format_issue_report

    errata = load_errata(file)
    if not errata.entries:
        problem = (
            "contains no corrected golden answer to report to the maintainers. Choose another file"
        )
        raise CommandError(f"{sanitize(str(file))} {problem}")
    text = format_issue_report(list(errata.entries.values()), has_patch=False)
    if out is None:
        emit(text)
    else:
        write_output_file(out, text.encode(), OverwriteRules(force, [file]))


@workspace_command("annotator")
def rescore_runs(
    options: WorkspaceOptions,
    execute: Annotated[
        bool,
        option(
            "--execute",
            "Also recompute BFCL multi-turn verdicts. bfcl-eval executes the models' calls in an"
            " isolated process.",
        ),
    ] = False,
) -> None:
    """Apply accepted golden answers to runs that were imported later.

    Recomputes the verdicts on these items, and records them in your journal. Only needed if a
    warning says so. With --execute, applies accepted golden answers also to multi-turn items of
    BFCL whose verdicts fcreview import --execute recomputed (docs/errata.md).

    Example: fcreview errata rescore result/
    """
    from fcreview.importers.registry import open_executing_rescorer, rescore
    from fcreview.store.golden_fix_effect import find_unrescored_fixes

    with open_workspace(options) as session:
        if execute:
            warn_of_execution()
            fixes = _find_unrescored_and_executed_fixes(session.store)
            with open_executing_rescorer() as rescore_by_execution:
                n_recorded = _record_rescored_fixes(session, fixes, rescore_by_execution)
        else:
            fixes = find_unrescored_fixes(session.store)
            n_recorded = _record_rescored_fixes(session, fixes, rescore)
            _report_fixes_that_need_execution(session.store)

    n_items = sum(fix.n_items for fix in fixes)
    n_answers = format_count(len(fixes), "golden answer")
    changes = "" if n_recorded == len(fixes) else f" ({n_recorded:,} with new verdicts)"
    print_message(f"applied {n_answers} to {format_count(n_items, 'item')}{changes}")


def _needs_execution(key: ItemKey) -> bool:
    from fcreview.importers.registry import needs_execution

    return needs_execution(key.benchmark, key.category)


def _find_unrescored_and_executed_fixes(store: Store) -> list[UnrescoredFix]:
    """Return the accepted golden fixes with which items were not scored again, and all fixes of
    items whose verdicts need an execution of the calls.
    """
    from fcreview.store.golden_fix_effect import find_unrescored_fixes

    return find_unrescored_fixes(store, includes=_needs_execution)


def _report_fixes_that_need_execution(store: Store) -> None:
    """Print how many accepted golden answers were not applied, because this needs --execute."""
    fixes = _find_unrescored_and_executed_fixes(store)
    n_not_executed = sum(_needs_execution(fix.key) for fix in fixes)
    if n_not_executed:
        answers = format_count(n_not_executed, "golden answer")
        print_message(f"{answers} of multi-turn items not executed. Use --execute")


def _record_rescored_fixes(
    session: WorkspaceSession, fixes: Sequence[UnrescoredFix], rescore: Rescorer
) -> int:
    """Recompute the verdicts with each fix. Returns the number of fixes with new verdicts."""
    n_recorded = 0
    for fix in fixes:
        n_recorded += _record_rescored_fix(session, fix, rescore)
    return n_recorded


def _record_rescored_fix(session: WorkspaceSession, fix: UnrescoredFix, rescore: Rescorer) -> bool:
    """Recompute the verdicts on all items of a question with its accepted golden answer, and record
    them in the journal. Returns whether there is something new to record.
    """
    from fcreview.model.golden_fix import PROPOSED
    from fcreview.model.review import Annotation
    from fcreview.store.golden_fix_effect import collect_verdicts_to_record, measure_run_effects

    effects = measure_run_effects(session.store, fix.item, fix.golden_fix, rescore)
    verdicts = collect_verdicts_to_record(effects, fix.verdicts)
    if fix.is_known(verdicts):
        return False
    annotation = Annotation(
        golden_fix=fix.golden_fix,
        # The fix stays accepted by the same annotators.
        golden_status=fix.own_status or PROPOSED,
        golden_verdicts=verdicts,
    )
    session.create_reviewer().review(fix.item, annotation)
    return True


@workspace_command("policy")
def write_patch(
    options: WorkspaceOptions,
    upstream: Annotated[
        str, option("--upstream NAME", "Repository of the benchmark: bfcl, tau2 or acebench.")
    ],
    out: Annotated[Path, option("-o --output DIR", "New folder for the patch and the texts.")],
    checkout: Annotated[
        Path | None,
        option(
            "--checkout DIR",
            "Git checkout of the benchmark's repository.",
            show_default="the checkout that contains the dataset",
        ),
    ] = None,
    commit: Annotated[
        str | None,
        option(
            "--commit SHA",
            "Commit of the repository that the patch is for.",
            show_default="HEAD of the checkout",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write corrected golden answers as a pull request.

    DIR gets a patch for `git apply` at the root of the repository, the title, the branch name and
    the text of the pull request with the evidence, and for tau2 the text of an issue. Multi-turn
    answers of BFCL are executed first. --json prints {title, branch, commit, goldens, files,
    refused}.

    Example: fcreview errata patch result/ --upstream bfcl --commit 6ea5797 -o pull-request
    """
    from fcreview.cli.wiring import build_benchmark_services
    from fcreview.exporters.base import ExportSource
    from fcreview.exporters.export import OverwriteRules, create_output_folder
    from fcreview.exporters.upstream.patch import UpstreamRequest, write_upstream_patch
    from fcreview.exporters.upstream.repositories import REPOSITORIES
    from fcreview.store.label_fields import ALL_LABELS

    if upstream not in REPOSITORIES:
        names = ", ".join(REPOSITORIES)
        raise UsageError(f"there is no repository {upstream[:80]!r}. Choose {names}")
    request = UpstreamRequest(upstream, checkout=checkout, commit=commit)
    with open_workspace(options) as session:
        source = ExportSource(
            session.store, session.build_view(), ALL_LABELS, build_benchmark_services(options)
        )
        rules = OverwriteRules.for_store(session.store, force=False)
        with create_output_folder(out, rules) as folder:
            result = write_upstream_patch(source, request, folder)
    _report_patch(result, out, as_json=as_json)


def _report_patch(result: UpstreamResult, out: Path, *, as_json: bool) -> None:
    """Print which golden answers the patch has, which were refused, and what to do next."""
    for reason in result.refused:
        print_warning(f"not in the patch: {sanitize(reason)}")
    names = [datapoint.name for datapoint in result.datapoints]
    if as_json:
        emit_json(
            {
                "title": result.title,
                "branch": result.branch,
                "commit": result.commit,
                "goldens": names,
                "files": result.files,
                "refused": result.refused,
            }
        )
        return

    n_answers = format_count(len(names), "golden answer")
    n_files = format_count(len(result.files), "file")
    folder = sanitize(str(out))
    print_message(f"wrote {n_answers} in {n_files} to {folder}. In a checkout of the repository:")
    _print_git_commands(result.branch, shlex.quote(folder))


def _print_git_commands(branch: str, path: str) -> None:
    """Print the commands that make a pull request of the patch in the folder `path`."""
    emit(f"git switch -c {shlex.quote(branch)}")
    emit(f"git apply {path}/golden.patch")
    emit(f'git commit -a -m "$(cat {path}/title.txt)"')
    emit(f'gh pr create --title "$(cat {path}/title.txt)" --body-file {path}/pull_request.md')


COMMANDS = {
    "create": create_errata,
    "patch": write_patch,
    "check": check_errata,
    "issue": write_issue,
    "rescore": rescore_runs,
}
