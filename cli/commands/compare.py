"""`fcreview compare`: compare two runs, two verdict sources on one run, or several runs in a
matrix.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.options import (
    JsonOption,
    WhereOption,
    WorkspaceOptions,
    argument,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    check_choice,
    emit,
    emit_json,
    emit_lines,
    format_cell,
    format_figure,
    print_figure,
    print_table,
)
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError, UsageError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_VALUE, format_count
from fcreview.stats import run_comparison as stats
from fcreview.stats.intervals import CONFIDENCE_LEVEL
from fcreview.stats.paired_difference import INTERVAL_METHOD, RateDifference
from fcreview.tables.comparison import (
    SIDE_TITLES,
    RankedName,
    build_flip_table,
    build_pass_rate_table,
    build_ranking_table,
    describe_estimated_difference,
    format_flip_count,
)

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.stats.estimated_difference import EstimatedDifference
    from fcreview.stats.paired_difference import ClusteredRate
    from fcreview.store.rows import RunRow, View

DEFAULT_LIMIT = 20  # maximum number of flips or items in text output without --limit


@dataclass(frozen=True, slots=True)
class ComparisonSide:
    """One side of a comparison: a run and the source of its verdicts."""

    row: RunRow
    source: stats.VerdictSource
    is_requested: bool  # whether an option sets the source

    @property
    def sanitized_title(self) -> str:
        """Sanitised text such as `run 2  gpt-4o · V3  (official)`."""
        return f"run {self.row.run}  {self.row.run_name}  ({self.source})"

    def as_json(self) -> dict[str, Any]:
        """Build the JSON object of the side: {run, run_name, model, generation, language,
        source, source_reason}.
        """
        return {
            "run": self.row.run,
            "run_name": self.row.run_name,
            "model": self.row.info.model,
            "generation": self.row.info.generation,
            "language": self.row.info.language,
            "source": self.source,
            "source_reason": self._source_reason,
        }

    @property
    def _source_reason(self) -> str:
        """Who or what chose the source: an option, or the verdicts that the run has."""
        if self.is_requested:
            return "option"
        if self.source == "official":
            return "official verdicts"
        return "no official verdicts"


VERDICT_MARKS = {True: "✓", False: "✗", None: NO_VALUE}
ASCII_VERDICT_MARKS = {True: "P", False: "F", None: "-"}  # marks for terminals without Unicode
MAX_END_RUNS = 20
"""Number of best and of weakest runs that a matrix shows if it has more than three times this
number of runs.
"""


def _print_matrix_json(
    sides: Sequence[ComparisonSide], matrix: stats.RunMatrix, limit: int | None
) -> None:
    """Print a JSON object for each run, the best first, then for each item, the hardest first."""
    for ranked in matrix.ranking:
        emit_json(
            {
                "kind": "run",
                "rank": ranked.rank,
                **sides[ranked.run].as_json(),
                "passed": ranked.passed,
                "known": ranked.known,
                "rate": ranked.rate,
                "shared": matrix.n_shared > 0,
                **_build_rate_json(ranked),
            }
        )

    # The verdicts of an item have the order of the ranking.
    run_numbers = [str(sides[ranked.run].row.run) for ranked in matrix.ranking]
    for item in matrix.items[:limit]:
        emit_json(_build_matrix_item_json(item, run_numbers))


def _build_matrix_item_json(item: stats.MatrixItem, run_numbers: Sequence[str]) -> dict[str, Any]:
    """Build the JSON object of an item. `run_numbers` are in the order of its verdicts."""
    return {
        "kind": "item",
        **item.aligned_item.question_key._asdict(),
        "passing": item.passing,
        "failing": item.failing,
        "upset": item.upset_score,
        "verdicts": dict(zip(run_numbers, item.verdicts, strict=True)),
    }


def _build_rate_json(ranked: stats.RankedRun) -> dict[str, Any]:
    """Build the JSON fields of a run's pass rate: its interval, and its difference from the best
    run.

    A field is null if the figure cannot be computed.
    """
    standard_error = low = high = None
    rate = ranked.clustered_rate
    if rate is not None:
        standard_error = rate.standard_error
        low = rate.low
        high = rate.high

    # All figures of an empty difference are None.
    difference = ranked.to_best or RateDifference()
    return {
        "standard_error": standard_error,
        "low": low,
        "high": high,
        "reviewed": ranked.n_reviewed,
        "to_best": difference.value,
        "to_best_low": difference.low,
        "to_best_high": difference.high,
        "to_best_p": difference.p,
        "tied_with_best": ranked.is_tied,
    }


def _print_matrix_text(
    sides: Sequence[ComparisonSide], matrix: stats.RunMatrix, limit: int
) -> None:
    """Print the comparison of several runs: notes, a ranking, the hardest items, and upsets."""
    emit_lines(_format_matrix_notes(sides, matrix))
    _print_ranking(sides, matrix.ranking)
    print_matrix_items(
        "items, hardest first (verdicts of the runs from best to weakest)", matrix.items, limit
    )
    print_matrix_items(
        "upsets: items that the best runs fail and weaker runs pass", matrix.upsets, limit
    )


def _format_matrix_notes(sides: Sequence[ComparisonSide], matrix: stats.RunMatrix) -> Iterator[str]:
    """Say which runs, items and verdicts are compared, and what limits the comparison."""
    n_runs = format_count(len(sides), "run")
    n_items = format_count(len(matrix.items), "item")
    yield f"{n_runs}, {n_items}, verdicts: {_describe_verdict_sources(sides)}"

    if matrix.n_shared:
        n_shared = format_count(matrix.n_shared, "item")
        yield f"runs are ranked by the {n_shared} that have a verdict in every run"
    else:
        yield "no item has a verdict in every run, so each run is ranked by its own items"
    yield from _describe_matching(matrix)


def _describe_matching(matrix: stats.RunMatrix) -> Iterator[str]:
    """Say which items of the runs do not simply match."""
    if matrix.n_other_question:
        n_ids = format_count(matrix.n_other_question, "id")
        yield (
            f"questions differ between the runs for {n_ids}. Each question counts as a separate"
            " item"
        )
    if len(matrix.generations) > 1:
        versions = format_cell(", ".join(matrix.generations))
        yield f"the runs have the versions {versions}; items are matched across versions"
    if matrix.n_wrong_golden:
        n_left_out = format_count(matrix.n_wrong_golden, "item")
        yield (
            f"{n_left_out} left out, because reviews found the golden answer wrong, but not in"
            " every run"
        )


def _print_ranking(sides: Sequence[ComparisonSide], ranking: Sequence[stats.RankedRun]) -> None:
    """Print the runs, best first, with intervals and the differences from the best run."""
    runs = []
    for ranked in ranking:
        row = sides[ranked.run].row
        runs.append(RankedName(ranked, number=row.run, name=row.run_name))
    shows_reviews = any(side.source == "effective" for side in sides)
    print_figure(build_ranking_table(runs, shows_reviews=shows_reviews))


def _describe_verdict_sources(sides: Sequence[ComparisonSide]) -> str:
    """Name the source of the verdicts, or the runs whose verdicts had to be recomputed."""
    sources = {side.source for side in sides}
    if sources == {"rule"}:
        return "recomputed"
    if len(sources) == 1:
        return sides[0].source

    recomputed = [str(side.row.run) for side in sides if side.source == "rule"]
    listed = ", ".join(recomputed[:MAX_END_RUNS])
    if len(recomputed) > MAX_END_RUNS:
        listed += ", …"
    n_runs = format_count(len(recomputed), "run")
    return f"official, or recomputed for {n_runs} without official verdicts ({listed})"


def print_matrix_items(heading: str, items: Sequence[stats.MatrixItem], limit: int) -> None:
    """Print a row with the verdicts of all runs for each of the first `limit` items.

    With very many runs, only the verdicts of the best and the weakest ones are printed.
    """
    if not items or not limit:
        return

    emit()
    if _is_wide(items[0].verdicts):
        heading += (
            f". Only the {MAX_END_RUNS} best and weakest runs are shown; use --json for all runs"
        )
    emit(heading)
    rows = _build_matrix_rows(items[:limit])
    print_table(["item", "category", "pass", "runs"], rows, right_aligned=(2,), max_width=36)

    if len(items) > limit:
        n_more = format_count(len(items) - limit, "more item")
        emit(f"… {n_more}. Use --limit {len(items)} to list all")


def _build_matrix_rows(items: Sequence[stats.MatrixItem]) -> list[list[str]]:
    """Build the id, the category, the number of passing runs, and a mark for each run."""
    marks = _choose_verdict_marks()
    rows = []
    for item in items:
        key = item.aligned_item.question_key
        verdicts = _join_verdict_marks([marks[verdict] for verdict in item.verdicts])
        passing = f"{item.passing} of {item.known}"
        rows.append([format_cell(key.id), format_cell(key.category), passing, verdicts])
    return rows


def _choose_verdict_marks() -> dict[bool | None, str]:
    """Choose marks that the encoding of standard output has."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    return VERDICT_MARKS if encoding == "utf8" else ASCII_VERDICT_MARKS


def _is_wide(cells: Sequence[object]) -> bool:
    """Whether a matrix has too many runs to show them all."""
    return len(cells) > 3 * MAX_END_RUNS


def _join_verdict_marks(marks: Sequence[str]) -> str:
    """Join the marks of the verdicts, one for each run. If there are many, the middle is
    omitted.
    """
    if not _is_wide(marks):
        return "".join(marks)
    best = "".join(marks[:MAX_END_RUNS])
    weakest = "".join(marks[-MAX_END_RUNS:])
    return f"{best} … {weakest}"


ID_WIDTH = 44  # width limit of item ids in the list of flips, in terminal columns


def _print_comparison_json(
    sides: tuple[ComparisonSide, ComparisonSide],
    comparison: stats.RunComparison,
    estimate: EstimatedDifference | None,
    *,
    limit: int | None,
) -> None:
    """Print a line for all items, for the estimate, for each category, and for each of the first
    `limit` flips.
    """
    a, b = sides
    emit_json(_build_overall_json(a, b, comparison))
    if estimate is not None:
        emit_json(_build_estimate_json(estimate))
    for group in comparison.categories:
        fields = _build_group_json(group, a.source, b.source)
        emit_json({"kind": "category", "category": group.category, **fields})
    for flip in comparison.flips[:limit]:
        emit_json(_build_flip_json(flip))


def _build_overall_json(
    a: ComparisonSide, b: ComparisonSide, comparison: stats.RunComparison
) -> dict[str, Any]:
    """Build the JSON object of all items that two runs have in common.

    Fields such as `without_partner_a` count what the comparison leaves out.
    """
    complete = stats.combine_complete_categories(comparison, a.source, b.source)
    complete_json = None
    if complete is not None:
        complete_json = _build_group_json(complete, a.source, b.source)

    judged_a, judged_b = comparison.overall.n_verdicts
    without_partner_a, without_partner_b = comparison.n_unmatched
    return {
        "kind": "overall",
        "a": a.as_json(),
        "b": b.as_json(),
        **_build_group_json(comparison.overall, a.source, b.source),
        "complete_categories": complete_json,
        "level": CONFIDENCE_LEVEL,
        "method": INTERVAL_METHOD,
        "judged_a": judged_a,
        "judged_b": judged_b,
        "without_partner_a": without_partner_a,
        "without_partner_b": without_partner_b,
        "other_question": comparison.n_other_question,
        "independent": not comparison.has_grouped_items,
        "wrong_golden": comparison.n_wrong_golden,
    }


def _build_estimate_json(estimate: EstimatedDifference) -> dict[str, Any]:
    """Build the JSON object of the estimated difference between two runs.

    Differences are from -1 to 1. `bounds` are the least and the greatest difference that the
    undecided items allow.
    """
    from fcreview.stats.estimated_difference import ESTIMATED_DIFFERENCE_METHOD

    bounds_low, bounds_high = estimate.bounds or (None, None)
    return {
        "kind": "estimate",
        "difference": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "p": estimate.p,
        "bounds_low": bounds_low,
        "bounds_high": bounds_high,
        "headline": estimate.headline,
        "automatic": estimate.automatic,
        "of": estimate.n_questions,
        "reviewed": estimate.n_reviewed,
        "undecided": estimate.n_undecided,
        "outside": estimate.n_outside,
        "clusters": estimate.n_clusters,
        "design_effect": estimate.design_effect,
        "level": CONFIDENCE_LEVEL,
        "method": ESTIMATED_DIFFERENCE_METHOD,
        "why": estimate.reason,
    }


def _build_group_json(
    group: stats.ComparisonGroup, source_a: stats.VerdictSource, source_b: stats.VerdictSource
) -> dict[str, Any]:
    """Build the JSON fields that compare two runs on all items, or on the items of a category.

    Rates and differences are shares from 0 to 1.
    """
    counts = group.counts
    difference = group.difference
    standard_error_a, standard_error_b = map(_get_standard_error, group.clustered_rates)
    reviewed_a, reviewed_b = group.reviews.n_reviewed

    # Reviews of only one run bias the difference, so a reason takes the place of the p value.
    p_reason = None
    if group.reviews.depends_on_run:
        p_reason = stats.describe_one_sided_reviews(group.reviews)

    return {
        "of": group.n_pairs,
        "n": counts.n,
        **asdict(counts),
        "rate_a": group.rate_a,
        "rate_b": group.rate_b,
        "standard_error_a": standard_error_a,
        "standard_error_b": standard_error_b,
        "difference": difference.value,
        "low": difference.low,
        "high": difference.high,
        "p": difference.p,
        "p_holm": group.p_holm,
        "test": difference.test,
        "p_reason": p_reason,
        "clusters": difference.n_clusters,
        "design_effect": difference.design_effect,
        "reviewed_a": reviewed_a,
        "reviewed_b": reviewed_b,
        "comparable": group.is_comparable(source_a, source_b),
    }


def _get_standard_error(rate: ClusteredRate | None) -> float | None:
    return None if rate is None else rate.standard_error


def _build_flip_json(flip: stats.Flip) -> dict[str, Any]:
    """Build the JSON object of a flip. `a` and `b` are {verdict, error_type, first_difference}."""
    return {
        "kind": "flip",
        **flip.a.question_key._asdict(),
        "passes": flip.passing_side,
        "same_prediction": flip.same_prediction,
        "golden_differs": flip.golden_differs,
        "cause": flip.cause,
        "a": _build_flip_side_json(flip.a),
        "b": _build_flip_side_json(flip.b),
    }


def _build_flip_side_json(outcome: stats.ItemOutcome) -> dict[str, Any]:
    return {
        "verdict": outcome.verdict,
        "error_type": outcome.error_type,
        "first_difference": outcome.first_difference,
    }


def _print_comparison_text(
    sides: tuple[ComparisonSide, ComparisonSide],
    comparison: stats.RunComparison,
    estimate: EstimatedDifference | None,
    *,
    limit: int,
) -> None:
    """Print how two runs differ: caveats, pass rates, and the items with different verdicts
    (flips).
    """
    a, b = sides
    emit(f"A  {a.sanitized_title}")
    emit(f"B  {b.sanitized_title}")
    for remark in stats.list_caveats(comparison, a.source, b.source):
        emit(sanitize(remark))
    if estimate is not None:
        emit_lines(describe_estimated_difference(estimate))

    print_figure(build_pass_rate_table(comparison, a.source, b.source), max_width=36)
    _print_flips(comparison.flips, limit)


def _print_flips(flips: Sequence[stats.Flip], limit: int) -> None:
    """Print the items that only A passes, then those that only B passes, up to `limit` of each."""
    for side in ("a", "b"):
        flips_of_side = [flip for flip in flips if flip.passing_side == side]
        if not flips_of_side:
            continue
        emit("", format_flip_count(len(flips_of_side), side))

        # The heading says which run passes.
        table = build_flip_table(flips_of_side[:limit]).without(SIDE_TITLES)
        # A limit of 0 leaves only the number of flips, without a table.
        if table.rows:
            lines = format_figure(table, max_width=ID_WIDTH)
            emit_lines(f"  {line}" for line in lines)

        if len(flips_of_side) > limit:
            n_more = format_count(len(flips_of_side) - limit, "more item")
            emit(f"  … {n_more}. Use --limit {len(flips_of_side)} to list all")


@workspace_command("policy")
def compare(
    options: WorkspaceOptions,
    runs: Annotated[
        list[str] | None,
        argument(
            "RUN",
            "Run numbers or models. Two runs are compared item by item; more runs are compared in a"
            " matrix."
            " Default: all runs.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        option(
            "--source NAME",
            f"Source of the verdicts: {', '.join(stats.VERDICT_SOURCES)}. `rule` are the recomputed"
            " verdicts.",
            show_default="official, or rule if a run has no official verdicts",
        ),
    ] = None,
    against: Annotated[
        str | None,
        option(
            "--against NAME",
            "Source of the verdicts of the second run, if it differs from --source.",
        ),
    ] = None,
    where: WhereOption = "",
    limit: Annotated[
        int | None, option("--limit N", "Print at most N flips, or N items of the matrix.", min=0)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare runs item by item.

    For two runs, prints the difference of their pass rates with McNemar's test, by task or
    conversation where items belong to one, and the items that only one run passes (flips) with
    their cause. `--source effective` also estimates the difference from a joint sample (`queue
    create --compare`). For more runs, prints a ranking with intervals, the hardest items and
    upsets. To compare two verdict sources on one run, pass the run twice: `compare PATH 1 1
    --source official --against rule`. docs/compare.md explains the output.

    Example: fcreview compare result/ 1 2 --source rule
    """
    first_source = _parse_verdict_source(source)
    second_source = _parse_verdict_source(against)
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        view = session.build_view(where, queue="dataset")
        rows = _select_runs(session, runs or [])

        if len(rows) == 2:
            row_a, row_b = rows
            sides = (
                _make_comparison_side(row_a, first_source),
                _make_comparison_side(row_b, second_source or first_source),
            )
            _compare_two(session, view, sides, limit=limit, as_json=as_json)
            return

        if second_source:
            raise UsageError("--against needs two runs. Pass two runs, or the same run twice")
        _compare_many(session, view, rows, source=first_source, limit=limit, as_json=as_json)


def _compare_two(
    session: WorkspaceSession,
    view: View,
    sides: tuple[ComparisonSide, ComparisonSide],
    *,
    limit: int | None,
    as_json: bool,
) -> None:
    """Print the comparison of two sides. Raises UsageError if they are the same."""
    a, b = sides
    if (a.row, a.source) == (b.row, b.source):
        raise UsageError(
            "both sides are the same run and source. Choose another run, or two sources"
            " with --source and --against"
        )

    outcomes_a = _fetch_outcomes(session, view, a)
    outcomes_b = _fetch_outcomes(session, view, b)
    comparison = stats.compare_runs(outcomes_a, outcomes_b)
    estimate = _estimate_difference(session, sides, comparison)
    if as_json:
        _print_comparison_json(sides, comparison, estimate, limit=limit)
    else:
        text_limit = DEFAULT_LIMIT if limit is None else limit
        _print_comparison_text(sides, comparison, estimate, limit=text_limit)


def _estimate_difference(
    session: WorkspaceSession,
    sides: tuple[ComparisonSide, ComparisonSide],
    comparison: stats.RunComparison,
) -> EstimatedDifference | None:
    """Estimate the difference of the effective verdicts of two runs; None for other verdicts."""
    from fcreview.stats.estimated_difference import estimate_difference

    a, b = sides
    if a.source != "effective" or b.source != "effective":
        return None
    samples = session.store.analysis.fetch_joint_samples(a.row.run, b.row.run)
    return estimate_difference(comparison, *samples)


def _compare_many(
    session: WorkspaceSession,
    view: View,
    rows: Sequence[RunRow],
    *,
    source: stats.VerdictSource | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Print the matrix of several runs. A run that is passed twice counts once."""
    distinct_rows = {row.run: row for row in rows}.values()
    sides = [_make_comparison_side(row, source) for row in distinct_rows]
    outcomes = _fetch_outcomes_by_run(session, view, sides)
    matrix = stats.build_run_matrix([outcomes[side.row.run] for side in sides])
    if as_json:
        _print_matrix_json(sides, matrix, limit)
    else:
        _print_matrix_text(sides, matrix, DEFAULT_LIMIT if limit is None else limit)


def _fetch_outcomes_by_run(
    session: WorkspaceSession, view: View, sides: Sequence[ComparisonSide]
) -> dict[int, list[stats.ItemOutcome]]:
    """Fetch the verdicts of many runs, with one query for each verdict source."""
    runs_by_source: dict[stats.VerdictSource, list[int]] = {}
    for side in sides:
        runs_by_source.setdefault(side.source, []).append(side.row.run)

    outcomes: dict[int, list[stats.ItemOutcome]] = {}
    for source, runs in runs_by_source.items():
        analysis = session.store.analysis
        outcomes.update(analysis.fetch_outcomes_without_details(view, runs, source))
    return outcomes


def _make_comparison_side(
    row: RunRow, requested_source: stats.VerdictSource | None
) -> ComparisonSide:
    source = requested_source or stats.choose_verdict_source(row.official_known, row.rule_known)
    return ComparisonSide(row, source, is_requested=requested_source is not None)


def _parse_verdict_source(name: str | None) -> stats.VerdictSource | None:
    return None if name is None else check_choice(stats.VERDICT_SOURCES, name, "source")


def _select_runs(session: WorkspaceSession, numbers_or_models: Sequence[str]) -> list[RunRow]:
    """Select the named runs, or all runs. Raises CommandError if there is only one."""
    rows = {row.run: row for row in session.runs}
    selected = [rows[session.find_run_number(text)] for text in numbers_or_models]
    if not selected:
        selected = list(rows.values())
    if len(selected) < 2:
        raise CommandError(
            "compare needs two runs. Pass two runs, or the same run twice with --source official"
            " --against rule"
        )
    return selected


def _fetch_outcomes(
    session: WorkspaceSession, view: View, side: ComparisonSide
) -> list[stats.ItemOutcome]:
    return session.store.analysis.fetch_outcomes(view, [side.row.run], side.source)[side.row.run]
