"""Tables of inter-annotator agreement, and of self-agreement on hidden duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from fcreview.model.effective_verdict import is_definite
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import (
    NO_VALUE,
    format_count,
    format_with_interval,
)
from fcreview.stats.agreement_ratings import (
    BLIND_STATUS_LABELS,
    PAIR_COEFFICIENTS,
    SCOPE_HEADINGS,
    AgreementCoefficient,
    AgreementScope,
    BlindStatus,
    CoefficientName,
    Rating,
    format_coefficient_name,
    format_group_cells,
    format_value_and_interval,
    get_group_key,
)
from fcreview.tables.table import (
    SEPARATOR,
    Cell,
    Column,
    Row,
    Table,
    make_heading_row,
    make_row,
    make_whisker,
)

if TYPE_CHECKING:
    from fcreview.stats.agreement import SelfAgreement

NO_LABELS = "No item has labels of two annotators."
NOTES = (
    "The verdict 'unsure', adjudications, and retracted or stale reviews are excluded.",
    f"Brackets contain the 95 % interval. {NO_VALUE} means not available.",
    "Kappa, alpha and AC1 have no interval without a disagreement or with fewer than 10 items.",
)
CHANCE = "0 means chance agreement, 1 means full agreement"
MEASURE_MEANINGS: dict[CoefficientName, str] = {
    "percent": "percentage of label pairs that are equal, averaged over units",
    "fleiss": f"{CHANCE}; uses units with the most common number of labels",
    "alpha": f"{CHANCE}; uses all units with at least two labels",
    "ac1": f"{CHANCE}; also suitable if nearly all items pass",
    "ac2": f"{CHANCE}; a score that differs by one counts less than one that differs by two",
    "cohen": f"{CHANCE}; uses the labels of two annotators",
    "weighted": f"{CHANCE}; uses the scores of two annotators, with quadratic weights",
}


@dataclass(frozen=True, slots=True)
class AgreementStatistic:
    """Agreement coefficient with the items from which it is computed, if they are known."""

    coefficient: AgreementCoefficient
    items: tuple[int, ...] = ()


def describe_ratings(ratings: Sequence[Rating], blind_status: BlindStatus) -> str:
    """Return `blind reviews: 2 annotators (alice, bob), 40 labels, 3 unsure`."""
    names = sorted({rating.annotator for rating in ratings})
    listed_names = sanitize(", ".join(names))
    n_unsure = sum(not is_definite(rating.value) for rating in ratings)

    parts = [
        f"{format_count(len(names), 'annotator')} ({listed_names})",
        format_count(len(ratings) - n_unsure, "label"),
    ]
    if n_unsure:
        parts.append(f"{n_unsure:,} unsure")
    return f"{BLIND_STATUS_LABELS[blind_status]}: {', '.join(parts)}"


def build_agreement_table(
    statistics: Sequence[AgreementStatistic], scope: AgreementScope, *, shows_pairs: bool = True
) -> Table:
    """Return a table of the agreement between annotators, with a heading for each group of
    statistics (such as a criterion) and a row for each of the group's measures.

    `shows_pairs` adds the measures of pairs of annotators to those of all annotators of a group.
    """
    first_title = "criterion and measure"
    if scope != "overall":
        first_title = f"{scope}, {first_title}"
    columns = [
        Column(first_title, cut="middle", min_cells=20),
        Column("value", align_right=True, min_cells=7),
        Column("95 % interval", min_cells=16),
        Column("units", align_right=True),
        Column("labels", align_right=True, priority=1),
    ]

    coefficients = [statistic.coefficient for statistic in statistics]
    rows = []
    for group in group_statistics(statistics):
        all_annotators = _list_all_annotators(group)
        rows.append(_build_group_row(group, coefficients, len(columns)))
        for statistic in group:
            is_of_all = _is_of_all_annotators(statistic.coefficient, all_annotators)
            if is_of_all or shows_pairs:
                rows.append(_build_measure_row(statistic, is_of_all=is_of_all))
    return Table(columns, rows, title=f"agreement {SCOPE_HEADINGS[scope]}", graphic_at=len(columns))


def group_statistics(
    statistics: Iterable[AgreementStatistic],
) -> list[list[AgreementStatistic]]:
    """Group the statistics of reviews with the same blind status, on the same benchmark, category
    and criterion.
    """
    groups = groupby(
        statistics, lambda each: (each.coefficient.given, get_group_key(each.coefficient))
    )
    return [list(members) for _, members in groups]


def _list_all_annotators(group: Sequence[AgreementStatistic]) -> tuple[str, ...]:
    """Return the annotators of a group. Other statistics of the group are of two of them."""
    return max((statistic.coefficient.annotators for statistic in group), key=len)


def _is_of_all_annotators(
    coefficient: AgreementCoefficient, all_annotators: tuple[str, ...]
) -> bool:
    if coefficient.metric in PAIR_COEFFICIENTS:
        return False
    return coefficient.annotators == all_annotators


def _build_group_row(
    group: Sequence[AgreementStatistic],
    all_coefficients: Sequence[AgreementCoefficient],
    n_columns: int,
) -> Row:
    """Return a heading such as `simple · correct · blind reviews · 3 annotators`."""
    first = group[0]
    names = [
        *format_group_cells(all_coefficients, first.coefficient),
        BLIND_STATUS_LABELS[first.coefficient.given],
        format_count(len(_list_all_annotators(group)), "annotator"),
    ]
    explanation = ""
    if first.items:
        n_items = format_count(len(first.items), "item")
        explanation = f"{n_items} with labels from at least two annotators"
    return make_heading_row(
        SEPARATOR.join(names), n_columns, items=first.items, explanation=explanation
    )


def _build_measure_row(statistic: AgreementStatistic, *, is_of_all: bool) -> Row:
    """Return the row of a measure. Its annotators are named if they are not all of the group."""
    coefficient = statistic.coefficient
    name = format_coefficient_name(coefficient)
    if not is_of_all:
        name = f"{sanitize(', '.join(coefficient.annotators))}: {name}"

    explanation = MEASURE_MEANINGS[coefficient.metric]
    if coefficient.interval_note:
        explanation += f"; no interval: {coefficient.interval_note}"

    value, interval = format_value_and_interval(coefficient)
    return Row(
        [
            Cell(name),
            Cell(value, "strong"),
            Cell(interval, "dim"),
            Cell(f"{coefficient.n_units:,}"),
            Cell(f"{coefficient.n_labels:,}", "dim"),
        ],
        level=1,
        graphic=make_whisker(coefficient.low, coefficient.value, coefficient.high),
        items=statistic.items,
        explanation=explanation,
    )


def build_self_agreement_table(figures: Sequence[SelfAgreement]) -> Table:
    """Return a row for each annotator and criterion, and for all annotators together."""
    columns = [
        Column("annotator", cut="middle"),
        Column("criterion"),
        Column("targets", align_right=True),
        Column("% agreement", align_right=True),
        Column("95 % interval"),
        Column("Cohen's kappa", align_right=True),
        Column("95 % interval"),
    ]
    return Table(
        columns,
        [_build_self_agreement_row(each) for each in figures],
        title="self-agreement on hidden duplicates",
    )


def _build_self_agreement_row(figures: SelfAgreement) -> Row:
    """Return the row about an annotator's agreement with themselves on items seen twice."""
    annotator = "all"
    if figures.annotator is not None:
        annotator = sanitize(figures.annotator)
    share, share_interval = format_with_interval(
        figures.percent, figures.percent_low, figures.percent_high, "share", 3
    )
    kappa, kappa_interval = format_with_interval(
        figures.kappa, figures.kappa_low, figures.kappa_high, "score", 3
    )
    return make_row(
        [
            annotator,
            sanitize(figures.criterion),
            f"{figures.n:,}",
            share,
            share_interval or NO_VALUE,
            kappa,
            kappa_interval or NO_VALUE,
        ]
    )
