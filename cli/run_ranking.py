"""Rank the runs of one benchmark, for `fcreview report --ranking`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fcreview.cli.output import emit, emit_json, print_figure
from fcreview.errors import UsageError
from fcreview.model.sanitize import sanitize
from fcreview.stats.ranking import (
    DRAWS,
    SEED,
    NamedRanking,
    RunTrials,
    find_deciding_items,
    find_rival,
    rank_by_conventions,
    rank_by_verdicts,
)
from fcreview.stats.run_comparison import (
    AlignedRuns,
    ItemOutcome,
    VerdictSource,
    align_runs,
    choose_verdict_source,
)
from fcreview.store.rows import View
from fcreview.tables.conventions import NO_CONVENTIONS
from fcreview.tables.ranking import RunTitle, build_rank_table, format_group

if TYPE_CHECKING:
    from fcreview.store.analysis import UnblindedAnalysis
    from fcreview.store.queries.scored_items import RankingMarks
    from fcreview.store.rows import RunRow


@dataclass(frozen=True, slots=True)
class RankedSource:
    """A run to rank, and the source of its verdicts."""

    row: RunRow
    source: VerdictSource


def print_rankings(analysis: UnblindedAnalysis, rows: Sequence[RunRow], *, as_json: bool) -> None:
    """Print how the runs of one benchmark rank by different verdicts and conventions. Raises
    UsageError if the runs cannot be ranked (see `choose_ranked_sources`).
    """
    sources = choose_ranked_sources(rows)
    rankings = compute_rankings(analysis, sources)
    if as_json:
        _print_json(rankings, sources)
    else:
        _print_text(rankings, sources)


def choose_ranked_sources(rows: Sequence[RunRow]) -> list[RankedSource]:
    """Choose for each run by which verdicts it is ranked.

    Raises UsageError for less than two runs, for runs of different benchmarks, and for a run with
    neither official nor recomputed verdicts.
    """
    _check_runs(rows)
    return [choose_source(row) for row in rows]


def _check_runs(rows: Sequence[RunRow]) -> None:
    """Raise UsageError unless there are several runs, all of one benchmark."""
    if len(rows) < 2:
        raise UsageError("a ranking needs two or more runs. Repeat --run, or omit it for all runs")

    benchmarks = sorted({row.info.benchmark for row in rows})
    if len(benchmarks) > 1:
        listed = sanitize(", ".join(benchmarks))
        raise UsageError(
            f"a ranking needs runs of one benchmark, not of {listed}. Choose runs with --run"
        )


def choose_source(row: RunRow) -> RankedSource:
    """Choose whether a run is ranked by its official or by its recomputed verdicts.

    Raises UsageError if it has neither.
    """
    source = choose_verdict_source(row.official_known, row.rule_known)
    if source == "effective":
        raise UsageError(
            f"run {row.run} has no official and no recomputed verdicts to rank it by. Choose other"
            " runs with --run"
        )
    return RankedSource(row, source)


def compute_rankings(
    analysis: UnblindedAnalysis, sources: Sequence[RankedSource]
) -> list[NamedRanking]:
    """Rank runs in several ways: by official verdicts, without incidents, with errata (corrections
    of the benchmark), and by each rule of counting trials.

    The differences between these rankings show what a rank depends on.
    """
    # Which items are incidents, and which ones errata correct.
    marks = analysis.fetch_ranking_marks([source.row.run for source in sources])
    # Recomputed verdicts may already be by errata. The first ranking is without them.
    official = [
        _undo_errata(_fetch_outcomes(analysis, source), source, marks) for source in sources
    ]
    without_incidents = [_omit_incidents(outcomes, marks) for outcomes in official]
    with_errata = [_apply_errata(outcomes, marks) for outcomes in official]

    # Runs are compared on the questions that all of them answer.
    aligned = align_runs(official)
    aligned_without_incidents = align_runs(without_incidents)

    n_runs = len(sources)
    return [
        rank_by_verdicts("official", aligned.items, n_runs),
        rank_by_verdicts("without incidents", aligned_without_incidents.items, n_runs),
        _rank_with_errata(official, with_errata),
        *_rank_by_conventions(analysis, sources, official, aligned),
    ]


def fetch_official_outcomes(analysis: UnblindedAnalysis, source: RankedSource) -> list[ItemOutcome]:
    """Return the outcomes of a run by its official verdicts, or by recomputed ones without errata
    if it has no official verdicts.
    """
    marks = analysis.fetch_ranking_marks([source.row.run])
    return _undo_errata(_fetch_outcomes(analysis, source), source, marks)


def _fetch_outcomes(analysis: UnblindedAnalysis, source: RankedSource) -> list[ItemOutcome]:
    run = source.row.run
    view = View(queue="dataset")
    return analysis.fetch_outcomes_without_details(view, [run], source.source)[run]


def _undo_errata(
    outcomes: Sequence[ItemOutcome], source: RankedSource, marks: Mapping[int, RankingMarks]
) -> list[ItemOutcome]:
    """Return outcomes as they are with the golden answers of the dataset.

    If the run was imported with an errata file, its recomputed verdicts use the corrected golden
    answers. They are replaced by the verdicts before the correction.
    """
    if source.source == "official":
        return list(outcomes)
    verdicts_before = {item: mark.verdict_before for item, mark in marks.items()}
    return _replace_known_verdicts(outcomes, verdicts_before)


def _omit_incidents(
    outcomes: Sequence[ItemOutcome], marks: Mapping[int, RankingMarks]
) -> list[ItemOutcome]:
    """Return outcomes in which incidents have no verdict."""
    answered = []
    for outcome in outcomes:
        mark = marks.get(outcome.item)
        if mark is not None and mark.is_incident:
            answered.append(outcome._replace(verdict=None))
        else:
            answered.append(outcome)
    return answered


def _apply_errata(
    outcomes: Sequence[ItemOutcome], marks: Mapping[int, RankingMarks]
) -> list[ItemOutcome]:
    """Return outcomes with the verdicts that corrected golden answers change."""
    golden_verdicts = {item: mark.golden_verdict for item, mark in marks.items()}
    return _replace_known_verdicts(outcomes, golden_verdicts)


def _replace_known_verdicts(
    outcomes: Sequence[ItemOutcome], verdicts: Mapping[int, bool | None]
) -> list[ItemOutcome]:
    """Return the outcomes with the verdicts in `verdicts`, which has them by item number. An
    outcome keeps its verdict if its item is missing there or has None.
    """
    replaced = []
    for outcome in outcomes:
        verdict = verdicts.get(outcome.item)
        replaced.append(outcome if verdict is None else outcome._replace(verdict=verdict))
    return replaced


def _rank_with_errata(
    official: Sequence[Sequence[ItemOutcome]], with_errata: Sequence[Sequence[ItemOutcome]]
) -> NamedRanking:
    """Rank the runs by their verdicts with errata, which are published corrections of golden
    answers.

    The result also says how many verdicts they change.
    """
    n_changed = 0
    for outcomes, corrected in zip(official, with_errata, strict=True):
        for outcome, corrected_outcome in zip(outcomes, corrected, strict=True):
            if outcome.verdict is not corrected_outcome.verdict:
                n_changed += 1
    ranking = rank_by_verdicts("with errata", align_runs(with_errata).items, len(official))
    return replace(ranking, n_changed=n_changed)


def _rank_by_conventions(
    analysis: UnblindedAnalysis,
    sources: Sequence[RankedSource],
    outcomes_by_run: Sequence[Sequence[ItemOutcome]],
    aligned: AlignedRuns,
) -> list[NamedRanking]:
    """Rank runs by each counting convention, such as the mean of repeated trials.

    Empty if fcreview knows no trials of a run.
    """
    from fcreview.importers.registry import list_trials

    runs = []
    for source, outcomes in zip(sources, outcomes_by_run, strict=True):
        row = source.row
        scored_items = analysis.fetch_scored_items(row.run)
        if source.source == "official":
            table = list_trials(scored_items["official"], row.info)
        else:
            table = list_trials(scored_items["rule"], row.info)
        if table is None:
            return []
        # Both lists have all items of the run, in dataset order.
        runs.append(RunTrials(table, [outcome.item for outcome in outcomes]))
    return rank_by_conventions(aligned.items, runs)


def _print_text(rankings: Sequence[NamedRanking], sources: Sequence[RankedSource]) -> None:
    """Print the rankings as a table, and notes on the verdicts and items that they use."""
    recomputed = [str(source.row.run) for source in sources if source.source == "rule"]
    if recomputed:
        listed = ", ".join(recomputed)
        emit(f"recomputed verdicts for the runs without official verdicts: {listed}")
    has_shared_items = rankings[0].n_questions > 0
    if not has_shared_items:
        emit("no item has a verdict in every run. Choose fewer runs with --run")

    titles = [RunTitle(source.row.run, source.row.run_name) for source in sources]
    print_figure(build_rank_table(rankings, titles), max_width=70)

    has_conventions = any(ranking.kind == "convention" for ranking in rankings)
    if has_shared_items and not has_conventions:
        emit(NO_CONVENTIONS)


def _print_json(rankings: Sequence[NamedRanking], sources: Sequence[RankedSource]) -> None:
    """Print a line for each run of each ranking, best first."""
    for ranking in rankings:
        for position in range(len(sources)):
            emit_json(_build_json(ranking, position, sources))


def _build_json(
    named: NamedRanking, position: int, sources: Sequence[RankedSource]
) -> dict[str, Any]:
    """Build the JSON object of the run at a position of a ranking. `sources` has the runs in the
    order in which they were ranked.

    `rank_low` and `rank_high` are the best and the worst rank that chance could give the run.
    `not_told_apart` lists the runs that may be equally good.
    """
    run_rank = named.ranking.ranks[position]
    source = sources[run_rank.run]
    info = source.row.info
    return {
        "ranking": named.kind,
        "figure": named.figure,
        "convention": named.convention or None,
        "run": source.row.run,
        "run_name": source.row.run_name,
        "benchmark": info.benchmark,
        "generation": info.generation,
        "language": info.language,
        "model": info.model,
        "source": source.source,
        "rank": run_rank.rank,
        "rank_low": run_rank.low,
        "rank_high": run_rank.high,
        "value": run_rank.value,
        "groups": [format_group(group) for group in run_rank.groups],
        "not_told_apart": [sources[index].row.run for index in run_rank.not_told_apart],
        **_build_rival_json(named, position, sources),
        "questions": named.n_questions,
        "left_out": named.n_left_out,
        "changed": named.n_changed,
        "clusters": named.ranking.n_clusters,
        "draws": DRAWS,
        "seed": SEED,
    }


def _build_rival_json(
    named: NamedRanking, position: int, sources: Sequence[RankedSource]
) -> dict[str, Any]:
    """Build the fields that compare a run with its rival: the next better run, or the second run
    for the best one.

    `only_run` and `only_other` count the items that only this run or only the rival passes.
    """
    rival = find_rival(named.ranking, position)
    if rival is None:
        return {"against": None, "only_run": 0, "only_other": 0}
    run = named.ranking.ranks[position].run
    deciding = find_deciding_items(named.items, run, rival.run)
    return {
        "against": sources[rival.run].row.run,
        "only_run": len(deciding.only_first),
        "only_other": len(deciding.only_second),
    }
