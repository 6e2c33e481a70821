"""The JSON lines of each command."""

from __future__ import annotations

from fcreview.cli.json_schemas import items, reviews, scores, workspaces

LINES_BY_COMMAND = {
    "import": items.IMPORT,
    "items": items.ITEMS,
    "runs": items.RUNS,
    "show": items.SHOW,
    "triage": items.TRIAGE,
    "check": items.CHECK,
    "doctor": items.DOCTOR,
    "report": scores.REPORT,
    "compare": scores.COMPARE,
    "estimate": scores.ESTIMATE,
    "calibrate": scores.CALIBRATE,
    "suspects": scores.SUSPECTS,
    "label": reviews.LABEL,
    "import-labels": reviews.IMPORT_LABELS,
    "audit": reviews.AUDIT,
    "adjudicate": reviews.ADJUDICATE,
    "agreement": reviews.AGREEMENT,
    "judge": reviews.JUDGE,
    "queue list": reviews.QUEUE_LIST,
    "queue show": reviews.QUEUE_SHOW,
    "queue create": reviews.QUEUE_CREATE,
    "queue extend": reviews.QUEUE_EXTEND,
    "rules list": reviews.RULES_LIST,
    "rules preview": reviews.RULES_PREVIEW,
    "errata check": reviews.ERRATA_CHECK,
    "errata patch": workspaces.ERRATA_PATCH,
    "map check": workspaces.MAP_CHECK,
    "merge": workspaces.MERGE,
    "sql": workspaces.SQL,
    "team status": workspaces.TEAM_STATUS,
}
"""Command -> its lines. Subcommands have two words."""
