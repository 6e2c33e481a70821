"""Describe the estimated accuracy of runs: the table of all runs, the sample of one run with its
review outcomes, what its estimate is about, and the next step towards a better one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from fcreview.model.metric import OwnScore
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.stats.posterior import AutomaticOutcome
from fcreview.store.queries.runs import make_run_figures
from fcreview.store.rows import RunRow
from fcreview.tables.estimates import (
    AccuracyFigures,
    build_accuracy_table,
    format_pass_rate_estimate,
    format_pass_rate_range,
    format_seen_reviews,
)
from fcreview.tables.runs import OwnScores
from fcreview.tables.table import Table
from fcreview.tui.figures.run_sample import MAX_ESTIMATED_ITEMS, OutcomeCounts, RunSample
from fcreview.tui.queue.header import TARGET_HALF_WIDTH, queue_progress_line
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

AUTOMATIC_NAMES: Mapping[AutomaticOutcome, str] = {True: "pass", False: "fail", None: "none"}


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
        own_score = own_scores.get(run.run)
        run_figures = replace(make_run_figures(run), estimate=sample.estimate, own=own_score)
        accuracy = AccuracyFigures(
            run_figures,
            own_estimate=sample.own_estimate,
            is_estimating_own=sample.is_estimating_own,
            is_reading=run.run in unread_runs,
        )
        figures.append(accuracy)
    return build_accuracy_table(figures, 100 * TARGET_HALF_WIDTH)


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
    review theirs, draw more items.

    Args:
        annotator: The user.
        key_names: Displayed key names by action id.
        can_switch_annotator: Whether the user may review as another annotator.
    """
    if sample is None:
        return BLANK_LINE
    if not sample.n_drawn:
        hint = _press_hint("estimates.draw", key_names)
        return make_line(f"No sample yet. Fill in the form to draw one{hint}")

    review_hint = _press_hint("estimates.review", key_names)
    unfinished = [queue for queue in sample.queues if queue.n_reviews_left]
    for queue in unfinished:
        if queue.share.annotator == annotator:
            items = format_count(queue.n_reviews_left, "item")
            return make_line(f"Review your {items} of {sanitize(queue.queue)}{review_hint}")

    if sample.n_disagreements:
        disagreements = format_count(sample.n_disagreements, "disagreement")
        hint = _press_hint("estimates.adjudicate", key_names)
        return make_line(f"Resolve {disagreements}{hint}")

    if unfinished and can_switch_annotator:
        return _other_annotator_line(unfinished[0], review_hint)
    if unfinished:
        return _other_annotator_line(unfinished[0], review_hint="")
    return _reviewed_sample_line(sample, key_names)


def _press_hint(action_id: str, key_names: Mapping[str, str]) -> str:
    """Return `: press x`. Empty if the action has no key."""
    if action_id not in key_names:
        return ""
    return f": press {key_names[action_id]}"


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
    if sample.lacks_own_estimate:
        text = "All drawn items are reviewed. For an estimate of the benchmark's own metric"
        return make_line(f"{text}, draw more{draw_hint}")
    return _precision_line(sample.n_needed, draw_hint)


def _precision_line(n_needed: int | None, draw_hint: str) -> Line:
    """Say whether the estimate is precise enough, or how many more items to draw.

    `n_needed`: number of further labels for the target interval, or None if it is unknown.
    """
    target = f"{symbols().plus_minus} 2 points"
    if n_needed is None:
        return make_line("All drawn items are reviewed")
    if n_needed == 0:
        return make_line(f"The estimate is accurate to {target}")
    advice = f"For {target}, draw {n_needed:,} more{draw_hint}"
    return make_line(f"All drawn items are reviewed. {advice}")


def accuracy_range_line(sample: RunSample | None) -> Line:
    """Describe between which values the accuracy lies, depending on the undecided items.

    An item is undecided if annotators are unsure or disagree. At one end of the range, all
    undecided items fail, at the other one, all pass. Empty if no item is undecided.
    """
    if sample is None or sample.estimate is None:
        return BLANK_LINE
    estimate = sample.estimate
    if estimate.bounds is None:
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
    if sample.own_estimate is None or own is None:
        parts = ["Estimated: items passed"]
    elif sample.lacks_own_estimate:
        parts = [
            f"Estimated: items passed. {sanitize(own.title)}: too few reviewed items in categories"
        ]
    else:
        official = make_run_figures(run).official_text
        estimated = format_pass_rate_estimate(sample.estimate)
        passed = f"items passed: {official}, estimated {estimated}"
        parts = [f"Estimated: {sanitize(own.title)}. {passed}"]

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
    text = f"Sources used: {len(sources.used_names)} of {len(sources.uses)}. {sources.why}"
    if sources.used_names:
        names = ", ".join(sanitize(name) for name in sources.used_names)
        text = f"{text} {names}"
    return make_line(text, "dim")
