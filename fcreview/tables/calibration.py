"""Tables of the calibration of automatic verdicts: confusion matrices, measures and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, assert_never

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import (
    NO_VALUE,
    format_count,
    format_metric_value,
    format_verdict,
    get_source_name,
)
from fcreview.stats.calibration import (
    CALIBRATION_SCOPES,
    MEASURE_LABELS,
    Calibration,
    CalibrationMeasure,
    CalibrationScope,
    ConfusionCell,
    ErrorGroup,
    MeasureName,
    SelectionMethod,
    VerdictPair,
    calibrate_group,
    format_error,
    format_measure,
    format_measures,
    format_selection_method,
    format_source_and_criterion,
    group_verdict_pairs,
    list_item_numbers,
)
from fcreview.stats.intervals import compute_wilson_interval
from fcreview.tables.agreement import CHANCE
from fcreview.tables.table import (
    SEPARATOR,
    Cell,
    Column,
    Row,
    Table,
    Whisker,
    make_heading_row,
    make_row,
    make_whisker,
)

if TYPE_CHECKING:
    # These modules import numpy, which is slow to load.
    from fcreview.stats.judge_trust import EffectiveNumber, JudgeFigures, SourceTrust
    from fcreview.stats.weighted_calibration import WeightedMeasure

FILTER_TITLE = "filter"
"""Title of the column with filters, which select the items of a row. Screens open the items
instead.
"""
CellFilterBuilder = Callable[[Calibration, ConfusionCell], str | None]
ErrorFilterBuilder = Callable[[ErrorGroup], str | None]
"""Builds the filter that selects the items of a row, or None if the filter would be too long."""


@dataclass(frozen=True, slots=True)
class CalibrationGroup:
    """Calibration of a source of verdicts on one criterion, with its verdict pairs."""

    calibration: Calibration
    pairs: tuple[VerdictPair, ...]


def list_useful_scopes(pairs: Iterable[VerdictPair]) -> list[CalibrationScope]:
    """Return the scope `overall`, and the scopes that divide the verdict pairs into several
    groups.
    """
    names: dict[CalibrationScope, set[str | None]] = {scope: set() for scope in CALIBRATION_SCOPES}
    for group in group_verdict_pairs(pairs, CALIBRATION_SCOPES):
        names[group.scope].add(group.name)

    useful: list[CalibrationScope] = []
    for scope in CALIBRATION_SCOPES:
        if scope == "overall" or len(names[scope]) > 1:
            useful.append(scope)
    return useful


def compute_calibration_groups(
    pairs: Iterable[VerdictPair], scope: CalibrationScope
) -> list[CalibrationGroup]:
    """Compare automatic and human verdicts by source, on all items or in each category."""
    groups = []
    for group in group_verdict_pairs(pairs, (scope,)):
        groups.append(CalibrationGroup(calibrate_group(group), group.pairs))
    return groups


# -- confusion matrices and measures


def build_calibration_table(
    groups: Sequence[CalibrationGroup],
    scope: CalibrationScope = "overall",
    *,
    build_filter: CellFilterBuilder | None = None,
    max_cells: int | None = None,
) -> Table:
    """Return a table that compares automatic verdicts with human ones. For each group, it has a
    heading, a row for each pair of an automatic and a human verdict (a cell of the confusion
    matrix), and a row for each measure, such as the precision.

    Args:
        groups: The compared verdicts and measures.
        scope: By which property the groups differ, for the title.
        build_filter: Adds a column with the filter of each cell.
        max_cells: Largest number of cells of a group, only without `build_filter`. The most
            frequent ones are shown.
    """
    columns = [
        Column("source and measure", cut="middle", min_cells=20),
        Column("value", align_right=True, min_cells=7),
        Column("95 % interval", min_cells=13),
        Column("n", align_right=True),
    ]
    rows: list[Row] = []
    for group in groups:
        rows.append(_build_group_row(group))
        rows.extend(_build_cell_rows(group.calibration, max_cells))
        rows.extend(_build_measure_rows(group))

    table = Table(columns, rows, title=f"calibration {_name_scope(scope)}", graphic_at=len(columns))
    if build_filter is None:
        return table
    return _add_filters(table, _list_cell_filters(groups, build_filter))


def _name_scope(scope: CalibrationScope) -> str:
    return "overall" if scope == "overall" else f"by {scope}"


SELECTION_MEANINGS: dict[SelectionMethod, str] = {
    "random": "all items are from a random sample",
    "by hand": "items were chosen by hand, so the measures describe only these items",
    "both": "some items are from a random sample, the others were chosen by hand",
}


def _build_group_row(group: CalibrationGroup) -> Row:
    """Return a heading such as `live · judge oak · correct · by hand`, with the number of pairs."""
    calibration = group.calibration
    names = [*format_source_and_criterion(calibration), format_selection_method(calibration)]
    if calibration.name is not None:
        names.insert(0, sanitize(calibration.name))
    return _make_row(
        Cell(SEPARATOR.join(names), "strong"),
        n_pairs=calibration.n,
        items=list_item_numbers(group.pairs),
        explanation=SELECTION_MEANINGS[calibration.chosen],
    )


def _build_cell_rows(calibration: Calibration, max_cells: int | None) -> Iterator[Row]:
    """Yield a row for each combination of automatic and human verdict."""
    shown_cells = list(calibration.cells)
    if max_cells is not None and len(shown_cells) > max_cells:
        shown_cells = sorted(shown_cells, key=lambda cell: -cell.n)[:max_cells]
    for cell in shown_cells:
        yield _build_cell_row(calibration, cell)

    n_omitted = len(calibration.cells) - len(shown_cells)
    if n_omitted:
        n_pairs = calibration.n - sum(cell.n for cell in shown_cells)
        text = format_count(n_omitted, "other pair of verdicts", "other pairs of verdicts")
        yield _make_row(Cell(text, "dim"), n_pairs=n_pairs, level=1)


def _build_cell_row(calibration: Calibration, cell: ConfusionCell) -> Row:
    """Return the row of one combination of an automatic and a human verdict, with the number of
    items that have it.
    """
    source, _ = format_source_and_criterion(calibration)
    automatic = format_verdict(cell.automatic, calibration.criterion)
    human = format_verdict(cell.human, calibration.criterion)
    verdicts = f"{source} verdict {automatic}, human verdict {human}"
    return _make_row(
        Cell(f"automatic {automatic}, human {human}", "" if automatic == human else "fail"),
        n_pairs=cell.n,
        level=1,
        items=cell.items,
        explanation=f"{verdicts}: {cell.n:,} of {calibration.n:,} pairs",
    )


def _build_measure_rows(group: CalibrationGroup) -> Iterator[Row]:
    """Yield a row for each measure, in the order of `MEASURE_LABELS`."""
    calibration = group.calibration
    source, _ = format_source_and_criterion(calibration)
    order = list(MEASURE_LABELS)
    for measure in sorted(calibration.rates, key=lambda rate: order.index(rate.metric)):
        pairs = [pair for pair in group.pairs if _is_in_denominator(pair, measure.metric)]
        yield _make_row(
            Cell(MEASURE_LABELS[measure.metric]),
            measure,
            n_pairs=measure.n,
            level=1,
            items=list_item_numbers(pairs),
            explanation=_explain_measure(calibration, measure.metric, source),
        )


def _make_row(
    name: Cell,
    measure: CalibrationMeasure | None = None,
    *,
    n_pairs: int,
    level: int = 0,
    items: tuple[int, ...] = (),
    explanation: str = "",
) -> Row:
    """Return a row of the calibration table: name, value, interval and number of pairs."""
    value = ""
    interval = ""
    whisker = None
    if measure is not None:
        value, interval = format_measure(measure)
        whisker = make_whisker(measure.low, measure.value, measure.high)
    return Row(
        [name, Cell(value, "strong"), Cell(interval, "dim"), Cell(f"{n_pairs:,}")],
        level=level,
        graphic=whisker,
        items=items,
        explanation=explanation,
    )


def _explain_measure(calibration: Calibration, measure: MeasureName, source_name: str) -> str:
    """Explain a measure with its numbers of verdict pairs."""
    match measure:
        case "tpr":
            return _explain_detection(calibration, source_name, human=True)
        case "tnr":
            return _explain_detection(calibration, source_name, human=False)
        case "precision":
            return _explain_human_passes(calibration, source_name, automatic=True)
        case "wrong_fails":
            return _explain_human_passes(calibration, source_name, automatic=False)
        case "agreement":
            n_equal = sum(cell.n for cell in calibration.cells if cell.automatic == cell.human)
            return (
                f"{source_name} and human verdict are equal"
                f" in {n_equal:,} of {calibration.n:,} pairs"
            )
        case "f1":
            return "harmonic mean of TPR and precision"
        case "kappa":
            return f"agreement beyond chance: {CHANCE}"
        case _:
            assert_never(measure)


def _explain_detection(calibration: Calibration, source_name: str, *, human: bool) -> str:
    """Explain the share of the human passes (or fails) that the source passes (or fails) too."""
    word = format_verdict(human, calibration.criterion)
    n_found = _count_pairs(calibration, automatic=human, human=human)
    n_human = _count_pairs(calibration, human=human)
    return (
        f"{source_name} verdict is {word} on {n_found:,} of the {n_human:,} pairs"
        f" with human verdict {word}"
    )


def _explain_human_passes(calibration: Calibration, source_name: str, *, automatic: bool) -> str:
    """Explain the share that humans pass among the pairs that the source passes (or fails)."""
    passed = format_verdict(True, calibration.criterion)
    word = format_verdict(automatic, calibration.criterion)
    n_passed = _count_pairs(calibration, automatic=automatic, human=True)
    n_automatic = _count_pairs(calibration, automatic=automatic)
    return (
        f"human verdict is {passed} on {n_passed:,} of the {n_automatic:,} pairs"
        f" with {source_name} verdict {word}"
    )


def _count_pairs(
    calibration: Calibration, *, automatic: bool | None = None, human: bool | None = None
) -> int:
    """Count the pairs with these verdicts. None stands for any verdict."""
    count = 0
    for cell in calibration.cells:
        has_automatic = automatic is None or cell.automatic == automatic
        has_human = human is None or cell.human == human
        if has_automatic and has_human:
            count += cell.n
    return count


def _is_in_denominator(pair: VerdictPair, measure: MeasureName) -> bool:
    """Whether a measure is a share of pairs such as this one."""
    match measure:
        case "tpr":
            return pair.human is True
        case "tnr":
            return pair.human is False
        case "precision":
            return pair.automatic is True
        case "wrong_fails":
            return pair.automatic is False
        case "agreement" | "f1" | "kappa":
            return True
        case _:
            assert_never(measure)


def _list_cell_filters(
    groups: Sequence[CalibrationGroup], build_filter: CellFilterBuilder
) -> Iterator[str]:
    """Yield the filter of each row of `build_calibration_table`: only cells have one."""
    for group in groups:
        calibration = group.calibration
        yield ""
        for cell in calibration.cells:
            yield build_filter(calibration, cell) or ""
        for _ in calibration.rates:
            yield ""


def _add_filters(table: Table, filters: Iterable[str]) -> Table:
    """Add a last column with the filter of each row."""
    rows = []
    for row, item_filter in zip(table.rows, filters, strict=True):
        rows.append(replace(row, cells=[*row.cells, Cell(sanitize(item_filter))]))
    return replace(table, columns=[*table.columns, Column(FILTER_TITLE)], rows=rows)


# -- groups of a scope


def build_scope_table(
    calibrations: Sequence[Calibration], scope: CalibrationScope, max_groups: int | None = None
) -> Table:
    """Return a row with all measures for each group of a scope, such as a category.

    `max_groups`: Largest number of rows. The groups with the most pairs are shown.
    """
    columns = [
        Column(scope, cut="middle"),
        Column("source"),
        Column("criterion"),
        Column("n", align_right=True),
        Column("selection"),
    ]
    columns += [Column(label, align_right=True) for label in MEASURE_LABELS.values()]

    shown = _select_largest(calibrations, max_groups)
    rows = [_build_scope_row(calibration) for calibration in shown]

    notes = []
    n_omitted = len(calibrations) - len(shown)
    if n_omitted:
        omitted = format_count(n_omitted, "smaller group")
        notes.append(f"{omitted} not shown. For all groups: `fcreview calibrate --by {scope}`.")
    return Table(columns, rows, title=f"calibration {_name_scope(scope)}", notes=notes)


def _select_largest(
    calibrations: Sequence[Calibration], max_groups: int | None
) -> list[Calibration]:
    """Return the groups with the most pairs, in the order of all groups. None selects all."""
    if max_groups is None:
        return list(calibrations)

    def get_size(index: int) -> int:
        return calibrations[index].n

    indexes_by_size = sorted(range(len(calibrations)), key=get_size, reverse=True)
    return [calibrations[index] for index in sorted(indexes_by_size[:max_groups])]


def _build_scope_row(calibration: Calibration) -> Row:
    """Return the row that compares the verdicts of one source with human verdicts."""
    return make_row(
        [
            sanitize(calibration.name or ""),
            *format_source_and_criterion(calibration),
            f"{calibration.n:,}",
            format_selection_method(calibration),
            *format_measures(calibration.rates).values(),
        ]
    )


# -- errors


def build_error_table(
    error_groups: Sequence[ErrorGroup],
    *,
    build_filter: ErrorFilterBuilder | None = None,
    max_groups: int | None = None,
) -> Table:
    """Return a heading for each source and criterion, and a row for each kind of items on which
    the source is wrong, the most frequent first.

    Args:
        build_filter: Adds a column with the filter of each kind.
        max_groups: Largest number of kinds of a source.
    """
    columns = [
        Column("source and kind of item", cut="middle", min_cells=20),
        Column("verdict", min_cells=16),
        Column("wrong", align_right=True, min_cells=12),
        Column("share", align_right=True, min_cells=7),
        Column("95 % interval", min_cells=13),
    ]
    sources = _group_errors_by_source(error_groups)
    rows: list[Row] = []
    filters: list[str] = []
    for source in sources:
        # The heading opens the items of all kinds, also of those that are not shown.
        items = _list_kind_items(source.kinds)
        rows.append(make_heading_row(source.heading, len(columns), items=items))
        filters.append("")
        for kind in source.kinds[:max_groups]:
            rows.append(_build_error_row(kind))
            kind_filter = build_filter(kind) if build_filter else None
            filters.append(kind_filter or "")

    notes = []
    most_kinds = max((len(source.kinds) for source in sources), default=0)
    if max_groups is not None and most_kinds > max_groups:
        notes.append(f"The table lists the {max_groups} most frequent kinds of each source.")
    table = Table(columns, rows, title="calibration errors", notes=notes, graphic_at=len(columns))
    return _add_filters(table, filters) if build_filter else table


@dataclass(frozen=True, slots=True)
class _ErrorsOfSource:
    heading: str
    """Name of the source and criterion."""
    kinds: list[ErrorGroup]
    """Kinds of items on which the source is wrong, the most frequent first."""


def _group_errors_by_source(error_groups: Sequence[ErrorGroup]) -> list[_ErrorsOfSource]:
    """Group errors by source and criterion. Errors of one source follow each other."""
    sources = []
    for names, groups_of_source in groupby(error_groups, format_source_and_criterion):
        kinds = sorted(groups_of_source, key=lambda kind: kind.wrong, reverse=True)
        sources.append(_ErrorsOfSource(SEPARATOR.join(names), kinds))
    return sources


def _list_kind_items(kinds: Sequence[ErrorGroup]) -> tuple[int, ...]:
    items: dict[int, None] = {}
    for kind in kinds:
        items |= dict.fromkeys(kind.items)
    return tuple(items)


def _build_error_row(kind: ErrorGroup) -> Row:
    """Return the row that says how often a kind of automatic verdict is wrong by human verdicts.

    It has the share with its 95 % interval, for example for the passes in one category.
    """
    share = kind.wrong / kind.of
    low, high = compute_wilson_interval(kind.wrong, kind.of)
    word = format_verdict(kind.automatic, kind.criterion)
    cells = [
        Cell(f"{kind.by} {sanitize(kind.name)}"),
        Cell(format_error(kind)),
        Cell(f"{kind.wrong:,} of {kind.of:,}"),
        Cell(format_metric_value(share, "share"), "strong"),
        Cell(f"[{100 * low:.1f}, {100 * high:.1f}]", "dim"),
    ]
    return Row(
        cells,
        level=1,
        graphic=Whisker(low, value=share, high=high),
        items=kind.items,
        explanation=f"{kind.wrong:,} of the {kind.of:,} verdicts {word} on these items are wrong",
    )


# -- trust


def build_trust_table(figures: JudgeFigures) -> Table:
    """Return a row for each automatic source that judges whole items: how often it agrees with
    people, whether it passes too many items, and how many labels it saves.
    """
    columns = [
        Column("which judge can I trust", cut="middle", min_cells=16),
        Column("n", align_right=True, priority=2),
        Column("agreement", priority=4),
        Column("TPR", priority=3),
        Column("TNR", priority=3),
        Column("bias of pass rate", priority=5),
        Column("labels saved"),
    ]
    rows = [_build_trust_row(trust) for trust in figures.sources]
    notes = list(_explain_trust(figures)) if rows else []
    return Table(columns, rows, title="trust in automatic sources", notes=notes)


def _build_trust_row(trust: SourceTrust) -> Row:
    """Return the row of a source. Its explanation says by which items the source is measured."""
    name = get_source_name(trust.source)
    if trust.judge:
        name = f"{name} {sanitize(trust.judge)}"
    row = make_row(
        [
            name,
            f"{trust.n:,}",
            " ".join(format_measure(trust.agreement)),
            " ".join(format_measure(trust.tpr)),
            " ".join(format_measure(trust.tnr)),
            _format_points(trust.bias),
            _format_share(trust.labels_saved),
        ]
    )
    explanation = (
        f"{name} is compared with human verdicts on {format_count(trust.n, 'item')}:"
        f" {SELECTION_MEANINGS[trust.chosen]}"
    )
    return replace(row, items=trust.items, explanation=explanation)


def _format_points(measure: WeightedMeasure) -> str:
    """Return a difference of shares in percentage points, such as `+22.6 [+18.1, +27.0]`."""
    if measure.value is None or measure.low is None or measure.high is None:
        return NO_VALUE
    value = _round_points(measure.value)
    return f"{value:+.1f} [{_round_points(measure.low):+.1f}, {_round_points(measure.high):+.1f}]"


def _round_points(share: float) -> float:
    """Convert a share to percentage points with one digit."""
    # Adding 0 turns -0.0 into 0.0.
    return round(100 * share, 1) + 0.0


def _format_share(measure: WeightedMeasure) -> str:
    """Return a share such as `41 % [28, 53]`."""
    if measure.value is None or measure.low is None or measure.high is None:
        return NO_VALUE
    return f"{100 * measure.value:.0f} % [{100 * measure.low:.0f}, {100 * measure.high:.0f}]"


def _explain_trust(figures: JudgeFigures) -> Iterator[str]:
    """Yield what the columns mean, what the best source is worth, and how many judges are
    independent.
    """
    yield "Bias: pass rate of the source minus that of people, in percentage points."
    yield (
        "Labels saved: squared correlation with the human verdicts, the share of a plain sample"
        " that an estimate does not need if it divides the items by this source."
    )
    best = figures.sources[0]
    worth = _format_worth(best.labels_saved)
    if worth:
        name = _build_trust_row(best).texts[0]
        yield f"With {name}, 100 labels are worth {worth} labels without a source."
    if figures.effective_number is not None:
        yield _describe_effective_number(figures.effective_number)


def _format_worth(saved: WeightedMeasure) -> str:
    """Return how many labels of a plain sample 100 labels are worth, such as `172 [139, 213]`.

    `saved` is the share of labels that a source saves, with its interval. Empty if it is unknown,
    or if it reaches 1, where the worth has no limit.
    """
    if saved.value is None or saved.low is None or saved.high is None:
        return ""
    if max(saved.value, saved.high) >= 1:
        return ""
    worth = _compute_worth(saved.value)
    return f"{worth:.0f} [{_compute_worth(saved.low):.0f}, {_compute_worth(saved.high):.0f}]"


def _compute_worth(share_saved: float) -> float:
    """Return of how many labels of a plain sample 100 labels have the precision."""
    return 100 / (1 - share_saved)


def _describe_effective_number(number: EffectiveNumber) -> str:
    """Describe how many independent judges tell as much as these judges, whose errors are alike."""
    return (
        f"Effective number of independent judges: {number.value:.1f} [{number.low:.1f},"
        f" {number.high:.1f}] of {number.n_judges:,}. Among items with the same human verdict, the"
        f" errors of two judges have a mean correlation of {number.mean_correlation:.2f}"
        f" ({number.n_items:,} items)."
    )
