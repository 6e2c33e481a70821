"""`fcreview compare`: two runs item by item, two sources' verdicts on one run, or many runs as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.commands.comparing.sides import Side
from fcreview.cli.common import Place, opened
from fcreview.cli.errors import CommandError, UsageError, one_of
from fcreview.cli.options import AsJson, Data, PathArgument, PolicyOption, WhereOption, WorkspaceOption
from fcreview.comparison.compared import compared
from fcreview.comparison.matrix import matrix
from fcreview.comparison.outcomes import VERDICT_SOURCES, Outcome, VerdictSource, usual_source

if TYPE_CHECKING:
    from fcreview.cli.opened import Opened
    from fcreview.store.rows import RunRow, View


def compare(
    path: PathArgument,
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="By number or model: two, to be compared item by item; more, or none for all, for a matrix.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="NAME",
            help=f"Whose verdicts: {', '.join(VERDICT_SOURCES)}.",
            show_default="official; rule where a run has none",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="NAME", help="Whose verdicts on the second run, if others.", show_default=False
        ),
    ] = None,
    where: WhereOption = "",
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=0, help="At most N flips, or N items of the matrix.")
    ] = None,
    policy: PolicyOption = "unanimous",
    data: Data = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Compare runs item by item.

    Of two: what both pass, both fail and only one passes, McNemar's p, the difference with an interval, every flip
    with its cause. Of one run, two sources: compare PATH 1 1 --source official --against rule.
    Of more: runs ranked, hardest items first, items that the best fail and the weak pass. See docs/compare.md.

    Example: fcreview compare result/ 1 2 --source rule
    """
    given, other = _source(source), _source(against)
    with opened(Place([path], data, workspace, policy=policy)) as session:
        session.head(as_json=as_json)
        view = session.view(where, queue="dataset")
        chosen = _chosen(session, runs or [])
        counts = given or usual_source(row.official_known for row in chosen)
        if len(chosen) == 2:
            from fcreview.cli.commands.comparing.pair import show_pair

            a, b = Side(chosen[0], counts), Side(chosen[1], other or counts)
            if a == b:
                raise UsageError("the same verdicts on both sides: name another run, or --source and --against")
            found = compared(_outcomes(session, view, a), _outcomes(session, view, b))
            show_pair((a, b), found, limit, as_json=as_json)
        elif other:
            raise UsageError("--against is for two runs; one run may be named twice")
        else:
            from fcreview.cli.commands.comparing.many import show_many

            sides = [Side(row, counts) for row in {row.run: row for row in chosen}.values()]
            runs_of = session.store.told.outcomes(view, [side.row.run for side in sides], counts)
            show_many(sides, matrix([runs_of[side.row.run] for side in sides]), limit, as_json=as_json)


def _source(named: str | None) -> VerdictSource | None:
    return None if named is None else one_of(VERDICT_SOURCES, named, "source")


def _chosen(session: Opened, named: Sequence[str]) -> list[RunRow]:
    """The runs that were named, all if none was. CommandError if that is one only."""
    rows = {row.run: row for row in session.runs}
    chosen = [rows[session.run(name)] for name in named] if named else list(rows.values())
    if len(chosen) < 2:
        raise CommandError("only one run: name two, or one twice with --source official --against rule")
    return chosen


def _outcomes(session: Opened, view: View, side: Side) -> list[Outcome]:
    return session.store.told.outcomes(view, [side.row.run], side.source)[side.row.run]
