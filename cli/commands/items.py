"""`fcreview items`: list items with their verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.item_rows import (
    build_row_json,
    fetch_row_windows,
    iterate_item_rows,
    print_item_rows,
)
from fcreview.cli.options import (
    JsonOption,
    OrderSeedOption,
    QueueOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    emit,
    emit_json,
    format_cell,
    print_message,
    show_activity,
)
from fcreview.cli.workspace import WorkspaceSession
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import UsageError
from fcreview.model.sanitize import sanitize

if TYPE_CHECKING:
    from fcreview.model.item import Run
    from fcreview.store.queries.runs import RunMissingItem
    from fcreview.store.rows import View


@workspace_command("annotator", "policy", "show_judge")
def items(
    options: WorkspaceOptions,
    where: WhereOption = "",
    limit: Annotated[int | None, option("--limit N", "List at most N items.", min=0)] = None,
    queue: QueueOption = "dataset",
    seed: OrderSeedOption = 0,
    run: RunOption = None,
    ids: Annotated[bool, option("--ids", "Print only the ids, each once, one a line.")] = False,
    not_run: Annotated[
        bool,
        option(
            "--not-run",
            "Also list the items of the dataset without a result. --where does not apply to them.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List items with their verdicts.

    Prints the official, recomputed, judge and human verdict, the error type and the first
    difference. To list what a benchmark's program should run again, use --where incident:any --ids
    --not-run.

    Example: fcreview items runs/gpt4o --where 'official:fail -reviewed' --limit 20
    """
    if ids and as_json:
        raise UsageError("--ids and --json exclude each other. Pass only one of them")
    with open_workspace(options) as session:
        view = session.build_view(where, queue=queue, seed=seed, run=run)
        missing = session.store.fetch_not_run(view.runs) if not_run else []
        if ids:
            _print_ids(session, view, limit, missing)
            return

        session.print_policy(as_json=as_json)
        if limit != 0:
            # The first count takes the time of the search. The store keeps it for the rows below.
            with show_activity("searching items"):
                session.store.count_items(view)

        if as_json:
            _emit_items_as_json(session, view, limit, missing)
        else:
            print_item_rows(session, view, limit)
            _print_missing_items(missing)
        if limit != 0 and not session.store.count_items(view):
            print_message(f"fcreview: {session.explain_empty_view(view)}")


def _print_missing_items(missing: Sequence[RunMissingItem]) -> None:
    for missing_item in missing:
        item = missing_item.item
        emit(f"{sanitize(item.id)}  {format_cell(item.category)}  not run")


def _emit_items_as_json(
    session: WorkspaceSession, view: View, limit: int | None, missing: Sequence[RunMissingItem]
) -> None:
    """Print a JSON object for each item, then for each item of the dataset without a result."""
    store = session.store
    for rows in fetch_row_windows(session, view, limit):
        judge_verdicts = store.analysis.fetch_judge_verdicts([row.item for row in rows])
        judgements = store.fetch_visible_judgements(rows)
        for row in rows:
            fields = build_row_json(row, store.runs[row.run])
            fields["judged"] = judge_verdicts.get(row.item, [])
            fields["judgements"] = [asdict(each) for each in judgements.get(row.item, [])]
            emit_json(fields)
    for missing_item in missing:
        run = store.runs[missing_item.run]
        emit_json(_build_missing_json(missing_item, run, store.run_names[missing_item.run]))


def _print_ids(
    session: WorkspaceSession, view: View, limit: int | None, missing: Sequence[RunMissingItem]
) -> None:
    """Print each id once. Several runs can have items of the same id."""
    printed: set[str] = set()
    for item_id in _iterate_ids(session, view, limit, missing):
        if item_id not in printed:
            printed.add(item_id)
            emit(sanitize(item_id))


def _iterate_ids(
    session: WorkspaceSession, view: View, limit: int | None, missing: Sequence[RunMissingItem]
) -> Iterator[str]:
    """Yield the ids of the items of a view, then those that a run lacks."""
    for row in iterate_item_rows(session, view, limit):
        yield row.id
    for missing_item in missing:
        yield missing_item.item.id


def _build_missing_json(missing: RunMissingItem, run: Run, run_name: str) -> dict[str, Any]:
    """Build the JSON object of an item without a result.

    Only these objects have the field `not_run`.
    """
    return {
        "run": missing.run,
        "run_name": run_name,
        "model": run.model,
        "benchmark": run.benchmark,
        "generation": run.generation,
        "language": run.language,
        "category": missing.item.category,
        "id": missing.item.id,
        "not_run": True,
    }
