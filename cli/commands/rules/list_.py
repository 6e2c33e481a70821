"""`fcreview rules list`: the rules that a workspace accepted, and those that are applied."""

from __future__ import annotations

from fcreview.cli.commands.rules.kept import rules_of
from fcreview.cli.common import Place, opened
from fcreview.cli.finding.errata import applied
from fcreview.cli.options import AsJson, Data, PathArgument, WorkspaceOption
from fcreview.cli.output import aligned, emit, emit_json, note, text_of


def list_(path: PathArgument, data: Data = None, workspace: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """List the accepted rules, and whether errata apply them already.

    With --json one line a rule: {rule, benchmark, function, argument, who, date, says, applied}, of accept given and
    wanted.

    Example: fcreview rules list result/
    """
    with opened(Place([path], data, workspace)) as session:
        errata = applied(session.workspace)
        held = errata.rules if errata else ()
        rules = list(dict.fromkeys([*rules_of(session.workspace), *held]))
        if as_json:
            for rule in rules:
                emit_json({**rule.as_json(), "says": str(rule), "applied": rule in held})
            return
        rows = [
            [text_of(str(rule)), text_of(rule.who), rule.date[:10], "applied" if rule in held else "not yet"]
            for rule in rules
        ]
        if not rows:
            note("no rules: fcreview rules try shows what one would change")
            return
        for line in aligned(["rule", "who", "date", ""], rows):
            emit(line.rstrip())
