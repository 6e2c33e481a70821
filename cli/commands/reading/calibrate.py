"""`fcreview calibrate`: how far official, recomputed and judges' verdicts can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.calibration.cases import SCOPES, Case, Scope
from fcreview.cli.common import Place, opened
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
from fcreview.text.numbers import number
from fcreview.text.words import count_of, word

if TYPE_CHECKING:
    from fcreview.calibration.rates import Rate
    from fcreview.calibration.summary import Calibration, Cell, WrongKind
    from fcreview.cli.opened import Opened

HEADINGS = {
    "tpr": "TPR",
    "tnr": "TNR",
    "precision": "precision",
    "f1": "F1",
    "kappa": "kappa",
    "agreement": "agreement",
}
WORST = 12
"""Kinds of wrong cases shown of a source."""
NOTES = (
    "positive: pass (yes); true: what people settled. 'unsure', disputed and stale reviews do not count.",
    "[ ]: 95 % interval, Wilson's for shares, bootstrap for F1 and kappa. ·: cannot be said.",
)
BY_HAND = "chosen by hand: these figures are of these cases only; `fcreview queue create` draws a sample for all"


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
    """Show how far automatic verdicts can be believed, by what people settled.

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
        from fcreview.store.estimating.opening import Wanted

        wanted = Wanted(source, criterion, cell.said, cell.settled, scope, name, cell.items)
        return self._session.store.told.where_of(self._base, wanted)


def show_json(shown: _Shown, cases: Sequence[Case], scopes: Sequence[Scope]) -> None:
    """Of each group {kind: "calibration", scope, name, source, judge, criterion, binary, chosen, n, n_random, cells,
    rates}; `cells` are {said, settled, n, where}, `rates` {metric, value, low, high, interval, n}. Then what is wrong:
    {kind: "wrong", source, judge, criterion, by, name, said, settled, wrong, of, where}."""
    from fcreview.calibration.summary import calibration, wrong_kinds

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
    from fcreview.calibration.summary import calibration, wrong_kinds

    if not cases:
        emit("nothing to compare: no automatic verdict on anything that people settled")
        return
    items, random = {case.item for case in cases}, {case.item for case in cases if case.random}
    emit(f"{count_of(len(items), 'reviewed item')}, {len(random):,} of them found in a queue file")
    if not random:
        emit(BY_HAND)
    for note in NOTES:
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
        first = _named(group)
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
        rates: dict[str, Rate] = {rate.metric: rate for rate in group.rates}
        place = [] if scope == "overall" else [text_of(group.name)]
        cells = [_value(rates.get(metric)) for metric in HEADINGS]
        rows.append([*place, *_named(group), f"{group.n:,}", group.chosen, *cells])
    heads = [*([] if scope == "overall" else [scope]), "source", "criterion", "n", "chosen", *HEADINGS.values()]
    for line in aligned(heads, rows, right=(heads.index("n"),), widest=32):
        emit(line)


def show_wrong(shown: _Shown, wrong: Sequence[WrongKind]) -> None:
    emit()
    emit("where it is wrong")
    rows = []
    for _, found in groupby(wrong, lambda kind: (kind.source, kind.judge, kind.criterion)):
        for kind in sorted(found, key=lambda kind: -kind.wrong)[:WORST]:
            says = f"{word(kind.said, kind.criterion)}, people {word(kind.settled, kind.criterion)}"
            of = f"{kind.wrong:,} of {kind.of:,}"
            rows.append([*_named(kind), kind.by, text_of(kind.name), says, of, text_of(shown.where_wrong(kind) or "")])
    heads = ["source", "criterion", "by", "kind", "it says", "wrong", "opened by"]
    for line in aligned(heads, rows, right=(5,), widest=32):
        emit(line)


def _named(group: Calibration | WrongKind) -> list[str]:
    return [group.source + (f" {text_of(group.judge)}" if group.judge else ""), text_of(group.criterion)]


def _value(rate: Rate | None) -> str:
    """`91.2 % [85.0, 95.1]`, `0.71 [0.60, 0.80]`."""
    if rate is None or rate.value is None:
        return "·"
    unit: Any = "score" if rate.metric in ("kappa", "f1") else "share"
    if rate.low is None or rate.high is None:
        return number(rate.value, unit)
    low, high = (number(each, unit).removesuffix(" %") for each in (rate.low, rate.high))
    return f"{number(rate.value, unit)} [{low}, {high}]"
