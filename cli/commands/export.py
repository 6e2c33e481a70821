"""`fcreview export`: labels for others to use."""

from __future__ import annotations

from typing import Annotated

import typer

from fcreview.cli.common import Place, opened
from fcreview.cli.options import Data, PathArgument, WhereOption, WorkspaceOption
from fcreview.cli.output import note, printed
from fcreview.cli.program import UNWRAPPED
from fcreview.exporters.registry import FORMATS
from fcreview.text.words import count_of

WIDEST = max(len(each.name) for each in FORMATS)
FORMAT_HELP = "\n".join([UNWRAPPED, *(f"{each.name:<{WIDEST}}  {each.help}" for each in FORMATS), ""])


def export(
    path: PathArgument,
    format: Annotated[str, typer.Option("--format", metavar="NAME", help=FORMAT_HELP)] = "jsonl",  # noqa: A002
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
    from fcreview.exporters import export as exports

    with opened(Place([path], data, workspace)) as session:
        counts = exports.export(session.store, format, out, session.view(where), printed)
    if out != exports.STANDARD_OUTPUT:
        note(f"{' and '.join(count_of(number, noun) for noun, number in counts.items())} in {out}")
