"""Lines of the commands that record, sample and compare reviews."""

from __future__ import annotations

from fcreview.cli.json_schemas.common import (
    EVENT,
    ITEM_KEY,
    RUN_NUMBER,
    TARGET,
)
from fcreview.cli.json_schemas.declaration import (
    CommandLines,
    Field,
    Line,
    from_dataclass,
    optional,
    select,
)
from fcreview.stats.agreement import SelfAgreement
from fcreview.stats.agreement_ratings import AgreementCoefficient
from fcreview.store.label_import import LabelImportResult
from fcreview.store.queue_file import SampleDesign

IMPORTED_LABELS = {"written": Field("integer", "Number of recorded reviews.")} | from_dataclass(
    LabelImportResult,
    {
        "already": "Number of reviews that the workspace already has.",
        "older": "Number of reviews before the annotator's current review.",
    },
)
IMPORT_LABELS = CommandLines(version=1, lines=[Line("Result of the import.", IMPORTED_LABELS)])
LABEL = CommandLines(
    version=1,
    lines=[
        Line("A recorded or retracted review.", EVENT),
        Line("Result of --from.", IMPORTED_LABELS),
    ],
)

AUDIT_ANNOTATION = (
    "fault",
    "tags",
    "note",
    "golden_fix",
    "golden_status",
    "golden_verdicts",
    "overrules",
)
AUDIT = CommandLines(
    version=1,
    lines=[
        Line(
            "An action of an annotator on the item, oldest first.",
            select(EVENT, ("time", "annotator", "act", "target", "criterion"))
            | {"value": EVENT["verdict"]}
            | select(EVENT, AUDIT_ANNOTATION)
            | {
                "blind": Field("string", "Whether other verdicts were hidden: yes, no, unknown."),
                "queue": EVENT["queue"],
                "presentation": Field("integer", "2 for a hidden duplicate, else 1."),
                "bulk": EVENT["bulk"],
                "retracts": EVENT["retracts"],
                "retracted_by": Field(
                    "string|null", "Id of the event that retracts this event, or null."
                ),
                "stale": Field("boolean", "Whether the item has changed since the event."),
            }
            | select(EVENT, ("prediction_hash", "golden_hash", "event")),
        )
    ],
)

QUEUE_DESIGN = from_dataclass(
    SampleDesign,
    {
        "seed": "Random seed.",
        "where": "Filter of the items to draw from.",
        "stratify": "What defines the strata; empty without strata.",
        "size": "Number of drawn items, groups or questions.",
        "overlap": "Number of items that every annotator reviews.",
        "repeats": "Number of hidden duplicates of each annotator.",
        "population": "Number of items, groups or questions to draw from.",
        "excludes": "Earlier queues whose items were left out.",
        "n_excluded": "Number of items left out for this reason.",
        "cluster": "task or conversation, if whole groups were drawn; else empty.",
        "same_questions": "Whether the sample has the same questions of several runs.",
        "decides": "Whether only questions on which the runs differ were drawn.",
        "blind": "Whether other verdicts are hidden until the own review.",
        "n_incidents": "Number of incidents that were left out.",
        "sources": "Automatic sources that define the strata.",
        "allocation": "Division of the sample among the strata: proportional or neyman.",
    },
)
PROGRESS = {
    "annotator": Field("string", "Name of the annotator."),
    "done": Field("integer", "Number of reviewed items."),
    "total": Field("integer", "Number of assigned items; a hidden duplicate counts twice."),
    "missing": Field("integer", "Number of items that are no longer in the database."),
}
QUEUE = (
    {
        "queue": Field("string", "Name of the queue."),
        "created": Field("string", "Time of the draw (ISO 8601)."),
    }
    | QUEUE_DESIGN
    | {"annotators": Field("array", "Progress of each annotator.", fields=PROGRESS)}
)
QUEUE_LIST = CommandLines(version=1, lines=[Line("A queue.", QUEUE)])
QUEUE_CREATE = CommandLines(version=1, lines=[Line("The new queue.", QUEUE)])
QUEUE_EXTEND = CommandLines(
    version=1,
    lines=[
        Line(
            "The new queue.",
            QUEUE
            | {
                "extends": Field("string", "Name of the extended queue."),
                "target": Field("string", "Name of the score whose interval is narrowed."),
                "waiting": Field("integer", "Number of drawn items without a review so far."),
            },
        )
    ],
)
QUEUE_STRATUM = {
    "name": Field("string", "Name of the stratum."),
    "size": Field("integer", "Number of items in the stratum."),
    "drawn": Field("integer", "Number of drawn items."),
    "probability": Field("number", "Probability of an item to be drawn."),
}
QUEUE_SHOW = CommandLines(
    version=1,
    lines=[
        Line(
            "The queue; the first line.",
            QUEUE
            | {
                "strata": Field(
                    "array|null",
                    "Strata of the sample; null if they count verdicts of `fcreview judge`.",
                    fields=QUEUE_STRATUM,
                ),
                "runs": Field("array", "Runs that the items were drawn from."),
            },
        ),
        Line(
            "An item of the queue.",
            ITEM_KEY
            | {
                "stratum": Field(
                    "string",
                    "Name of the stratum; empty if it counts verdicts of `fcreview judge`.",
                ),
                "probability": Field(
                    "number|null", "Probability of the item to be drawn; null in such a stratum."
                ),
                "overlap": Field("boolean", "Whether every annotator reviews the item."),
                "annotators": Field("array", "Names of the annotators who review the item."),
            },
        ),
    ],
)

ANSWER = {
    "answer": Field("string", "Letter that stands for the annotator."),
    "value": Field("", "Verdict of the annotator."),
    "tags": Field("array", "Tags of the review."),
} | select(EVENT, ("fault", "note", "golden_fix", "golden_status"))
AUTOMATIC_VERDICT = {
    "source": Field("string", "official, rule (recomputed) or judge."),
    "value": Field("", "The verdict."),
    "by": Field("string|null", "File or judge of the verdict, or null."),
    "error_type": Field("string|null", "Error type, or null."),
    "rationale": Field("string|null", "Reason of the verdict, or null."),
}
ADJUDICATE = CommandLines(
    version=1,
    lines=[
        Line(
            "An open disagreement.",
            RUN_NUMBER
            | ITEM_KEY
            | TARGET
            | {
                "answers": Field("array", "Answers of the annotators.", fields=ANSWER),
                "majority": Field("", "Verdict of more than half of the annotators, or null."),
                "golden_status": Field(
                    "string|null", "proposed or disputed if a correction needs a decision, or null."
                ),
                "automatic": Field("array", "Automatic verdicts.", fields=AUTOMATIC_VERDICT),
            },
        )
    ],
)

COEFFICIENT = from_dataclass(
    AgreementCoefficient,
    {
        "scope": "overall, benchmark or category.",
        "benchmark": "Name of the benchmark; null for all.",
        "category": "Category; null for all.",
        "criterion": "Criterion of the labels.",
        "level": "Level of measurement: nominal, ordinal or masi.",
        "metric": "percent, fleiss, alpha, ac1, ac2, cohen or weighted.",
        "annotators": "Names of the annotators; two for a pair.",
        "value": "1 for perfect agreement, 0 for chance; percent from 0 to 1; or null.",
        "low": "Lower end of the 95 % interval, or null.",
        "high": "Upper end of the 95 % interval, or null.",
        "n_units": "Number of units with several labels.",
        "n_labels": "Number of labels.",
        "given": "How the labels were given, such as blind.",
        "interval": "Method of the interval, or null.",
        "interval_note": "Why there is no interval; empty if there is one.",
    },
)
SELF_AGREEMENT = from_dataclass(
    SelfAgreement,
    {
        "scope": "Always self.",
        "annotator": "Name of the annotator; null for all together.",
        "criterion": "Criterion of the labels.",
        "n": "Number of targets that were labelled twice.",
        "percent": "Share of equal labels, or null.",
        "percent_low": "Lower end of its 95 % interval, or null.",
        "percent_high": "Upper end of its 95 % interval, or null.",
        "kappa": "Cohen's kappa, or null.",
        "kappa_low": "Lower end of its 95 % interval, or null.",
        "kappa_high": "Upper end of its 95 % interval, or null.",
    },
)
AGREEMENT = CommandLines(
    version=1,
    lines=[
        Line("A coefficient between annotators.", COEFFICIENT),
        Line("Agreement of annotators with themselves (hidden duplicates).", SELF_AGREEMENT),
    ],
)

TOKENS = {
    "tokens_in": Field("integer", "Number of tokens of the prompts."),
    "tokens_out": Field("integer", "Number of tokens of the replies."),
}
JUDGE_NAME = {"judge": Field("string", "Name of the judge.")}
JUDGE = CommandLines(
    version=1,
    lines=[
        Line(
            "What the command sent and received.",
            JUDGE_NAME
            | {
                "asked": Field("integer", "Number of sent items."),
                "verdicts": Field("integer", "Number of new verdicts."),
                "failed": Field("integer", "Number of items without a clear verdict."),
                "failures": Field("object", "Number of failures by kind."),
                "cost": Field("number|null", "Cost by the prices of the options, or null."),
                "known": Field("integer", "Number of items with an earlier verdict."),
                "left": Field("integer", "Number of items without a verdict."),
            }
            | TOKENS,
        ),
        Line(
            "A judge of the workspace (--list).",
            JUDGE_NAME
            | {
                "source": Field("string", "endpoint or command."),
                "address": Field("string", "URL or command."),
                "model": Field("string", "Name of the model."),
                "parameters": Field("object", "Further fields of the requests."),
                "criterion": Field("string", "Criterion that is judged."),
                "prompt_hash": Field("string", "Hash of the prompt."),
                "verdicts": Field("integer", "Number of verdicts."),
                "failures": Field("integer", "Number of failures."),
                "examples": Field("integer", "Number of examples in the prompt."),
                "examples_from": Field("string", "Where the examples come from."),
                "since": Field("string", "Time of the first request (ISO 8601)."),
            }
            | TOKENS,
        ),
        Line(
            "The first request (--dry-run).",
            {
                "id": Field("string", "Id of the request."),
                "item": Field("object", "Identity of the item.", fields=ITEM_KEY | RUN_NUMBER),
                "prompt": Field("string", "Text of the prompt."),
            },
        ),
    ],
)

RULE = {
    "rule": Field("string", "Kind of the rule, such as ignore-case."),
    "benchmark": Field("string", "Benchmark of the rule; empty for all."),
    "function": Field("string", "Function of the rule; empty for all."),
    "argument": Field("string", "Argument of the rule; empty for all."),
    "who": Field("string", "Who accepted the rule."),
    "date": Field("string", "Date of the acceptance."),
    "says": Field("string", "The rule as fcreview rules accept reads it."),
    "applied": Field("boolean", "Whether the imported runs use the rule."),
}
ACCEPTED_VALUE = {
    "given": Field("", "Predicted value of a rule accept."),
    "wanted": Field("", "Golden value of a rule accept."),
}
RULES_LIST = CommandLines(
    version=1, lines=[Line("An accepted rule.", RULE | optional(ACCEPTED_VALUE))]
)
RULES_PREVIEW = CommandLines(
    version=1,
    lines=[
        Line(
            "An item whose recomputed verdict the rule changes.",
            {"run_name": Field("string", "Name of the run.")}
            | ITEM_KEY
            | {
                "flip": Field("string", "fail -> pass or pass -> fail."),
                "difference": Field("string", "First difference when the item fails."),
            },
        )
    ],
)
ERRATA_CHECK = CommandLines(
    version=1,
    lines=[
        Line(
            "The errata file.",
            {
                "file": Field("string", "Path of the file."),
                "date": Field("string", "Date of the file."),
                "who": Field("string", "Who created the file."),
                "digest": Field("string", "Digest of the content."),
                "goldens": Field("integer", "Number of golden answers."),
                "rules": Field("array", "Rules of the file."),
            },
        )
    ],
)
