"""`fcreview calibrate`: how far official, recomputed and judges' verdicts can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.errors import one_of
from fcreview.cli.options import (
    AsJson,
    Data,
    ErrataOption,
    PathArgument,
    PolicyOption,
    RunOption,
    WhereOption,
    WorkspaceOption,
)
from fcreview.cli.output import aligned, emit, emit_json, text_of
from fcreview.cli.workspace import Place, opened
from fcreview.model.wording import word
from fcreview.stats.calibration import (
    METRICS,
    NONE,
    NOTES,
    SCOPES,
    WORST,
    Case,
    Scope,
    basis,
    by_metric,
    named,
    said_of,
)

if TYPE_CHECKING:
    from fcreview.cli.workspace import Opened
    from fcreview.stats.calibration import Calibration, Cell, WrongKind


def calibrate(
    path: PathArgument,
    where: WhereOption = "",
    run: RunOption = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="WHAT", help=f"Only by {', '.join(SCOPES)}; repeatable.", show_default="all"),
    ] = None,
    policy: PolicyOption = "unanimous",
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show how far automatic verdicts can be believed.

    Measured on what people settled.

    Of each source (official, rule, each judge) and criterion: confusion matrix, TPR, TNR, precision, F1 and kappa with
    intervals, by benchmark, category, tier of the checker, error type and function; and the kinds of cases that it
    gets wrong, each with the filter that opens them. docs/trust.md says what each figure means.

    Example: fcreview calibrate runs/gpt4o --by category --where benchmark:bfcl
    """
    for each in by or ():
        one_of(SCOPES, each, "--by")
    scopes = [scope for scope in SCOPES if not by or scope in by]
    with opened(Place([path], data, workspace, policy=policy, errata=errata)) as session:
        session.head(as_json=as_json)
        view = session.view(where, run=run, queue="dataset")
        cases = session.store.told.cases(view)
        shown = _Shown(session, view.where, run)
        (show_json if as_json else show)(shown, cases, scopes)


class _Shown:
    """Where cells are opened."""

    def __init__(self, session: Opened, where: str, run: str | None) -> None:
        self._session = session
        self._base = where if run is None else f"{where} run:{session.run(run)}".strip()

    def where(self, group: Calibration, cell: Cell) -> str | None:
        return self._where(group.source, group.criterion, cell, group.scope, group.name)

    def where_wrong(self, kind: WrongKind) -> str | None:
        return self._where(kind.source, kind.criterion, kind, kind.by, kind.name)

    def _where(self, source: str, criterion: str, cell: Cell | WrongKind, scope: str, name: str | None) -> str | None:
        from fcreview.store.queues.extend import Wanted

        wanted = Wanted(source, criterion, cell.said, cell.settled, scope, name, cell.items)
        return self._session.store.told.where_of(self._base, wanted)


def show_json(shown: _Shown, cases: Sequence[Case], scopes: Sequence[Scope]) -> None:
    """Of each group {kind: "calibration", scope, name, source, judge, criterion, binary, chosen, n, n_random, cells,
    rates}; `cells` are {said, settled, n, where}, `rates` {metric, value, low, high, interval, n}. Then what is wrong:
    {kind: "wrong", source, judge, criterion, by, name, said, settled, wrong, of, where}."""
    from fcreview.stats.calibration_summary import calibration, wrong_kinds

    for group in calibration(cases, scopes):
        fields = asdict(group)
        for cell, made in zip(group.cells, fields["cells"], strict=True):
            del made["items"]
            made["where"] = shown.where(group, cell)
        emit_json({"kind": "calibration"} | fields)
    for kind in wrong_kinds(cases):
        fields = asdict(kind)
        del fields["items"]
        emit_json({"kind": "wrong"} | fields | {"where": shown.where_wrong(kind)})


def show(shown: _Shown, cases: Sequence[Case], scopes: Sequence[Scope]) -> None:
    from fcreview.stats.calibration_summary import calibration, wrong_kinds

    if not cases:
        emit(NONE)
        return
    for note in (*basis(cases), *NOTES):
        emit(note)
    for scope, found in groupby(calibration(cases, scopes), lambda group: group.scope):
        groups = list(found)
        if scope == "overall":
            show_matrices(shown, groups)
        if scope == "overall" or len({group.name for group in groups}) > 1:
            show_rates(groups, scope)
    wrong = list(wrong_kinds(cases))
    if wrong:
        show_wrong(shown, wrong)


def show_matrices(shown: _Shown, groups: Sequence[Calibration]) -> None:
    rows = []
    for group in groups:
        first = named(group)
        for cell in group.cells:
            said, settled = word(cell.said, group.criterion), word(cell.settled, group.criterion)
            rows.append([*first, said, settled, f"{cell.n:,}", text_of(shown.where(group, cell) or "")])
            first = ["", ""]
    emit()
    for line in aligned(["source", "criterion", "it says", "people", "n", "opened by"], rows, right=(4,), widest=36):
        emit(line)


def show_rates(groups: Sequence[Calibration], scope: Scope) -> None:
    emit()
    emit(scope if scope == "overall" else f"by {scope}")
    rows = []
    for group in groups:
        place = [] if scope == "overall" else [text_of(group.name)]
        rows.append([*place, *named(group), f"{group.n:,}", group.chosen, *by_metric(group.rates).values()])
    heads = [*([] if scope == "overall" else [scope]), "source", "criterion", "n", "chosen", *METRICS.values()]
    for line in aligned(heads, rows, right=(heads.index("n"),), widest=32):
        emit(line)


def show_wrong(shown: _Shown, wrong: Sequence[WrongKind]) -> None:
    emit()
    emit("where it is wrong")
    rows = []
    for _, found in groupby(wrong, lambda kind: (kind.source, kind.judge, kind.criterion)):
        for kind in sorted(found, key=lambda kind: -kind.wrong)[:WORST]:
            of, where = f"{kind.wrong:,} of {kind.of:,}", text_of(shown.where_wrong(kind) or "")
            rows.append([*named(kind), kind.by, text_of(kind.name), said_of(kind), of, where])
    heads = ["source", "criterion", "by", "kind", "it says", "wrong", "opened by"]
    for line in aligned(heads, rows, right=(5,), widest=32):
        emit(line)
