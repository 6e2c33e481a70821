"""`fcreview errata check`: whether a file of errata is as it was written, and what it says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from fcreview.cli.finding.errata import read_file
from fcreview.cli.options import AsJson
from fcreview.cli.output import emit, emit_json
from fcreview.sanitise import visible
from fcreview.text.words import count_of

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Made by errata create.", show_default=False)]


def check(file: FileArgument, as_json: AsJson = False) -> None:
    """Verify a file of errata and say what it holds.

    Exit code 1 if it was changed since. With --json: {file, date, who, digest, goldens, rules}, the rules
    in words. Which entries are stale, the import with --errata says.

    Example: fcreview errata check errata.jsonl
    """
    errata = read_file(file)
    rules = [str(rule) for rule in errata.rules]
    if as_json:
        head = {"file": str(file), "date": errata.date, "who": errata.who, "digest": errata.digest}
        emit_json({**head, "goldens": len(errata.entries), "rules": rules})
        return
    emit(f"{visible(errata.date)}  {visible(errata.who)}  digest {errata.digest[:16]}… fits")
    counts = Counter((entry.title or entry.benchmark, entry.category) for entry in errata.entries.values())
    for (title, category), number in counts.items():
        emit(f"  {count_of(number, 'golden answer')}  {visible(title)}  {visible(category)}")
    for rule in rules:
        emit(f"  rule  {visible(rule)}")
