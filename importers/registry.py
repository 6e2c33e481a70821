"""Every benchmark that can be imported, and the decision whose files are whose.

Tags that reviewers are offered: the words that each benchmark's own publication has for its errors or for what makes
an item hard. Kept apart from the importers so that knowing them loads none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.base import Importer, Plugin
from fcreview.importers.common.discovery import NOT_UTF8, escape_name, gather_files, is_utf8_name
from fcreview.model.item import ImportIssue, Item, Run
from fcreview.model.metric import Metric, RunItems, ScoredItem, metrics_by_category, tag_metrics
from fcreview.run_plan import DiscoveredRuns, AppliedGoldenFix, Unrepresentable, RewrittenFile, RunPlan

ERROR_TAGS: Mapping[str, tuple[str, ...]] = {
    # the release post of V1 (common mistakes), and the kinds of failure that the V4 program names
    "bfcl": (
        "implicit conversion", "malformed call", "missing URL", "wrong function", "wrong count", "missing parameter",
        "unexpected parameter", "wrong type", "wrong value", "should not call", "should call", "wrong state",
        "wrong response", "wrong answer",
    ),
    # figure 6 (normal), table 5 (special), section 4.2 (agent)
    "acebench": (
        "function name", "param type", "param value", "output format", "error detection", "error correction",
        "function call error", "rule violation", "information mismanagement",
    ),
    # metrics of section 4 and the shifts of section 3
    "hammerbench": (
        "function name", "parameter hallucination", "parameter missing", "argument value", "imperfect instruction",
        "slot overriding", "external information", "intent shift",
    ),
    # table 1: complexities of the conversations
    "confetti": (
        "exception in execution", "failed conversation", "confirmation", "goal switching", "goal correction",
        "goal stacking", "ambiguous goal", "follow-up question", "implicit goal", "overfill", "underfill",
        "goal not supported",
    ),
    # section 4.3.1
    "complexfuncbench": ("func_error", "param_missing", "hallucination", "value_error", "stop_early"),
}  # fmt: skip
"""By importer. Documented in docs/guide.md."""


PLUGINS = (
    Plugin(
        "bfcl",
        "BFCL",
        "BFCL_v*_CATEGORY_result.json, gorilla_openfunctions_v1_test_CATEGORY_result.json or *_score.json files",
        version=5,
        aggregates_rows=True,
        applies_errata=True,
        applies_equivalences=True,
        tags=ERROR_TAGS["bfcl"],
    ),
    Plugin(
        "acebench",
        "ACEBench",
        "data_CATEGORY_result.json below result_en or result_zh",
        version=3,
        combines_runs=True,
        applies_errata=True,
        tags=ERROR_TAGS["acebench"],
    ),
    Plugin(
        "hammerbench",
        "HammerBench",
        "JSON arrays of {id, input, predict, label}, or folders with MT_res.json",
        version=3,
        tags=ERROR_TAGS["hammerbench"],
    ),
    Plugin(
        "confetti",
        "CONFETTI",
        "BFCL_v2_conversationsclean_result.json, BFCL_v2_dialogacts_result.json",
        version=2,
        tags=ERROR_TAGS["confetti"],
    ),
    Plugin(
        "complexfuncbench",
        "ComplexFuncBench",
        "result/MODEL/EXPERIMENT.jsonl of {id, gen_convs, message, count_dict}",
        version=2,
        tags=ERROR_TAGS["complexfuncbench"],
    ),
    Plugin(
        "generic",
        "Generic",
        "JSON Lines of {id, messages, ...} or OpenAI-style chat logs",
        version=2,
        aggregates_rows=True,
        needs_part_verdicts=True,
    ),
)
"""Adding a benchmark is one line here and the folder of that name."""

IMPORTERS: Mapping[str, Importer] = {plugin.name: plugin for plugin in PLUGINS}

MAX_LISTED_FILES = 5


def discover(paths: Sequence[Path], *, data: Sequence[Path] = (), format: str | None = None) -> DiscoveredRuns:  # noqa: A002
    """The runs at and below `paths`, with the datasets that fit them.

    `data` are dataset folders; those of FCREVIEW_DATA (separated as in PATH) come after them. `format` asks one
    importer only: KeyError if there is no such one. Files that two benchmarks take for theirs go to the surer one, with
    an issue that names both. Nothing found is an issue of severity `error`.
    """
    importers = [IMPORTERS[format]] if format is not None else list(IMPORTERS.values())
    gathered = gather_files(paths)
    found = DiscoveredRuns(issues=list(gathered.issues))
    folders = _existing_folders([*data, *_from_environment()], found.issues)
    plans: list[RunPlan] = []
    for importer in importers:
        part = importer.find_runs(gathered.files, folders)
        for plan in part.plans:
            plan.importer, plan.version = importer.name, importer.version
            if plan.run.benchmark == importer.name:
                plan.run.title = plan.run.title or importer.title
                plan.run.tags = plan.run.tags or list(importer.tags)
        plans += part.plans
        found.issues += part.issues
        found.claimed |= part.claimed
    found.plans = _resolve_conflicts(plans, found.issues)
    _report_unclaimed_files(gathered.files, found)
    if not found.plans and not any(issue.severity == "error" for issue in found.issues):
        found.issues.append(_nothing_found_issue(paths, importers))
    return found


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """The items of a run, by the importer that found it. A top-level function: it can be sent to another process."""
    spoken: set[str] = set()
    last = ""
    for one in IMPORTERS[plan.importer or plan.run.benchmark].read_items(plan):
        if one.file != last:
            last = one.file
            spoken.add(last)
        yield one
    for path in plan.results:
        if str(path) not in spoken:
            yield ImportIssue(str(path), None, "holds no records")


def _from_environment() -> list[Path]:
    return [Path(part) for part in os.environ.get("FCREVIEW_DATA", "").split(os.pathsep) if part]


def _existing_folders(data: Sequence[Path], issues: list[ImportIssue]) -> list[Path]:
    """The dataset folders that exist, as absolute paths."""
    found = []
    for folder in data:
        path = Path(os.path.abspath(os.path.expanduser(folder)))  # noqa: PTH100, PTH111 - `~x` may be nobody
        if not is_utf8_name(str(path)):
            issues.append(ImportIssue(escape_name(str(path)), None, NOT_UTF8, severity="error"))
        elif path.is_dir():
            found.append(path)
        else:
            issues.append(ImportIssue(str(path), None, "no such dataset folder", severity="error"))
    return list(dict.fromkeys(found))


def _resolve_conflicts(plans: Sequence[RunPlan], issues: list[ImportIssue]) -> list[RunPlan]:
    """The plans without those whose result files a surer plan of another benchmark has."""
    owner: dict[Path, RunPlan] = {}
    kept: list[RunPlan] = []
    for plan in sorted(plans, key=lambda plan: -plan.confidence):
        rivals = [owner[path] for path in plan.results or plan.scores if path in owner]
        rival = next((other for other in rivals if other.run.benchmark != plan.run.benchmark), None)
        if rival is None:
            kept.append(plan)
            owner.update((path, plan) for path in plan.results or plan.scores)
            continue
        what = (
            f"could be {rival.run.benchmark} ({rival.reason}) or {plan.run.benchmark} ({plan.reason}); "
            f"taken for {rival.run.benchmark}, --format chooses another"
        )
        issues.append(ImportIssue(plan.run.path, None, what))
    return [plan for plan in plans if any(plan is other for other in kept)]


def _report_unclaimed_files(files: Sequence[Path], found: DiscoveredRuns) -> None:
    """One notice for all JSON files that no benchmark knows."""
    rest = [path for path in files if path.suffix in (".json", ".jsonl") and path not in found.claimed]
    if not rest:
        return
    shown = ", ".join(path.name for path in rest[:MAX_LISTED_FILES])
    more = f" and {len(rest) - MAX_LISTED_FILES} more" if len(rest) > MAX_LISTED_FILES else ""
    what = f"{len(rest)} JSON files are of no known benchmark and were not read: {shown}{more}"
    found.issues.append(
        ImportIssue(os.path.commonpath([str(path.parent) for path in rest]), None, what, severity="notice")
    )


def _nothing_found_issue(paths: Sequence[Path], importers: Sequence[Importer]) -> ImportIssue:
    looked = "; ".join(f"{importer.title}: {importer.expected_files}" for importer in importers)
    where = ", ".join(str(path) for path in paths)
    return ImportIssue(where, None, f"nothing that a benchmark writes. Looked for {looked}", severity="error")


def compute_metrics(rows: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """The run's published figures from items as one source sees them, by its benchmark's importer, else by the generic
    one; and how often people gave each tag."""
    importer = _importer_for(run)
    try:
        found = importer.compute_metrics(rows, run)
    except MALFORMED_DATA as error:  # values of another form than the benchmark's: pass rates can always be told
        found = metrics_by_category(rows)
        found[0].note = f"its own figures cannot be made: the data is not of the expected form ({error})"[:200]
    return [*found, *tag_metrics(rows, run.tags)]


def aggregates_rows(run: Run) -> bool:
    """Whether the run's figures may use rows that stand for several items; see `Importer.aggregates_rows`."""
    return _importer_for(run).aggregates_rows


def needs_part_verdicts(run: Run) -> bool:
    """Whether figures also use verdicts on parts and on other criteria; see `Importer.needs_part_verdicts`."""
    return _importer_for(run).needs_part_verdicts


def _importer_for(run: Run) -> Importer:
    return IMPORTERS[run.benchmark if run.benchmark in IMPORTERS else "generic"]


def compute_combined_metrics(parts: Sequence[RunItems]) -> list[Metric]:
    """Figures over runs of one model and benchmark; none where the benchmark publishes none."""
    importer = IMPORTERS.get(parts[0].run.benchmark) if parts else None
    try:
        return importer.compute_combined_metrics(parts) if importer is not None else []
    except MALFORMED_DATA:  # the figures of each run say why
        return []


def rewrite_scores(plan: RunPlan, rows: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
    """See `Importer.rewrite`."""
    return IMPORTERS[plan.importer].rewrite_scores(plan, rows)


def find_summary_files(plan: RunPlan) -> list[Path]:
    return IMPORTERS[plan.importer].find_summary_files(plan)


def check_golden_fix(run: Run, item: Item, fix: dict[str, Any]) -> str | None:
    """See `Importer.golden_problem`."""
    return _of(run).check_golden_fix(run, item, fix)


def make_golden_template(run: Run, item: Item) -> dict[str, Any] | None:
    """See `Importer.golden_template`."""
    return _of(run).make_golden_template(run, item)


def recheck(run: Run, item: Item, fix: dict[str, Any], record: Any) -> bool | None:
    """The rule verdict with another golden answer. None where it is not recomputed, or not so that the golden answer
    that stands would give the verdict that stands: what the store holds is then not all that the verdict rests on."""
    template = make_golden_template(run, item)
    try:
        if template is not None and _of(run).recheck(run, item, template, record) != item.rule:
            return None
        return _of(run).recheck(run, item, fix, record)
    except MALFORMED_DATA:
        return None


def _of(run: Run) -> Importer:
    return IMPORTERS[run.benchmark if run.benchmark in IMPORTERS else "generic"]


def rewrite_golden(
    plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """See `Importer.rewrite_golden`."""
    return IMPORTERS[plan.importer].rewrite_golden(plan, fixes)
