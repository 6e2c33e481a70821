"""List the importers of all benchmarks, choose the importer of a file or run, and call it.

The class `Importer` in `importers/importer.py` defines what an importer does. See
docs/new-benchmark.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.acebench.importer import AcebenchImporter
from fcreview.importers.atif.importer import AtifImporter
from fcreview.importers.bfcl.importer import BfclImporter
from fcreview.importers.common.clean_texts import clean_issue, clean_plan, clean_record
from fcreview.importers.common.copies import find_copies, report_copies
from fcreview.importers.common.discovery import (
    DATA_SUFFIXES,
    NOT_UTF8,
    escape_file_name,
    gather_files,
    is_utf8_name,
    list_environment_folders,
)
from fcreview.importers.common.faulty_files import (
    make_failed_plan,
    make_failed_search_issue,
    search_around_faults,
)
from fcreview.importers.common.file_form import UNPACK
from fcreview.importers.common.other_formats import (
    MAP_ADVICE,
    TABLE_SUFFIXES,
    describe_files,
    describe_nearest_match,
    explain_object_by_id,
    find_archives,
    find_git_lfs_pointers,
)
from fcreview.importers.common.text_limit import TextLimiter
from fcreview.importers.complexfuncbench.importer import ComplexfuncbenchImporter
from fcreview.importers.confetti.importer import ConfettiImporter
from fcreview.importers.evalscope.importer import EvalscopeImporter
from fcreview.importers.generic_format.importer import GenericImporter
from fcreview.importers.hammerbench.importer import HammerbenchImporter
from fcreview.importers.importer import Importer, RecomputeVerdict
from fcreview.importers.inspect.importer import InspectImporter
from fcreview.importers.mapping.importer import MappingImporter
from fcreview.importers.mcp_atlas.importer import McpAtlasImporter
from fcreview.importers.nemo_gym.importer import NemoGymImporter
from fcreview.importers.sessions.importer import SessionsImporter
from fcreview.importers.tau.importer import TauImporter
from fcreview.importers.verifiers.importer import VerifiersImporter
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.golden_fix import RescoredVerdict
from fcreview.model.item import Call, ImportIssue, Item, PartSummary, ReadRecord, Run
from fcreview.model.json_value import (
    answer_hash,
    canonical_json,
    parse_accepted_values,
    to_plain_json,
)
from fcreview.model.metric import (
    Metric,
    OwnScore,
    RunItems,
    ScoredItem,
    build_category_metrics,
    build_tag_metrics,
)
from fcreview.model.metric import find_own_score as find_own_score_in
from fcreview.model.sync_copy import find_original_name
from fcreview.run_plan import (
    AppliedGoldenFix,
    DiscoveredRuns,
    GoldenExecution,
    ReviewedVerdict,
    RewrittenFile,
    RunPart,
    RunPlan,
    SearchOptions,
    Unrepresentable,
)

if TYPE_CHECKING:
    from fcreview.stats.conventions import TrialTable

GENERIC: Importer = GenericImporter()
"""Importer for files in the generic format, which can name any benchmark."""
MAPPING: Importer = MappingImporter()
"""Importer for files that a mapping file describes."""
IMPORTERS: tuple[Importer, ...] = (
    MAPPING,  # what the user says of files counts before what they look like
    BfclImporter(),
    AcebenchImporter(),
    HammerbenchImporter(),
    ConfettiImporter(),
    ComplexfuncbenchImporter(),
    InspectImporter(),
    SessionsImporter(),
    TauImporter(),
    AtifImporter(),
    NemoGymImporter(),
    EvalscopeImporter(),
    McpAtlasImporter(),
    VerifiersImporter(),
    GENERIC,
)
"""Importers in the order in which they search for runs. To add a benchmark, add an object of its
importer."""
SAME_GOLDEN = "the golden fix equals the golden answer of the dataset"
"""Reason why a golden fix that changes nothing is refused."""
GUESS = 0.5
"""Confidence below which a run plan is only a guess."""
MAX_LISTED_FILES = 5
MAX_NOTE_LENGTH = 200
NO_RESULTS = "no results"
"""First words of the issue that explains why no run was found. Its sentences can be shown as
lines."""


def list_importer_names() -> list[str]:
    """Return the names of all importers, sorted: the values of `--format`."""
    return sorted(importer.name for importer in IMPORTERS)


def get_importer(name: str) -> Importer:
    """Return the importer with this name. Raises KeyError for an unknown name."""
    importer = find_importer(name)
    if importer is None:
        raise KeyError(name)
    return importer


def find_importer(name: str) -> Importer | None:
    """Return the importer with this name, or None for an unknown name."""
    for importer in IMPORTERS:
        if importer.name == name:
            return importer
    return None


def importer_for(run: Run) -> Importer:
    """Return the importer of the run's benchmark, or the generic importer for a benchmark without
    one."""
    return find_importer(run.benchmark) or GENERIC


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
    importers = _choose_importers(format, search)
    gathered = gather_files(paths)
    named_folders = _make_absolute([*data, *list_environment_folders()])
    found = DiscoveredRuns()
    found.issues += gathered.issues
    found.issues += _report_unusable_folders(named_folders)

    copies = find_copies(gathered.files, paths)
    dataset_folders = _select_usable_folders(named_folders)
    claims = _collect_claims(importers, gathered.files, copies, dataset_folders, search)
    _add_claims(found, claims)
    ignored_copies = _find_ignored_copies(copies, found)
    found.claimed.update(ignored_copies)
    found.issues += report_copies(ignored_copies)

    found.issues += _report_unused_score_folders(found.plans, search)
    found.issues += _report_unclaimed_files(_list_unclaimed(gathered.files, found))
    if not found.plans and not _has_error(found.issues):
        found.issues.append(_explain_no_runs(paths, gathered.files))
    return found


def _add_claims(found: DiscoveredRuns, claims: DiscoveredRuns) -> None:
    """Add the claimed files and the plans, without those that lose a file to another importer."""
    conflicts = _find_file_conflicts(claims.plans)
    found.plans += _omit_losers(claims.plans, conflicts)
    found.claimed.update(claims.claimed)
    found.issues += claims.issues
    found.issues += _report_file_conflicts(conflicts)


def _choose_importers(name: str | None, search: SearchOptions) -> Sequence[Importer]:
    """Return the importers to use. A mapping file needs only the one that reads it."""
    named_importers = IMPORTERS if name is None else (get_importer(name),)
    if search.mapping_file is not None:
        return (MAPPING,)
    return named_importers


def _list_unclaimed(files: Sequence[Path], found: DiscoveredRuns) -> list[Path]:
    return [path for path in files if path not in found.claimed]


def _has_error(issues: Sequence[ImportIssue]) -> bool:
    return any(issue.severity == "error" for issue in issues)


def _collect_claims(
    importers: Sequence[Importer],
    files: Sequence[Path],
    copies: Collection[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,
) -> DiscoveredRuns:
    """Find the runs of all importers. Several runs can claim the same file.

    `copies` are the files that look like copies of another file.
    """
    collected = DiscoveredRuns()
    for importer in importers:
        searched_files = _select_searched_files(importer, files, copies)
        claims = _search_runs(importer, searched_files, dataset_folders, search)
        for plan in claims.plans:
            if not _is_guess_about_claimed_files(plan, collected.claimed):
                collected.plans.append(plan)
        collected.issues += claims.issues
        collected.claimed |= claims.claimed
    return collected


def _select_searched_files(
    importer: Importer, files: Sequence[Path], copies: Collection[Path]
) -> list[Path]:
    """Return the files that an importer searches. Some importers ignore all copies."""
    if importer.ignores_copies:
        return [path for path in files if path not in copies]
    return [path for path in files if not (path in copies and _is_synced_copy(path))]


def _is_synced_copy(path: Path) -> bool:
    """Whether a sync program made a copy, because two machines changed the file. No importer reads
    such copies.
    """
    return find_original_name(path.name) is not None


def _search_runs(
    importer: Importer,
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,
) -> DiscoveredRuns:
    """Find the runs of one benchmark among the opened files.

    If the importer raises an exception because of a file, that file becomes a run that fails, and
    the others are searched again.
    """

    def find_runs(searched_files: Sequence[Path]) -> DiscoveredRuns:
        return importer.find_runs(searched_files, dataset_folders, search)

    result = search_around_faults(find_runs, files)
    claims = result.found
    for path, reason in result.faulty_files.items():
        claims.plans.append(make_failed_plan(importer.name, path, f"{importer.title}: {reason}"))
    if result.failure:
        folder = _find_common_folder(files)
        claims.issues.append(make_failed_search_issue(importer.title, result.failure, folder))

    for issue in claims.issues:
        clean_issue(issue)
    for plan in claims.plans:
        clean_plan(plan)
        _set_importer(plan, importer)
    return claims


def _find_common_folder(files: Sequence[Path]) -> Path:
    """Return the deepest folder that contains all files. Without files, the working folder."""
    if not files:
        return Path()
    return Path(os.path.commonpath([path.parent for path in files]))


def _set_importer(plan: RunPlan, importer: Importer) -> None:
    """Set the importer of a plan. A run of the importer's own benchmark gets its title and error
    tags."""
    plan.importer = importer.name
    plan.version = importer.version
    plan.split = split_run
    run = plan.run
    if run.benchmark == importer.name:
        run.title = run.title or importer.title
        run.tags = run.tags or list(importer.tags)


def _is_guess_about_claimed_files(plan: RunPlan, claimed: Set[Path]) -> bool:
    """Whether a plan is only a guess, and another importer knows its files, for example as a
    dataset."""
    return plan.confidence < GUESS and claimed >= set(plan.results)


def _make_absolute(folders: Sequence[Path]) -> list[Path]:
    """Return the absolute paths of folders, without duplicates."""
    paths = [Path(os.path.abspath(os.path.expanduser(folder))) for folder in folders]  # noqa: PTH100, PTH111 (keeps the `~x` of an unknown user)
    return list(dict.fromkeys(paths))


def _select_usable_folders(folders: Sequence[Path]) -> list[Path]:
    return [folder for folder in folders if is_utf8_name(str(folder)) and folder.is_dir()]


def _report_unusable_folders(folders: Sequence[Path]) -> Iterator[ImportIssue]:
    """Yield an error for each dataset folder that does not exist or that the store cannot name."""
    for folder in folders:
        if not is_utf8_name(str(folder)):
            yield ImportIssue(
                escape_file_name(str(folder)), line=None, what=NOT_UTF8, severity="error"
            )
        elif not folder.is_dir():
            yield ImportIssue(
                str(folder), line=None, what="the dataset folder does not exist", severity="error"
            )


@dataclass(frozen=True, slots=True)
class _FileConflict:
    """Two plans of different benchmarks for the same result file."""

    winner: RunPlan
    loser: RunPlan

    @property
    def is_expected(self) -> bool:
        """Whether one benchmark certainly knows the file, and the other one only guesses."""
        return self.loser.confidence < GUESS and self.winner.confidence >= 1


def _find_file_conflicts(plans: Sequence[RunPlan]) -> list[_FileConflict]:
    """Find the plans that lose a file to a plan of another benchmark.

    Two importers can recognise the same file. The plan with the higher confidence wins.
    """
    conflicts: list[_FileConflict] = []
    owner_by_file: dict[Path, RunPlan] = {}
    # The plans are visited from the most to the least certain.
    for plan in sorted(plans, key=lambda plan: -plan.confidence):
        # A run of only scores has no result files.
        files = plan.results or plan.scores
        rival = _find_rival(plan, [owner_by_file[path] for path in files if path in owner_by_file])
        if rival is not None:
            conflicts.append(_FileConflict(winner=rival, loser=plan))
            continue
        for path in files:
            owner_by_file[path] = plan
    return conflicts


def _find_rival(plan: RunPlan, owners: Sequence[RunPlan]) -> RunPlan | None:
    """Return the first plan of another benchmark among the owners of a plan's files."""
    for owner in owners:
        if owner.run.benchmark != plan.run.benchmark:
            return owner
    return None


def _omit_losers(plans: Sequence[RunPlan], conflicts: Sequence[_FileConflict]) -> list[RunPlan]:
    return [plan for plan in plans if not any(conflict.loser is plan for conflict in conflicts)]


def _report_file_conflicts(conflicts: Sequence[_FileConflict]) -> Iterator[ImportIssue]:
    """Yield an issue for each file that two importers recognise, unless this is expected. It says
    which one imports the file.
    """
    for conflict in conflicts:
        if conflict.is_expected:
            continue
        chosen = conflict.winner.run.benchmark
        other = conflict.loser.run.benchmark
        what = (
            f"Ambiguous input: {chosen} ({conflict.winner.reason}) or {other}"
            f" ({conflict.loser.reason}). Imported as {chosen}; use --format to choose."
        )
        yield ImportIssue(conflict.loser.run.path, line=None, what=what)


def _find_ignored_copies(copies: Mapping[Path, Path], found: DiscoveredRuns) -> dict[Path, Path]:
    """Return the copies of recognized files, each with its original, except those that a run
    uses."""
    used = {path for plan in found.plans for path in plan.files}
    recognized = found.claimed | used
    return {
        path: original
        for path, original in copies.items()
        if path not in used and original in recognized
    }


def _report_unused_score_folders(
    plans: Sequence[RunPlan], search: SearchOptions
) -> Iterator[ImportIssue]:
    """Yield an error for each folder of --score whose files fit no run."""
    scores = [path for plan in plans for path in plan.scores]
    for folder in search.scores:
        if any(path.is_relative_to(folder) for path in scores):
            continue
        what = (
            "no score file in this folder of --score fits the results. fcreview joins files of the"
            " same benchmark, version and category whose entries quote the replies in the results"
        )
        yield ImportIssue(str(folder), line=None, what=what, severity="error")


def _report_unclaimed_files(unclaimed: Sequence[Path]) -> Iterator[ImportIssue]:
    """Yield notices about the opened files that belong to no run: archives, Git LFS pointers, and
    JSON files and tables that no importer recognizes.
    """
    archives = find_archives(unclaimed)
    if archives:
        what = f"archives skipped: {_list_names(archives)}. {UNPACK}"
        yield _make_notice_about_files(archives, what)

    yield from _report_unclaimed_json_files(unclaimed)

    tables = [path for path in unclaimed if path.suffix.lower() in TABLE_SUFFIXES]
    if tables:
        what = f"tables skipped because no importer recognizes them: {_list_names(tables)}"
        yield _make_notice_about_files(tables, f"{what}. {MAP_ADVICE}")


def _report_unclaimed_json_files(unclaimed: Sequence[Path]) -> Iterator[ImportIssue]:
    """Yield a notice about the Git LFS pointers among JSON files, and one about the others."""
    json_files = [path for path in unclaimed if path.suffix in DATA_SUFFIXES]
    pointers = find_git_lfs_pointers(json_files)
    if pointers:
        names = _list_names(pointers)
        what = f"Git LFS pointers skipped: {names}. Run git lfs pull to get their content"
        yield _make_notice_about_files(pointers, what)

    unknown = [path for path in json_files if path not in pointers]
    if unknown:
        what = f"JSON files skipped because no importer recognizes them: {_list_names(unknown)}"
        yield _make_notice_about_files(unknown, what)


def _list_names(files: Sequence[Path]) -> str:
    """Return the number of files and the first names: `7 (a.json, b.json, c.json, d.json, e.json
    and 2 more)`."""
    names = ", ".join(path.name for path in files[:MAX_LISTED_FILES])
    n_more = len(files) - MAX_LISTED_FILES
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"{len(files)} ({names}{more})"


def _make_notice_about_files(files: Sequence[Path], what: str) -> ImportIssue:
    folder = os.path.commonpath([str(path.parent) for path in files])
    return ImportIssue(folder, line=None, what=what, severity="notice")


def _explain_no_runs(paths: Sequence[Path], files: Sequence[Path]) -> ImportIssue:
    """Return an issue with what was examined, what the files look like, and what to do."""
    nearest = (
        describe_nearest_match(files)
        or "Run fcreview doctor to list the files that fcreview imports"
    )
    titles = ", ".join(importer.title for importer in IMPORTERS)
    return ImportIssue(
        file=", ".join(map(str, paths)),
        line=None,
        what=f"{NO_RESULTS} of {titles} among {describe_files(files)}. {nearest}",
        severity="error",
    )


@dataclass(slots=True)
class _ReadFiles:
    """What was read of the files of a run, or of a part of it."""

    files_with_records: set[str] = field(default_factory=set)
    has_items: bool = False
    summary_of_importer: Any = None
    """Content of the summary that the importer yields for a part."""

    def add(self, record: ReadRecord) -> None:
        match record:
            case Item():
                self.files_with_records.add(record.file)
                self.has_items = True
            case ImportIssue():
                self.files_with_records.add(record.file)
            case PartSummary():
                self.summary_of_importer = record.content


def split_run(plan: RunPlan) -> list[RunPart]:
    """Return the parts of a run that several processes can read at the same time. See
    `Importer.split_run`."""
    if plan.failure:
        return []
    return _get_importer_of_plan(plan).split_run(plan)


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield the items, issues, facts and missing items of a run, and an issue for each result file
    without records.

    If the search for runs already found out that the run cannot be read, there is only an error
    with the reason. If the plan names a part of the run (`RunPlan.part`), yield only its records
    and its summary. If it has the summaries of all parts, yield only the records that follow.
    """
    if plan.failure:
        yield ImportIssue(str(plan.results[0]), line=None, what=plan.failure, severity="error")
        return

    read_files = _ReadFiles()
    yield from _read_storable_records(plan, read_files)
    if plan.part is not None:
        yield PartSummary(read_files)
        return

    # Only all parts together show which files have no records.
    for files_of_part in plan.part_summaries or ():
        read_files.files_with_records |= files_of_part.files_with_records
        read_files.has_items |= files_of_part.has_items
    yield from _report_files_without_records(plan, read_files)


def _read_storable_records(plan: RunPlan, read_files: _ReadFiles) -> Iterator[ReadRecord]:
    """Yield the records of the importer so that they can be stored and shown: cleaned, and with
    texts that are too long cut.

    All records are noted in `read_files`. The importer's own summary of a part stays there.
    """
    text_limiter = TextLimiter()
    for record in _read_records_of_importer(plan):
        read_files.add(record)
        if isinstance(record, PartSummary):
            continue
        if isinstance(record, Item):
            text_limiter.limit(record)
        yield clean_record(record)


def _read_records_of_importer(plan: RunPlan) -> Iterator[ReadRecord]:
    """Return the records of a run: of one part, of the end after all parts, or of the whole run."""
    importer = _get_importer_of_plan(plan)
    if plan.part is not None:
        return importer.read_part(plan, plan.part)
    if plan.part_summaries is not None:
        summaries = [files.summary_of_importer for files in plan.part_summaries]
        return importer.finish_run(plan, summaries)
    return importer.read_items(plan)


def _get_importer_of_plan(plan: RunPlan) -> Importer:
    # A plan that no search made, such as one of a test, has no importer.
    return get_importer(plan.importer or plan.run.benchmark)


def _report_files_without_records(plan: RunPlan, read_files: _ReadFiles) -> Iterator[ImportIssue]:
    for path in plan.results:
        if str(path) not in read_files.files_with_records:
            yield ImportIssue(str(path), line=None, what="the file contains no records")
        if not read_files.has_items:
            yield from _explain_file_without_records(path)


def _explain_file_without_records(path: Path) -> Iterator[ImportIssue]:
    reason = explain_object_by_id(path)
    if reason is not None:
        yield ImportIssue(str(path), line=None, what=reason, severity="error")


def list_verdict_choices(plan: RunPlan) -> list[str]:
    """Return the names that the option `verdict_from` accepts for a run. Empty if its importer has
    no such option."""
    if plan.failure:
        return []
    return get_importer(plan.importer).list_verdict_choices(plan)


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Compute the metrics that the run's benchmark publishes, and count error tags, by the verdicts
    of one source.

    If the benchmark's metrics cannot be computed from these items, return pass rates by category
    instead.
    """
    try:
        metrics = importer_for(run).compute_metrics(items, run)
    except MALFORMED_DATA as error:
        metrics = build_category_metrics(items)
        note = (
            f"pass rates only: the benchmark's metrics cannot be computed from this data ({error})"
        )
        metrics[0].note = note[:MAX_NOTE_LENGTH]
    return [*metrics, *build_tag_metrics(items, run.tags)]


def find_own_score(metrics: Sequence[Metric], run: Run) -> OwnScore | None:
    """Return the value of the metric by which the benchmark ranks models. None if this metric is
    the share of items that pass, or has no value.
    """
    return find_own_score_in(metrics, importer_for(run).own_metrics)


def compute_combined_metrics(runs: Sequence[RunItems]) -> list[Metric]:
    """Compute metrics over several runs of one model, by the verdicts of one source.

    Returns an empty list if the benchmark has no such metrics, or if a necessary run is missing.
    """
    importer = find_importer(runs[0].run.benchmark) if runs else None
    if importer is None:
        return []
    try:
        return importer.compute_combined_metrics(runs)
    except MALFORMED_DATA:
        # `compute_metrics` reports the error for each run.
        return []


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable | None:
    """Return the run's items as trials of tasks, to compare scoring conventions. None if the
    importer cannot do it."""
    try:
        return importer_for(run).list_trials(items, run)
    except MALFORMED_DATA:
        return None


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the score files that reviews change. See `Importer.rewrite_scores`."""
    return get_importer(plan.importer).rewrite_scores(plan, items)


def write_reviewed_logs(
    plan: RunPlan, verdicts: Sequence[ReviewedVerdict], items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the run's log files with reviews. See `Importer.write_reviewed_logs`."""
    return get_importer(plan.importer).write_reviewed_logs(plan, verdicts, items)


def find_summary_files(plan: RunPlan) -> list[Path]:
    """Find the files with metrics that the benchmark's own program computes from the score
    files."""
    return get_importer(plan.importer).find_summary_files(plan)


def check_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
    """Return the first error of a golden fix, or None if it is valid. See
    `Importer.check_golden_fix`."""
    return importer_for(run).check_golden_fix(run, item, golden_fix)


def explain_golden_fix_rejection(run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
    """Return why a golden fix is not valid or changes nothing; None if it can be applied."""
    problem = check_golden_fix(run, item, golden_fix)
    if problem is not None:
        return problem
    if is_unchanged_golden_fix(run, item, golden_fix):
        return SAME_GOLDEN
    return None


def is_unchanged_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> bool:
    """Whether a golden answer that a reviewer wrote equals the one in the dataset, so that it fixes
    nothing. The user's errata are ignored.
    """
    # The golden answer of a benchmark can be the whole fix, or the value of its only field.
    possible_answers: list[Any] = [golden_fix]
    if len(golden_fix) == 1:
        possible_answers += golden_fix.values()
    if item.golden_hash and item.golden_hash in map(answer_hash, possible_answers):
        return True

    # With an erratum, the template is the corrected answer, which says nothing about the dataset.
    has_applied_erratum = item.extra.erratum is not None and not item.extra.erratum.stale
    if has_applied_erratum:
        return False
    template = make_golden_template(run, item)
    return template is not None and canonical_json(template) == canonical_json(golden_fix)


def make_golden_template(run: Run, item: Item) -> dict[str, Any] | None:
    """Return the golden answer of an item as an object that a person can edit and record as a
    correction (a golden fix). None if the item has only a part of the golden answer.
    """
    return importer_for(run).make_golden_template(run, item)


def make_fix_from_prediction(run: Run, item: Item) -> dict[str, Any] | None:
    """Return the predicted calls in the form of a golden fix. None if that is not possible."""
    try:
        return importer_for(run).make_fix_from_prediction(run, item)
    except MALFORMED_DATA:
        return None


def recompute_verdict(
    run: Run,
    item: Item,
    golden_fix: dict[str, Any],
    record: Any,
    recompute: RecomputeVerdict | None = None,
) -> bool | None:
    """Recompute the item's verdict with another golden answer, a valid golden fix. None if that is
    not possible.

    `record` is the item's record in the result file, or None. `recompute` replaces the importer's
    own function.
    """
    # Without a recomputed verdict, the import lacked the dataset or a rule, and so does this call.
    stored_verdict = item.rule
    if stored_verdict is None:
        return None

    importer = importer_for(run)
    recompute = recompute or importer.recompute_verdict
    present_golden = importer.make_golden_template(run, item)
    try:
        # If the present golden answer does not give the stored verdict again, this verdict depends
        # on data that the store does not have.
        if present_golden is not None:
            repeated_verdict = recompute(run, item, present_golden, record)
            if repeated_verdict != stored_verdict:
                return None
        return recompute(run, item, golden_fix, record)
    except MALFORMED_DATA:
        return None


def rescore(
    run: Run,
    item: Item,
    golden_fix: dict[str, Any],
    record: Any,
    recompute: RecomputeVerdict | None = None,
) -> RescoredVerdict:
    """Return the recomputed verdict with a golden fix (a corrected golden answer), and whether the
    fix changes the verdict.

    In some benchmarks, other figures depend on the golden answer too, and would not fit changed
    verdicts. For these, the result says that nothing changes. `record` and `recompute` are as in
    `recompute_verdict`.
    """
    verdict = recompute_verdict(run, item, golden_fix, record, recompute)
    without_errata = item.extra.without_errata
    # The verdict without any correction, to which the fix is compared.
    verdict_in_dataset = item.rule if without_errata is None else without_errata.valid
    can_change = importer_for(run).rescores_golden_fixes and verdict is not None
    return RescoredVerdict(verdict, is_changed=can_change and verdict is not verdict_in_dataset)


RescoreFunction = Callable[[Run, Item, dict[str, Any], Any], RescoredVerdict]


@contextmanager
def open_executing_rescorer() -> Iterator[RescoreFunction]:
    """Yield a function like `rescore` that also executes the calls of models.

    The programs that execute calls start when they are first needed, and end with the context. The
    function raises FcreviewError if one is not installed.
    """
    with ExitStack() as stack:
        recompute_by_importer: dict[str, RecomputeVerdict] = {}

        def rescore_by_execution(
            run: Run, item: Item, golden_fix: dict[str, Any], record: Any
        ) -> RescoredVerdict:
            """Return the verdict with a corrected golden answer.

            The process that executes calls starts when it is needed first.
            """
            importer = importer_for(run)
            if importer.name not in recompute_by_importer:
                recompute = stack.enter_context(importer.open_recomputation())
                recompute_by_importer[importer.name] = recompute
            return rescore(run, item, golden_fix, record, recompute_by_importer[importer.name])

        yield rescore_by_execution


def needs_execution(benchmark: str, category: str) -> bool:
    """Return whether only the execution of calls gives recomputed verdicts in a category."""
    importer = find_importer(benchmark)
    return importer is not None and importer.needs_execution(category)


def rescores_golden_fixes(run: Run) -> bool:
    """Return whether an accepted golden fix changes verdicts of the run's benchmark."""
    return importer_for(run).rescores_golden_fixes


def execute_golden(
    benchmark: str, question: dict[str, Any], fix_fields: dict[str, Any]
) -> GoldenExecution | None:
    """Execute a corrected golden answer if it must be. See `Importer.execute_golden`."""
    return get_importer(benchmark).execute_golden(question, fix_fields)


def parse_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> list[Call]:
    """Return the golden calls in a valid golden fix. Empty if it has none or the importer cannot
    parse them."""
    try:
        return importer_for(run).parse_golden_fix(run, item, golden_fix)
    except MALFORMED_DATA:
        return []


def compare_with_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> Item | None:
    """Return a copy of the item that is compared with a valid golden fix instead of the dataset's
    golden answer: with its golden calls, pairs and first difference. The verdicts stay.

    None if the importer cannot parse the golden calls of the fix.
    """
    calls = parse_golden_fix(run, item, golden_fix)
    golden = [_use_stored_values(call) for call in _move_to_own_turn(calls, item)]
    if not golden:
        return None
    try:
        pairs = importer_for(run).pair_with_golden_fix(run, item, golden_fix, golden)
    except MALFORMED_DATA:
        return None
    compared = replace(item, golden=golden, pairs=pairs)
    find_first_difference(pairs, golden, item.predicted).apply_to(compared)
    return compared


def _use_stored_values(call: Call) -> Call:
    """Return a golden call with the values that the store would contain: lists, but no tuples.

    The predicted calls of an item come from the store too.
    """
    if call.arguments is None:
        return call
    arguments = {}
    for name, accepted in call.arguments.items():
        arguments[name] = parse_accepted_values(to_plain_json(accepted))
    return replace(call, arguments=arguments)


def _move_to_own_turn(golden: list[Call], item: Item) -> list[Call]:
    """Put golden calls into the turn that the item judges, because a golden fix of a single turn
    does not name its turn.
    """
    judged_turns = {call.turn for call in item.golden}
    if len(judged_turns) != 1 or any(call.turn for call in golden):
        return golden
    (turn,) = judged_turns
    return [replace(call, turn=turn) for call in golden]


def rewrite_golden(
    plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Yield the dataset files that golden fixes change. See `Importer.rewrite_golden`."""
    return get_importer(plan.importer).rewrite_golden(plan, fixes)
