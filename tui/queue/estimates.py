"""Build the content of the estimates screen: the accuracy of each run, its sample, and the form
that draws a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import format_count
from fcreview.stats.estimation import PassRateEstimate, estimate_pass_rate
from fcreview.stats.posterior import UNDECIDED, AutomaticOutcome, ItemStatus
from fcreview.store.queue_file import list_queue_names, read_queue
from fcreview.store.rows import RunRow
from fcreview.store.store import Store
from fcreview.tui.commands import FormField
from fcreview.tui.queue.columns import shorten_run_names
from fcreview.tui.queue.header import (
    TARGET_HALF_WIDTH,
    estimate_bar,
    format_rate_and_interval,
    queue_progress_line,
)
from fcreview.tui.queue.state import QueueProgress
from fcreview.tui.text.graphics import share_bar
from fcreview.tui.text.lines import Line, StyledText, TableLines, make_line, truncate
from fcreview.tui.text.run_names import format_run_names
from fcreview.tui.text.styles import symbols

MAX_ESTIMATED_ITEMS = 20_000
MIN_BAR_CELLS = 12
NARROW_CELLS = 66
SAMPLE_SIZE, SHARED_ITEMS = 50, 10
FIRST_FIELDS = ("size", "annotators", "overlap", "stratify")
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
    problems: Sequence[str] = ()
    """Messages about queue files that cannot be used as samples."""

    @property
    def n_drawn(self) -> int:
        return sum(each.n_drawn for each in self.outcomes)

    @property
    def n_decided(self) -> int:
        return sum(each.n_decided for each in self.outcomes)

    @property
    def n_disagreements(self) -> int:
        return sum(each.n_disagreements for each in self.outcomes)

    @property
    def n_reviews_left(self) -> int:
        """Number of reviews that the annotators of the sample still have to record."""
        return sum(each.n_reviews_left for each in self.queues)


def read_run_sample(run: RunRow, store: Store) -> RunSample:
    """Read the sample of a run and estimate the pass rate of its items."""
    status = store.analysis.fetch_sample_status(run.run)
    names = sorted(name for sample in status.samples for name in sample.queue_names)
    queues = [
        QueueProgress(name, share) for name in names for share in store.measure_queue_progress(name)
    ]
    estimate = None
    if run.n_items <= MAX_ESTIMATED_ITEMS and any(each.sample_outcome for each in status.items):
        estimate = estimate_pass_rate(status.items, TARGET_HALF_WIDTH)
    return RunSample(
        run.run,
        estimate=estimate,
        outcomes=_count_sample_outcomes(status.items),
        queues=queues,
        problems=status.problems,
    )


def describe_new_queues(old_names: Collection[str], store: Store) -> str:
    """Describe the queue files whose names are not in `old_names`: `queue sample, 50 items for 2
    annotators`.
    """
    names = [name for name in list_queue_names(store.workspace) if name not in old_names]
    queues = [read_queue(store.workspace, name) for name in names]
    return ", ".join(
        f"queue {sanitize(queue.name)}, {format_count(len(queue.items), 'item')}"
        f" for {format_count(len(queue.shares), 'annotator')}"
        for queue in queues
    )


def _count_sample_outcomes(item_statuses: Sequence[ItemStatus]) -> list[OutcomeCounts]:
    groups: dict[AutomaticOutcome, list[ItemStatus]] = {}
    for status in item_statuses:
        groups.setdefault(status.automatic, []).append(status)
    counts = []
    for automatic in sorted(groups, key=lambda each: (each is None, each is not True, str(each))):
        found = Counter(status.sample_outcome for status in groups[automatic])
        drawn = sum(found.values()) - found[None]
        open_items = found["in disagreement"]
        undecided = sum(found[outcome] for outcome in UNDECIDED) - open_items
        counts.append(
            OutcomeCounts(
                automatic,
                n_items=len(groups[automatic]),
                n_drawn=drawn,
                n_decided=found["decided"],
                n_unsure=undecided,
                n_disagreements=open_items,
            )
        )
    return counts


# -- accuracy


def format_labels_needed(estimate: PassRateEstimate | None) -> str:
    """Return how many more labels an interval of ±2 points needs: `38 more` or `enough`."""
    if estimate is None or estimate.needed is None:
        return symbols().none
    return f"{estimate.needed:,} more" if estimate.needed else "enough"


def build_accuracy_table(
    runs: Sequence[RunRow],
    sample_by_run: Mapping[int, RunSample],
    unread_runs: frozenset[int],
    width: int,
) -> TableLines:
    """Return a table with a line for each run.

    Args:
        sample_by_run: Samples that are read, by run number.
        unread_runs: Numbers of the runs whose samples are not read yet.
    """
    labels = format_run_names(runs)
    longest = max((display_width(label) for label in labels.values()), default=0)
    needed = "labels needed" if width >= NARROW_CELLS else "more"
    needed_cells = 16 if width >= NARROW_CELLS else 7
    fixed = 10 + 24 + needed_cells
    size = max(12, min(longest, 34, width - fixed))
    bar_cells = width - fixed - size - 2
    bar_cells = bar_cells if bar_cells >= MIN_BAR_CELLS else 0
    mark = f"{symbols().official} official  {symbols().point} estimated"
    middle = f"  {truncate(mark, bar_cells):{bar_cells}}" if bar_cells else ""
    heading = (
        f"{pad('run', size)}{'official':>10} "
        f" {'estimated, 95 % CI':22}{middle}{needed:>{needed_cells}}"
    )
    shortened = shorten_run_names(list(dict.fromkeys(labels[run.run] for run in runs)), size)
    lines: list[Line] = []
    for run in runs:
        name, sample = labels[run.run], sample_by_run.get(run.run)
        estimate = sample.estimate if sample is not None else None
        rate = run.official_pass / run.n_items if run.official_known == run.n_items > 0 else None
        official = symbols().none if rate is None else f"{100 * rate:.1f} %"
        interval = symbols().none if estimate is None else format_rate_and_interval(estimate)
        interval = "reading" if run.run in unread_runs else interval
        line: list[StyledText] = [
            (pad(shortened.get(name, name), size), ""),
            (official.rjust(10), ""),
            (f"  {interval:22}", "strong" if estimate is not None else "dim"),
        ]
        if bar_cells:
            blank: Line = ((" " * bar_cells, ""),)
            line += [
                ("  ", ""),
                *(blank if estimate is None else estimate_bar(estimate, run, bar_cells)),
            ]
        count = format_labels_needed(estimate)
        count = count if width >= NARROW_CELLS else count.partition(" ")[0]
        line.append((count.rjust(needed_cells), "" if estimate is not None else "dim"))
        lines.append(tuple(line))
    return TableLines(make_line(heading, "dim"), lines)


# -- sample


def sample_lines(sample: RunSample | None, width: int) -> list[Line]:
    """Return the review outcomes of the sampled items by automatic verdict, then the progress of
    each annotator.
    """
    if sample is None:
        return [make_line("reading", "dim")]
    if not sample.n_drawn:
        return [
            make_line("no sample yet", "dim"),
            *(make_line(sanitize(each), "warn") for each in sample.problems),
        ]
    bar_cells = max(min(12, width - 49), 0)
    gap = " " * (bar_cells + 1 if bar_cells else 0)
    lines = [
        make_line(
            f"{'automatic':10}{'items':>8}{'drawn':>7}{gap}{'decided':>9}{'unsure':>8}{'open':>6}",
            "dim",
        )
    ]
    for each in sample.outcomes:
        name = AUTOMATIC_NAMES.get(each.automatic, str(each.automatic))
        line: list[StyledText] = [
            (f"{truncate(name, 9):10}{each.n_items:>8,}{each.n_drawn:>7,}", "")
        ]
        if bar_cells:
            line += [
                (" ", ""),
                *share_bar(each.n_decided / each.n_drawn if each.n_drawn else 0, bar_cells),
            ]
        line.append((f"{each.n_decided:>9,}{each.n_unsure:>8,}", ""))
        line.append((f"{each.n_disagreements:>6,}", "disputed" if each.n_disagreements else ""))
        lines.append(tuple(line))
    lines += [queue_progress_line(each, width) for each in sample.queues]
    return lines


def next_step_line(
    sample: RunSample | None,
    annotator: str,
    key_names: Mapping[str, str],
    *,
    can_switch_annotator: bool = True,
) -> Line:
    """Return a hint such as `Resolve 4 disagreements: press x`.

    `key_names`: displayed key names by action id.
    """
    if sample is None:
        return ()

    def format_press_hint(action_id: str) -> str:
        return f": press {key_names[action_id]}" if action_id in key_names else ""

    if not sample.n_drawn:
        return make_line(
            f"No sample yet. Fill in the form to draw one{format_press_hint('estimates.draw')}"
        )
    unfinished = [each for each in sample.queues if each.n_reviews_left]
    own = next((each for each in unfinished if each.share.annotator == annotator), None)
    if own is not None:
        items = format_count(own.n_reviews_left, "item")
        return make_line(
            f"Review your {items} of {sanitize(own.queue)}{format_press_hint('estimates.review')}"
        )
    if sample.n_disagreements:
        disagreements = format_count(sample.n_disagreements, "disagreement")
        return make_line(f"Resolve {disagreements}{format_press_hint('estimates.adjudicate')}")
    if unfinished:
        name, items = (
            sanitize(unfinished[0].share.annotator),
            format_count(unfinished[0].n_reviews_left, "item"),
        )
        hint = format_press_hint("estimates.review") if can_switch_annotator else ""
        return make_line(
            f"{name} has {items} left" + (f". To review as {name}{hint}" if hint else "")
        )
    estimate = sample.estimate
    if sum(each.n_items for each in sample.outcomes) > MAX_ESTIMATED_ITEMS:
        return make_line(
            f"The run has more than {MAX_ESTIMATED_ITEMS:,} items. Estimate"
            f" it{format_press_hint('estimates.metrics')}"
        )
    if estimate is None:
        text = "The sample covers only part of the run. Draw one from the whole run"
        return make_line(text + format_press_hint("estimates.draw"), "warn")
    if estimate.needed:
        text = (
            f"All drawn items are reviewed. For {symbols().plus_minus} 2 points, draw"
            f" {estimate.needed:,} more"
        )
        return make_line(text + format_press_hint("estimates.draw"))
    return make_line(f"The estimate is accurate to {symbols().plus_minus} 2 points")


def accuracy_range_line(sample: RunSample | None) -> Line:
    """Describe the accuracy if all undecided items fail and if all pass.

    Empty if no item is undecided.
    """
    estimate = sample.estimate if sample is not None else None
    if estimate is None or estimate.bounds is None:
        return ()
    items = format_count(estimate.n_undecided, "undecided item")
    if estimate.is_bounds_headline:
        return make_line(f"Only a range is known, because {items} may pass or fail", "warn")
    low, high = (100 * bound for bound in estimate.bounds)
    return make_line(f"{low:.1f} to {high:.1f} %, depending on {items}", "dim")


# -- form


def choose_sampling_command(sample: RunSample | None) -> str:
    """Return the command that draws a sample: `queue extend` if the run has an estimate, else
    `queue create`.
    """
    return "queue extend" if sample is not None and sample.estimate is not None else "queue create"


def build_sampling_form_defaults(
    command: str, run: RunRow, sample: RunSample | None, annotators: str, queue_names: Sequence[str]
) -> dict[str, str]:
    """Return the initial values of the sampling form by field name. `annotators`: names, separated
    by commas. `queue_names`: names of the existing queue files.
    """
    if command == "queue extend" and sample is not None and sample.estimate is not None:
        size = str(sample.estimate.needed or SAMPLE_SIZE)
        return {"name": sample.queues[0].queue, "size": size, "run": str(run.run)}
    name = next(
        name
        for name in ("sample", *(f"sample-{at}" for at in range(2, 1000)))
        if name not in queue_names
    )
    has_official = run.official_known == run.n_items > 0
    return {
        "name": name,
        "size": str(min(SAMPLE_SIZE, run.n_items)),
        "annotators": annotators,
        "overlap": str(min(SHARED_ITEMS, run.n_items)),
        "stratify": "official" if has_official else "",
        "run": str(run.run),
    }


def fill_and_order_fields(
    fields: Sequence[FormField], defaults: Mapping[str, str]
) -> list[FormField]:
    """Return the fields with the initial values in `defaults`, those that users change most
    first.
    """
    filled = [replace(each, default=defaults.get(each.name, each.default)) for each in fields]
    ranks = {name: rank for rank, name in enumerate(FIRST_FIELDS)}
    return sorted(filled, key=lambda each: ranks.get(each.name, len(ranks)))


def expected_interval_line(
    form_values: Mapping[str, str], run: RunRow, sample: RunSample | None
) -> Line:
    """Return the expected confidence interval and the number of items for each annotator."""
    size = _parse_count_or_zero(form_values.get("size", ""))
    annotators = [
        name for name in map(str.strip, form_values.get("annotators", "").split(",")) if name
    ]
    if not size or size > run.n_items:
        return ()
    estimate = sample.estimate if sample is not None else None
    if estimate is not None and sample is not None and 0 < sample.n_decided < run.n_items:
        known, all_items = sample.n_decided, run.n_items
        share = max(1 / (known + size) - 1 / all_items, 0) / (1 / known - 1 / all_items)
        points = 50 * (estimate.high - estimate.low) * sqrt(share)
        interval = f"expected: about {symbols().plus_minus} {points:.0f} points"
    else:
        points = 100 * Z95 * sqrt(0.25 / size * (1 - size / run.n_items))
        interval = f"expected: at most {symbols().plus_minus} {points:.0f} points"
    shared = min(_parse_count_or_zero(form_values.get("overlap", "")), size)
    each = ""
    if annotators:
        count = shared + -(-(size - shared) // len(annotators))
        each = f", {format_count(count, 'item')}" + (" each" if len(annotators) > 1 else "")
    return make_line(f"{interval}{each}", "dim")


def _parse_count_or_zero(text: str) -> int:
    return int(text) if text.strip().isdecimal() and len(text) < 10 else 0
