"""The table of commands, by heading of `fcreview --help`. A new command needs its module and a line here."""

from __future__ import annotations

COMMAND_GROUPS = {
    "Inspect": {
        "open": "fcreview.cli.commands.open:open_",
        "runs": "fcreview.cli.commands.runs:runs",
        "items": "fcreview.cli.commands.items:items",
        "show": "fcreview.cli.commands.show:show",
        "triage": "fcreview.cli.commands.triage:triage",
        "compare": "fcreview.cli.commands.compare:compare",
        "sql": "fcreview.cli.commands.sql:sql",
    },
    "Review": {
        "review": "fcreview.cli.commands.review:review",
        "label": "fcreview.cli.commands.label:label",
        "queue": "fcreview.cli.commands.queue:COMMANDS",
        "adjudicate": "fcreview.cli.commands.adjudicate:adjudicate",
        "agreement": "fcreview.cli.commands.agreement:agreement",
        "audit": "fcreview.cli.commands.audit:audit",
    },
    "Score": {
        "report": "fcreview.cli.commands.report:report",
        "estimate": "fcreview.cli.commands.estimate:estimate",
        "calibrate": "fcreview.cli.commands.calibrate:calibrate",
        "suspects": "fcreview.cli.commands.suspects:suspects",
        "errata": "fcreview.cli.commands.errata:COMMANDS",
        "rules": "fcreview.cli.commands.rules:COMMANDS",
    },
    "Exchange": {
        "import": "fcreview.cli.commands.run_import:import_",
        "export": "fcreview.cli.commands.export:export",
        "import-labels": "fcreview.cli.commands.import_labels:import_labels",
        "merge": "fcreview.cli.commands.merge:merge",
        "schema": "fcreview.cli.commands.schema:schema",
    },
    "Setup": {
        "demo": "fcreview.cli.commands.demo:demo",
        "doctor": "fcreview.cli.commands.doctor:doctor",
        "completion": "fcreview.cli.commands.completion:completion",
    },
}
"""Commands by heading of `fcreview --help`: name -> `module:function`, or `module:COMMANDS` for a command with
subcommands. Only the module of the command that runs is imported."""
COMMANDS = {name: target for group in COMMAND_GROUPS.values() for name, target in group.items()}
