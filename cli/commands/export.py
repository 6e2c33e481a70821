"""`fcreview export`: labels for others to use."""

from __future__ import annotations

from typing import Annotated

import typer

from fcreview.cli.common import Place, opened
from fcreview.cli.errors import UsageError
from fcreview.cli.options import Data, PathArgument, WhereOption, WorkspaceOption
from fcreview.cli.output import emit_bytes, emit_data, escaped, note
from fcreview.words import count_of


def export(
    path: PathArgument,
    format: Annotated[str, typer.Option("--format", metavar="NAME", help="jsonl or csv.")] = "jsonl",  # noqa: A002
    out: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Written whole or not at all; - is standard output.")
    ] = "-",
    where: WhereOption = "",
    data: Data = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Export labels.

    One line for each item and target, with every source's verdict and what came of them.

    Example: fcreview export runs/gpt4o --format csv -o labels.csv --where reviewed
    """
    from fcreview.exporters.base import export as write
    from fcreview.exporters.registry import EXPORTERS

    with opened(Place([path], data, workspace)) as session:
        chosen = session.view(where)
        if out != "-":
            note(f"{count_of(write(session.store, format, out, chosen), 'label')} in {out}")
            return
        if format not in EXPORTERS:
            raise UsageError(f"no format {format!r}: there are {', '.join(sorted(EXPORTERS))}")
        for chunk in EXPORTERS[format]()(session.store.labels(chosen)):
            if format == "jsonl":
                emit_bytes(escaped(chunk))
            else:
                emit_data(chunk)
