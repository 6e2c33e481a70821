"""`fcreview sql`: read-only SQL on the store.

`fcreview schema`: the generic format as JSON Schema.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from fcreview.cli.errors import UsageError
from fcreview.cli.options import AsJson, Data, ErrataOption, PathArgument, WorkspaceOption
from fcreview.cli.output import aligned, emit, emit_data, emit_json, note, text_of
from fcreview.cli.workspace import Place, opened
from fcreview.model.wording import count_of


def schema() -> None:
    """Print the JSON Schema of a line of the generic format.

    For benchmarks of your own.

    Example: fcreview schema > fcreview.schema.json
    """
    from fcreview.importers.generic.schema import json_schema

    emit(json.dumps(json_schema(), indent=2, ensure_ascii=True))


def sql(
    path: PathArgument,
    query: Annotated[str, typer.Argument(metavar="SQL", help="One statement that only reads.", show_default=False)],
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values with a header.")] = False,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="N", min=0.1, help="Break off after so many seconds.")
    ] = 60.0,
) -> None:
    """Ask the store in SQL.

    DuckDB's dialect. Statements can neither write nor reach other files; one that takes too long is broken off.

    Tables and views: runs, items, messages, calls, pairs, verdicts, functions, import_issues, sources, reviews, labels.

    Example: fcreview sql runs/ 'SELECT model, error_type, count(*) AS n FROM items GROUP BY ALL ORDER BY n DESC'
    """
    if as_json and as_csv:
        raise UsageError("--json or --csv, not both")
    with opened(Place([path], data, workspace, errata=errata)) as session:
        columns, rows = session.store.sql(query, seconds)
        if as_json:
            for row in rows:
                emit_json(dict(zip(columns, row, strict=True)))
        elif as_csv:
            emit_data(csv_text([columns, *rows]))
        else:
            for line in aligned(
                [text_of(column) for column in columns], ([text_of(cell) for cell in row] for row in rows)
            ):
                emit(line)
            note(count_of(len(rows), "row"))


def csv_text(rows: Iterable[Sequence[Any]]) -> bytes:
    """Comma-separated values, neutralised as in an export. Lines end as a shell reads them, not as RFC 4180 has it."""
    from fcreview.exporters.csv import cell

    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([cell(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8", "replace")
