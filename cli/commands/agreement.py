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
    from fcreview.stats.agreement import SelfAgreement
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
    rows = [_build_self_agreement_row(coefficient) for coefficient in coefficients]
    print_table(SELF_AGREEMENT_HEADERS, rows, right_aligned=(2, 3, 5))
    emit()


def _build_self_agreement_row(figures: SelfAgreement) -> list[str]:
    return [
        "all" if figures.annotator is None else format_cell(figures.annotator),
        format_cell(figures.criterion),
        f"{figures.n:,}",
        format_metric_value(figures.percent, "share"),
        _format_interval(figures.percent_low, figures.percent_high, "share"),
        format_metric_value(_round_score(figures.kappa), "score"),
        _format_interval(figures.kappa_low, figures.kappa_high, "score"),
    ]


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
    for table in by or ():
        check_choice(SCOPES_BY_TABLE, table, "--by")
    scopes = [scope for table, scope in SCOPES_BY_TABLE.items() if not by or table in by]

    with open_workspace(options) as session:
        view = session.build_view(where, run=run, queue=queue)
        ratings = session.store.analysis.fetch_ratings(view)
        repeated_ratings = session.store.analysis.fetch_duplicate_reviews(view)

    ratings_by_status = _group_by_blind_status(ratings, given)
    for blind_status, group in ratings_by_status.items():
        from fcreview.stats.agreement import compute_agreement  # imports numpy

        coefficients = compute_agreement(group, scopes, blind_status)
        if as_json:
            emit_json(*coefficients)
        else:
            _print_agreement_tables(
                group, coefficients, blind_status, has_all_tables=by is not None
            )
    _print_self_agreement(repeated_ratings, as_json=as_json)

    if as_json or ratings_by_status or repeated_ratings:
        return
    if given and ratings:
        emit(f"no review is {given}")
    else:
        emit("there are no reviews to compare")


def _group_by_blind_status(
    ratings: Sequence[Rating], chosen_status: str | None
) -> dict[BlindStatus, Sequence[Rating]]:
    """Group ratings by whether they were given blind. `all` leaves them in one group; without a
    choice, each group that occurs is measured separately.
    """
    if chosen_status == "all":
        return {"all": ratings} if ratings else {}

    groups = split_by_blind_status(ratings)
    if chosen_status is None:
        return dict(groups)
    return {status: group for status, group in groups.items() if status == chosen_status}


def _print_agreement_tables(
    ratings: Sequence[Rating],
    coefficients: Iterable[AgreementCoefficient],
    blind_status: BlindStatus,
    *,
    has_all_tables: bool,
) -> None:
    """Print the tables of all scopes.

    Unless `has_all_tables`, omit tables with one group, because they repeat the overall table.
    """
    emit(f"{BLIND_STATUS_LABELS[blind_status]}: {_describe_ratings(ratings)}")
    emit_lines(NOTES)
    for scope, group in groupby(coefficients, lambda coefficient: coefficient.scope):
        coefficients_of_scope = list(group)
        dataset_groups = {(row.benchmark, row.category) for row in coefficients_of_scope}
        if has_all_tables or scope == "overall" or len(dataset_groups) > 1:
            _print_coefficients(coefficients_of_scope, scope)
        # Without a choice of tables, the pairs of annotators are only shown overall.
        if has_all_tables or scope == "overall":
            _print_annotator_pairs(coefficients_of_scope, scope)
    emit()


def _describe_ratings(ratings: Sequence[Rating]) -> str:
    """Return `2 annotators (alice, bob), 40 labels, 3 unsure`."""
    names = sorted({rating.annotator for rating in ratings})
    n_annotators = format_count(len(names), "annotator")
    listed_names = format_cell(", ".join(names))
    n_unsure = sum(not is_definite(rating.value) for rating in ratings)
    n_labels = format_count(len(ratings) - n_unsure, "label")

    text = f"{n_annotators} ({listed_names}), {n_labels}"
    if n_unsure:
        text += f", {n_unsure:,} unsure"
    return text


def _print_coefficients(
    coefficients: Sequence[AgreementCoefficient], scope: AgreementScope
) -> None:
    """Print a row for each coefficient of all annotators. Only the first row of a group names
    it.
    """
    rows = []
    for _, group in groupby(coefficients, get_group_key):
        shown = _select_coefficients_of_all(group)
        group_cells = format_group_cells(coefficients, shown[0])
        for coefficient in shown:
            rows.append([*group_cells, *_build_coefficient_cells(coefficient)])
            group_cells = [""] * len(group_cells)

    headers = ["measure", "value", "[95 %]", "units", "labels", "annotators"]
    _print_scope_table(SCOPE_HEADINGS[scope], scope, headers, rows, (1, 3, 4, 5))


def _select_coefficients_of_all(
    coefficients: Iterable[AgreementCoefficient],
) -> list[AgreementCoefficient]:
    """Select the coefficients of all annotators of a group. Those of pairs, also the percentages,
    are in the table of pairs.
    """
    candidates = [row for row in coefficients if row.metric not in PAIR_COEFFICIENTS]
    # The first coefficient of a group is of all its annotators.
    all_annotators = candidates[0].annotators
    return [row for row in candidates if row.annotators == all_annotators]


def _build_coefficient_cells(coefficient: AgreementCoefficient) -> list[str]:
    return [
        format_coefficient_name(coefficient),
        *format_value_and_interval(coefficient),
        f"{coefficient.n_units:,}",
        f"{coefficient.n_labels:,}",
        f"{len(coefficient.annotators)}",
    ]


def _print_annotator_pairs(
    coefficients: Sequence[AgreementCoefficient], scope: AgreementScope
) -> None:
    """Print a row for each pair of annotators. Scores also have weighted kappa."""
    by_metric = _group_by_metric(coefficients)
    cohen_by_pair = by_metric.get("cohen", {})
    if not cohen_by_pair:
        return

    metrics: list[CoefficientName] = ["percent", "cohen"]
    if by_metric.get("weighted"):
        metrics.append("weighted")

    rows = []
    for pair, kappa in cohen_by_pair.items():
        row = [*format_group_cells(coefficients, kappa), format_cell(", ".join(kappa.annotators))]
        for metric in metrics:
            row.extend(_format_pair_cells(by_metric[metric].get(pair)))
        row.append(f"{kappa.n_units:,}")
        rows.append(row)

    headers = ["annotators"]
    right_aligned = []
    for metric in metrics:
        right_aligned.append(len(headers))
        headers.extend([COEFFICIENT_LABELS[metric], "[95 %]"])
    right_aligned.append(len(headers))
    headers.append("units")

    heading = "pairs" if scope == "overall" else f"pairs {SCOPE_HEADINGS[scope]}"
    _print_scope_table(heading, scope, headers, rows, tuple(right_aligned))


def _group_by_metric(
    coefficients: Sequence[AgreementCoefficient],
) -> dict[CoefficientName, dict[PairKey, AgreementCoefficient]]:
    """Group coefficients by measure, and then by their group and annotators."""
    by_metric: dict[CoefficientName, dict[PairKey, AgreementCoefficient]] = {}
    for coefficient in coefficients:
        pair = get_group_key(coefficient), coefficient.annotators
        by_metric.setdefault(coefficient.metric, {})[pair] = coefficient
    return by_metric


def _format_pair_cells(coefficient: AgreementCoefficient | None) -> Sequence[str]:
    """Format the value and the interval of a pair. Only scores have weighted kappa."""
    if coefficient is None:
        return (NO_VALUE, NO_VALUE)
    return format_value_and_interval(coefficient)


def _print_scope_table(
    heading: str,
    scope: AgreementScope,
    headers: list[str],
    rows: list[list[str]],
    right_aligned: tuple[int, ...],
) -> None:
    """Print a table after the columns of the group. `right_aligned` counts from `headers`."""
    group_headers = ["criterion"] if scope == "overall" else [scope, "criterion"]
    width = max(get_wrap_width() - OTHER_COLUMNS_WIDTH, MIN_FIRST_COLUMN_WIDTH)
    emit("", heading)
    print_table(
        [*group_headers, *headers],
        rows,
        right_aligned=[len(group_headers) + column for column in right_aligned],
        max_width=width,
    )
