"""`fcreview calibrate`: measure automatic verdicts against adjudicated and agreed human verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.errors import check_choice
from fcreview.cli.options import AsJson, RunOption, WhereOption, workspace_command
from fcreview.cli.output import cell_text, emit, emit_json, format_table
from fcreview.cli.workspace import WorkspaceOptions, open_workspace
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
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.stats.calibration import Calibration, Cell, WrongKind


@workspace_command("policy")
def calibrate(
    options: WorkspaceOptions,
    where: WhereOption = "",
    run: RunOption = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="NAME", help=f"Table to print: {', '.join(SCOPES)}; repeatable.", show_default="all"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure checkers and judges against human labels.

    For each source (official, rule, each judge) and criterion: confusion matrix, TPR, TNR, precision, F1 and kappa with
    intervals, by benchmark, category, checker tier, error type and function. Lists the groups in which a source is most
    often wrong, with a filter for their items. docs/trust.md explains each figure.

    Example: fcreview calibrate runs/gpt4o --by category --where benchmark:bfcl
    """
    for each in by or ():
        check_choice(SCOPES, each, "--by")
    scopes = [scope for scope in SCOPES if not by or scope in by]
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        view = session.view(where, run=run, queue="dataset")
        cases = session.store.told.cases(view)
        filters = _CellFilters(session, view.where, run)
        (print_json if as_json else print_text)(filters, cases, scopes)


class _CellFilters:
    """Filters that select the items of table cells."""

    def __init__(self, session: WorkspaceSession, where: str, run: str | None) -> None:
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


def print_json(filters: _CellFilters, cases: Sequence[Case], scopes: Sequence[Scope]) -> None:
    """Print a JSON object for each group: {kind: "calibration", scope, name, source, judge, criterion, binary, chosen,
    n, n_random, cells, rates}, where `cells` are {said, settled, n, where} and `rates` {metric, value, low, high,
    interval, n}. Then one for each kind of wrong verdict: {kind: "wrong", source, judge, criterion, by, name, said,
    settled, wrong, of, where}."""
    from fcreview.stats.calibration_summary import calibration, wrong_kinds

    for group in calibration(cases, scopes):
        fields = asdict(group)
        for cell, made in zip(group.cells, fields["cells"], strict=True):
            del made["items"]
            made["where"] = filters.where(group, cell)
        emit_json({"kind": "calibration"} | fields)
    for kind in wrong_kinds(cases):
        fields = asdict(kind)
        del fields["items"]
        emit_json({"kind": "wrong"} | fields | {"where": filters.where_wrong(kind)})


def print_text(filters: _CellFilters, cases: Sequence[Case], scopes: Sequence[Scope]) -> None:
    from fcreview.stats.calibration_summary import calibration, wrong_kinds

    if not cases:
        emit(NONE)
        return
    for line in (*basis(cases), *NOTES):
        emit(line)
    for scope, found in groupby(calibration(cases, scopes), lambda group: group.scope):
        groups = list(found)
        if scope == "overall":
            print_matrices(filters, groups)
        if scope == "overall" or len({group.name for group in groups}) > 1:
            print_rates(groups, scope)
    wrong = list(wrong_kinds(cases))
    if wrong:
        print_wrong(filters, wrong)


def print_matrices(filters: _CellFilters, groups: Sequence[Calibration]) -> None:
    rows = []
    for group in groups:
        first = named(group)
        for cell in group.cells:
            said, settled = word(cell.said, group.criterion), word(cell.settled, group.criterion)
            rows.append([*first, said, settled, f"{cell.n:,}", cell_text(filters.where(group, cell) or "")])
            first = ["", ""]
    emit()
    for line in format_table(["source", "criterion", "verdict", "human", "n", "filter"], rows, right=(4,), widest=36):
        emit(line)


def print_rates(groups: Sequence[Calibration], scope: Scope) -> None:
    emit()
    emit(scope if scope == "overall" else f"by {scope}")
    rows = []
    for group in groups:
        place = [] if scope == "overall" else [cell_text(group.name)]
        rows.append([*place, *named(group), f"{group.n:,}", group.chosen, *by_metric(group.rates).values()])
    heads = [*([] if scope == "overall" else [scope]), "source", "criterion", "n", "chosen", *METRICS.values()]
    for line in format_table(heads, rows, right=(heads.index("n"),), widest=32):
        emit(line)


def print_wrong(filters: _CellFilters, wrong: Sequence[WrongKind]) -> None:
    emit()
    emit("most frequent errors")
    rows = []
    for _, found in groupby(wrong, lambda kind: (kind.source, kind.judge, kind.criterion)):
        for kind in sorted(found, key=lambda kind: -kind.wrong)[:WORST]:
            of, where = f"{kind.wrong:,} of {kind.of:,}", cell_text(filters.where_wrong(kind) or "")
            rows.append([*named(kind), kind.by, cell_text(kind.name), said_of(kind), of, where])
    heads = ["source", "criterion", "by", "kind", "verdict", "wrong", "filter"]
    for line in format_table(heads, rows, right=(5,), widest=32):
        emit(line)
