"""Define the interface of importers, list the importers of all benchmarks, and choose the importer
of a file or run.

To add a benchmark, create a package `importers/NAME/` with the modules `discovery`, `read` and
`leaderboard`, and add an `Importer` to `IMPORTERS`. See docs/new-benchmark.md.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from fcreview.errors import MALFORMED_DATA, FcreviewError
from fcreview.importers.common.clean_texts import clean_issue, clean_plan, clean_record
from fcreview.importers.common.copies import find_copies, report_copies
from fcreview.importers.common.discovery import (
    NOT_UTF8,
    escape_file_name,
    gather_files,
    is_utf8_name,
)
from fcreview.importers.common.faulty_files import (
    make_failed_plan,
    make_failed_search_issue,
    search_around_faults,
)
from fcreview.importers.common.file_form import UNPACK
from fcreview.importers.common.other_formats import (
    describe_files,
    describe_nearest_match,
    explain_object_by_id,
    find_archives,
    find_git_lfs_pointers,
)
from fcreview.importers.common.text_limit import limit_item_text
from fcreview.model.item import Call, ImportIssue, Item, ReadRecord, Run
from fcreview.model.json_value import answer_hash, canonical_json
from fcreview.model.metric import (
    Metric,
    RunItems,
    ScoredItem,
    build_category_metrics,
    build_tag_metrics,
)
from fcreview.run_plan import (
    AppliedGoldenFix,
    DiscoveredRuns,
    ImportOption,
    ReviewedVerdict,
    RewrittenFile,
    RunPlan,
    SearchOptions,
    Unrepresentable,
)

if TYPE_CHECKING:
    from fcreview.stats.conventions import TrialTable

SAME_GOLDEN = "the golden fix equals the golden answer of the dataset"
"""Reason why a golden fix that changes nothing is refused."""
GUESS = 0.5
"""Confidence below which a run plan is only a guess."""
MAX_LISTED_FILES = 5
NO_RESULTS = "no results"
"""First words of the issue that explains why no run was found.

Its sentences can be shown as lines.
"""


class WriteError(FcreviewError):
    """Raised when the files of a benchmark cannot be rewritten."""


@dataclass(frozen=True, slots=True)
class Importer:
    """The importer of one benchmark. The modules of its package are loaded on first use."""

    name: str
    """Name of the package, value of `--format` and of `Run.benchmark`, such as `bfcl`."""
    title: str
    expected_files: str
    """Description of the files that the importer recognizes, for `fcreview doctor` and the
    documentation.
    """
    version: int = 1
    """Raise the version if a change makes the same files produce other items. fcreview then
    re-imports the runs.
    """
    combines_runs: bool = False
    """Whether `leaderboard` defines `compute_combined_metrics`."""
    aggregates_rows: bool = False
    """Whether `compute_metrics` accepts several equal items as one `ScoredItem` with `n_items`
    above 1. If so, the metrics must depend only on category, setting, verdicts, error type, tokens
    and seconds, not on the item order.
    """
    needs_part_verdicts: bool = False
    """Whether `compute_metrics` also uses other criteria than `correct`, and verdicts on parts of
    items. If so, items with such verdicts are not aggregated.
    """
    applies_errata: bool = False
    """Whether `read_items` applies the golden answers of `RunPlan.errata`."""
    applies_equivalences: bool = False
    """Whether `read_items` applies the equivalence rules of `RunPlan.errata`."""
    tags: tuple[str, ...] = ()
    """Error tags from the benchmark's publications, offered to annotators."""
    why_no_golden_fix: str = ""
    """Why golden answers cannot be corrected.

    If empty, `writeback` defines the functions for golden fixes.
    """
    ignores_copies: bool = False
    """Whether files that are copies by their names, such as `old_NAME` or `NAME_backup.json`,
    are no runs.
    """
    options: tuple[ImportOption, ...] = ()
    """Options of `RunPlan.options` that the importer reads. fcreview remembers their values for
    each run.
    """
    package: str = ""
    """Name of the package, if it is not `name`."""

    def load_module(self, name: str) -> ModuleType:
        return importlib.import_module(f"fcreview.importers.{self.package or self.name}.{name}")

    def load_writeback(self, function: str) -> Callable[..., Any]:
        """Return a function of the optional module `writeback`.

        Raises WriteError if it does not exist.
        """
        package = self.package or self.name
        missing = f"importers/{package}/writeback.py"
        try:
            module = self.load_module("writeback")
        except ModuleNotFoundError as error:
            if error.name != f"fcreview.importers.{package}.writeback":
                raise
        else:
            if hasattr(module, function):
                return cast("Callable[..., Any]", getattr(module, function))
            missing = f"{function} in {missing}"
        raise WriteError(f"fcreview cannot write the files of {self.title} ({missing} is missing)")


IMPORTERS: Mapping[str, Importer] = {
    importer.name: importer
    for importer in (
        Importer(
            "bfcl",
            title="BFCL",
            expected_files=(
                "BFCL_v*_CATEGORY_result.json, gorilla_openfunctions_v1_test_CATEGORY_result.json"
                " or *_score.json files"
            ),
            version=15,
            aggregates_rows=True,
            applies_errata=True,
            applies_equivalences=True,
            options=("decoder",),
            ignores_copies=True,
            tags=(  # common mistakes in the release post of V1, and error types of the V4 program
                "implicit conversion",
                "malformed call",
                "missing URL",
                "wrong function",
                "wrong count",
                "missing parameter",
                "unexpected parameter",
                "wrong type",
                "wrong value",
                "should not call",
                "should call",
                "wrong state",
                "wrong response",
                "wrong answer",
            ),
        ),
        Importer(
            "acebench",
            title="ACEBench",
            expected_files="data_CATEGORY_result.json files in result_en or result_zh",
            version=10,
            combines_runs=True,
            applies_errata=True,
            options=("evaluator",),
            ignores_copies=True,
            tags=(  # figure 6 (normal), table 5 (special) and section 4.2 (agent) of the paper
                "function name",
                "param type",
                "param value",
                "output format",
                "error detection",
                "error correction",
                "function call error",
                "rule violation",
                "information mismanagement",
            ),
        ),
        Importer(
            "hammerbench",
            title="HammerBench",
            expected_files=(
                "JSON arrays of {id, input, predict, label}, or folders with MT_res.json"
            ),
            version=9,
            ignores_copies=True,
            tags=(  # metrics in section 4 and intent shifts in section 3 of the paper
                "function name",
                "parameter hallucination",
                "parameter missing",
                "argument value",
                "imperfect instruction",
                "slot overriding",
                "external information",
                "intent shift",
            ),
        ),
        Importer(
            "confetti",
            title="CONFETTI",
            expected_files="BFCL_v2_conversationsclean_result.json, BFCL_v2_dialogacts_result.json",
            version=9,
            ignores_copies=True,
            tags=(  # complexities of the conversations in table 1 of the paper
                "exception in execution",
                "failed conversation",
                "confirmation",
                "goal switching",
                "goal correction",
                "goal stacking",
                "ambiguous goal",
                "follow-up question",
                "implicit goal",
                "overfill",
                "underfill",
                "goal not supported",
            ),
        ),
        Importer(
            "complexfuncbench",
            title="ComplexFuncBench",
            expected_files="result/MODEL/EXPERIMENT.jsonl of {id, gen_convs, message, count_dict}",
            version=8,
            ignores_copies=True,
            tags=(  # section 4.3.1 of the paper
                "func_error",
                "param_missing",
                "hallucination",
                "value_error",
                "stop_early",
            ),
        ),
        Importer(
            "inspect",
            title="Inspect",
            expected_files="Inspect logs, .eval or .json",
            version=7,
            needs_part_verdicts=True,
            options=("verdict_from", "scorers"),
            why_no_golden_fix="an Inspect log has no dataset whose golden answers can be corrected",
        ),
        Importer(
            "tau",
            title="tau-bench",
            expected_files=(
                "JSON of {info, tasks, simulations}, results.json beside simulations/, or JSON"
                " arrays of {task_id, traj}"
            ),
            version=11,
            # fault types of the error identification in the tau-bench repository, and of the viewer
            # of tau2-bench
            tags=(
                "goal partially completed",
                "used wrong tool",
                "used wrong tool argument",
                "took unintended action",
                "logical",
                "hallucination",
                "unresponsive",
                "early termination",
                "transcription",
                "vad",
            ),
            why_no_golden_fix="the tasks of tau-bench are part of the result file, so golden"
            " answers cannot be corrected",
        ),
        Importer(
            "atif",
            title="ATIF",
            expected_files="ATIF trajectories (trajectory.json with steps), or a Harbor job folder",
            version=5,
            why_no_golden_fix="an ATIF trajectory has no golden answer to correct",
        ),
        Importer(
            "generic",
            title="Generic",
            expected_files="JSON Lines of {id, messages, ...} or OpenAI-style chat logs",
            version=7,
            aggregates_rows=True,
            needs_part_verdicts=True,
            package="generic_format",
        ),
    )
}
"""Importers by name.

To add a benchmark, add its `Importer` here and create the package `importers/NAME/`.
"""


def discover(
    paths: Sequence[Path],
    *,
    data: Sequence[Path] = (),
    format: str | None = None,  # noqa: A002
    search: SearchOptions = SearchOptions(),  # noqa: B008 - frozen
) -> DiscoveredRuns:
    """Find the runs at and below `paths`, with their datasets.

    If several importers claim a file, the one with the highest confidence imports it, and an issue
    names both. If no run is found, the result has an issue of severity `error`.

    Args:
        paths: files and folders.
        data: dataset folders, searched before those in the environment variable FCREVIEW_DATA.
        format: name of the only importer to use. Raises KeyError for an unknown name.
        search: what the user said about the files.
    """
    importers = [IMPORTERS[format]] if format is not None else list(IMPORTERS.values())
    gathered = gather_files(paths)
    copies = find_copies(gathered.files, paths)
    originals = [path for path in gathered.files if path not in copies]
    found = DiscoveredRuns(issues=list(gathered.issues))
    from_environment = [
        Path(part) for part in os.environ.get("FCREVIEW_DATA", "").split(os.pathsep) if part
    ]
    dataset_folders = _resolve_dataset_folders([*data, *from_environment], found.issues)
    plans: list[RunPlan] = []
    for importer in importers:
        files = originals if importer.ignores_copies else gathered.files
        claims = _search_runs(importer, files, dataset_folders, search)
        for plan in claims.plans:
            clean_plan(plan)
            plan.importer, plan.version = importer.name, importer.version
            if plan.run.benchmark == importer.name:
                plan.run.title = plan.run.title or importer.title
                plan.run.tags = plan.run.tags or list(importer.tags)
        plans += [
            plan for plan in claims.plans if not _is_guess_about_claimed_files(plan, found.claimed)
        ]
        found.issues += claims.issues
        found.claimed |= claims.claimed
    found.plans = _resolve_file_conflicts(plans, found.issues)
    _report_ignored_copies(copies, found)
    found.issues += _report_unused_score_folders(found.plans, search)
    _report_unclaimed_files(gathered.files, found)
    if not found.plans and not any(issue.severity == "error" for issue in found.issues):
        found.issues.append(_explain_no_runs(paths, gathered.files))
    return found


def _search_runs(
    importer: Importer,
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,
) -> DiscoveredRuns:
    """Find the runs of one benchmark.

    A file at which the importer raises an exception becomes a run that fails.
    """

    def find_runs(searched_files: Sequence[Path]) -> DiscoveredRuns:
        module: Any = importer.load_module("discovery")
        return cast("DiscoveredRuns", module.find_runs(searched_files, dataset_folders, search))

    result = search_around_faults(find_runs, files)
    claims = result.found
    for path, reason in result.faulty_files.items():
        claims.plans.append(make_failed_plan(importer.name, path, f"{importer.title}: {reason}"))
    if result.failure:
        folder = Path(os.path.commonpath([path.parent for path in files])) if files else Path()
        claims.issues.append(make_failed_search_issue(importer.title, result.failure, folder))
    for issue in claims.issues:
        clean_issue(issue)
    return claims


def _explain_no_runs(paths: Sequence[Path], files: Sequence[Path]) -> ImportIssue:
    """Return an issue with what was examined, what the files look like, and what to do."""
    nearest = (
        describe_nearest_match(files)
        or "Run fcreview doctor to list the files that fcreview imports"
    )
    titles = ", ".join(importer.title for importer in IMPORTERS.values())
    what = f"{NO_RESULTS} of {titles} among {describe_files(files)}. {nearest}"
    return ImportIssue(", ".join(map(str, paths)), None, what=what, severity="error")


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield the items, issues, facts and missing items of a run, and an issue for each result file
    without records.

    If the search for runs already found out that the run cannot be read, there is only an error
    with the reason.
    """
    if plan.failure:
        yield ImportIssue(str(plan.results[0]), None, what=plan.failure, severity="error")
        return
    files_with_records: set[str] = set()
    n_items = 0
    module: Any = IMPORTERS[plan.importer or plan.run.benchmark].load_module("read")
    for record in module.read_items(plan):
        if isinstance(record, Item | ImportIssue):
            files_with_records.add(record.file)
        if isinstance(record, Item):
            n_items += 1
            limit_item_text(record)
        yield clean_record(record)
    for path in plan.results:
        if str(path) not in files_with_records:
            yield ImportIssue(str(path), None, what="the file contains no records")
        if not n_items:
            yield from _explain_file_without_records(path)


def _explain_file_without_records(path: Path) -> Iterator[ImportIssue]:
    reason = explain_object_by_id(path)
    if reason is not None:
        yield ImportIssue(str(path), None, what=reason, severity="error")


def _resolve_dataset_folders(folders: Sequence[Path], issues: list[ImportIssue]) -> list[Path]:
    found = []
    for folder in folders:
        path = Path(os.path.abspath(os.path.expanduser(folder)))  # noqa: PTH100, PTH111 (keeps the `~x` of an unknown user)
        if not is_utf8_name(str(path)):
            issues.append(
                ImportIssue(escape_file_name(str(path)), None, what=NOT_UTF8, severity="error")
            )
        elif path.is_dir():
            found.append(path)
        else:
            issues.append(
                ImportIssue(
                    str(path), None, what="the dataset folder does not exist", severity="error"
                )
            )
    return list(dict.fromkeys(found))


def _is_guess_about_claimed_files(plan: RunPlan, claimed: Set[Path]) -> bool:
    """Whether a plan is only a guess, and another importer knows its files, for example as a
    dataset.
    """
    return plan.confidence < GUESS and claimed >= set(plan.results)


def _resolve_file_conflicts(plans: Sequence[RunPlan], issues: list[ImportIssue]) -> list[RunPlan]:
    """Drop each plan with a result file that a plan of another benchmark claims with higher
    confidence.

    There is an issue for a dropped plan, unless it is only a guess and the other plan has
    confidence 1.
    """
    owner: dict[Path, RunPlan] = {}
    accepted: list[RunPlan] = []
    for plan in sorted(plans, key=lambda plan: -plan.confidence):
        owners = [owner[path] for path in plan.results or plan.scores if path in owner]
        rival = next((other for other in owners if other.run.benchmark != plan.run.benchmark), None)
        if rival is None:
            accepted.append(plan)
            owner.update((path, plan) for path in plan.results or plan.scores)
        if rival is None or (plan.confidence < GUESS and rival.confidence >= 1):
            continue
        what = (
            f"Ambiguous input: {rival.run.benchmark} ({rival.reason}) or {plan.run.benchmark}"
            f" ({plan.reason}). "
        )
        what += f"Imported as {rival.run.benchmark}; use --format to choose."
        issues.append(ImportIssue(plan.run.path, None, what=what))
    return [plan for plan in plans if any(plan is other for other in accepted)]


def _report_ignored_copies(copies: Mapping[Path, Path], found: DiscoveredRuns) -> None:
    """Add a notice for the copies of recognized files, unless another importer reads them."""
    used = {path for plan in found.plans for path in plan.files}
    ignored = {
        path: original
        for path, original in copies.items()
        if path not in used and original in found.claimed | used
    }
    found.claimed.update(ignored)
    found.issues += report_copies(ignored)


def _report_unused_score_folders(
    plans: Sequence[RunPlan], search: SearchOptions
) -> Iterator[ImportIssue]:
    """Yield an error for each folder of --score whose files fit no run."""
    for folder in search.scores:
        if not any(path.is_relative_to(folder) for plan in plans for path in plan.scores):
            what = (
                "no score file in this folder of --score fits the results. fcreview joins files of"
                " the same benchmark,"
            )
            what += " version and category whose entries quote the replies in the results"
            yield ImportIssue(str(folder), None, what=what, severity="error")


def _report_unclaimed_files(files: Sequence[Path], found: DiscoveredRuns) -> None:
    unclaimed = [path for path in files if path not in found.claimed]
    archives = find_archives(unclaimed)
    if archives:
        what = f"archives skipped: {_list_names(archives)}. {UNPACK}"
        found.issues.append(_make_notice_about_files(archives, what))
    json_files = [path for path in unclaimed if path.suffix in (".json", ".jsonl")]
    pointers = find_git_lfs_pointers(json_files)
    if pointers:
        what = (
            f"Git LFS pointers skipped: {_list_names(pointers)}. Run git lfs pull to get their"
            " content"
        )
        found.issues.append(_make_notice_about_files(pointers, what))
    unknown = [path for path in json_files if path not in pointers]
    if unknown:
        what = f"JSON files skipped because no importer recognizes them: {_list_names(unknown)}"
        found.issues.append(_make_notice_about_files(unknown, what))


def _list_names(files: Sequence[Path]) -> str:
    """Return the number of files and the first names: `7 (a.json, b.json, c.json, d.json, e.json
    and 2 more)`.
    """
    names = ", ".join(path.name for path in files[:MAX_LISTED_FILES])
    more = f" and {len(files) - MAX_LISTED_FILES} more" if len(files) > MAX_LISTED_FILES else ""
    return f"{len(files)} ({names}{more})"


def _make_notice_about_files(files: Sequence[Path], what: str) -> ImportIssue:
    folder = os.path.commonpath([str(path.parent) for path in files])
    return ImportIssue(folder, None, what=what, severity="notice")


def list_verdict_choices(plan: RunPlan) -> list[str]:
    """Return the names that the option `verdict_from` accepts for a run.

    Empty if its importer has no such option.
    """
    importer = IMPORTERS[plan.importer]
    if plan.failure or "verdict_from" not in importer.options:
        return []
    return cast("list[str]", importer.load_module("read").list_choices(plan))


def importer_for(run: Run) -> Importer:
    """Return the importer of the run's benchmark, or the generic importer for a benchmark
    without one.
    """
    return IMPORTERS.get(run.benchmark) or IMPORTERS["generic"]


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Compute the metrics that the run's benchmark publishes, and count error tags, by the verdicts
    of one source.

    If the benchmark's metrics cannot be computed from these items, return pass rates by category
    instead.
    """
    try:
        found: list[Metric] = (
            importer_for(run).load_module("leaderboard").compute_metrics(items, run)
        )
    except MALFORMED_DATA as error:
        found = build_category_metrics(items)
        found[
            0
        ].note = (
            f"pass rates only: the benchmark's metrics cannot be computed from this data ({error})"[
                :200
            ]
        )
    return [*found, *build_tag_metrics(items, run.tags)]


def compute_combined_metrics(runs: Sequence[RunItems]) -> list[Metric]:
    """Compute metrics over several runs of one model, by the verdicts of one source.

    Returns an empty list if the benchmark has no such metrics, or if a necessary run is missing.
    """
    importer = IMPORTERS.get(runs[0].run.benchmark) if runs else None
    if importer is None or not importer.combines_runs:
        return []
    try:
        return cast(
            "list[Metric]", importer.load_module("leaderboard").compute_combined_metrics(runs)
        )
    except MALFORMED_DATA:  # `compute_metrics` reports the error for each run
        return []


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable | None:
    """Return the run's items as trials of tasks, to compare scoring conventions.

    None if the importer cannot do it.
    """
    module = importer_for(run).load_module("leaderboard")
    try:
        return (
            cast("TrialTable", module.list_trials(items, run))
            if hasattr(module, "list_trials")
            else None
        )
    except MALFORMED_DATA:
        return None


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the score files that reviews change, and the kinds of reviews that the files cannot
    represent.

    `items` are all items of the run with their effective verdicts.
    """
    rewrite = IMPORTERS[plan.importer].load_writeback("rewrite_scores")
    return cast("Iterator[RewrittenFile | Unrepresentable]", rewrite(plan, items))


def write_reviewed_logs(
    plan: RunPlan, verdicts: Sequence[ReviewedVerdict], items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the run's log files with the annotators' verdicts, their names and their reasons added.

    `items` are all items of the run with their effective verdicts.
    """
    write = IMPORTERS[plan.importer].load_writeback("write_reviewed_logs")
    return cast("Iterator[RewrittenFile | Unrepresentable]", write(plan, verdicts, items))


def find_summary_files(plan: RunPlan) -> list[Path]:
    """Find the files with metrics that the benchmark's own program computes from the score
    files.
    """
    return cast("list[Path]", IMPORTERS[plan.importer].load_writeback("find_summary_files")(plan))


def check_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
    """Return the first error of a golden fix, or None if it is valid.

    A golden fix has the form of the benchmark's own golden answers and must match the item's
    function docs.
    """
    importer = importer_for(run)
    if importer.why_no_golden_fix:
        return importer.why_no_golden_fix
    return cast("str | None", importer.load_writeback("check_golden_fix")(run, item, golden_fix))


def explain_golden_fix_rejection(run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
    """Return why a golden fix is not valid or changes nothing; None if it can be applied."""
    problem = check_golden_fix(run, item, golden_fix)
    return (
        SAME_GOLDEN
        if problem is None and is_unchanged_golden_fix(run, item, golden_fix)
        else problem
    )


def is_unchanged_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> bool:
    """Return whether a valid golden fix equals the golden answer in the dataset.

    Errata are ignored.
    """
    values = [golden_fix, *(golden_fix.values() if len(golden_fix) == 1 else ())]
    if item.golden_hash and item.golden_hash in map(answer_hash, values):
        return True
    if item.extra.erratum is not None and not item.extra.erratum.stale:
        return False  # the template is the corrected answer
    template = make_golden_template(run, item)
    return template is not None and canonical_json(template) == canonical_json(golden_fix)


def make_golden_template(run: Run, item: Item) -> dict[str, Any] | None:
    """Return the item's golden answer in the form of a golden fix.

    None if the item does not contain all of it.
    """
    importer = importer_for(run)
    if importer.why_no_golden_fix:
        return None
    return cast("dict[str, Any] | None", importer.load_writeback("make_golden_template")(run, item))


def recompute_verdict(run: Run, item: Item, golden_fix: dict[str, Any], record: Any) -> bool | None:
    """Recompute the item's verdict with another golden answer, a valid golden fix.

    `record` is the item's record in the result file, or None. Returns None if the verdict cannot be
    recomputed, or if the present golden answer does not give the stored verdict, which then depends
    on data that the store does not have.
    """
    importer = importer_for(run)
    if importer.why_no_golden_fix:
        return None
    recompute = importer.load_writeback("recompute_verdict")
    template = make_golden_template(run, item)
    try:
        if template is not None and recompute(run, item, template, record) != item.rule:
            return None
        return cast("bool | None", recompute(run, item, golden_fix, record))
    except MALFORMED_DATA:
        return None


def parse_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> list[Call]:
    """Return the golden calls in a valid golden fix.

    Empty if it has none or the importer cannot parse them.
    """
    try:
        parse = importer_for(run).load_writeback("parse_golden_fix")
        return cast("list[Call]", parse(run, item, golden_fix))
    except (WriteError, *MALFORMED_DATA):
        return []


def rewrite_golden(
    plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Yield the dataset files that golden fixes change, each applied fix, and the number of fixes
    without a record.

    `fixes` maps (category, item id) to golden fixes.
    """
    rewrite = IMPORTERS[plan.importer].load_writeback("rewrite_golden")
    return cast(
        "Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]", rewrite(plan, fixes)
    )
