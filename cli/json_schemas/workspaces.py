"""Lines of the commands that query, merge and share workspaces, and of those that write files."""

from __future__ import annotations

from fcreview.cli.json_schemas.declaration import CommandLines, Field, Line, from_dataclass
from fcreview.model.item import ImportIssue
from fcreview.store.judgements import MergedJudge
from fcreview.store.queue_sampling import MergedQueue
from fcreview.store.reviews.journal_merge import MergedJournal
from fcreview.store.team_server import Member

SQL = CommandLines(
    version=1,
    lines=[
        Line(
            "A row of the result. The statement determines the fields, which are its columns.",
            {},
            has_other_fields=True,
        )
    ],
)

MERGED_ERRATA = {
    "new": Field("integer", "Number of new golden answers or, for rules, of new rules."),
    "known": Field("integer", "Number of golden answers or rules that both workspaces have."),
    "rules": Field("integer", "Number of new rules in the errata."),
    "conflicts": Field(
        "array",
        "Items with different corrections: benchmark, generation, language, category and id.",
    ),
    "kept_as": Field(
        "string", "File with all errata of the other workspace; empty without conflicts."
    ),
    "why": Field("string", "Why the file was not merged; empty if it was."),
}
MERGE = CommandLines(
    version=1,
    lines=[
        Line(
            "The journal of an annotator.",
            from_dataclass(
                MergedJournal,
                {
                    "annotator": "Name of the annotator.",
                    "new": "Number of events that this workspace did not have.",
                    "known": "Number of events that this workspace already had.",
                    "warnings": "Lines that were not copied, and breaks of the hash chain.",
                    "adjudications": "Number of adjudications among the new events.",
                    "retractions": "Number of retractions among the new events.",
                    "withheld": "Number of your own new events, which need --mine.",
                },
            ),
        ),
        Line(
            "A queue.",
            from_dataclass(
                MergedQueue,
                {
                    "queue": "Name of the queue.",
                    "state": "What happened: new, known, differs (both are kept) or unreadable.",
                    "kept_as": "Name in this workspace; empty if the queue is unreadable.",
                    "why": "Why the queue is unreadable; empty if it is not.",
                },
            ),
        ),
        Line(
            "A judge of fcreview judge.",
            from_dataclass(
                MergedJudge,
                {
                    "judge": "Name of the judge.",
                    "kept_as": "Name of the judge in this workspace.",
                    "new": "Number of new verdicts.",
                    "known": "Number of verdicts that this workspace already had.",
                    "why": "Why the judge was not merged; empty if it was.",
                },
            ),
        ),
        Line("Errata with which runs are imported.", MERGED_ERRATA, kind="errata"),
        Line("Accepted rules.", MERGED_ERRATA, kind="rules"),
        Line(
            "Result of --to-team.",
            {"sent": Field("integer", "Number of journal lines that were sent.")},
        ),
    ],
)

MAP_CHECK = CommandLines(
    version=1,
    lines=[
        Line(
            "A mistake in the mapping file.",
            {"what": Field("string", "What is wrong, and where.")},
            kind="mistake",
        ),
        Line(
            "A key of the mapping.",
            {
                "key": Field("string", "Name of the key."),
                "found": Field("integer", "Number of items with a usable value."),
                "missing": Field("integer", "Number of items without one."),
                "other": Field("object", "Number of values by what is wrong with them."),
                "first": Field("string", "Place of the first missing or wrong value; or empty."),
            },
            kind="key",
        ),
        Line(
            "A join.",
            {
                "join": Field("string", "Name of the join."),
                "n_rows": Field("integer", "Number of rows."),
                "rows_without_item": Field("array", "Keys of rows without an item."),
                "items_without_row": Field("array", "Keys of items without a row."),
            },
            kind="join",
        ),
        Line(
            "A problem in one of the files.",
            from_dataclass(
                ImportIssue,
                {
                    "file": "Path of the file.",
                    "line": "Number of the line, from 1; or null.",
                    "what": "Description of the problem.",
                    "raw": "Text with the problem, or null.",
                    "item": "Id of the item, or null.",
                    "severity": "error, warning or notice.",
                },
            ),
            kind="issue",
        ),
        Line(
            "Number of items that were read, the last line.",
            {
                "items": Field("integer", "Number of items."),
                "verdicts": Field("object", "Number of items by official verdict."),
                "judge_verdicts": Field("integer", "Number of judge verdicts."),
                "human_verdicts": Field("integer", "Number of verdicts by people."),
            },
            kind="items",
        ),
    ],
)

ERRATA_PATCH = CommandLines(
    version=1,
    lines=[
        Line(
            "The pull request.",
            {
                "title": Field("string", "Title of the pull request."),
                "branch": Field("string", "Name for its branch."),
                "commit": Field("string", "Commit of the dataset; empty if it is unknown."),
                "goldens": Field("array", "Names of the corrected datapoints."),
                "files": Field("array", "Paths of the changed files in the repository."),
                "refused": Field("array", "Corrections that are not in the patch, with reasons."),
            },
        )
    ],
)

TEAM_STATUS = CommandLines(
    version=1,
    lines=[
        Line(
            "The team project of the workspace.",
            {
                "project": Field("string", "Name of the project."),
                "server": Field("string", "Address of the server."),
                "annotator": Field("string", "Your name in the project."),
                "role": Field("string", "Your role: annotator, adjudicator or lead."),
                "unsent": Field("integer", "Number of your journal lines that were not sent."),
                "members": Field(
                    "array",
                    "Members of the project.",
                    fields=from_dataclass(
                        Member,
                        {
                            "annotator": "Name of the member.",
                            "role": "Role of the member.",
                            "has_joined": "Whether the member has joined.",
                            "n_lines": "Number of journal lines that the member has sent.",
                        },
                    ),
                ),
                "problems": Field("array", "What needs attention."),
            },
        )
    ],
)
