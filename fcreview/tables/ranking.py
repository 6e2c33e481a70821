"""Table of rankings of runs, with the interval of each rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_VALUE, format_count, format_metric_value
from fcreview.stats.ranking import DRAWS, SEED, NamedRanking, RunRank
from fcreview.tables.table import SEPARATOR, Cell, Column, Row, Table, make_heading_row

LETTERS = "abcdefghijklmnopqrstuvwxyz"
RANKING_NOTE = (
    f"[ ]: 95 % interval of the rank, from {DRAWS:,} bootstrap draws of whole clusters, the same"
    f" for all runs (seed {SEED})."
)
GROUPS_NOTE = (
    "tied: runs with a common letter cannot be told apart (the 95 % interval of their difference"
    " contains 0, not corrected for the number of runs)."
)


@dataclass(frozen=True, slots=True)
class RunTitle:
    """Number and name of a run."""

    number: int
    name: str


def build_rank_table(rankings: Sequence[NamedRanking], runs: Sequence[RunTitle]) -> Table:
    """Return a heading for each ranking, and a row for each run, best first.

    `runs` has the order in which the runs were ranked. The first ranking is the official one.
    """
    columns = [
        Column("ranking and run", cut="middle", min_cells=20),
        Column("run", align_right=True),
        Column("rank", align_right=True),
        Column("95 % interval"),
        Column("tied"),
        Column("value", align_right=True),
        Column("official rank", align_right=True),
    ]
    official_ranks = {each.run: each.rank for each in rankings[0].ranking.ranks}
    rows: list[Row] = []
    for ranking in rankings:
        rows.append(make_heading_row(describe_ranking(ranking), len(columns)))
        for run_rank in ranking.ranking.ranks:
            title = runs[run_rank.run]
            official_rank = official_ranks[run_rank.run]
            rows.append(_build_row(run_rank, title, official_rank))
    return Table(columns, rows, notes=_list_notes(rankings))


def describe_ranking(ranking: NamedRanking) -> str:
    """Return `with errata · 950 items, 50 left out, 3 verdicts changed`."""
    noun = "item"
    name: str = ranking.kind
    if ranking.kind == "convention":
        noun = "task"
        name = f"{ranking.figure}{SEPARATOR}{ranking.convention}"
    questions = format_count(ranking.n_questions, noun)
    text = f"{name}{SEPARATOR}{questions}, {ranking.n_left_out:,} left out"
    if ranking.kind == "with errata":
        text += f", {format_count(ranking.n_changed, 'verdict')} changed"
    return text


def _build_row(run_rank: RunRank, title: RunTitle, official_rank: int | None) -> Row:
    """Return the row of a run in a ranking. A different official rank is highlighted."""
    is_moved = run_rank.rank != official_rank
    cells = [
        Cell(sanitize(title.name)),
        Cell(str(title.number)),
        Cell(_format_rank(run_rank.rank), "strong"),
        Cell(_format_interval(run_rank)),
        Cell(" ".join(format_group(group) for group in run_rank.groups)),
        Cell(format_metric_value(run_rank.value, "share", 2)),
        Cell(_format_rank(official_rank), "warn" if is_moved else "dim"),
    ]
    return Row(cells, level=1)


def _format_rank(rank: int | None) -> str:
    return NO_VALUE if rank is None else str(rank)


def _format_interval(run_rank: RunRank) -> str:
    if run_rank.low is None or run_rank.high is None:
        return NO_VALUE
    return f"[{run_rank.low}, {run_rank.high}]"


def format_group(number: int) -> str:
    """Return the letter of a group: `a` to `z`, then `a2`, `b2`, ..."""
    cycle, letter = divmod(number, len(LETTERS))
    if cycle == 0:
        return LETTERS[letter]
    return f"{LETTERS[letter]}{cycle + 1}"


def _list_notes(rankings: Sequence[NamedRanking]) -> list[str]:
    notes = [RANKING_NOTE, GROUPS_NOTE]
    cluster_counts = [each.ranking.n_clusters for each in rankings if each.ranking.is_too_small]
    if cluster_counts:
        clusters = format_count(min(cluster_counts), "cluster")
        notes.append(f"The intervals are too narrow, because there are few clusters ({clusters}).")
    return notes
