"""Commands that lay runs beside each other.

`fcreview compare`: two runs item by item, two sources' verdicts on one run, or many runs as a matrix.

A run with whose verdicts on it count.

Many runs as a matrix, as text and as JSON.

A comparison of two runs, as text and as JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.errors import CommandError, UsageError, one_of
from fcreview.cli.options import AsJson, Data, PathArgument, PolicyOption, WhereOption, WorkspaceOption
from fcreview.cli.output import aligned, emit, emit_json, text_of
from fcreview.cli.workspace import Place, opened
from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of, rate
from fcreview.stats.intervals import LEVEL
from fcreview.stats.run_comparison import (
    INTERVAL,
    METHOD,
    P_VALUE,
    TEST,
    VERDICT_SOURCES,
    Comparison,
    Flip,
    Outcome,
    Part,
    VerdictSource,
    compared,
    difference_of,
    p_value,
    remarks,
    tellable,
    usual_source,
)
from fcreview.stats.run_matrix import Matrix, MatrixItem, matrix

if TYPE_CHECKING:
    from fcreview.cli.workspace import Opened
    from fcreview.store.rows import RunRow, View


SHOWN = 20
"""Flips or items that are shown as text, unless --limit says otherwise."""


@dataclass(frozen=True, slots=True)
class Side:
    row: RunRow
    source: VerdictSource

    @property
    def name(self) -> str:
        """`run 2  gpt-4o  (official)`, visible text."""
        return f"run {self.row.run}  {text_of(self.row.info.model)}  ({self.source})"

    def as_json(self) -> dict[str, Any]:
        """{run, model, generation, language, source}"""
        info = self.row.info
        return {
            "run": self.row.run,
            "model": info.model,
            "generation": info.generation,
            "language": info.language,
            "source": self.source,
        }


MARKS = {True: "✓", False: "✗", None: "·"}
PLAIN_MARKS = {True: "P", False: "F", None: "."}
"""For a locale that has not the others."""
ENDS = 20
"""Of more than three times as many runs these many of the best and of the weakest have their marks shown."""


def show_many(sides: Sequence[Side], found: Matrix, limit: int | None, *, as_json: bool) -> None:
    """`sides` in the order in which they were compared."""
    if as_json:
        print_many_json(sides, found, limit)
    else:
        print_many_text(sides, found, SHOWN if limit is None else limit)


def print_many_json(sides: Sequence[Side], found: Matrix, limit: int | None) -> None:
    """One object a run, best first, then one an item, hardest first; `kind` tells which."""
    for each in found.ranking:
        emit_json(
            {"kind": "run", "rank": each.rank}
            | sides[each.run].as_json()
            | {"passed": each.passed, "known": each.known, "rate": each.rate, "shared": found.shared > 0}
        )
    order = [sides[each.run].row.run for each in found.ranking]
    for item in found.items[:limit]:
        emit_json(item_json(item, order))


def item_json(item: MatrixItem, order: Sequence[int]) -> dict[str, Any]:
    """{kind, benchmark, generation, language, category, id, passing, failing, upset, verdicts}; `verdicts`: run number
    -> true, false or null, best run first."""
    return {
        "kind": "item",
        **item.row.place._asdict(),
        "passing": item.passing,
        "failing": item.failing,
        "upset": item.upset,
        "verdicts": {str(run): verdict for run, verdict in zip(order, item.verdicts, strict=True)},
    }


def print_many_text(sides: Sequence[Side], found: Matrix, limit: int) -> None:
    emit(f"{count_of(len(sides), 'run')}, {count_of(len(found.items), 'item')}, verdicts: {sides[0].source}")
    if found.shared:
        emit(f"ranked over the {count_of(found.shared, 'item')} on which every run has a verdict")
    else:
        emit("no item has a verdict in every run: ranked by each run's own items, which are not the same")
    if found.asked_otherwise:
        emit(f"{count_of(found.asked_otherwise, 'id')} with several questions: each question is an item of its own")
    if len(found.generations) > 1:
        emit(f"generations {text_of(', '.join(found.generations))}: matched by all else")
    emit()
    for line in aligned(
        ["rank", "run", "model", "rate", "passed", "of"], _ranking(sides, found), right=(0, 1, 3, 4, 5)
    ):
        emit(line)
    print_items("hardest items first; runs from left to right, best first", found.items, limit)
    print_items("the best fail, the weak pass", found.upsets, limit)


def _ranking(sides: Sequence[Side], found: Matrix) -> list[list[str]]:
    return [
        [
            str(each.rank), str(sides[each.run].row.run), text_of(sides[each.run].row.info.model),
            rate(each.passed, each.known), f"{each.passed:,}", f"{each.known:,}",
        ]
        for each in found.ranking
    ]  # fmt: skip


def print_items(heading: str, items: Sequence[MatrixItem], limit: int) -> None:
    if not items or not limit:
        return
    emit()
    left_out = f" ({ENDS} best and {ENDS} weakest; --json has all)" if len(items[0].verdicts) > 3 * ENDS else ""
    emit(heading + left_out)
    marks = MARKS if (sys.stdout.encoding or "").lower().replace("-", "") == "utf8" else PLAIN_MARKS
    rows = [
        [
            text_of(item.row.place.id), text_of(item.row.place.category), f"{item.passing} of {item.known}",
            _marks([marks[verdict] for verdict in item.verdicts]),
        ]
        for item in items[:limit]
    ]  # fmt: skip
    for line in aligned(["item", "category", "pass", "runs"], rows, right=(2,), widest=36):
        emit(line)
    if len(items) > limit:
        emit(f"… {len(items) - limit:,} more: --limit {len(items)}")


def _marks(of: Sequence[str]) -> str:
    return "".join(of if len(of) <= 3 * ENDS else (*of[:ENDS], " … ", *of[-ENDS:]))


NAMES = 44
"""Cells of an item's id in the list of flips."""


def show_pair(sides: tuple[Side, Side], found: Comparison, limit: int | None, *, as_json: bool) -> None:
    if as_json:
        print_pair_json(sides, found, limit)
    else:
        print_pair_text(sides, found, SHOWN if limit is None else limit)


def print_pair_json(sides: tuple[Side, Side], found: Comparison, limit: int | None) -> None:
    """One object overall, one a category, one a flip; `kind` tells which."""
    emit_json(
        {"kind": "overall", "a": sides[0].as_json(), "b": sides[1].as_json()}
        | part_json(found.overall)
        | {
            "level": LEVEL,
            "method": METHOD,
            "test": TEST,
            "judged_a": found.judged[0],
            "judged_b": found.judged[1],
            "without_partner_a": found.lonely[0],
            "without_partner_b": found.lonely[1],
            "other_question": found.asked_otherwise,
            "independent": not found.in_groups,
        }
    )
    for part in found.categories:
        emit_json({"kind": "category", "category": part.category} | part_json(part))
    for flip in found.flips[:limit]:
        emit_json(flip_json(flip))


def part_json(part: Part) -> dict[str, Any]:
    """{of, n, both_pass, both_fail, only_a, only_b, rate_a, rate_b, difference, low, high, p}; rates and differences as
    shares."""
    counts, found = part.counts, part.difference
    return {
        "of": part.of,
        "n": counts.n,
        **asdict(counts),
        "rate_a": counts.rate_a,
        "rate_b": counts.rate_b,
        "difference": found.value,
        "low": found.low,
        "high": found.high,
        "p": found.p,
    }


def flip_json(flip: Flip) -> dict[str, Any]:
    """{kind, benchmark, generation, language, category, id, passes, same_prediction, golden_differs, cause, a, b};
    a and b: {verdict, error_type, first_difference}"""

    def said(side: Outcome) -> dict[str, Any]:
        return {"verdict": side.verdict, "error_type": side.error, "first_difference": side.difference}

    return {
        "kind": "flip",
        **flip.a.place._asdict(),
        "passes": flip.passes,
        "same_prediction": flip.same_prediction,
        "golden_differs": flip.golden_differs,
        "cause": flip.cause,
        "a": said(flip.a),
        "b": said(flip.b),
    }


def print_pair_text(sides: tuple[Side, Side], found: Comparison, limit: int) -> None:
    a, b = sides
    told = tellable(found, a.source, b.source)
    emit(f"A  {a.name}")
    emit(f"B  {b.name}")
    for remark in remarks(found, a.source, b.source):
        emit(remark)
    emit()
    parts = [found.overall, *(found.categories if len(found.categories) > 1 else ())]
    headers = ["", "items", "A", "B", "both pass", "both fail", "only A", "only B", "A - B, points", "p"]
    for line in aligned(headers, [_row(part, told) for part in parts], right=range(1, 8), widest=36):
        emit(line)
    emit()
    emit(f"[ ]: {INTERVAL}. p: {P_VALUE}" + ("; of categories not corrected for their number." if parts[1:] else "."))
    print_flips(found.flips, limit)


def _row(part: Part, told: bool) -> list[str]:
    counts = part.counts
    rates = [rate(counts.both_pass + only, counts.n) if told else "·" for only in (counts.only_a, counts.only_b)]
    numbers = [counts.both_pass, counts.both_fail, counts.only_a, counts.only_b]
    return [
        "all items" if part.category is None else visible(part.category),
        f"{counts.n:,}",
        *rates,
        *(f"{number:,}" for number in numbers),
        difference_of(part) if told else "·",
        p_value(part.difference.p) if told else "·",
    ]


def print_flips(found: Sequence[Flip], limit: int) -> None:
    for side in ("a", "b"):
        flips = [flip for flip in found if flip.passes == side]
        if flips:
            emit()
            emit(f"only {side.upper()} passes: {count_of(len(flips), 'item')}")
        rows = [[text_of(flip.a.place.id), visible(flip.cause)] for flip in flips[:limit]]
        for line in aligned(["item", "cause"], rows, widest=NAMES) if rows else ():
            emit(f"  {line}")
        if len(flips) > limit:
            emit(f"  … {len(flips) - limit:,} more: --limit {len(flips)}")


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
            a, b = Side(chosen[0], counts), Side(chosen[1], other or counts)
            if a == b:
                raise UsageError("the same verdicts on both sides: name another run, or --source and --against")
            found = compared(_outcomes(session, view, a), _outcomes(session, view, b))
            show_pair((a, b), found, limit, as_json=as_json)
        elif other:
            raise UsageError("--against is for two runs; one run may be named twice")
        else:
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
