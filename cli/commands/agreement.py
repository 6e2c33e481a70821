"""`fcreview agreement`: measure inter-annotator agreement, and self-agreement on hidden
duplicates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fcreview.cli.options import (
    JsonOption,
    QueueOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import check_choice, emit, emit_json, emit_lines, print_figure
from fcreview.cli.workspace_import import open_workspace
from fcreview.stats.agreement_ratings import (
    BLIND_STATUSES,
    AgreementScope,
    BlindStatus,
    Rating,
    RepeatedRating,
    split_by_blind_status,
)
from fcreview.tables.agreement import (
    NOTES,
    AgreementStatistic,
    build_agreement_table,
    build_self_agreement_table,
    describe_ratings,
)

RatingsByStatus = Mapping[BlindStatus, Sequence[Rating]]
SCOPES_BY_TABLE: dict[str, AgreementScope] = {
    "criterion": "overall",
    "benchmark": "benchmark",
    "category": "category",
}
"""Scope of the table for each value of --by."""


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
    if as_json:
        _print_json(ratings_by_status, repeated_ratings, scopes)
    elif ratings_by_status or repeated_ratings:
        _print_tables(ratings_by_status, repeated_ratings, scopes, are_scopes_chosen=by is not None)
    elif given and ratings:
        emit(f"no review is {given}")
    else:
        emit("there are no reviews to compare")


def _group_by_blind_status(
    ratings: Sequence[Rating], chosen_status: str | None
) -> dict[BlindStatus, Sequence[Rating]]:
    """Group ratings by whether they were blind: given before the annotator saw other verdicts.

    If `chosen_status` is `all`, all ratings are one group. If it is None, each status that occurs
    has a group.
    """
    if chosen_status == "all":
        return {"all": ratings} if ratings else {}

    groups = split_by_blind_status(ratings)
    if chosen_status is None:
        return dict(groups)
    return {status: group for status, group in groups.items() if status == chosen_status}


def _print_json(
    ratings_by_status: RatingsByStatus,
    repeated_ratings: Sequence[RepeatedRating],
    scopes: Sequence[AgreementScope],
) -> None:
    """Print the coefficients as JSON: between annotators, then of annotators with themselves."""
    from fcreview.stats.agreement import compute_agreement, compute_self_agreement  # imports numpy

    for blind_status, ratings in ratings_by_status.items():
        emit_json(*compute_agreement(ratings, scopes, blind_status))
    emit_json(*compute_self_agreement(repeated_ratings))


def _print_tables(
    ratings_by_status: RatingsByStatus,
    repeated_ratings: Sequence[RepeatedRating],
    scopes: Sequence[AgreementScope],
    *,
    are_scopes_chosen: bool,
) -> None:
    """Print a table for each scope, such as category, and the table of self-agreement.

    `are_scopes_chosen`: whether the user named the scopes with --by. A table that repeats the
    overall table is printed only then.
    """
    from fcreview.stats.agreement import compute_self_agreement  # imports numpy

    for blind_status, ratings in ratings_by_status.items():
        emit(describe_ratings(ratings, blind_status))
    emit_lines(NOTES)

    for scope, statistics in _compute_statistics(ratings_by_status, scopes).items():
        if are_scopes_chosen or scope == "overall":
            print_figure(build_agreement_table(statistics, scope, shows_pairs=True))
        elif _has_several_groups(statistics):
            print_figure(build_agreement_table(statistics, scope, shows_pairs=False))
    print_figure(build_self_agreement_table(list(compute_self_agreement(repeated_ratings))))


def _has_several_groups(statistics: Sequence[AgreementStatistic]) -> bool:
    """Tell whether a table has several groups. With one group, it repeats the overall table."""
    groups = set()
    for statistic in statistics:
        coefficient = statistic.coefficient
        groups.add((coefficient.benchmark, coefficient.category))
    return len(groups) > 1


def _compute_statistics(
    ratings_by_status: RatingsByStatus, scopes: Sequence[AgreementScope]
) -> dict[AgreementScope, list[AgreementStatistic]]:
    """Compute the coefficients of each scope, first those of blind reviews."""
    from fcreview.stats.agreement import compute_agreement  # imports numpy

    statistics: dict[AgreementScope, list[AgreementStatistic]] = {scope: [] for scope in scopes}
    for blind_status, ratings in ratings_by_status.items():
        for coefficient in compute_agreement(ratings, scopes, blind_status):
            statistics[coefficient.scope].append(AgreementStatistic(coefficient))
    return statistics
