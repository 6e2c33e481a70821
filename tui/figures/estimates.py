"""Build the content of the estimates screen: the accuracy of each run, its sample, and the form
that draws a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from math import (
    ceil,
    sqrt,
)

from fcreview.model.metric import OwnScore
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
from fcreview.store.queries.runs import make_run_figures
from fcreview.store.queue_file import list_queue_names, read_queue
from fcreview.store.rows import RunRow
from fcreview.store.store import Store
from fcreview.tables.estimates import (
    AccuracyFigures,
    build_accuracy_table,
    format_pass_rate_estimate,
    format_pass_rate_range,
    format_seen_reviews,
)
from fcreview.tables.runs import OwnScores
from fcreview.tables.table import Table
from fcreview.tui.commands import YES, FormField
from fcreview.tui.queue.header import (
    TARGET_HALF_WIDTH,
    find_official_rate,
    queue_progress_line,
)
from fcreview.tui.queue_state import QueueProgress
from fcreview.tui.text.graphics import share_bar
from fcreview.tui.text.lines import (
    BLANK_LINE,
    FixedColumn,
    Line,
    fixed_columns_width,
    lay_out_fixed_columns,
    make_line,
    truncate,
)
from fcreview.tui.text.styles import symbols

MAX_ESTIMATED_ITEMS = 20_000
SAMPLE_SIZE, SHARED_ITEMS = 50, 10
FIRST_FIELDS = ("size", "annotators", "blind", "overlap", "stratify")
Z95 = 1.96
AUTOMATIC_NAMES: Mapping[AutomaticOutcome, str] = {True: "pass", False: "fail", None: "none"}


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
        return sum(each.n_drawn for each in self.outcomes)

    @property
    def n_decided(self) -> int:
        return sum(each.n_decided for each in self.outcomes)

    @property
    def n_not_drawn(self) -> int:
        return sum(each.n_items - each.n_drawn for each in self.outcomes)

    @property
    def n_to_draw(self) -> int:
        """Number of further items to draw for the target interval, at most as many as are left."""
        return min(self.n_needed or SAMPLE_SIZE, self.n_not_drawn)

    @property
    def n_needed(self) -> int | None:
        """Number of further labels for the target interval, or None if it is unknown.

        The interval is that of the benchmark's own metric or, without an estimate of it, of the
        pass rate.
        """
        if self.own_estimate is not None:
            return self.own_estimate.needed
        return None if self.estimate is None else self.estimate.needed

    @property
    def half_width(self) -> float | None:
        """Half the width of the confidence interval, in percentage points, or None without an
        interval.

        The interval is that of the benchmark's own metric or, without an estimate of it, of the
        pass rate.
        """
        own = self.own_estimate
        if own is not None:
            if own.low is None or own.high is None:
                return None
            # A metric can have another unit than percent, such as a share from 0 to 1.
            one_point = PERCENTAGE_POINT.get(own.unit, 1.0)
            return (own.high - own.low) / 2 / one_point

        if self.estimate is None:
            return None
        # The limits of a pass rate are shares, from 0 to 1.
        return 100 * (self.estimate.high - self.estimate.low) / 2

    @property
    def n_disagreements(self) -> int:
        return sum(each.n_disagreements for each in self.outcomes)

    @property
    def n_reviews_left(self) -> int:
        """Number of reviews that the annotators of the sample still have to record."""
        return sum(each.n_reviews_left for each in self.queues)


def read_run_sample(run: RunRow, store: Store) -> RunSample:
    """Read the random sample of a run: how far it is reviewed, and which pass rate it gives."""
    status = store.analysis.fetch_sample_status(run.run)
    queue_names: list[str] = []
    for sample in status.samples:
        queue_names += sample.queue_names
    queues = []
    for name in sorted(queue_names):
        queues += [QueueProgress(name, share) for share in store.measure_queue_progress(name)]

    estimate = None
    # Estimating takes too long on very large runs.
    has_drawn_items = any(item.sample_outcome for item in status.items)
    if has_drawn_items and run.n_items <= MAX_ESTIMATED_ITEMS:
        estimate = estimate_pass_rate(status.items, TARGET_HALF_WIDTH)
    return RunSample(
        run.run,
        estimate=estimate,
        outcomes=_count_sample_outcomes(status.items),
        queues=queues,
        n_seen_reviews=store.analysis.count_seen_reviews(run.run, queue_names),
        sources=status.sources,
        problems=status.problems,
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


# -- accuracy


def build_accuracy_figure(
    runs: Sequence[RunRow],
    sample_by_run: Mapping[int, RunSample],
    unread_runs: frozenset[int],
    own_scores: OwnScores,
) -> Table:
    """Return the table with the estimated accuracy of each run.

    Args:
        sample_by_run: Samples that are read, by run number.
        unread_runs: Numbers of the runs whose samples are not read yet.
        own_scores: Values of the benchmark's own metric, by run number.
    """
    figures = []
    for run in runs:
        # A sample that is not read yet is shown like an empty one.
        sample = sample_by_run.get(run.run, RunSample(run.run))
        run_figures = replace(
            make_run_figures(run), estimate=sample.estimate, own=own_scores.get(run.run)
        )
        accuracy = AccuracyFigures(
            run_figures,
            own_estimate=sample.own_estimate,
            is_estimating_own=sample.is_estimating_own,
            is_reading=run.run in unread_runs,
        )
        figures.append(accuracy)
    return build_accuracy_table(figures, 100 * TARGET_HALF_WIDTH)


# -- sample


MAX_SAMPLE_BAR_CELLS = 12
MAX_OUTCOME_CELLS = 9
OPEN_CELLS = 6
"""Widths, in cells, of parts of the table of the sample."""


def sample_lines(sample: RunSample | None, width: int) -> list[Line]:
    """Return a table of a sample's review outcomes, and a progress bar for each queue file.

    The table counts the sampled items by automatic verdict: decided, unsure and in disagreement.
    Without a sample, a line says so.
    """
    if sample is None:
        return [make_line("reading", "dim")]
    if not sample.n_drawn:
        problems = [make_line(sanitize(problem), "warn") for problem in sample.problems]
        return [make_line("no sample yet", "dim"), *problems]

    table = lay_out_fixed_columns(_choose_outcome_columns(width), sample.outcomes)
    progress = [queue_progress_line(queue, width) for queue in sample.queues]
    return [table.heading, *table.rows, *progress]


def _choose_outcome_columns(width: int) -> list[FixedColumn[OutcomeCounts]]:
    """Return the columns of the table of sampled items: counts, and a bar of the decided share.

    If there is no room, the bar is omitted.
    """
    # The numbers are the widths of the columns, in cells.
    before_bar = [
        FixedColumn("automatic", width=10, make_cell=_outcome_cell, gap=""),
        _count_column("items", 8, lambda outcome: make_line(f"{outcome.n_items:,}")),
        _count_column("drawn", 7, lambda outcome: make_line(f"{outcome.n_drawn:,}")),
    ]
    after_bar = [
        _count_column("decided", 9, lambda outcome: make_line(f"{outcome.n_decided:,}")),
        _count_column("unsure", 8, lambda outcome: make_line(f"{outcome.n_unsure:,}")),
        _count_column("open", OPEN_CELLS, _disagreements_cell),
    ]

    # A blank stands before the bar.
    room = width - fixed_columns_width(before_bar) - fixed_columns_width(after_bar) - 1
    bar_cells = min(MAX_SAMPLE_BAR_CELLS, room)
    if bar_cells <= 0:
        return before_bar + after_bar

    def make_bar(outcome: OutcomeCounts) -> Line:
        return _decided_bar(outcome, bar_cells)

    bar = FixedColumn("", width=bar_cells, make_cell=make_bar, gap=" ")
    return [*before_bar, bar, *after_bar]


def _count_column(
    title: str, width: int, make_cell: Callable[[OutcomeCounts], Line]
) -> FixedColumn[OutcomeCounts]:
    return FixedColumn(title, width=width, make_cell=make_cell, align_right=True, gap="")


def _outcome_cell(outcome: OutcomeCounts) -> Line:
    name = AUTOMATIC_NAMES.get(outcome.automatic, str(outcome.automatic))
    return make_line(truncate(name, MAX_OUTCOME_CELLS))


def _disagreements_cell(outcome: OutcomeCounts) -> Line:
    style = "disputed" if outcome.n_disagreements else ""
    return make_line(f"{outcome.n_disagreements:,}".rjust(OPEN_CELLS), style)


def _decided_bar(outcome: OutcomeCounts, cells: int) -> Line:
    if not outcome.n_drawn:
        return share_bar(0, cells)
    return share_bar(outcome.n_decided / outcome.n_drawn, cells)


def next_step_line(
    sample: RunSample | None,
    annotator: str,
    key_names: Mapping[str, str],
    *,
    can_switch_annotator: bool = True,
) -> Line:
    """Return a hint on the next step towards an estimate, such as `Resolve 4 disagreements: press
    x`.

    The steps are: draw a sample, review your items of it, resolve disagreements, let the others
    review theirs. `key_names`: displayed key names by action id.
    """
    if sample is None:
        return BLANK_LINE
    if not sample.n_drawn:
        hint = _press_hint("estimates.draw", key_names)
        return make_line(f"No sample yet. Fill in the form to draw one{hint}")

    unfinished = [queue for queue in sample.queues if queue.n_reviews_left]
    for queue in unfinished:
        if queue.share.annotator == annotator:
            items = format_count(queue.n_reviews_left, "item")
            hint = _press_hint("estimates.review", key_names)
            return make_line(f"Review your {items} of {sanitize(queue.queue)}{hint}")

    if sample.n_disagreements:
        disagreements = format_count(sample.n_disagreements, "disagreement")
        hint = _press_hint("estimates.adjudicate", key_names)
        return make_line(f"Resolve {disagreements}{hint}")
    if unfinished:
        hint = _press_hint("estimates.review", key_names) if can_switch_annotator else ""
        return _other_annotator_line(unfinished[0], hint)
    return _reviewed_sample_line(sample, key_names)


def _press_hint(action_id: str, key_names: Mapping[str, str]) -> str:
    """Return `: press x`. Empty if the action has no key."""
    key = key_names.get(action_id)
    return "" if key is None else f": press {key}"


def _other_annotator_line(queue: QueueProgress, review_hint: str) -> Line:
    """Say who has items left, and which key reviews as this annotator."""
    name = sanitize(queue.share.annotator)
    text = f"{name} has {format_count(queue.n_reviews_left, 'item')} left"
    if review_hint:
        text += f". To review as {name}{review_hint}"
    return make_line(text)


def _reviewed_sample_line(sample: RunSample, key_names: Mapping[str, str]) -> Line:
    """Say what to do after all drawn items are reviewed: draw more items, or nothing."""
    n_items = sum(outcome.n_items for outcome in sample.outcomes)
    if n_items > MAX_ESTIMATED_ITEMS:
        hint = _press_hint("estimates.metrics", key_names)
        return make_line(f"The run has more than {MAX_ESTIMATED_ITEMS:,} items. Estimate it{hint}")

    draw_hint = _press_hint("estimates.draw", key_names)
    if sample.estimate is None:
        text = "The sample covers only part of the run. Draw one from the whole run"
        return make_line(text + draw_hint, "warn")
    if sample.is_estimating_own:
        return make_line("All drawn items are reviewed. Estimating the benchmark's own metric ...")

    target = f"{symbols().plus_minus} 2 points"
    n_needed = sample.n_needed
    if n_needed is None:
        return make_line("All drawn items are reviewed")
    if n_needed == 0:
        return make_line(f"The estimate is accurate to {target}")
    text = f"All drawn items are reviewed. For {target}, draw {n_needed:,} more"
    return make_line(text + draw_hint)


def accuracy_range_line(sample: RunSample | None) -> Line:
    """Describe between which values the accuracy lies, depending on the undecided items.

    An item is undecided if annotators are unsure or disagree. At one end of the range, all
    undecided items fail, at the other one, all pass. Empty if no item is undecided.
    """
    estimate = sample.estimate if sample is not None else None
    if estimate is None or estimate.bounds is None:
        return BLANK_LINE
    items = format_count(estimate.n_undecided, "undecided item")
    if estimate.is_bounds_headline:
        return make_line(f"Only a range is known, because {items} may pass or fail", "warn")
    return make_line(f"{format_pass_rate_range(*estimate.bounds)}, depending on {items}", "dim")


def estimate_meaning_line(sample: RunSample | None, own: OwnScore | None, run: RunRow) -> Line:
    """Return a line that says which figure is estimated, such as `Estimated: items passed`.

    For a benchmark with its own metric, the pass rate and its estimate follow. The number of
    reviews that were not blind comes last. The line is empty without an estimate.
    """
    if sample is None or sample.estimate is None:
        return BLANK_LINE
    passed = "items passed"
    if sample.own_estimate is not None and own is not None:
        official = make_run_figures(run).official_text
        estimated = format_pass_rate_estimate(sample.estimate)
        parts = [f"Estimated: {sanitize(own.title)}. {passed}: {official}, estimated {estimated}"]
    else:
        parts = [f"Estimated: {passed}"]
    seen_reviews = format_seen_reviews(sample.n_seen_reviews)
    if seen_reviews:
        parts.append(seen_reviews)
    return make_line(f" {symbols().separator} ".join(parts), "dim")


def sources_line(sample: RunSample | None) -> Line:
    """Say which automatic sources the estimate uses, and why. Empty without an estimate, and for a
    run with fewer than two sources.
    """
    if sample is None or sample.estimate is None or not sample.sources.uses:
        return BLANK_LINE
    sources = sample.sources
    counts = f"Sources used: {len(sources.used_names)} of {len(sources.uses)}."
    if not sources.used_names:
        return make_line(f"{counts} {sources.why}", "dim")
    names = ", ".join(sanitize(name) for name in sources.used_names)
    return make_line(f"{counts} {sources.why} {names}", "dim")


# -- form


def choose_sampling_command(sample: RunSample | None) -> str:
    """Return the command that draws a sample: `queue extend` if the run has an estimate, else
    `queue create`.
    """
    return "queue extend" if sample is not None and sample.estimate is not None else "queue create"


def build_sampling_form_defaults(
    command: str,
    run: RunRow,
    sample: RunSample | None,
    annotators: str,
    queue_names: Sequence[str],
) -> dict[str, str]:
    """Return the initial values of the form that draws a sample, by field name.

    `command`: `queue create`, or `queue extend`, which draws more items into an existing queue.
    `annotators`: names, separated by commas. `queue_names`: names of the existing queue files.
    """
    if command == "queue extend" and sample is not None and sample.estimate is not None:
        # As many more items as the target interval needs.
        size = str(sample.n_to_draw)
        return {"name": sample.queues[0].queue, "size": size, "run": str(run.run)}
    return {
        "name": _find_free_queue_name(queue_names),
        "size": str(min(SAMPLE_SIZE, run.n_items)),
        "annotators": annotators,
        "overlap": str(min(SHARED_ITEMS, run.n_items)),
        "stratify": "" if find_official_rate(run) is None else "official",
        "run": str(run.run),
        "blind": YES,
    }


def _find_free_queue_name(existing_names: Sequence[str]) -> str:
    """Return `sample`, `sample-2` and so on, the first that does not exist."""
    name = "sample"
    number = 1
    while name in existing_names:
        number += 1
        name = f"sample-{number}"
    return name


def fill_and_order_fields(
    fields: Sequence[FormField], defaults: Mapping[str, str]
) -> list[FormField]:
    """Return the fields with the initial values in `defaults`, those that users change most
    first.
    """
    filled = [replace(field, default=defaults.get(field.name, field.default)) for field in fields]
    ranks = {name: rank for rank, name in enumerate(FIRST_FIELDS)}
    return sorted(filled, key=lambda field: ranks.get(field.name, len(ranks)))


def expected_interval_line(
    form_values: Mapping[str, str], run: RunRow, sample: RunSample | None
) -> Line:
    """Say how wide the confidence interval will be with a sample of the size in the form, and how
    many items each annotator gets.

    Empty without a valid size.
    """
    size = _parse_count_or_zero(form_values.get("size", ""))
    if not size or size > run.n_items:
        return BLANK_LINE

    sign = symbols().plus_minus
    points = _expected_points(size, run, sample)
    if points is not None:
        text = f"expected: about {sign} {points:.1f} points"
    else:
        text = f"expected: at most {sign} {_largest_expected_points(size, run):.0f} points"
    return make_line(text + _format_items_of_annotators(form_values, size), "dim")


def _format_items_of_annotators(form_values: Mapping[str, str], size: int) -> str:
    """Return how many of `size` items each annotator in the form gets: `, 30 items each`.

    All annotators review the shared items (the field `overlap`), and each one a part of the others.
    """
    annotators = _split_names(form_values.get("annotators", ""))
    if not annotators:
        return ""
    n_shared = min(_parse_count_or_zero(form_values.get("overlap", "")), size)
    n_own_items = ceil((size - n_shared) / len(annotators))
    text = f", {format_count(n_shared + n_own_items, 'item')}"
    if len(annotators) > 1:
        text += " each"
    return text


def _split_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    return [name for name in names if name]


def _expected_points(size: int, run: RunRow, sample: RunSample | None) -> float | None:
    """Return how precise the estimate will be with `size` more labels.

    The result is half the width of the confidence interval, in percentage points. It is derived
    from the current estimate, and None if there is none.
    """
    if sample is None or sample.half_width is None:
        return None
    n_labels = sample.n_decided
    n_items = run.n_items
    if not 0 < n_labels < n_items:
        return None

    # No more items can be drawn than are left.
    n_new_labels = min(size, sample.n_not_drawn)
    n_labels_then = n_labels + n_new_labels
    points_then = sample.half_width * _shrink_interval(n_labels, n_labels_then, n_items)
    n_needed = sample.n_needed
    if not n_needed:
        return points_then

    # Another line advises to draw `n_needed` more labels for the target of ± 2 points. So that
    # both agree, fewer labels never reach the target, and more of them start from it.
    target = 100 * TARGET_HALF_WIDTH
    if n_new_labels < n_needed:
        return max(points_then, target)
    n_labels_at_target = n_labels + n_needed
    return target * _shrink_interval(n_labels_at_target, n_labels_then, n_items)


def _shrink_interval(n_before: int, n_after: int, n_items: int) -> float:
    """Return the factor, from 0 to 1, by which a confidence interval shrinks with more labels.

    `n_before`, `n_after`: number of labels before and after. The width is proportional to the
    square root of the variance of a mean without replacement, 1/n - 1/`n_items`.
    """
    variance_before = 1 / n_before - 1 / n_items
    variance_after = 1 / n_after - 1 / n_items
    if variance_before <= 0 or variance_after <= 0:
        return 0.0
    return sqrt(variance_after / variance_before)


def _largest_expected_points(size: int, run: RunRow) -> float:
    """Return half the width, in percentage points, of an interval around 50 %, where it is the
    widest.
    """
    return 100 * Z95 * sqrt(0.25 / size * (1 - size / run.n_items))


def _parse_count_or_zero(text: str) -> int:
    return int(text) if text.strip().isdecimal() and len(text) < 10 else 0
