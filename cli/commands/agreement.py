"""`fcreview agreement`: how far annotators agree with each other.

Self-agreement on hidden repeats as text, for `fcreview agreement`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.errors import one_of
from fcreview.cli.options import (
    AsJson,
    Data,
    ErrataOption,
    PathArgument,
    Queue,
    RunOption,
    WhereOption,
    WorkspaceOption,
)
from fcreview.cli.output import aligned, cells, emit, emit_json, text_of
from fcreview.cli.workspace import Place, opened
from fcreview.model.verdict import decides
from fcreview.model.wording import count_of, number
from fcreview.stats.agreement import (
    GIVEN,
    HEADINGS,
    HOW,
    METRICS,
    Given,
    Rating,
    Scope,
    apart,
    group_of,
    name_of,
    places,
    value_of,
)
from fcreview.stats.self_agreement import Repeated, self_agreement

if TYPE_CHECKING:
    from fcreview.model.metric import Unit
    from fcreview.stats.agreement import AgreementFigure


HEADS = ["annotator", "criterion", "targets", "same", "[95 %]", "Cohen's kappa", "[95 %]"]


def show_repeats(repeats: Sequence[Repeated], *, as_json: bool) -> None:
    """A table, or an object a row; nothing where nothing came twice."""
    figures = list(self_agreement(repeats))
    if as_json:
        for figure in figures:
            emit_json(figure)
        return
    if not figures:
        return
    emit("self-agreement: items that came to the same annotator twice, the second time unsaid")
    rows = [
        [
            "all" if each.annotator is None else text_of(each.annotator), text_of(each.criterion), f"{each.n:,}",
            number(each.percent, "share"), _interval(each.percent_low, each.percent_high, share=True),
            number(_rounded(each.kappa), "score"), _interval(each.kappa_low, each.kappa_high, share=False),
        ]
        for each in figures
    ]  # fmt: skip
    for line in aligned(HEADS, rows, right=(2, 3, 5)):
        emit(line)
    emit()


def _interval(low: float | None, high: float | None, *, share: bool) -> str:
    if low is None or high is None:
        return "·"
    unit: Unit = "share" if share else "score"
    return f"[{number(_rounded(low), unit)}, {number(_rounded(high), unit)}]"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3) + 0.0  # no -0.000


TABLES: dict[str, Scope] = {"criterion": "overall", "benchmark": "benchmark", "category": "category"}
"""Values of --by. Figures are always of one criterion, so those by criterion are the overall ones."""
OTHERS, NARROW = 66, 24
"""Cells that a table needs beside its first column, and what that column gets where there is no room."""
NOTES = (
    "'unsure' is no label; adjudications, retracted and stale reviews do not count.",
    "[ ]: 95 % interval (bootstrap). ·: cannot be said. alpha: Krippendorff's.",
)


def agreement(
    path: PathArgument,
    where: WhereOption = "",
    run: RunOption = None,
    queue: Queue = "dataset",
    given: Annotated[
        str | None,
        typer.Option(
            "--given",
            metavar="HOW",
            help="Only reviews given blind, seen (what others found in sight), unknown (not recorded); all together.",
            show_default="each apart",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="WHAT", help=f"Only the table by {', '.join(TABLES)}; repeatable.", show_default="all"
        ),
    ] = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show how far annotators agree with each other.

    Percent, Fleiss' kappa, Krippendorff's alpha and Gwet's AC1, and Cohen's kappa of each pair; each with an interval.
    Blind reviews and others are kept apart; self-agreement is of what a queue file gave twice.
    docs/guide.md says what each figure means.

    Example: fcreview agreement runs/gpt4o --by category --where category:live_simple
    """
    if given is not None:
        one_of(GIVEN, given, "--given")
    for each in by or ():
        one_of(TABLES, each, "--by")
    scopes = [scope for name, scope in TABLES.items() if not by or name in by]
    with opened(Place([path], data, workspace, errata=errata)) as session:
        view = session.view(where, run=run, queue=queue)
        ratings, twice = session.store.told.agreement_rows(view), session.store.told.repeated(view)
    pools = _pools(ratings, given)
    for how, said in pools.items():
        show_json(said, scopes, how) if as_json else show(said, scopes, how, whole=by is not None)
    show_repeats(twice, as_json=as_json)
    if not (pools or twice or as_json):
        emit("no reviews to compare" + (f": none are {given}" if given and ratings else ""))


def _pools(ratings: Sequence[Rating], given: str | None) -> dict[Given, Sequence[Rating]]:
    """What is compared with each other; nothing that is empty."""
    if given == "all":
        return {"all": ratings} if ratings else {}
    return {how: said for how, said in apart(ratings).items() if given in (None, how)}


def figures_of(ratings: Iterable[Rating], scopes: Iterable[Scope], given: Given) -> Iterator[AgreementFigure]:
    from fcreview.stats.agreement_summary import agreement as figures

    return figures(ratings, scopes, given)


def show_json(ratings: Sequence[Rating], scopes: Sequence[Scope], given: Given) -> None:
    for figure in figures_of(ratings, scopes, given):
        emit_json(figure)


def show(ratings: Sequence[Rating], scopes: Sequence[Scope], given: Given, *, whole: bool) -> None:
    """The tables as text. Unless `whole`, one that would only repeat the overall figures is left out."""
    unsure = sum(not decides(rating.value) for rating in ratings)
    names = sorted({rating.annotator for rating in ratings})
    said = [
        f"{count_of(len(names), 'annotator')} ({text_of(', '.join(names))})",
        count_of(len(ratings) - unsure, "label"),
        *([f"{unsure:,} unsure"] if unsure else []),
    ]
    emit(f"{HOW[given]}: {', '.join(said)}")
    for note in NOTES:
        emit(note)
    for scope, found in groupby(figures_of(ratings, scopes, given), lambda figure: figure.scope):
        figures = list(found)
        if whole or scope == "overall" or len({group_of(each)[:2] for each in figures}) > 1:
            show_table(figures, scope)
        if whole or scope == "overall":
            show_pairs(figures, scope)
    emit()


def show_table(figures: Sequence[AgreementFigure], scope: Scope) -> None:
    """Figures of all annotators; where and on which criterion is said once."""
    rows = []
    for _, group in groupby(figures, group_of):
        first, *others = [each for each in group if each.metric != "cohen"]
        place = places(figures, first)
        for each in [first, *(other for other in others if other.annotators == first.annotators)]:
            counts = [f"{each.n_units:,}", f"{each.n_labels:,}", f"{len(each.annotators)}"]
            rows.append([*place, name_of(each), *value_of(each), *counts])
            place = [""] * len(place)
    _emit(HEADINGS[scope], scope, ["figure", "value", "[95 %]", "units", "labels", "annotators"], rows, (1, 3, 4, 5))


def show_pairs(figures: Sequence[AgreementFigure], scope: Scope) -> None:
    """A row a pair: percent and Cohen's kappa."""
    shares = {(group_of(each), each.annotators): each for each in figures if each.metric == "percent"}
    rows = []
    for each in figures:
        if each.metric == "cohen":
            names = text_of(", ".join(each.annotators))
            share = value_of(shares[group_of(each), each.annotators])
            rows.append([*places(figures, each), names, *share, *value_of(each), f"{each.n_units:,}"])
    heads = ["annotators", "percent", "[95 %]", METRICS["cohen"], "[95 %]", "units"]
    if rows:
        _emit("pairs" if scope == "overall" else f"pairs {HEADINGS[scope]}", scope, heads, rows, (1, 3, 5))


def _emit(heading: str, scope: Scope, heads: list[str], rows: list[list[str]], numbers: tuple[int, ...]) -> None:
    """A table; `numbers` are the columns of `heads` that hold them."""
    first = ["criterion"] if scope == "overall" else [scope, "criterion"]
    right = [len(first) + at for at in numbers]
    emit()
    emit(heading)
    for line in aligned([*first, *heads], rows, right=right, widest=max(cells() - OTHERS, NARROW)):
        emit(line)
