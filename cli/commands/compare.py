"""`fcreview compare`: compare two runs, two verdict sources on one run, or several runs in a matrix."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.options import JsonOption, WhereOption, WorkspaceOptions, argument, option, workspace_command
from fcreview.cli.output import check_choice, emit, emit_json, emit_lines, format_cell, format_table, print_table
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError, UsageError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_VALUE, format_count, format_rate
from fcreview.stats import run_comparison as stats
from fcreview.stats.intervals import CONFIDENCE_LEVEL

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
        """Build the JSON object of the side: {run, run_name, model, generation, language, source, source_reason}."""
        reason = "official verdicts" if self.source == "official" else "no official verdicts"
        names = {name: getattr(self.row.info, name) for name in ("model", "generation", "language")}
        reason = "option" if self.is_requested else reason
        run = {"run": self.row.run, "run_name": self.row.run_name}
        return {**run, **names, "source": self.source, "source_reason": reason}


VERDICT_MARKS = {True: "✓", False: "✗", None: NO_VALUE}
ASCII_VERDICT_MARKS = {True: "P", False: "F", None: "-"}  # marks for terminals without Unicode
MAX_END_RUNS = 20
"""Number of best and of weakest runs that a matrix shows if it has more than three times this number of runs."""


def _print_matrix_json(sides: Sequence[ComparisonSide], matrix: stats.RunMatrix, limit: int | None) -> None:
    for each in matrix.ranking:
        emit_json(
            {"kind": "run", "rank": each.rank}
            | sides[each.run].as_json()
            | {"passed": each.passed, "known": each.known, "rate": each.rate, "shared": matrix.n_shared > 0}
        )
    order = [sides[each.run].row.run for each in matrix.ranking]
    for item in matrix.items[:limit]:
        counts = {"passing": item.passing, "failing": item.failing, "upset": item.upset_score}
        verdicts = {str(run): verdict for run, verdict in zip(order, item.verdicts, strict=True)}
        emit_json({"kind": "item"} | item.aligned_item.question_key._asdict() | counts | {"verdicts": verdicts})


def _print_matrix_text(sides: Sequence[ComparisonSide], matrix: stats.RunMatrix, limit: int) -> None:
    emit(
        f"{format_count(len(sides), 'run')}, {format_count(len(matrix.items), 'item')},"
        f" verdicts: {_describe_verdict_sources(sides)}"
    )
    if matrix.n_shared:
        emit(f"runs are ranked by the {format_count(matrix.n_shared, 'item')} that have a verdict in every run")
    else:
        emit("no item has a verdict in every run, so each run is ranked by its own items")
    if matrix.n_other_question:
        count = format_count(matrix.n_other_question, "id")
        emit(f"questions differ between the runs for {count}. Each question counts as a separate item")
    if len(matrix.generations) > 1:
        versions = format_cell(", ".join(matrix.generations))
        emit(f"the runs have the versions {versions}; items are matched across versions")
    emit()
    ranking = [
        [
            str(each.rank), str(sides[each.run].row.run), sides[each.run].row.run_name,
            format_rate(each.passed, each.known), f"{each.passed:,}", f"{each.known:,}",
        ]
        for each in matrix.ranking
    ]  # fmt: skip
    print_table(["rank", "run", "name", "rate", "passed", "of"], ranking, right_aligned=(0, 1, 3, 4, 5))
    print_matrix_items("items, hardest first (verdicts of the runs from best to weakest)", matrix.items, limit)
    print_matrix_items("upsets: items that the best runs fail and weaker runs pass", matrix.upsets, limit)


def _describe_verdict_sources(sides: Sequence[ComparisonSide]) -> str:
    if len({side.source for side in sides}) == 1:
        return "recomputed" if sides[0].source == "rule" else sides[0].source
    recomputed = [str(side.row.run) for side in sides if side.source == "rule"]
    listed = ", ".join([*recomputed[:MAX_END_RUNS], *(["…"] if len(recomputed) > MAX_END_RUNS else [])])
    count = format_count(len(recomputed), "run")
    return f"official, or recomputed for {count} without official verdicts ({listed})"


def print_matrix_items(heading: str, items: Sequence[stats.MatrixItem], limit: int) -> None:
    if not items or not limit:
        return
    emit()
    if len(items[0].verdicts) > 3 * MAX_END_RUNS:
        heading += f". Only the {MAX_END_RUNS} best and weakest runs are shown; use --json for all runs"
    emit(heading)
    marks = VERDICT_MARKS if (sys.stdout.encoding or "").lower().replace("-", "") == "utf8" else ASCII_VERDICT_MARKS
    rows = [
        [
            format_cell(item.aligned_item.question_key.id), format_cell(item.aligned_item.question_key.category),
            f"{item.passing} of {item.known}",
            _join_verdict_marks([marks[verdict] for verdict in item.verdicts]),
        ]
        for item in items[:limit]
    ]  # fmt: skip
    print_table(["item", "category", "pass", "runs"], rows, right_aligned=(2,), max_width=36)
    if len(items) > limit:
        emit(f"… {format_count(len(items) - limit, 'more item')}. Use --limit {len(items)} to list all")


def _join_verdict_marks(marks: Sequence[str]) -> str:
    return "".join(marks if len(marks) <= 3 * MAX_END_RUNS else (*marks[:MAX_END_RUNS], " … ", *marks[-MAX_END_RUNS:]))


ID_WIDTH = 44  # width limit of item ids in the list of flips, in terminal columns


def _print_comparison_json(
    sides: tuple[ComparisonSide, ComparisonSide], comparison: stats.RunComparison, limit: int | None
) -> None:
    sources = sides[0].source, sides[1].source
    complete, judged, unmatched = (
        stats.combine_complete_categories(comparison, *sources), comparison.overall.n_verdicts, comparison.n_unmatched
    )  # fmt: skip
    emit_json(
        {"kind": "overall", "a": sides[0].as_json(), "b": sides[1].as_json()}
        | _build_group_json(comparison.overall, *sources)
        | {"complete_categories": complete and _build_group_json(complete, *sources)}
        | {"level": CONFIDENCE_LEVEL, "method": stats.INTERVAL_METHOD, "test": stats.TEST_METHOD}
        | {"judged_a": judged[0], "judged_b": judged[1]}
        | {"without_partner_a": unmatched[0], "without_partner_b": unmatched[1]}
        | {"other_question": comparison.n_other_question, "independent": not comparison.has_grouped_items}
    )
    for part in comparison.categories:
        emit_json({"kind": "category", "category": part.category} | _build_group_json(part, *sources))
    emit_json(*map(_build_flip_json, comparison.flips[:limit]))


def _build_group_json(
    group: stats.ComparisonGroup, source_a: stats.VerdictSource, source_b: stats.VerdictSource
) -> dict[str, Any]:
    """Build the JSON fields of all items or of a category. Rates and differences are shares from 0 to 1."""
    counts, found = group.counts, group.difference
    return {
        "of": group.n_pairs, "n": counts.n, **asdict(counts), "rate_a": counts.rate_a, "rate_b": counts.rate_b,
        "difference": found.value, "low": found.low, "high": found.high, "p": found.p,
        "comparable": group.is_comparable(source_a, source_b),
    }  # fmt: skip


def _build_flip_json(flip: stats.Flip) -> dict[str, Any]:
    """Build the JSON object of a flip. `a` and `b` are {verdict, error_type, first_difference}."""
    a, b = (
        {name: getattr(side, name) for name in ("verdict", "error_type", "first_difference")}
        for side in (flip.a, flip.b)
    )
    flip_fields = {name: getattr(flip, name) for name in ("same_prediction", "golden_differs", "cause")}
    return {"kind": "flip", **flip.a.question_key._asdict(), "passes": flip.passing_side, **flip_fields, "a": a, "b": b}


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
    rows = [_build_group_row(part, show_rates=part.is_comparable(a.source, b.source)) for part in parts]
    headers = ["", "items", "A", "B", "both pass", "both fail", "only A", "only B", "A - B, points", "p"]
    print_table(headers, rows, right_aligned=range(1, 8), max_width=36)
    emit(
        "",
        f"[ ]: {stats.INTERVAL_DESCRIPTION}. p: {stats.TEST_DESCRIPTION}."
        + (" p values are not corrected for the number of categories." if parts[1:] else ""),
    )
    _print_flips(comparison.flips, limit)


def _build_group_row(group: stats.ComparisonGroup, *, show_rates: bool) -> list[str]:
    counts = group.counts
    rates, test = [NO_VALUE] * 2, [NO_VALUE] * 2
    if show_rates:
        rates = [format_rate(counts.both_pass + only, counts.n) for only in (counts.only_a, counts.only_b)]
        test = [stats.format_difference(group), stats.format_p_value(group.difference.p)]
    numbers = [f"{number:,}" for number in (counts.both_pass, counts.both_fail, counts.only_a, counts.only_b)]
    name = "all items" if group.category is None else sanitize(group.category)
    return [name, f"{counts.n:,}", *rates, *numbers, *test]


def _print_flips(flips: Sequence[stats.Flip], limit: int) -> None:
    for side in ("a", "b"):
        found = [flip for flip in flips if flip.passing_side == side]
        if found:
            emit("", f"only {side.upper()} passes: {format_count(len(found), 'item')}")
        rows = [[format_cell(flip.a.question_key.id), sanitize(flip.cause)] for flip in found[:limit]]
        emit_lines(f"  {line}" for line in format_table(["item", "cause"], rows, max_width=ID_WIDTH) if rows)
        if len(found) > limit:
            emit(f"  … {format_count(len(found) - limit, 'more item')}. Use --limit {len(found)} to list all")


@workspace_command("policy")
def compare(
    options: WorkspaceOptions,
    runs: Annotated[
        list[str] | None,
        argument(
            "RUN",
            "Run numbers or models. Two runs are compared item by item; more runs are compared in a matrix."
            " Default: all runs.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        option(
            "--source NAME",
            f"Source of the verdicts: {', '.join(stats.VERDICT_SOURCES)}. `rule` are the recomputed verdicts.",
            show_default="official, or rule if a run has no official verdicts",
        ),
    ] = None,
    against: Annotated[
        str | None, option("--against NAME", "Source of the verdicts of the second run, if it differs from --source.")
    ] = None,
    where: WhereOption = "",
    limit: Annotated[int | None, option("--limit N", "Print at most N flips, or N items of the matrix.", min=0)] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare runs item by item.

    For two runs, prints the difference of their pass rates with McNemar's test, and the items that only one run
    passes (flips) with their cause. For more runs, prints a ranking, the hardest items and upsets. To compare two
    verdict sources on one run, pass the run twice: `compare PATH 1 1 --source official --against rule`.
    docs/compare.md explains the output.

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
                    "both sides are the same run and source. Choose another run, or two sources with --source and"
                    " --against"
                )
            comparison = stats.compare_runs(_fetch_outcomes(session, view, a), _fetch_outcomes(session, view, b))
            if as_json:
                _print_comparison_json((a, b), comparison, limit)
            else:
                _print_comparison_text((a, b), comparison, DEFAULT_LIMIT if limit is None else limit)
        elif second_source:
            raise UsageError("--against needs two runs. Pass two runs, or the same run twice")
        else:
            sides = [_make_comparison_side(row, first_source) for row in {row.run: row for row in chosen}.values()]
            outcomes: dict[int, list[stats.ItemOutcome]] = {}
            for each in dict.fromkeys(side.source for side in sides):
                numbers = [side.row.run for side in sides if side.source == each]
                outcomes |= session.store.analysis.fetch_outcomes_without_details(view, numbers, each)
            matrix = stats.build_run_matrix([outcomes[side.row.run] for side in sides])
            if as_json:
                _print_matrix_json(sides, matrix, limit)
            else:
                _print_matrix_text(sides, matrix, DEFAULT_LIMIT if limit is None else limit)


def _make_comparison_side(row: RunRow, requested_source: stats.VerdictSource | None) -> ComparisonSide:
    source = requested_source or stats.choose_verdict_source(row.official_known, row.rule_known)
    return ComparisonSide(row, source, is_requested=requested_source is not None)


def _parse_verdict_source(name: str | None) -> stats.VerdictSource | None:
    return None if name is None else check_choice(stats.VERDICT_SOURCES, name, "source")


def _select_runs(session: WorkspaceSession, numbers_or_models: Sequence[str]) -> list[RunRow]:
    rows = {row.run: row for row in session.runs}
    chosen = [rows[session.find_run_number(each)] for each in numbers_or_models] or list(rows.values())
    if len(chosen) < 2:
        raise CommandError(
            "compare needs two runs. Pass two runs, or the same run twice with --source official --against rule"
        )
    return chosen


def _fetch_outcomes(session: WorkspaceSession, view: View, side: ComparisonSide) -> list[stats.ItemOutcome]:
    return session.store.analysis.fetch_outcomes(view, [side.row.run], side.source)[side.row.run]
