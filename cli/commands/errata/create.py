"""`fcreview errata create`: what people settled of golden answers, and the rules they accepted, as a file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fcreview.cli.commands.rules.kept import rules_of
from fcreview.cli.common import Place, opened
from fcreview.cli.errors import CommandError
from fcreview.cli.finding.errata import applied
from fcreview.cli.options import Data, PathArgument, PolicyOption, WorkspaceOption
from fcreview.cli.output import note
from fcreview.sanitise import visible
from fcreview.text.words import count_of


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
    from fcreview.cli.finding.lending import lend
    from fcreview.errata.file import write_errata
    from fcreview.exporters.base import Source
    from fcreview.exporters.golden.settled import settled
    from fcreview.exporters.placing import write_file
    from fcreview.store.labels.reading import EVERY_LABEL

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
