"""`fcreview estimate`: corrected figures with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.errors import UsageError
from fcreview.cli.options import AsJson, Data, ErrataOption, PathArgument, PolicyOption, RunOption, WorkspaceOption
from fcreview.cli.output import aligned, emit, emit_json, note, text_of
from fcreview.cli.workspace import Place, opened
from fcreview.model.metric import Figure, RunItems, Scored
from fcreview.model.wording import count_of, number

if TYPE_CHECKING:
    from fcreview.cli.workspace import Opened
    from fcreview.stats.estimation import Estimate, Run
    from fcreview.store.queries.estimation import Standings
    from fcreview.store.rows import RunRow

HALF_WIDTH = 2.0
HalfWidth = Annotated[
    float,
    typer.Option("--half-width", metavar="POINTS", help="Of the interval that `needed` is to reach, in points."),
]


def estimate(
    path: PathArgument,
    run: RunOption = None,
    half_width: HalfWidth = HALF_WIDTH,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the draws.")] = 0,
    policy: PolicyOption = "unanimous",
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show corrected figures with 95 % intervals.

    They are valid for how the reviewed items were chosen.

    Inference rests on items of queue files (`fcreview queue create`), which are random samples. What was reviewed
    otherwise is known, and says nothing of other items. Without a random sample there is no interval.
    docs/trust.md says how it is done and how often the intervals hold.

    Example: fcreview estimate runs/gpt4o --json
    """
    check_half_width(half_width)
    with opened(Place([path], data, workspace, policy=policy, errata=errata)) as session:
        session.head(as_json=as_json)
        told: list[str] = []
        rows = session.chosen(run)
        for row in rows:
            known = session.store.told.standings(row.run)
            told += [each for each in known.problems if each not in told]
            found = list(estimates_of(session, row, known, half_width, seed))
            tell([row], found, half_width, as_json=as_json)
        for several in together(rows):
            tell(several, list(estimates_together(session, several, half_width, seed)), half_width, as_json=as_json)
        for problem in told:
            note(f"fcreview: no random sample: {problem}")


def check_half_width(points: float) -> None:
    """UsageError for what no interval can have."""
    if not 0 < points < 100:
        raise UsageError(f"--half-width {points:g}: points between 0 and 100")


def estimates_of(
    session: Opened, row: RunRow, known: Standings, half_width: float, seed: int = 0
) -> Iterator[Estimate]:
    from fcreview.stats.estimation import estimates

    return estimates(run_of(session, row, known), half_width, seed)


def together(rows: Sequence[RunRow]) -> list[list[RunRow]]:
    """Runs of one model that its benchmark publishes figures of together."""
    from fcreview.importers.registry import IMPORTERS

    found: dict[tuple[str, str, str], list[RunRow]] = {}
    for row in rows:
        importer = IMPORTERS.get(row.info.benchmark)
        if importer is not None and importer.combines:
            found.setdefault((row.info.benchmark, row.info.generation, row.info.model), []).append(row)
    return [several for several in found.values() if len(several) > 1]


def estimates_together(session: Opened, rows: Sequence[RunRow], half_width: float, seed: int = 0) -> Iterator[Estimate]:
    """Of the figures over several runs, through the draws of each; none if the runs do not make them up."""
    from fcreview.importers.registry import combined
    from fcreview.stats.estimation import estimates, joined

    def figures(items: Sequence[Sequence[Scored]]) -> list[Figure]:
        return combined([RunItems(row.info, some) for row, some in zip(rows, items, strict=True)])

    parts = [run_of(session, row, session.store.told.standings(row.run)) for row in rows]
    if figures([part.before for part in parts]):
        yield from estimates(joined(parts, figures), half_width, seed)


def run_of(session: Opened, row: RunRow, known: Standings) -> Run:
    """What the run's estimates are made of."""
    from fcreview.importers.registry import figures
    from fcreview.stats.estimation import Run

    told = session.store.told
    after = told.scored(row.run)["corrected"]
    return Run(told.unreviewed(row.run), after, known.items, lambda rows: figures(rows, row.info), known.asked)


def tell(rows: Sequence[RunRow], found: Sequence[Estimate], half_width: float, *, as_json: bool) -> None:
    """Of one run, or of several together."""
    if not as_json:
        if len(rows) == 1 or found:
            show(rows, found, half_width)
        return
    for each in found:
        emit_json(_fields(rows, each))


def _fields(rows: Sequence[RunRow], one: Estimate) -> dict[str, Any]:
    """{run, benchmark, table, level, name, unit, automatic, corrected, low, high, n_random, n_known, method, why,
    needed}; `run` is null for several together; values in the figure's unit, `low` and `high` null where there is no
    interval, which `why` explains."""
    from fcreview.stats.estimation import why

    return {
        "run": rows[0].run if len(rows) == 1 else None, "benchmark": rows[0].info.benchmark,
        "table": one.table, "level": one.level, "name": one.name,
        "unit": one.unit, "automatic": one.automatic, "corrected": one.corrected, "low": one.low, "high": one.high,
        "n_random": one.n_random, "n_known": one.n_known, "method": one.method, "why": why(one.method, one.criteria),
        "needed": one.needed,
    }  # fmt: skip


def show(rows: Sequence[RunRow], found: Sequence[Estimate], half_width: float) -> None:
    info, languages = rows[0].info, "+".join(dict.fromkeys(row.info.language for row in rows))
    words = [text_of(name) for name in (info.benchmark, info.generation, languages, info.model)]
    first = f"run {rows[0].run}" if len(rows) == 1 else "together"
    emit(f"{first}   {'  '.join(word for word in words if word)}   {sum(row.n_items for row in rows):,} items")
    for line in reasons(found):
        emit(line)
    for table in dict.fromkeys(one.table for one in found):
        cells = [
            [
                "  " * one.level + text_of(one.name),
                number(one.automatic, one.unit, one.digits),
                number(one.corrected, one.unit, one.digits),
                interval(one),
                f"{one.n_random:,}",
                f"{one.n_known:,}",
                "" if one.needed is None else f"{one.needed:,}",
            ]
            for one in found
            if one.table == table
        ]
        emit()
        heads = [text_of(table), "automatic", "corrected", "[95 %]", "random", "known", f"more for ±{half_width:g}"]
        for text in aligned(heads, cells, right=(1, 2, 4, 5, 6), widest=44):
            emit(text)
    emit()


def reasons(found: Sequence[Estimate]) -> Iterator[str]:
    """Why there are figures without an interval."""
    from fcreview.stats.estimation import why

    methods = {one.method for one in found}
    if "known only" in methods:
        known = max((one.n_known for one in found), default=0)
        said = f"{count_of(known, 'item')} reviewed, none as part of a random sample" if known else "nothing reviewed"
        yield f"no intervals: {said}. `fcreview queue create` draws one."
    reasons: dict[str, list[str]] = {}
    for one in found:
        if one.method in ("not sampled", "not asked", "other verdicts"):
            reasons.setdefault(why(one.method, one.criteria), []).append(one.name)
    for reason, names in reasons.items():
        shown = ", ".join(map(text_of, names[:4])) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        yield f"no interval for {shown}: {reason}"


def interval(one: Estimate) -> str:
    """`[69.8, 79.6]`"""
    if one.low is None or one.high is None:
        return "·"
    low, high = (number(each, one.unit, one.digits).removesuffix(" %") for each in (one.low, one.high))
    return f"[{low}, {high}]"
