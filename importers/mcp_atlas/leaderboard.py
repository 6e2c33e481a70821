"""Compute the figures of MCP-Atlas as `services/scoring/score_claims.py` does (commit 5b6220c).

A task without claims has no coverage. Failed requests and claims whose judge failed count as 0;
the last table leaves them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.effective_scores import apply_derived_verdict, get_effective_score
from fcreview.importers.common.records import as_list, is_number
from fcreview.importers.mcp_atlas.columns import ERRORS
from fcreview.importers.mcp_atlas.incidents import NO_ANSWER_KEY
from fcreview.model.derivation import CLAIM_SCORES_KEY, PASSING_COVERAGE
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, build_category_metrics
from fcreview.model.verdict import COVERAGE
from fcreview.model.wording import format_count

BENCHMARK = "mcp_atlas"
SPLITS = ("public", "private")
THRESHOLDS = (0.5, PASSING_COVERAGE)


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """Compute the metrics of a run: over all tasks, over each part of the dataset, and without
    failures of the judge.
    """
    tasks = [apply_derived_verdict(item, BENCHMARK) for item in items]
    metrics = build_category_metrics(tasks)
    metrics += _compute_split("all", tasks)
    for split in SPLITS:
        tasks_of_split = [task for task in tasks if task.category == split]
        if tasks_of_split:
            metrics += _compute_split(split, tasks_of_split)
    return [*metrics, *_compute_without_judge_failures(tasks)]


def get_effective_coverage(item: ScoredItem) -> float | None:
    return get_effective_score(item, BENCHMARK, COVERAGE)


def _compute_split(split: str, items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the metrics of MCP-Atlas over some tasks, with the names of the official program.

    The coverage of a task is the mean score of the claims that its answer must contain. `split`
    names the tasks, such as `all`. A task without an answer or with an error has no coverage.
    """
    all_coverages = [get_effective_coverage(item) for item in items]
    coverages = [coverage for coverage in all_coverages if coverage is not None]
    table = f"coverage, {split} tasks"
    counts = _count_tasks(table, items, n_valid=len(coverages))

    mean = _compute_mean(coverages)
    averages = [Metric(table, "mean_coverage", value=mean, unit="score", digits=4)]
    averages += [_compute_pass_rate(table, coverages, threshold) for threshold in THRESHOLDS]
    for average in averages:
        average.n = len(coverages)
        average.total = len(items)
        average.counted_noun = "tasks"
    return counts + averages


def _count_tasks(table: str, items: Sequence[ScoredItem], *, n_valid: int) -> list[Metric]:
    """Count the tasks, those with and without a coverage, and those with errors."""
    n_by_name = {
        "total_tasks": len(items),
        "valid_responses": n_valid,
        "empty_or_error": len(items) - n_valid,
        "tasks_with_scraping_errors": sum(_has_errors(item.metadata.get(ERRORS)) for item in items),
    }
    return [
        Metric(table, name, value=count, unit="count", digits=0)
        for name, count in n_by_name.items()
    ]


def _compute_pass_rate(table: str, coverages: Sequence[float], threshold: float) -> Metric:
    """Compute the share of tasks, in percent, whose coverage is at least the threshold."""
    share = _compute_mean([float(coverage >= threshold) for coverage in coverages])
    percent = None if share is None else 100 * share
    return Metric(table, f"pass_rate_{threshold:.2f}", value=percent, unit="percent", digits=2)


def _compute_without_judge_failures(items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the mean coverage and the pass rate without what failed for technical reasons.

    These are tasks whose request failed, and claims whose judge failed. The official figures count
    both as 0. Returns no metrics if nothing failed.
    """
    # A task without claims has no coverage.
    items_with_claims = [item for item in items if get_effective_coverage(item) is not None]
    answered_items = [item for item in items_with_claims if not _has_no_answer(item)]
    n_failed_requests = len(items_with_claims) - len(answered_items)
    n_failed_claims = sum(_ClaimScores.read(item).n_failed for item in items_with_claims)
    if n_failed_claims == 0 and n_failed_requests == 0:
        return []

    all_coverages = [_compute_coverage_of_judged_claims(item) for item in answered_items]
    coverages = [coverage for coverage in all_coverages if coverage is not None]
    requests = format_count(n_failed_requests, "request")
    claims = format_count(n_failed_claims, "claim")
    note = f"without {requests} and {claims}"
    return _make_metrics_without_failures(coverages, n_tasks=len(items), note=note)


@dataclass(frozen=True, slots=True)
class _ClaimScores:
    """The scores of a task's claims."""

    judged: Sequence[float]
    """Scores of the claims whose judge did not fail."""
    n_claims: int

    @property
    def n_failed(self) -> int:
        """Number of claims whose judge failed."""
        return self.n_claims - len(self.judged)

    @classmethod
    def read(cls, item: ScoredItem) -> _ClaimScores:
        scores = as_list(item.metadata.get(CLAIM_SCORES_KEY))
        # A claim whose judge failed has no number as its score.
        judged = [float(score) for score in scores if is_number(score)]
        return cls(judged, n_claims=len(scores))


def _compute_coverage_of_judged_claims(item: ScoredItem) -> float | None:
    """Return the coverage of a task without the claims whose judge failed. None if the judge
    failed on all claims.
    """
    scores = _ClaimScores.read(item)
    if scores.n_failed > 0:
        return _compute_mean(scores.judged)
    return get_effective_coverage(item)


def _make_metrics_without_failures(
    coverages: Sequence[float], n_tasks: int, note: str
) -> list[Metric]:
    """Make two metrics: the mean coverage and the pass rate of the tasks that have a coverage.

    `n_tasks` is the number of all tasks, also those without a coverage. `note` is a text that says
    what is left out.
    """
    table = "coverage without failed requests and judges"
    n_passed = sum(coverage >= PASSING_COVERAGE for coverage in coverages)
    pass_rate = n_passed / len(coverages) if coverages else None
    mean_metric = Metric(
        table, "mean coverage", value=_compute_mean(coverages), unit="score", digits=4
    )
    pass_rate_metric = Metric(table, "pass rate", value=pass_rate)

    metrics = [mean_metric, pass_rate_metric]
    for metric in metrics:
        metric.n = len(coverages)
        metric.total = n_tasks
        metric.counted_noun = "tasks"
        metric.note = note
    return metrics


def _has_no_answer(item: ScoredItem) -> bool:
    return item.is_incident or item.metadata.get(NO_ANSWER_KEY) is True


def _has_errors(errors: Any) -> bool:
    return errors not in (None, "", "[]", "nan", [])


def _compute_mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
