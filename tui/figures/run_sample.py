"""Read the random sample of a run: its items, how far they are reviewed, and what they estimate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.stats.estimation import (
    PERCENTAGE_POINT,
    MetricEstimate,
    PassRateEstimate,
    estimate_pass_rate,
)
from fcreview.stats.posterior import UNDECIDED, AutomaticOutcome, ItemStatus
from fcreview.stats.source_strata import NO_SOURCE_STRATA, SourceStrata
from fcreview.store.queue_file import list_queue_names, read_queue
from fcreview.store.rows import RunRow
from fcreview.store.store import Store
from fcreview.tui.queue.header import TARGET_HALF_WIDTH
from fcreview.tui.queue_state import QueueProgress

MAX_ESTIMATED_ITEMS = 20_000
"""Number of items of a run up to which the screen estimates its pass rate. Beyond it, an estimate
takes too long.
"""
DEFAULT_SAMPLE_SIZE = 50


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """Counts of a run's items with one automatic verdict."""

    automatic: AutomaticOutcome
    n_items: int
    n_drawn: int
    """Number of sampled items."""
    n_decided: int
    """Number of sampled items with a human verdict."""
    n_unsure: int
    """Number of sampled items that were skipped or whose reviews are unsure."""
    n_disagreements: int
    """Number of sampled items on which annotators disagree."""


@dataclass(frozen=True, slots=True)
class RunSample:
    """Random sample of a run's items, from one or several queue files."""

    run: int
    estimate: PassRateEstimate | None = None
    outcomes: Sequence[OutcomeCounts] = ()
    queues: Sequence[QueueProgress] = ()
    own_estimate: MetricEstimate | None = None
    """Estimate of the benchmark's own metric."""
    is_estimating_own: bool = False
    """Whether the benchmark's own metric is still to be estimated."""
    n_seen_reviews: int = 0
    """Number of reviews in the sample that were not blind."""
    sources: SourceStrata = NO_SOURCE_STRATA
    """Which automatic sources the estimate uses."""
    problems: Sequence[str] = ()
    """Messages about queue files that cannot be used as samples."""

    @property
    def n_drawn(self) -> int:
        return sum(outcome.n_drawn for outcome in self.outcomes)

    @property
    def n_decided(self) -> int:
        return sum(outcome.n_decided for outcome in self.outcomes)

    @property
    def n_not_drawn(self) -> int:
        return sum(outcome.n_items - outcome.n_drawn for outcome in self.outcomes)

    @property
    def n_disagreements(self) -> int:
        return sum(outcome.n_disagreements for outcome in self.outcomes)

    @property
    def n_reviews_left(self) -> int:
        """Number of reviews that the annotators of the sample still have to record."""
        return sum(queue.n_reviews_left for queue in self.queues)

    @property
    def lacks_own_estimate(self) -> bool:
        """Whether the benchmark's own metric has no estimate, because too few items are
        reviewed.
        """
        return self.own_estimate is not None and self.own_estimate.headline is None

    @property
    def n_needed(self) -> int | None:
        """Number of further labels for the target interval, or None if it is unknown.

        The interval is that of the benchmark's own metric or, without an estimate of it, of the
        pass rate.
        """
        if self.own_estimate is not None:
            return self.own_estimate.needed
        if self.estimate is not None:
            return self.estimate.needed
        return None

    @property
    def n_to_draw(self) -> int:
        """Number of further items to draw for the target interval, at most as many as are left."""
        n_wanted = self.n_needed or DEFAULT_SAMPLE_SIZE
        return min(n_wanted, self.n_not_drawn)

    @property
    def half_width(self) -> float | None:
        """Half the width of the confidence interval, in percentage points, or None without an
        interval.

        The interval is that of the benchmark's own metric or, without an estimate of it, of the
        pass rate.
        """
        if self.own_estimate is not None:
            return _measure_half_width(self.own_estimate)
        if self.estimate is None:
            return None
        # The limits of a pass rate are shares, from 0 to 1.
        return 100 * (self.estimate.high - self.estimate.low) / 2


def _measure_half_width(estimate: MetricEstimate) -> float | None:
    """Return half the width of a metric's interval, in percentage points, or None without an
    interval.
    """
    if estimate.low is None or estimate.high is None:
        return None
    half_width = (estimate.high - estimate.low) / 2
    # The unit can be another one than percent, such as a share from 0 to 1.
    one_point = PERCENTAGE_POINT.get(estimate.unit, 1.0)
    return half_width / one_point


def read_run_sample(run: RunRow, store: Store) -> RunSample:
    """Read the random sample of a run: how far it is reviewed, and which pass rate it gives."""
    status = store.analysis.fetch_sample_status(run.run)
    queue_names: list[str] = []
    for sample in status.samples:
        queue_names += sample.queue_names
    return RunSample(
        run.run,
        estimate=_estimate_pass_rate_of_sample(run, status.items),
        outcomes=_count_sample_outcomes(status.items),
        queues=_read_queue_progress(queue_names, store),
        n_seen_reviews=store.analysis.count_seen_reviews(run.run, queue_names),
        sources=status.sources,
        problems=status.problems,
    )


def _estimate_pass_rate_of_sample(
    run: RunRow, item_statuses: Sequence[ItemStatus]
) -> PassRateEstimate | None:
    """Estimate the pass rate of a run. None without a sample, and for a very large run."""
    has_drawn_items = any(status.sample_outcome for status in item_statuses)
    if not has_drawn_items or run.n_items > MAX_ESTIMATED_ITEMS:
        return None
    return estimate_pass_rate(item_statuses, TARGET_HALF_WIDTH)


def _read_queue_progress(queue_names: Sequence[str], store: Store) -> list[QueueProgress]:
    """Return how far each annotator is in each queue file, in the order of the file names."""
    queues = []
    for name in sorted(queue_names):
        for share in store.measure_queue_progress(name):
            queues.append(QueueProgress(name, share))
    return queues


def _count_sample_outcomes(item_statuses: Sequence[ItemStatus]) -> list[OutcomeCounts]:
    """Count the items of each automatic verdict: pass first, then fail, other outcomes, and
    none.
    """
    groups: dict[AutomaticOutcome, list[ItemStatus]] = {}
    for status in item_statuses:
        groups.setdefault(status.automatic, []).append(status)
    outcomes = sorted(groups, key=_outcome_sort_key)
    return [_count_outcome(outcome, groups[outcome]) for outcome in outcomes]


def _outcome_sort_key(outcome: AutomaticOutcome) -> tuple[bool, bool, str]:
    is_missing = outcome is None
    is_other_than_pass = outcome is not True
    return is_missing, is_other_than_pass, str(outcome)


def _count_outcome(automatic: AutomaticOutcome, statuses: Sequence[ItemStatus]) -> OutcomeCounts:
    """Count the review outcomes of the items with one automatic verdict.

    An item that was not drawn into the sample has the outcome None.
    """
    counts = Counter(status.sample_outcome for status in statuses)
    n_not_drawn = counts[None]
    n_disagreements = counts["in disagreement"]
    # Items are undecided if annotators disagree or are unsure.
    n_undecided = sum(counts[outcome] for outcome in UNDECIDED)
    return OutcomeCounts(
        automatic,
        n_items=len(statuses),
        n_drawn=len(statuses) - n_not_drawn,
        n_decided=counts["decided"],
        n_unsure=n_undecided - n_disagreements,
        n_disagreements=n_disagreements,
    )


def describe_new_queues(old_names: Collection[str], store: Store) -> str:
    """Describe the queue files that were just created: `queue sample, 50 items for 2 annotators`.

    `old_names`: names of the queue files that existed before.
    """
    descriptions = []
    for name in list_queue_names(store.workspace):
        if name in old_names:
            continue
        queue = read_queue(store.workspace, name)
        items = format_count(len(queue.items), "item")
        annotators = format_count(len(queue.shares), "annotator")
        descriptions.append(f"queue {sanitize(queue.name)}, {items} for {annotators}")
    return ", ".join(descriptions)
