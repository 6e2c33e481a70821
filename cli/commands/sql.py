"""`fcreview sql`: query the store of the workspace with SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from fcreview.cli.options import JsonOption, WorkspaceOptions, argument, option, workspace_command
from fcreview.cli.output import emit_json, emit_utf8, format_cell, print_message, print_table
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import UsageError
from fcreview.model.wording import format_count


@workspace_command()
def sql(
    options: WorkspaceOptions,
    query: Annotated[str, argument("SQL", "A read-only statement in DuckDB's dialect.")],
    as_json: JsonOption = False,
    as_csv: Annotated[bool, option("--csv", "Print CSV with a header instead of a table.")] = False,
    seconds: Annotated[
        float, option("--seconds N", "Cancel the statement after N seconds.", min=0.1)
    ] = 60.0,
) -> None:
    """Query the workspace with SQL.

    The statement can only read the tables of the workspace (docs/sql-and-json.md).

    Tables and views: runs, items, messages, calls, pairs, verdicts, functions, import_issues,
    sources, reviews, labels, judgements.

    Example: fcreview sql runs/ 'SELECT model, error_type, count(*) AS n FROM items GROUP BY ALL
    ORDER BY n DESC'
    """
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other. Pass only one of them")

    with open_workspace(options) as session:
        columns, rows = session.store.run_sql(query, seconds)
        if as_json:
            for row in rows:
                emit_json(dict(zip(columns, row, strict=True)))
        elif as_csv:
            emit_utf8(_format_csv([columns, *rows]))
        else:
            _print_rows(columns, rows)


def _print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    table_rows = []
    for row in rows:
        table_rows.append([format_cell(cell) for cell in row])
    print_table([format_cell(column) for column in columns], table_rows)
    print_message(format_count(len(rows), "row"))


def _format_csv(rows: Iterable[Sequence[Any]]) -> bytes:
    """Format rows as CSV in which spreadsheets run no formulas.

    Lines end with LF, as shell tools expect.
    """
    from fcreview.exporters.label_files import encode_csv, format_csv_cell

    return encode_csv((map(format_csv_cell, row) for row in rows), "\n")
