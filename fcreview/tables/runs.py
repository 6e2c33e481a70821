"""Tables of runs: the share of items that pass by each source of verdicts, and the benchmark's own
metric, which is another figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fcreview.model.metric import OwnScore
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import (
    NO_VALUE,
    format_corrected_rate,
    format_judge_rate,
    format_metric_value,
    format_official_rate,
    format_recomputed_rate,
)
from fcreview.tables.table import ALWAYS_SHOWN, Cell, Column, Cut, Row, Table, make_heading_row

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate

OwnScores = Mapping[int, OwnScore | None]
"""Value of the benchmark's own metric, by run number."""
PassCounts = tuple[int, int]
"""(number of items that pass, number of items with a verdict)."""
TIE_MARK = "="
"""Marks a run that may be as good as the best run."""
OWN_TITLE = "own metric"
"""Title of the column with own metrics if the benchmarks of the runs have different ones."""
ITEMS_PASSED_NOTE = (
    "The columns official, recomputed and corrected have the share of items that pass. Each item"
    " counts once."
)
OPEN_NOTE = (
    "open: number of open disagreements. These items keep their automatic verdict until someone"
    " adjudicates them."
)
OWN_METRIC_NOTE = (
    "{title} is the benchmark's own metric, by which it ranks models. It may weight items, and"
    " count missing items as failures."
)
MIN_RANKED_ITEMS = 30
"""Number of items below which a run comes last, because chance decides its rate."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Figures of a run for tables. Texts are sanitized."""

    name: str
    kind: str
    """Name of the run's dataset: `bfcl V1 en`."""
    items: int
    official: PassCounts
    rule: PassCounts
    corrected: PassCounts
    stated: PassCounts = (0, 0)
    """Counts from the headers of score files, for categories without result files."""
    judge: PassCounts = (0, 0)
    """Counts of judge verdicts, which replace official verdicts if there are no others."""
    disputed: int = 0
    categories: Mapping[str, tuple[int, float | None]] = field(default_factory=dict)
    """For each category: (number of items, pass rate from 0 to 1 or None if unknown)."""
    estimate: PassRateEstimate | None = None
    n_sampled: int = 0
    n_seen_reviews: int = 0
    """Number of reviews in the sample that were not blind."""
    expected_items: int | None = None
    """Number of items of the dataset in the run's categories.

    None if it is unknown or all of them have a result.
    """
    is_unfinished: bool = False
    incidents: int = 0
    lacks_dataset: bool = False
    """Whether only failed items can be recomputed, because there is no dataset."""
    without_incidents: str = ""
    """Pass rate without incidents, such as `46.9 % (211)`. Empty if the run has no incident."""
    reviewed: int = 0
    """Number of items with a review of the item or of a part."""
    partly_reviewed: int = 0
    """Number of these items of which only a part is reviewed."""
    n_issues: int = 0
    number: int = 0
    """Run number. 0 if the table does not show it."""
    is_tied: bool = False
    """Whether the run may be as good as the best run of its dataset."""
    own: OwnScore | None = None
    """Value of the benchmark's own metric. None if it has none, or if it is not computed."""

    @property
    def marked_name(self) -> str:
        """Name of the run, with a mark if it may be as good as the best run."""
        return f"{self.name} {TIE_MARK}" if self.is_tied else self.name

    @property
    def items_text(self) -> str:
        """Number of items: `400`, or `3 of 400` if items of the dataset have no result."""
        if self.expected_items is None:
            return f"{self.items:,}"
        return f"{self.items:,} of {self.expected_items:,}"

    @property
    def has_few_items(self) -> bool:
        """Whether the run comes after all others: it has few items, or lacks many of its
        dataset.
        """
        return self.is_unfinished or self.items < MIN_RANKED_ITEMS

    @property
    def has_only_judge_verdicts(self) -> bool:
        _, n_judged = self.judge
        _, n_official = self.official
        _, n_recomputed = self.rule
        return n_judged > 0 and n_official == 0 and n_recomputed == 0

    @property
    def pass_rate(self) -> float | None:
        """Pass rate, from 0 to 1, by official verdicts or, if there are none, by recomputed
        verdicts.
        """
        for n_passed, n_verdicts in (self.official, self.stated, self.rule):
            if n_verdicts:
                return n_passed / n_verdicts
        return None

    @property
    def corrected_pass_rate(self) -> float | None:
        n_passed, n_verdicts = self.corrected
        return n_passed / n_verdicts if n_verdicts else None

    @property
    def n_automatic_verdicts(self) -> int:
        """Number of items with an official verdict or, if there are none, with a recomputed
        verdict.
        """
        _, n_official = self.official
        _, n_recomputed = self.rule
        return n_official or n_recomputed

    @property
    def official_text(self) -> str:
        """Official pass rate: `71.3 %`, `71.3 % of 998`, `86.0 % stated` or `83.0 % judge`.

        A stated rate is from the header of a score file whose result file is missing.
        """
        n_stated_passed, n_stated = self.stated
        if self.has_only_judge_verdicts and not n_stated:
            return format_judge_rate(*self.judge, self.items)
        return format_official_rate(
            *self.official, self.items, stated_pass=n_stated_passed, stated_of=n_stated
        )

    @property
    def recomputed_text(self) -> str:
        return format_recomputed_rate(*self.rule, self.items, lacks_dataset=self.lacks_dataset)

    @property
    def corrected_text(self) -> str:
        return format_corrected_rate(*self.corrected, self.items, self.disputed)


@dataclass(frozen=True, slots=True)
class RunFiguresGroup:
    """Runs below one heading of a list. The heading is empty if the runs are not grouped."""

    heading: str
    runs: Sequence[RunFigures]


@dataclass(frozen=True, slots=True)
class RunColumn:
    """Column of a table with a row for each run."""

    title: str
    make_cell: Callable[[RunFigures], Cell]
    align_right: bool = True
    cut: Cut = "end"
    min_cells: int = 6
    priority: int = ALWAYS_SHOWN

    @property
    def column(self) -> Column:
        """The column of a table of runs, without the function that makes its cells."""
        return Column(
            self.title,
            align_right=self.align_right,
            cut=self.cut,
            min_cells=self.min_cells,
            priority=self.priority,
        )


def build_run_table(columns: Sequence[RunColumn], runs: Iterable[RunFigures]) -> Table:
    rows = [Row([column.make_cell(run) for column in columns]) for run in runs]
    return Table([column.column for column in columns], rows)


def list_run_notes(runs: Sequence[RunFigures]) -> list[str]:
    """Say which figures the columns have."""
    notes = [ITEMS_PASSED_NOTE]
    own = make_own_column(runs)
    if own is not None:
        title = own.title[:1].upper() + own.title[1:]
        notes.append(OWN_METRIC_NOTE.format(title=title))
    if any(run.disputed for run in runs):
        notes.append(OPEN_NOTE)
    return notes


def make_name_column(title: str) -> RunColumn:
    """Return the column with the names of the runs. A name that is too wide loses its middle,
    because runs often differ in the end of their names.
    """
    return RunColumn(
        title,
        lambda run: Cell(run.marked_name),
        align_right=False,
        cut="run name",
        min_cells=12,
    )


def make_items_column() -> RunColumn:
    return RunColumn("items", lambda run: Cell(run.items_text, "warn" if run.is_unfinished else ""))


def make_own_column(runs: Sequence[RunFigures]) -> RunColumn | None:
    """Return the column with the benchmark's own metric, or None if no run has one."""
    titles = {run.own.title for run in runs if run.own is not None}
    if not titles:
        return None
    if len(titles) == 1:
        return RunColumn(sanitize(titles.pop()), lambda run: Cell(format_own_score(run.own)))
    return RunColumn(OWN_TITLE, lambda run: Cell(_format_own_score_with_title(run.own)))


def format_own_score(own: OwnScore | None) -> str:
    if own is None:
        return NO_VALUE
    return format_metric_value(own.value, own.unit, own.digits)


def _format_own_score_with_title(own: OwnScore | None) -> str:
    """Return `39.71 % overall accuracy`."""
    if own is None:
        return ""
    return f"{format_own_score(own)} {sanitize(own.title)}"


def make_official_column() -> RunColumn:
    return RunColumn("official", lambda run: Cell(run.official_text))


def make_without_incidents_column() -> RunColumn:
    return RunColumn("w/o incidents", lambda run: Cell(run.without_incidents), priority=8)


def make_recomputed_column() -> RunColumn:
    return RunColumn("recomputed", lambda run: Cell(run.recomputed_text), priority=4)


def make_corrected_column(priority: int = ALWAYS_SHOWN) -> RunColumn:
    return RunColumn("corrected", lambda run: Cell(run.corrected_text, "strong"), priority=priority)


def make_reviewed_column() -> RunColumn:
    """Return the column with the number of items that have a review of the item or of a part."""
    return RunColumn("reviewed", lambda run: Cell(f"{run.reviewed:,}"), priority=7)


def make_count_column(
    title: str, count: Callable[[RunFigures], int], *, priority: int = ALWAYS_SHOWN
) -> RunColumn:
    return RunColumn(title, lambda run: Cell(f"{count(run):,}"), priority=priority)


def build_run_list(groups: Sequence[RunFiguresGroup]) -> Table:
    """Return the list of runs, with a heading for each group that has a name."""
    runs: list[RunFigures] = []
    for group in groups:
        runs += group.runs
    columns = [
        make_count_column("run", lambda run: run.number),
        RunColumn("benchmark", lambda run: Cell(run.kind), align_right=False),
        make_name_column("name"),
        make_items_column(),
        *list_score_columns(runs),
        make_count_column("in part", lambda run: run.partly_reviewed),
        make_count_column("issues", lambda run: run.n_issues),
    ]
    table = build_run_table(columns, runs)

    # The rows of a group follow each other.
    rows: list[Row] = []
    start = 0
    for group in groups:
        if group.heading:
            rows.append(make_heading_row(group.heading, len(columns)))
        end = start + len(group.runs)
        rows += table.rows[start:end]
        start = end
    return replace(table, rows=rows, notes=list_run_notes(runs))


def list_score_columns(runs: Sequence[RunFigures]) -> list[RunColumn]:
    """Return the columns with scores: the benchmark's own metric, the pass rates by source of the
    verdicts, and the figures that explain them. Columns without any value are left out.
    """
    columns = []
    own = make_own_column(runs)
    if own is not None:
        columns.append(own)
    columns.append(make_official_column())
    if any(run.incidents for run in runs):
        columns.append(make_without_incidents_column())
    if any(run.rule != (0, 0) for run in runs):
        columns.append(make_recomputed_column())
    has_reviews = any(run.reviewed for run in runs)
    if has_reviews:
        columns.append(make_corrected_column(ALWAYS_SHOWN))
        columns.append(make_reviewed_column())
    else:
        # Without reviews, the corrected rate equals the official one, so a narrow table omits it.
        columns.append(make_corrected_column(priority=3))
    return columns
