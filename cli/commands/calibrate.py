"""`fcreview calibrate`: measure automatic verdicts against adjudicated and agreed human
verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.options import (
    JsonOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    check_choice,
    emit,
    emit_json,
    emit_lines,
    print_figure,
    print_message,
)
from fcreview.cli.workspace_import import open_workspace
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.stats.calibration import (
    CALIBRATION_SCOPES,
    MAX_ERROR_GROUPS,
    NO_PAIRS_MESSAGE,
    NOTES,
    Calibration,
    CalibrationScope,
    ConfusionCell,
    ErrorGroup,
    VerdictPair,
    compute_calibrations,
    describe_selection,
    find_error_groups,
)
from fcreview.store.estimation import CalibrationCell
from fcreview.tables.calibration import (
    build_calibration_table,
    build_error_table,
    build_scope_table,
    build_trust_table,
    compute_calibration_groups,
    list_useful_scopes,
)

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.tables.table import Table

MAX_COLUMN_CELLS = 48
"""Largest width of a column, in terminal columns."""
# JSON keys that differ from the names of their fields
_JSON_KEYS = {
    "automatic": "said",
    "human": "settled",
}


@workspace_command("annotator", "policy", "show_judge")
def calibrate(
    options: WorkspaceOptions,
    where: WhereOption = "",
    run: RunOption = None,
    by: Annotated[
        list[str] | None,
        option(
            "--by NAME",
            f"Table to print: {', '.join(CALIBRATION_SCOPES)}. You can repeat the option.",
            show_default="all tables",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure checkers and judges against human labels.

    Prints a confusion matrix, TPR, TNR, precision, F1 and kappa with confidence intervals for each
    source (official, recomputed, each judge) and criterion. Tables by benchmark, category, tier and
    error type follow. The last table has the most frequent errors of each source, with filters.
    docs/calibration.md explains the measures.

    Example: fcreview calibrate runs/gpt4o --by category --where benchmark:bfcl
    """
    for name in by or ():
        check_choice(CALIBRATION_SCOPES, name, "--by")
    scopes = [scope for scope in CALIBRATION_SCOPES if not by or scope in by]
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        view = session.build_view(where, run=run, queue="dataset")
        verdict_pairs = session.store.analysis.fetch_verdict_pairs(view)
        _explain_hidden_judgements(session)
        base_filter = view.where
        if run is not None:
            base_filter = f"{view.where} run:{session.find_run_number(run)}".strip()

        build_filter = _FilterBuilder(session, base_filter)
        if as_json:
            _print_json(build_filter, verdict_pairs, scopes)
        else:
            _print_tables(build_filter, verdict_pairs, scopes)


def _explain_hidden_judgements(session: WorkspaceSession) -> None:
    """Say on how many labelled items the verdicts of `fcreview judge` do not count."""
    n_hidden = session.store.judgements.count_hidden_labelled_items()
    if n_hidden:
        print_message(
            f"verdicts of fcreview judge are not counted on {format_count(n_hidden, 'item')} that"
            f" {sanitize(session.annotator)} has not reviewed. Pass --show-judge to count all"
        )


@dataclass(frozen=True, slots=True)
class _FilterBuilder:
    """Builds filters that select the items of a row, or None if a filter would have to list too
    many item ids.
    """

    session: WorkspaceSession
    base_filter: str

    def of_cell(self, group: Calibration, cell: ConfusionCell) -> str | None:
        """Return the filter that lists the items of a cell, or None if it cannot be expressed.

        A cell counts the items of a group with one automatic and one human verdict.
        """
        return self._build(
            CalibrationCell(
                source=group.source,
                criterion=group.criterion,
                automatic_verdict=cell.automatic,
                human_verdict=cell.human,
                scope=group.scope,
                name=group.name,
                items=cell.items,
            )
        )

    def of_errors(self, group: ErrorGroup) -> str | None:
        """Return the filter that lists the wrong automatic verdicts of a group, or None."""
        return self._build(
            CalibrationCell(
                source=group.source,
                criterion=group.criterion,
                automatic_verdict=group.automatic,
                human_verdict=group.human,
                scope=group.by,
                name=group.name,
                items=group.items,
            )
        )

    def _build(self, cell: CalibrationCell) -> str | None:
        return self.session.store.analysis.build_cell_filter(self.base_filter, cell)


def _print_json(
    build_filter: _FilterBuilder,
    verdict_pairs: Sequence[VerdictPair],
    scopes: Sequence[CalibrationScope],
) -> None:
    """Print a JSON object for each comparison of automatic and human verdicts, then for frequent
    errors.

    The key `said` is the automatic verdict, and `settled` the human verdict. `where` is a filter
    that selects the items.
    """
    for group in compute_calibrations(verdict_pairs, scopes):
        cells = []
        for cell in group.cells:
            fields = _build_group_json(cell)
            cells.append(fields | {"where": build_filter.of_cell(group, cell)})
        emit_json({"kind": "calibration"} | asdict(group) | {"cells": cells})

    if "overall" in scopes:
        _print_trust_json(verdict_pairs)

    for errors in find_error_groups(verdict_pairs):
        fields = {"kind": "wrong"} | _build_group_json(errors)
        emit_json(fields | {"where": build_filter.of_errors(errors)})


def _print_trust_json(verdict_pairs: Sequence[VerdictPair]) -> None:
    """Print an object for each source that judges whole items, and one for all judges together."""
    from fcreview.stats.judge_trust import compute_judge_figures

    figures = compute_judge_figures(verdict_pairs)
    for trust in figures.sources:
        fields = asdict(trust)
        # There may be many of them.
        del fields["items"]
        emit_json({"kind": "trust"} | fields)
    if figures.effective_number is not None:
        emit_json({"kind": "judges"} | asdict(figures.effective_number))


def _build_group_json(group: ConfusionCell | ErrorGroup) -> dict[str, Any]:
    """Return a cell or a group of errors as JSON, without its items, of which there may be many."""
    fields = {}
    for name, value in asdict(group).items():
        if name != "items":
            fields[_JSON_KEYS.get(name, name)] = value
    return fields


def _print_tables(
    build_filter: _FilterBuilder,
    verdict_pairs: Sequence[VerdictPair],
    scopes: Sequence[CalibrationScope],
) -> None:
    """Print how well automatic verdicts agree with human ones, and which errors are the most
    frequent.

    The first table has all pairs of verdicts. A table follows for each scope, such as category,
    that divides them into groups.
    """
    if not verdict_pairs:
        emit(NO_PAIRS_MESSAGE)
        return
    emit_lines(describe_selection(verdict_pairs))
    emit_lines(NOTES)
    for table in _list_tables(build_filter, verdict_pairs, scopes):
        print_figure(table, max_width=MAX_COLUMN_CELLS)


def _list_tables(
    build_filter: _FilterBuilder,
    verdict_pairs: Sequence[VerdictPair],
    scopes: Sequence[CalibrationScope],
) -> Iterator[Table]:
    """Yield each table as soon as it is computed."""
    if "overall" in scopes:
        yield _build_trust_table(verdict_pairs)
        overall = compute_calibration_groups(verdict_pairs, "overall")
        yield build_calibration_table(overall, build_filter=build_filter.of_cell)

    useful_scopes = list_useful_scopes(verdict_pairs)
    for scope in scopes:
        # A scope with one group would repeat the overall table.
        if scope != "overall" and scope in useful_scopes:
            calibrations = list(compute_calibrations(verdict_pairs, [scope]))
            yield build_scope_table(calibrations, scope)

    yield build_error_table(
        list(find_error_groups(verdict_pairs)),
        build_filter=build_filter.of_errors,
        max_groups=MAX_ERROR_GROUPS,
    )


def _build_trust_table(verdict_pairs: Sequence[VerdictPair]) -> Table:
    from fcreview.stats.judge_trust import compute_judge_figures

    return build_trust_table(compute_judge_figures(verdict_pairs))
