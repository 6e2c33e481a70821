"""`fcreview runs`: the runs of a workspace and their metrics."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.errors import one_of
from fcreview.cli.options import Annotator, AsJson, Data, ErrataOption, PathArgument, PolicyOption, WorkspaceOption
from fcreview.cli.output import alert, aligned, emit, emit_json, text_of
from fcreview.cli.workspace import Place, opened
from fcreview.model.wording import NO_DATASET, count_of, kind_of, rate_of, recomputed
from fcreview.store.queries.run_lists import GROUPED_BY, SORTED_BY, folder_of, grouped, matching, ordered

if TYPE_CHECKING:
    from fcreview.store.rows import RunRow


SortOption = Annotated[
    str, typer.Option("--sort", metavar="KEY", help="One of " + ", ".join(SORTED_BY) + "; numbers: highest first.")
]
GroupOption = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="BY",
        help="In groups by " + ", ".join(GROUPED_BY) + ": the date in the name of a folder, or the folder.",
        show_default=False,
    ),
]
OnlyOption = Annotated[
    str,
    typer.Option("--only", metavar="TEXT", help="Runs with these words in benchmark, generation, model or path."),
]


def runs(
    path: PathArgument,
    sort: SortOption = "run",
    reverse: Annotated[bool, typer.Option("--reverse", help="Lowest first, or last.")] = False,
    group: GroupOption = None,
    only: OnlyOption = "",
    policy: PolicyOption = "unanimous",
    annotator: Annotator = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """List runs with their pass rates.

    As scored officially, as recomputed (rule), and as corrected by reviews.
    A rate over a part of the items says so. With --json the counts are given, by category too.

    Example: fcreview runs result/ --sort official --group model --only v3
    """
    one_of(SORTED_BY, sort, "--sort")
    by = one_of(GROUPED_BY, group, "--group") if group else ""
    with opened(Place([path], data, workspace, annotator=annotator, policy=policy, errata=errata)) as session:
        session.head(as_json=as_json)
        shown = ordered(matching(session.runs, only), sort, reverse=reverse)
        groups = grouped(shown, by)
        if as_json:
            for part in groups:
                for row in part.runs:
                    emit_json(flat(row) | ({"group": part.name} if by else {}))
            return
        if only and not shown:
            emit(f"no run of {len(session.runs):,} matches {text_of(only)}")
            return
        headers = ["run", "benchmark", "model", "items", "official", "rule", "corrected", "reviewed", "part", "issues"]
        table = [cells_of(row) for part in groups for row in part.runs]
        first, *lines = aligned(headers, table, right=(0, 3, 4, 5, 6, 7, 8, 9), widest=40)
        emit(first)
        for part in groups:
            if by:
                emit(f"{text_of(part.name) or '(none)'}: {count_of(len(part.runs), 'run')}")
            for _ in part.runs:
                emit(lines.pop(0))
        emit()
        emit(count_of(len(shown), "run") + ". Where not every item can be recomputed, 'rule' says how many can.")
        lacking = [str(row.run) for row in shown if row.info.lacks_dataset]
        if lacking:
            alert(f"run {', '.join(lacking)}: {NO_DATASET}")


def cells_of(row: RunRow) -> list[str]:
    info = row.info
    return [
        str(row.run), text_of(kind_of(info.benchmark, info.generation, info.language)), text_of(info.model),
        f"{row.n_items:,}", row.official_rate,
        recomputed(row.rule_pass, row.rule_known, row.n_items),
        rate_of(row.effective_pass, row.effective_known, row.n_items),
        f"{row.reviewed:,}", f"{row.in_part:,}", f"{row.n_issues:,}",
    ]  # fmt: skip


def flat(row: RunRow) -> dict[str, Any]:
    """{run, benchmark, generation, language, model, path, ..., date, n_items, official_pass, official_known, ...}; the
    date is that in the name of a folder above the run, else the folder."""
    fields = asdict(row)
    return {"run": fields.pop("run"), **fields.pop("info"), "date": folder_of(row), **fields}
