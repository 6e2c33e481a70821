"""`fcreview compare`: compare two runs, two verdict sources on one run, or several runs in a
matrix.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
    format_table,
    print_table,
)
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError, UsageError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_VALUE, format_count, format_rate
from fcreview.stats import run_comparison as stats
from fcreview.stats.intervals import CONFIDENCE_LEVEL
from fcreview.stats.paired_difference import INTERVAL_DESCRIPTION, INTERVAL_METHOD, RateDifference

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
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
        reason = "official verdicts" if self.source == "official" else "no official verdicts"
        names = {name: getattr(self.row.info, name) for name in ("model", "generation", "language")}
        reason = "option" if self.is_requested else reason
        run = {"run": self.row.run, "run_name": self.row.run_name}
        return {**run, **names, "source": self.source, "source_reason": reason}


VERDICT_MARKS = {True: "✓", False: "✗", None: NO_VALUE}
ASCII_VERDICT_MARKS = {True: "P", False: "F", None: "-"}  # marks for terminals without Unicode
MAX_END_RUNS = 20
"""Number of best and of weakest runs that a matrix shows if it has more than three times this
number of runs.
"""


def _print_matrix_json(
    sides: Sequence[ComparisonSide], matrix: stats.RunMatrix, limit: int | None
) -> None:
    for each in matrix.ranking:
        emit_json(
            {"kind": "run", "rank": each.rank}
            | sides[each.run].as_json()
            | {
                "passed": each.passed,
                "known": each.known,
                "rate": each.rate,
                "shared": matrix.n_shared > 0,
            }
            | _build_rate_json(each)
        )
    order = [sides[each.run].row.run for each in matrix.ranking]
    for item in matrix.items[:limit]:
        counts = {"passing": item.passing, "failing": item.failing, "upset": item.upset_score}
        verdicts = {str(run): verdict for run, verdict in zip(order, item.verdicts, strict=True)}
        emit_json(
            {"kind": "item"}
            | item.aligned_item.question_key._asdict()
            | counts
            | {"verdicts": verdicts}
        )


def _build_rate_json(ranked: stats.RankedRun) -> dict[str, Any]:
    """Build the JSON fields of the interval of a run's pass rate and of its difference from the
    best run.
    """
    rate = ranked.clustered_rate
    difference = ranked.to_best or RateDifference()
    return {
        "standard_error": rate and rate.standard_error,
        "low": rate and rate.low,
        "high": rate and rate.high,
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
    emit(
        f"{format_count(len(sides), 'run')}, {format_count(len(matrix.items), 'item')},"
        f" verdicts: {_describe_verdict_sources(sides)}"
    )
    if matrix.n_shared:
        emit(
            f"runs are ranked by the {format_count(matrix.n_shared, 'item')} that have a verdict in"
            " every run"
        )
    else:
        emit("no item has a verdict in every run, so each run is ranked by its own items")
    if matrix.n_other_question:
        count = format_count(matrix.n_other_question, "id")
        emit(
            f"questions differ between the runs for {count}. Each question counts as a separate"
            " item"
        )
    if len(matrix.generations) > 1:
        versions = format_cell(", ".join(matrix.generations))
        emit(f"the runs have the versions {versions}; items are matched across versions")
    if matrix.n_wrong_golden:
        count = format_count(matrix.n_wrong_golden, "item")
        emit(
            f"{count} left out, because reviews found the golden answer wrong, but not in every run"
        )
    emit()
    _print_ranking(sides, matrix.ranking)
    print_matrix_items(
        "items, hardest first (verdicts of the runs from best to weakest)", matrix.items, limit
    )
    print_matrix_items(
        "upsets: items that the best runs fail and weaker runs pass", matrix.upsets, limit
    )


TIE_MARK = "="


def _print_ranking(sides: Sequence[ComparisonSide], ranking: Sequence[stats.RankedRun]) -> None:
    """Print the runs, best first, with intervals and the differences from the best run."""
    shows_reviews = any(side.source == "effective" for side in sides)
    headers = ["rank", "", "run", "name", "rate", "[95 %]", "passed", "of", "to best, points"]
    right_aligned = [0, 2, 4, 6, 7]
    if shows_reviews:
        headers.append("reviewed")
        right_aligned.append(9)
    rows = []
    for ranked in ranking:
        row = _build_ranking_row(sides[ranked.run], ranked)
        if shows_reviews:
            row.append(f"{ranked.n_reviewed:,}")
        rows.append(row)
    print_table(headers, rows, right_aligned=right_aligned)
    emit(
        "",
        f"[ ]: 95 % intervals, by cluster. to best: difference from the first run. {TIE_MARK}: its"
        " interval contains 0,"
        " not corrected for the number of runs.",
    )


def _build_ranking_row(side: ComparisonSide, ranked: stats.RankedRun) -> list[str]:
    rate = ranked.clustered_rate
    interval = NO_VALUE if rate is None else f"[{100 * rate.low:.1f}, {100 * rate.high:.1f}]"
    to_best = NO_VALUE if ranked.to_best is None else stats.format_difference(ranked.to_best)
    return [
        str(ranked.rank),
        TIE_MARK if ranked.is_tied else "",
        str(side.row.run),
        side.row.run_name,
        format_rate(ranked.passed, ranked.known),
        interval,
        f"{ranked.passed:,}",
        f"{ranked.known:,}",
        to_best,
    ]


def _describe_verdict_sources(sides: Sequence[ComparisonSide]) -> str:
    if len({side.source for side in sides}) == 1:
        return "recomputed" if sides[0].source == "rule" else sides[0].source
    recomputed = [str(side.row.run) for side in sides if side.source == "rule"]
    listed = ", ".join(
        [*recomputed[:MAX_END_RUNS], *(["…"] if len(recomputed) > MAX_END_RUNS else [])]
    )
    count = format_count(len(recomputed), "run")
    return f"official, or recomputed for {count} without official verdicts ({listed})"


def print_matrix_items(heading: str, items: Sequence[stats.MatrixItem], limit: int) -> None:
    if not items or not limit:
        return
    emit()
    if len(items[0].verdicts) > 3 * MAX_END_RUNS:
        heading += (
            f". Only the {MAX_END_RUNS} best and weakest runs are shown; use --json for all runs"
        )
    emit(heading)
    marks = (
        VERDICT_MARKS
        if (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        else ASCII_VERDICT_MARKS
    )
    rows = [
        [
            format_cell(item.aligned_item.question_key.id),
            format_cell(item.aligned_item.question_key.category),
            f"{item.passing} of {item.known}",
            _join_verdict_marks([marks[verdict] for verdict in item.verdicts]),
        ]
        for item in items[:limit]
    ]
    print_table(["item", "category", "pass", "runs"], rows, right_aligned=(2,), max_width=36)
    if len(items) > limit:
        emit(
            f"… {format_count(len(items) - limit, 'more item')}. Use --limit {len(items)} to list"
            " all"
        )


def _join_verdict_marks(marks: Sequence[str]) -> str:
    return "".join(
        marks
        if len(marks) <= 3 * MAX_END_RUNS
        else (*marks[:MAX_END_RUNS], " … ", *marks[-MAX_END_RUNS:])
    )


ID_WIDTH = 44  # width limit of item ids in the list of flips, in terminal columns


def _print_comparison_json(
    sides: tuple[ComparisonSide, ComparisonSide], comparison: stats.RunComparison, limit: int | None
) -> None:
    sources = sides[0].source, sides[1].source
    complete, judged, unmatched = (
        stats.combine_complete_categories(comparison, *sources),
        comparison.overall.n_verdicts,
        comparison.n_unmatched,
    )
    emit_json(
        {"kind": "overall", "a": sides[0].as_json(), "b": sides[1].as_json()}
        | _build_group_json(comparison.overall, *sources)
        | {"complete_categories": complete and _build_group_json(complete, *sources)}
        | {"level": CONFIDENCE_LEVEL, "method": INTERVAL_METHOD}
        | {"judged_a": judged[0], "judged_b": judged[1]}
        | {"without_partner_a": unmatched[0], "without_partner_b": unmatched[1]}
        | {
            "other_question": comparison.n_other_question,
            "independent": not comparison.has_grouped_items,
        }
        | {"wrong_golden": comparison.n_wrong_golden}
    )
    for part in comparison.categories:
        emit_json(
            {"kind": "category", "category": part.category} | _build_group_json(part, *sources)
        )
    emit_json(*map(_build_flip_json, comparison.flips[:limit]))


def _build_group_json(
    group: stats.ComparisonGroup, source_a: stats.VerdictSource, source_b: stats.VerdictSource
) -> dict[str, Any]:
    """Build the JSON fields of all items or of a category.

    Rates and differences are shares from 0 to 1.
    """
    counts = group.counts
    difference = group.difference
    errors = [None if rate is None else rate.standard_error for rate in group.clustered_rates]
    reason = (
        stats.describe_one_sided_reviews(group.reviews) if group.reviews.depends_on_run else None
    )
    return {
        "of": group.n_pairs,
        "n": counts.n,
        **asdict(counts),
        "rate_a": group.rate_a,
        "rate_b": group.rate_b,
        "standard_error_a": errors[0],
        "standard_error_b": errors[1],
        "difference": difference.value,
        "low": difference.low,
        "high": difference.high,
        "p": difference.p,
        "p_holm": group.p_holm,
        "test": difference.test,
        "p_reason": reason,
        "clusters": difference.n_clusters,
        "design_effect": difference.design_effect,
        "reviewed_a": group.reviews.n_reviewed[0],
        "reviewed_b": group.reviews.n_reviewed[1],
        "comparable": group.is_comparable(source_a, source_b),
    }


def _build_flip_json(flip: stats.Flip) -> dict[str, Any]:
    """Build the JSON object of a flip. `a` and `b` are {verdict, error_type, first_difference}."""
    a, b = (
        {name: getattr(side, name) for name in ("verdict", "error_type", "first_difference")}
        for side in (flip.a, flip.b)
    )
    flip_fields = {
        name: getattr(flip, name) for name in ("same_prediction", "golden_differs", "cause")
    }
    return {
        "kind": "flip",
        **flip.a.question_key._asdict(),
        "passes": flip.passing_side,
        **flip_fields,
        "a": a,
        "b": b,
    }


def _print_comparison_text(
    sides: tuple[ComparisonSide, ComparisonSide], comparison: stats.RunComparison, limit: int
) -> None:
    a, b = sides
    emit(f"A  {a.sanitized_title}")
    emit(f"B  {b.sanitized_title}")
    for remark in stats.list_caveats(comparison, a.source, b.source):
        emit(sanitize(remark))
    emit()
    parts = stats.list_table_groups(comparison, a.source, b.source)
    has_categories = len(parts) > 1
    rows = [
        _build_group_row(
            part, show_rates=part.is_comparable(a.source, b.source), show_holm=has_categories
        )
        for part in parts
    ]
    headers = [
        "",
        "items",
        "A",
        "B",
        "both pass",
        "both fail",
        "only A",
        "only B",
        "A - B, points",
        "p",
    ]
    if has_categories:
        headers.append("p (Holm)")
    print_table(headers, rows, right_aligned=range(1, 8), max_width=36)
    emit("", _explain_figures(parts))
    _print_flips(comparison.flips, limit)


def _explain_figures(groups: Sequence[stats.ComparisonGroup]) -> str:
    """Name the interval and the tests of the table."""
    sentences = [f"[ ]: {INTERVAL_DESCRIPTION}."]
    tests = stats.describe_test(groups)
    if tests:
        sentences.append(f"p: {tests}, two-sided.")
    if any(map(stats.is_clustered, groups)):
        sentences.append(f"{CLUSTER_MARK}: test and interval by cluster.")
    if len(groups) > 1:
        sentences.append("p (Holm): corrected for the number of categories (Holm 1979).")
    return " ".join(sentences)


CLUSTER_MARK = "c"


def _build_group_row(
    group: stats.ComparisonGroup, *, show_rates: bool, show_holm: bool
) -> list[str]:
    counts = group.counts
    rates, test = [NO_VALUE] * 2, [NO_VALUE] * 2
    holm = NO_VALUE
    if show_rates:
        rates = [
            NO_VALUE if rate is None else f"{100 * rate:.1f} %"
            for rate in (group.rate_a, group.rate_b)
        ]
        mark = (
            f" {CLUSTER_MARK}"
            if stats.is_clustered(group) and group.difference.p is not None
            else ""
        )
        test = [
            stats.format_difference(group.difference),
            stats.format_p_value(group.difference.p) + mark,
        ]
        holm = stats.format_p_value(group.p_holm)
    if show_holm:
        test.append(holm)
    numbers = [
        f"{number:,}"
        for number in (counts.both_pass, counts.both_fail, counts.only_a, counts.only_b)
    ]
    name = "all items" if group.category is None else sanitize(group.category)
    return [name, f"{counts.n:,}", *rates, *numbers, *test]


def _print_flips(flips: Sequence[stats.Flip], limit: int) -> None:
    for side in ("a", "b"):
        found = [flip for flip in flips if flip.passing_side == side]
        if found:
            emit("", f"only {side.upper()} passes: {format_count(len(found), 'item')}")
        rows = [
            [format_cell(flip.a.question_key.id), sanitize(flip.cause)] for flip in found[:limit]
        ]
        emit_lines(
            f"  {line}"
            for line in format_table(["item", "cause"], rows, max_width=ID_WIDTH)
            if rows
        )
        if len(found) > limit:
            emit(
                f"  … {format_count(len(found) - limit, 'more item')}. Use --limit {len(found)} to"
                " list all"
            )


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
    their cause. For more runs, prints a ranking with intervals, the hardest items and upsets. To
    compare two verdict sources on one run, pass the run twice: `compare PATH 1 1 --source official
    --against rule`. docs/compare.md explains the output.

    Example: fcreview compare result/ 1 2 --source rule
    """
    first_source, second_source = _parse_verdict_source(source), _parse_verdict_source(against)
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        view = session.build_view(where, queue="dataset")
        chosen = _select_runs(session, runs or [])
        if len(chosen) == 2:
            a, b = (
                _make_comparison_side(chosen[0], first_source),
                _make_comparison_side(chosen[1], second_source or first_source),
            )
            if (a.row, a.source) == (b.row, b.source):
                raise UsageError(
                    "both sides are the same run and source. Choose another run, or two sources"
                    " with --source and"
                    " --against"
                )
            comparison = stats.compare_runs(
                _fetch_outcomes(session, view, a), _fetch_outcomes(session, view, b)
            )
            if as_json:
                _print_comparison_json((a, b), comparison, limit)
            else:
                _print_comparison_text(
                    (a, b), comparison, DEFAULT_LIMIT if limit is None else limit
                )
        elif second_source:
            raise UsageError("--against needs two runs. Pass two runs, or the same run twice")
        else:
            sides = [
                _make_comparison_side(row, first_source)
                for row in {row.run: row for row in chosen}.values()
            ]
            outcomes: dict[int, list[stats.ItemOutcome]] = {}
            for each in dict.fromkeys(side.source for side in sides):
                numbers = [side.row.run for side in sides if side.source == each]
                outcomes |= session.store.analysis.fetch_outcomes_without_details(
                    view, numbers, each
                )
            matrix = stats.build_run_matrix([outcomes[side.row.run] for side in sides])
            if as_json:
                _print_matrix_json(sides, matrix, limit)
            else:
                _print_matrix_text(sides, matrix, DEFAULT_LIMIT if limit is None else limit)


def _make_comparison_side(
    row: RunRow, requested_source: stats.VerdictSource | None
) -> ComparisonSide:
    source = requested_source or stats.choose_verdict_source(row.official_known, row.rule_known)
    return ComparisonSide(row, source, is_requested=requested_source is not None)


def _parse_verdict_source(name: str | None) -> stats.VerdictSource | None:
    return None if name is None else check_choice(stats.VERDICT_SOURCES, name, "source")


def _select_runs(session: WorkspaceSession, numbers_or_models: Sequence[str]) -> list[RunRow]:
    rows = {row.run: row for row in session.runs}
    chosen = [rows[session.find_run_number(each)] for each in numbers_or_models] or list(
        rows.values()
    )
    if len(chosen) < 2:
        raise CommandError(
            "compare needs two runs. Pass two runs, or the same run twice with --source official"
            " --against rule"
        )
    return chosen


def _fetch_outcomes(
    session: WorkspaceSession, view: View, side: ComparisonSide
) -> list[stats.ItemOutcome]:
    return session.store.analysis.fetch_outcomes(view, [side.row.run], side.source)[side.row.run]
