"""Table of rankings of runs, with the interval of each rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_VALUE, format_count, format_metric_value
from fcreview.stats.ranking import (
    DRAWS,
    SEED,
    DecidingItems,
    NamedRanking,
    RunRank,
    find_deciding_items,
    find_rival,
)
from fcreview.tables.table import (
    SEPARATOR,
    Cell,
    Column,
    Row,
    Table,
    Whisker,
    make_heading_row,
    make_whisker,
)

AS_OFFICIAL = "the same as official"
GRAPHIC_COLUMN = 4
"""Index of the column before which the intervals of the ranks are drawn."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
RANKING_NOTE = (
    f"[ ]: 95 % interval of the rank, from {DRAWS:,} bootstrap draws of whole clusters, the same"
    f" for all runs (seed {SEED})."
)
TIED_NOTE = "runs with a common letter cannot be told apart"
GROUPS_NOTE = (
    "tied: runs with a common letter cannot be told apart (the 95 % interval of their difference"
    " contains 0, not corrected for the number of runs)."
)
RIVALS_NOTE = (
    "against: the next better run (for the best run the second), with the number of items that only"
    " this run passes (+) and that only the other one passes (-)."
)


@dataclass(frozen=True, slots=True)
class RunTitle:
    """Number and name of a run."""

    number: int
    name: str


def build_rank_table(rankings: Sequence[NamedRanking], runs: Sequence[RunTitle]) -> Table:
    """Return a heading for each ranking, and a row for each run, best first.

    `runs` has the order in which the runs were ranked. The first ranking is the official one. A
    ranking that equals it has only a heading, which says so.
    """
    columns = [
        Column("ranking and run", cut="middle", min_cells=20),
        Column("run", align_right=True),
        Column("rank", align_right=True),
        Column("95 % interval"),
        Column("tied"),
        Column("value", align_right=True),
        Column("official", align_right=True),
        Column("against", priority=2),
    ]
    official = rankings[0]
    official_ranks = {run_rank.run: run_rank.rank for run_rank in official.ranking.ranks}
    rows: list[Row] = []
    for named in rankings:
        heading = describe_ranking(named)
        if named is not official and named.ranking == official.ranking:
            rows.append(make_heading_row(f"{heading}{SEPARATOR}{AS_OFFICIAL}", len(columns)))
            continue

        rows.append(make_heading_row(heading, len(columns)))
        for position, run_rank in enumerate(named.ranking.ranks):
            official_rank = official_ranks[run_rank.run]
            duel = _find_duel(named, position)
            rows.append(_build_row(run_rank, runs, official_rank=official_rank, duel=duel))
    return Table(
        columns, rows, notes=_list_notes(rankings), graphic_at=GRAPHIC_COLUMN, scale="rank"
    )


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


@dataclass(frozen=True, slots=True)
class _Duel:
    """A run, the run with which it competes for its place, and the items that decide."""

    run: int
    rival: int
    deciding: DecidingItems

    def list_item_numbers(self) -> tuple[int, ...]:
        """Return the numbers of the deciding items in the first run, or else in the other."""
        numbers = []
        for item in self.deciding.items:
            outcome = item.outcomes[self.run] or item.outcomes[self.rival]
            if outcome is not None:
                numbers.append(outcome.item)
        return tuple(sorted(numbers))


def _find_duel(ranking: NamedRanking, position: int) -> _Duel | None:
    """Return the duel of the run at a position of the ranking. None without another run."""
    rival = find_rival(ranking.ranking, position)
    if rival is None:
        return None
    run = ranking.ranking.ranks[position].run
    return _Duel(run, rival.run, find_deciding_items(ranking.items, run, rival.run))


def _build_row(
    run_rank: RunRank, runs: Sequence[RunTitle], *, official_rank: int | None, duel: _Duel | None
) -> Row:
    """Return the row of a run in a ranking. A different official rank is highlighted.

    The row opens the items of its duel: those that decide between the run and the one with which it
    competes for its place.
    """
    title = runs[run_rank.run]
    is_moved = run_rank.rank != official_rank
    cells = [
        Cell(sanitize(title.name)),
        Cell(str(title.number)),
        Cell(_format_rank(run_rank.rank), "strong"),
        Cell(_format_interval(run_rank)),
        Cell(_format_groups(run_rank.groups)),
        Cell(format_metric_value(run_rank.value, "share", 2)),
        Cell(_format_rank(official_rank), "warn" if is_moved else "dim"),
        Cell(_format_duel(duel, runs)),
    ]
    graphic = _make_rank_whisker(run_rank, official_rank)
    if duel is None:
        return Row(cells, level=1, graphic=graphic)
    return Row(
        cells,
        level=1,
        graphic=graphic,
        items=duel.list_item_numbers(),
        explanation=_explain_duel(duel, runs),
    )


def _make_rank_whisker(run_rank: RunRank, official_rank: int | None) -> Whisker | None:
    """Return the interval of a rank, with the official rank as a mark."""
    whisker = make_whisker(run_rank.low, run_rank.rank, run_rank.high)
    return None if whisker is None else replace(whisker, official=official_rank)


def _format_groups(groups: Sequence[int]) -> str:
    """Return the letters of groups, each at its own place, such as `a c` for the groups 0 and 2.

    Below each other, the letters of a group form a column.
    """
    text = ""
    n_places = max(groups, default=-1) + 1
    for group in range(n_places):
        letter = format_group(group)
        text += letter if group in groups else " " * len(letter)
    return text


def _format_duel(duel: _Duel | None, runs: Sequence[RunTitle]) -> str:
    """Return `run 2: +17 -20`."""
    if duel is None:
        return NO_VALUE
    only_run = len(duel.deciding.only_first)
    only_rival = len(duel.deciding.only_second)
    return f"run {runs[duel.rival].number}: +{only_run:,} -{only_rival:,}"


def _explain_duel(duel: _Duel, runs: Sequence[RunTitle]) -> str:
    """Return `37 items decide: 17 pass only in mini, 20 only in large`."""
    name = sanitize(runs[duel.run].name)
    rival_name = sanitize(runs[duel.rival].name)
    n_items = len(duel.deciding.items)
    if n_items == 0:
        return f"No item decides between {name} and {rival_name}"
    verb = "decides" if n_items == 1 else "decide"
    return (
        f"{format_count(n_items, 'item')} {verb}:"
        f" {len(duel.deciding.only_first):,} pass only in {name},"
        f" {len(duel.deciding.only_second):,} only in {rival_name}"
    )


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
    """Return the notes below the rankings. Few clusters make the intervals too narrow."""
    notes = [RANKING_NOTE, GROUPS_NOTE, RIVALS_NOTE]
    cluster_counts = [each.ranking.n_clusters for each in rankings if each.ranking.is_too_small]
    if cluster_counts:
        clusters = format_count(min(cluster_counts), "cluster")
        notes.append(f"The intervals are too narrow, because there are few clusters ({clusters}).")
    return notes
