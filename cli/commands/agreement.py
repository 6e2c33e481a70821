"""`fcreview agreement`: measure inter-annotator agreement, and self-agreement on hidden
duplicates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

from fcreview.cli.options import (
    JsonOption,
    QueueOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    check_choice,
    emit,
    emit_json,
    emit_lines,
    format_cell,
    get_wrap_width,
    print_table,
)
from fcreview.cli.workspace_import import open_workspace
from fcreview.model.effective_verdict import is_definite
from fcreview.model.wording import NO_VALUE, format_count, format_metric_value
from fcreview.stats.agreement_ratings import (
    BLIND_STATUS_LABELS,
    BLIND_STATUSES,
    COEFFICIENT_LABELS,
    PAIR_COEFFICIENTS,
    SCOPE_HEADINGS,
    AgreementScope,
    BlindStatus,
    Rating,
    RepeatedRating,
    format_coefficient_name,
    format_group_cells,
    format_value_and_interval,
    get_group_key,
    split_by_blind_status,
)

if TYPE_CHECKING:
    from fcreview.model.metric import MetricUnit
    from fcreview.stats.agreement_ratings import AgreementCoefficient, CoefficientName, GroupKey

    PairKey = tuple[GroupKey, tuple[str, ...]]

SELF_AGREEMENT_HEADERS = [
    "annotator",
    "criterion",
    "targets",
    "same",
    "[95 %]",
    "Cohen's kappa",
    "[95 %]",
]


def _print_self_agreement(repeated_ratings: Sequence[RepeatedRating], *, as_json: bool) -> None:
    from fcreview.stats.agreement import compute_self_agreement

    coefficients = list(compute_self_agreement(repeated_ratings))
    if as_json:
        emit_json(*coefficients)
        return
    if not coefficients:
        return
    emit("self-agreement on hidden duplicates")
    rows = [
        [
            "all" if each.annotator is None else format_cell(each.annotator),
            format_cell(each.criterion),
            f"{each.n:,}",
            format_metric_value(each.percent, "share"),
            _format_interval(each.percent_low, each.percent_high, "share"),
            format_metric_value(_round_score(each.kappa), "score"),
            _format_interval(each.kappa_low, each.kappa_high, "score"),
        ]
        for each in coefficients
    ]
    print_table(SELF_AGREEMENT_HEADERS, rows, right_aligned=(2, 3, 5))
    emit()


def _format_interval(low: float | None, high: float | None, unit: MetricUnit) -> str:
    if low is None or high is None:
        return NO_VALUE
    return (
        f"[{format_metric_value(_round_score(low), unit)},"
        f" {format_metric_value(_round_score(high), unit)}]"
    )


def _round_score(value: float | None) -> float | None:
    return None if value is None else round(value, 3) + 0.0  # avoid -0.000


SCOPES_BY_TABLE: dict[str, AgreementScope] = {
    "criterion": "overall",
    "benchmark": "benchmark",
    "category": "category",
}
"""Scope of the table for each value of --by."""
OTHER_COLUMNS_WIDTH, MIN_FIRST_COLUMN_WIDTH = 66, 24
NOTES = (
    "The verdict 'unsure', adjudications, and retracted or stale reviews are excluded.",
    "Brackets contain the 95 % confidence interval. – means not available.",
    "Kappa, alpha and AC1 have no interval without a disagreement or with fewer than 10 items.",
)


@workspace_command()
def agreement(
    options: WorkspaceOptions,
    where: WhereOption = "",
    run: RunOption = None,
    queue: QueueOption = "dataset",
    given: Annotated[
        str | None,
        option(
            "--given KIND",
            "Reviews to compare: blind, seen (other verdicts were visible), unknown (blindness not"
            " recorded), or all.",
            show_default="each group separately",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        option(
            "--by NAME",
            f"Table to print: {', '.join(SCOPES_BY_TABLE)}. You can repeat the option.",
            show_default="all tables",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure inter-annotator agreement.

    Prints % agreement, Fleiss' kappa, Krippendorff's alpha, Gwet's AC1, Cohen's kappa for each pair
    of annotators, and self-agreement on hidden duplicates; for scores, also AC2 and weighted kappa.
    Each has a 95 % confidence interval. Blind and other reviews are measured separately.
    docs/adjudication-and-agreement.md explains the coefficients.

    Example: fcreview agreement runs/gpt4o --by category --where category:live_simple
    """
    if given is not None:
        check_choice(BLIND_STATUSES, given, "--given")
    for each in by or ():
        check_choice(SCOPES_BY_TABLE, each, "--by")
    scopes = [scope for name, scope in SCOPES_BY_TABLE.items() if not by or name in by]
    with open_workspace(options) as session:
        view = session.build_view(where, run=run, queue=queue)
        analysis = session.store.analysis
        ratings, repeated_ratings = (
            analysis.fetch_ratings(view),
            analysis.fetch_duplicate_reviews(view),
        )
    pools = _group_by_blind_status(ratings, given)
    for how, group in pools.items():
        from fcreview.stats.agreement import compute_agreement  # imports numpy

        coefficients = compute_agreement(group, scopes, how)
        if as_json:
            emit_json(*coefficients)
        else:
            _print_agreement_tables(group, coefficients, how, all_tables=by is not None)
    _print_self_agreement(repeated_ratings, as_json=as_json)
    if not (pools or repeated_ratings or as_json):
        emit(f"no review is {given}" if given and ratings else "there are no reviews to compare")


def _group_by_blind_status(
    ratings: Sequence[Rating], chosen_status: str | None
) -> dict[BlindStatus, Sequence[Rating]]:
    if chosen_status == "all":
        return {"all": ratings} if ratings else {}
    return {
        how: group
        for how, group in split_by_blind_status(ratings).items()
        if chosen_status in (None, how)
    }


def _print_agreement_tables(
    ratings: Sequence[Rating],
    coefficients: Iterable[AgreementCoefficient],
    blind_status: BlindStatus,
    *,
    all_tables: bool,
) -> None:
    """Print the tables.

    Unless `all_tables`, omit tables with one group, because they repeat the overall table.
    """
    unsure = sum(not is_definite(rating.value) for rating in ratings)
    names = sorted({rating.annotator for rating in ratings})
    parts = [
        f"{format_count(len(names), 'annotator')} ({format_cell(', '.join(names))})",
        format_count(len(ratings) - unsure, "label"),
        *([f"{unsure:,} unsure"] if unsure else []),
    ]
    emit(f"{BLIND_STATUS_LABELS[blind_status]}: {', '.join(parts)}")
    emit_lines(NOTES)
    for scope, group in groupby(coefficients, lambda figure: figure.scope):
        found = list(group)
        if all_tables or scope == "overall" or len({get_group_key(each)[:2] for each in found}) > 1:
            _print_coefficients(found, scope)
        if all_tables or scope == "overall":
            _print_annotator_pairs(found, scope)
    emit()


def _print_coefficients(
    coefficients: Sequence[AgreementCoefficient], scope: AgreementScope
) -> None:
    rows = []
    for _, group in groupby(coefficients, get_group_key):
        first, *others = [each for each in group if each.metric not in PAIR_COEFFICIENTS]
        first_cells = format_group_cells(coefficients, first)
        for each in [first, *(other for other in others if other.annotators == first.annotators)]:
            counts = [f"{each.n_units:,}", f"{each.n_labels:,}", f"{len(each.annotators)}"]
            rows.append(
                [
                    *first_cells,
                    format_coefficient_name(each),
                    *format_value_and_interval(each),
                    *counts,
                ]
            )
            first_cells = [""] * len(first_cells)
    headers = ["measure", "value", "[95 %]", "units", "labels", "annotators"]
    _print_scope_table(SCOPE_HEADINGS[scope], scope, headers, rows, (1, 3, 4, 5))


def _print_annotator_pairs(
    coefficients: Sequence[AgreementCoefficient], scope: AgreementScope
) -> None:
    """Print a row for each pair of annotators. Scores also have weighted kappa."""
    by_metric: dict[CoefficientName, dict[PairKey, AgreementCoefficient]] = {}
    for each in coefficients:
        by_metric.setdefault(each.metric, {})[get_group_key(each), each.annotators] = each
    cohen = by_metric.get("cohen", {})
    weighted = by_metric.get("weighted", {})
    if not cohen:
        return

    rows = []
    for pair, each in cohen.items():
        share = by_metric["percent"][pair]
        row = [*format_group_cells(coefficients, each), format_cell(", ".join(each.annotators))]
        row += [*format_value_and_interval(share), *format_value_and_interval(each)]
        if weighted:
            row += (
                format_value_and_interval(weighted[pair])
                if pair in weighted
                else [NO_VALUE, NO_VALUE]
            )
        rows.append([*row, f"{each.n_units:,}"])

    heads = [
        "annotators",
        COEFFICIENT_LABELS["percent"],
        "[95 %]",
        COEFFICIENT_LABELS["cohen"],
        "[95 %]",
    ]
    right_aligned = [1, 3]
    if weighted:
        heads += [COEFFICIENT_LABELS["weighted"], "[95 %]"]
        right_aligned.append(5)
    right_aligned.append(len(heads))
    heading = "pairs" if scope == "overall" else f"pairs {SCOPE_HEADINGS[scope]}"
    _print_scope_table(heading, scope, [*heads, "units"], rows, tuple(right_aligned))


def _print_scope_table(
    heading: str,
    scope: AgreementScope,
    headers: list[str],
    rows: list[list[str]],
    right_aligned: tuple[int, ...],
) -> None:
    first = ["criterion"] if scope == "overall" else [scope, "criterion"]
    right = [len(first) + at for at in right_aligned]
    width = max(get_wrap_width() - OTHER_COLUMNS_WIDTH, MIN_FIRST_COLUMN_WIDTH)
    emit("", heading)
    print_table([*first, *headers], rows, right_aligned=right, max_width=width)
