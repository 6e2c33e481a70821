"""`fcreview errata issue`: a text for the benchmark's maintainers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fcreview.cli.commands.errata.check import FileArgument
from fcreview.cli.errors import CommandError
from fcreview.cli.finding.errata import read_file
from fcreview.cli.output import emit
from fcreview.sanitise import visible


def issue(
    file: FileArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Markdown is written there.", show_default="standard output"
        ),
    ] = None,
) -> None:
    """Write golden answers that are wrong as Markdown.

    By benchmark and category, each with question, old and new answer, reason, who settled it, and how many runs passed
    by the old one. Nothing that comes from data is read as markup.

    Example: fcreview errata issue errata.jsonl -o issue.md
    """
    from fcreview.exporters.golden.issue import issue_text
    from fcreview.exporters.placing import write_file

    errata = read_file(file)
    if not errata.entries:
        raise CommandError(f"{visible(str(file))} has no golden answers, rules only: there is nothing to tell upstream")
    text = issue_text(list(errata.entries.values()), patch=False)
    if out is not None:
        write_file(out, text.encode())
        return
    for line in text.split("\n"):
        emit(line)
