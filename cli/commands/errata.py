"""Corrected golden answers and equivalence rules as one file.

Make it, check it, tell the benchmark's maintainers.

Example: fcreview errata create result/ -o errata.jsonl
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fcreview.cli.commands.rules import rules_of
from fcreview.cli.errors import CommandError
from fcreview.cli.import_options import applied, read_file
from fcreview.cli.options import AsJson, Data, PathArgument, PolicyOption, WorkspaceOption
from fcreview.cli.output import emit, emit_json, note
from fcreview.cli.workspace import Place, opened
from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of

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


def create(
    path: PathArgument,
    out: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Written whole or not at all.", show_default=False)
    ],
    policy: PolicyOption = "unanimous",
    data: Data = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Write settled golden fixes and accepted rules to one file.

    A fix counts if an adjudicator gave it, or it is the only one and people do not differ (fcreview label
    --golden-fix). Errata that are applied already are taken along. docs/errata.md has the format.

    Example: fcreview errata create result/ -o errata.jsonl
    """
    from fcreview.cli.wiring import lend
    from fcreview.corrections.errata_file import write_errata
    from fcreview.exporters.base import Source
    from fcreview.exporters.export import write_file
    from fcreview.exporters.golden_patch import settled
    from fcreview.store.labels.read import EVERY_LABEL

    place = Place([path], data, workspace, policy=policy)
    with opened(place) as session:
        before = applied(session.workspace)
        source = Source(session.store, session.view(), EVERY_LABEL, lend(place))
        entries = dict(before.entries) if before else {}
        entries.update((entry.key, entry) for entry in (fix.entry() for fix in settled(source).fixes))
        rules = list(dict.fromkeys([*(before.rules if before else ()), *rules_of(session.workspace)]))
        if not entries and not rules:
            raise CommandError(
                "no golden fix is settled and no rule accepted: fcreview label --golden-fix, fcreview rules add"
            )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        write_file(out, write_errata(list(entries.values()), rules, now, session.annotator))
    note(f"{count_of(len(entries), 'golden answer')} and {count_of(len(rules), 'rule')} in {visible(str(out))}")


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
    from fcreview.exporters.export import write_file
    from fcreview.exporters.golden_patch import issue_text

    errata = read_file(file)
    if not errata.entries:
        raise CommandError(f"{visible(str(file))} has no golden answers, rules only: there is nothing to tell upstream")
    text = issue_text(list(errata.entries.values()), patch=False)
    if out is not None:
        write_file(out, text.encode())
        return
    for line in text.split("\n"):
        emit(line)


COMMANDS = {"create": create, "check": check, "issue": issue}
