"""Lines of the commands that inspect runs and items."""

from __future__ import annotations

from fcreview.cli.json_schemas.common import (
    CATEGORY,
    DATASET,
    EXPECTED_ITEMS,
    ITEM_ID,
    ITEM_KEY,
    JUDGEMENTS,
    MODEL,
    NOT_RUN,
    RUN_NAME,
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
from fcreview.model.item import ImportIssue, Run
from fcreview.model.run_check import CheckLine
from fcreview.store.rows import IMPORT_COUNTS, QueueRow, RunRow

ITEM_FIELDS = from_dataclass(
    QueueRow,
    {
        "id": "Id of the item.",
        "category": "Category of the item.",
        "group": "Name of the task or conversation that the item belongs to, or null.",
        "official": "Verdict of the score files; null if unknown.",
        "rule": "Verdict recomputed from the rules of the benchmark; null if unknown.",
        "judge": "Verdict of a judge in the files; null if unknown.",
        "you": "This annotator's verdict, or null.",
        "your_bulk": "Whether this annotator's verdict is part of a bulk review.",
        "human": "Joint verdict of all annotators, disputed or unsure; null without reviews.",
        "parts": "Number of parts and criteria that annotators reviewed.",
        "your_parts": "Number of parts and criteria that this annotator reviewed.",
        "effective": "Verdict that counts: human, else official, recomputed or judge; or null.",
        "golden_status": "Decision on the golden answer: accepted, proposed, disputed, rejected;"
        " or null.",
        "golden_verdict": "Recomputed verdict with the accepted golden answer, if it differs from"
        " rule; else null.",
        "error_type": "Error type of the score files, or null.",
        "rule_error_type": "Error type of the recomputed verdict, or null.",
        "n_golden": "Number of golden calls.",
        "n_predicted": "Number of predicted calls.",
        "n_issues": "Number of import issues of the item.",
        "stale": "Whether the item has changed since this annotator's review.",
        "first_difference": "First difference between golden answer and prediction, or null.",
        "diff_function": "Function of the first difference, or null.",
        "diff_argument": "Argument of the first difference, or null.",
        "diff_golden": "Golden value of the first difference as JSON text, or null.",
        "diff_predicted": "Predicted value of the first difference as JSON text, or null.",
        "ended": "How the conversation ended, such as max_steps; or null.",
        "question": "Text of the question.",
        "incident": "Why the model's answer is missing or cut, or null.",
        "incident_text": "Text in the files that shows the incident, or null.",
        "incident_where": "Place of this text, or null.",
        "incident_certainty": "marked (by the program), rule (text recognised), weak (empty reply),"
        " human (set by a reviewer); or null.",
        "is_incident": "Whether figures without incidents leave the item out.",
        "flags": "Remarks on the item, such as several score entries; or null.",
    },
)
INTERNAL_ITEM_FIELDS = from_dataclass(
    QueueRow,
    {
        "item": "Internal number of the item, which the next import can change.",
        "seq": "Position of the item in its run, from 0.",
    },
)
RUN_OF_ITEM = RUN_NUMBER | RUN_NAME | MODEL | DATASET
JUDGED = {
    "judged": Field(
        "array",
        "Verdicts of judges in the files, on the item and its parts.",
        fields=TARGET
        | {
            "value": Field("", "Verdict of the judge."),
            "by": Field("string|null", "Name of the judge, or null."),
        },
    )
}
IS_NOT_RUN = {"not_run": Field("boolean", "Always true.")}

ITEMS = CommandLines(
    version=1,
    lines=[
        Line("An item.", RUN_OF_ITEM | ITEM_FIELDS | JUDGED | JUDGEMENTS),
        Line(
            "An item of the dataset without a result (--not-run).",
            RUN_OF_ITEM | CATEGORY | ITEM_ID | IS_NOT_RUN,
        ),
    ],
)

COUNT_NOTE = "A pass rate is *_pass divided by *_known."
RUN_COUNTS = from_dataclass(
    RunRow,
    {
        "n_items": "Number of items.",
        "official_pass": f"Number of items that pass by official verdicts. {COUNT_NOTE}",
        "official_known": "Number of items with an official verdict.",
        "rule_pass": "Number of items that pass by recomputed verdicts.",
        "rule_known": "Number of items with a recomputed verdict.",
        "effective_pass": "Number of items that pass by effective verdicts.",
        "effective_known": "Number of items with an effective verdict.",
        "reviewed": "Number of items with a verdict by any annotator.",
        "n_issues": "Number of import issues of the run.",
        "disputed": "Number of items on which annotators disagree.",
        "categories": "Counts of each category.",
        "in_part": "Number of items with reviews on parts only.",
        "by_erratum": "Number of items whose verdict follows from an accepted golden answer.",
        "yours": "Number of items with a verdict by this annotator.",
        "stated_pass": "Number of passing items that only the headers of score files state.",
        "stated_of": "Number of items that only the headers of score files state.",
        "n_search_issues": "Number of import issues that belong to no run.",
        "n_notices": "Number of import issues of the run that are harmless.",
        "n_search_notices": "Number of import issues that belong to no run and are harmless.",
        "judge_pass": "Number of items that pass by judge verdicts.",
        "judge_known": "Number of items with a judge verdict.",
        "incidents": "Number of items without an answer for a reason outside the question.",
        "official_pass_without_incidents": "official_pass without incidents.",
        "official_known_without_incidents": "official_known without incidents.",
        "rule_pass_without_incidents": "rule_pass without incidents.",
        "rule_known_without_incidents": "rule_known without incidents.",
        "effective_pass_without_incidents": "effective_pass without incidents.",
        "effective_known_without_incidents": "effective_known without incidents.",
        "judge_pass_without_incidents": "judge_pass without incidents.",
        "judge_known_without_incidents": "judge_known without incidents.",
        "not_run": "Number of items of the dataset without a result.",
        "expected_items": "Number of items of the dataset in the run's categories, or null.",
    },
    names={"Run": Run},
)
RUN_FIELDS = from_dataclass(
    Run,
    {
        "benchmark": "Name of the benchmark, such as bfcl.",
        "generation": "Version of the benchmark, such as V4.",
        "language": "Language of the dataset, such as en.",
        "model": "Name of the model.",
        "path": "File or folder of the results.",
        "dataset": "Folder of the dataset, or null.",
        "settings": "Settings of the model in the run's files.",
        "official_metrics": "Metrics in the score files, by category.",
        "tags": "Error tags of the benchmark; empty for those of its importer.",
        "title": "Display name of the benchmark; empty for the default.",
        "needs_dataset": "Whether questions and golden answers come from a dataset.",
        "name": "Name that the user gave to the run; empty without one.",
        "name_parts": "What can distinguish the run from others of the model.",
    },
)
RUN_DETAILS = from_dataclass(
    Run,
    {
        "facts": "Choices of the importer by name, with their reasons.",
        "not_run": "Items of the dataset without a result.",
    },
)
RUN_FACTS = {
    "dataset_version": Field("string|null", "Version of the dataset, if the importer states it."),
    "decoder": Field("string|null", "Decoder of the replies, if the importer chooses one."),
    "evaluator": Field("string|null", "Version of the rules, if the importer chooses one."),
    "verdict_from": Field("string|null", "Scorer of the verdicts, if the importer chooses one."),
}
RUN_FACT_REASONS = {
    f"{name}_reason": Field("string", f"Reason for the value of {name}.") for name in RUN_FACTS
}
EXPECTED_ITEMS_REASON = {
    "expected_items_reason": Field("string", "How expected_items was found."),
}
OWN_METRIC = {
    "own_metric": Field("string|null", "Name of the benchmark's own metric, or null."),
    "own_value": Field("number|null", "Value of this metric, or null."),
    "own_unit": Field("string|null", "Unit of this metric, such as share or percent; or null."),
}
RUN_DATE = {"date": Field("string", "Date in a folder name, else the name of the folder.")}
RUN_GROUP = {"group": Field("string", "Group of the run (--group).")}

RUNS = CommandLines(
    version=1,
    lines=[
        Line(
            "A run. Importers can state further facts NAME with NAME_reason.",
            RUN_NUMBER
            | RUN_NAME
            | optional(RUN_FACTS | RUN_FACT_REASONS | EXPECTED_ITEMS_REASON)
            | RUN_FIELDS
            | RUN_DATE
            | RUN_COUNTS
            | OWN_METRIC
            | optional(RUN_GROUP),
        )
    ],
)

SHOW = CommandLines(
    version=1,
    lines=[
        Line(
            "An item with its verdicts and reviews.",
            {
                "row": Field(
                    "object",
                    description="Fields of fcreview items, and internal ones.",
                    fields=RUN_NUMBER | RUN_NAME | MODEL | INTERNAL_ITEM_FIELDS | ITEM_FIELDS,
                ),
                "key": Field("object", "Identity of the item.", fields=ITEM_KEY),
                "run": Field(
                    "object",
                    description="The run as its importer describes it.",
                    fields=RUN_FIELDS | RUN_DETAILS,
                ),
                "item": Field(
                    "object", "Messages, functions, golden and predicted calls, verdicts, extra."
                ),
                "opinions": Field(
                    "array", "Current opinion of each annotator on each target and criterion."
                ),
                "history": Field("array", "All actions of annotators on the item, oldest first."),
                "siblings": Field("array", "Items of the same conversation, in dataset order."),
                "golden": Field("object|null", "Decision on the golden answer, or null."),
                "presentation": Field("integer|null", "2 for a hidden duplicate, else null."),
            }
            | JUDGEMENTS,
        )
    ],
)

CLUSTER_START = {
    "incident": Field("string", "Kind of incident, if the items have no answer.", is_optional=True)
}
CLUSTER_END = {
    "count": Field("integer", "Number of failing items."),
    "share": Field("number", "Share of all failing items, from 0 to 1."),
    "examples": Field("array", "Ids of some of the items."),
    "difference": Field("string|null", "First difference of an example, or null."),
    "where": Field("string", "Filter that selects the items."),
}
ERROR_TYPE = {"error_type": Field("string|null", "Error type, or null.")}
FUNCTION = {"function": Field("string|null", "Function of the first difference, or null.")}
ARGUMENT = {"argument": Field("string|null", "Argument of the first difference, or null.")}
VALUES = {
    "golden_value": Field("string|null", "Golden value as JSON text, or null."),
    "predicted_value": Field("string|null", "Predicted value as JSON text, or null."),
}
CLUSTER_CATEGORY = {"category": Field("string|null", "Category of the items, or null.")}
DECISIVE_STEP = {
    "decisive_step": Field("string|null", "Step that probably decided the failure, or null.")
}

TRIAGE = CommandLines(
    version=1,
    lines=[
        Line(
            "A group of failing items, by error, function or argument.",
            CLUSTER_START | ERROR_TYPE | FUNCTION | ARGUMENT | CLUSTER_END,
        ),
        Line(
            "A group by values (--by value).",
            CLUSTER_START | VALUES | FUNCTION | ARGUMENT | CLUSTER_END,
        ),
        Line(
            "A group by category (--by category).",
            CLUSTER_START | CLUSTER_CATEGORY | ERROR_TYPE | FUNCTION | CLUSTER_END,
        ),
        Line(
            "A group by decisive step (--by decisive).",
            CLUSTER_START | DECISIVE_STEP | ERROR_TYPE | FUNCTION | CLUSTER_END,
        ),
    ],
)

CHECK_LINE = from_dataclass(
    CheckLine,
    {
        "name": "Name of the line, such as incidents.",
        "state": "ok, problem, or unknown if there is nothing to check.",
        "count": "Number of items that are a problem; null if the line counts none.",
        "expected": "Number of which count is a part; null if the line counts none.",
        "where": "Filter that lists the items; empty if there are none.",
        "detail": "What was found.",
    },
)
CHECK = CommandLines(
    version=1,
    lines=[
        Line(
            "The check of a run.",
            RUN_NUMBER
            | RUN_NAME
            | {
                "ok": Field("boolean", "Whether no line is a problem."),
                "lines": Field("array", "Lines of the check.", fields=CHECK_LINE),
            },
        )
    ],
)

IMPORTED_RUN = {
    "path": Field("string", "File or folder of the results."),
    "items": Field("integer", "Number of items."),
    "status": Field(
        "string",
        "imported, unchanged, failed (the last import is kept), kept (dataset or scores missing)"
        " or outdated (like kept, but result files have changed).",
    ),
    "seconds": Field("number", "Duration of the import."),
    "dataset": Field("string|null", "Folder of the dataset, or null."),
    "missing_dataset": Field(
        "string|null", "Folder in which the dataset is no longer found, or null."
    ),
    "missing_scores": Field(
        "string|null", "Score folder in which the scores are no longer found, or null."
    ),
    "issues": Field("integer", "Number of import issues."),
    "problems": Field("string", "Why the score may not be real; empty without a problem."),
    "choices": Field(
        "array",
        "Choices of the importer.",
        fields={
            "name": Field("string", "What was chosen, such as decoder."),
            "value": Field("string|null", "The choice."),
            "reason": Field("string", "Reason for the choice."),
        },
    ),
}
ISSUE = from_dataclass(
    ImportIssue,
    {
        "file": "File of the issue.",
        "line": "Line of the file, or null.",
        "what": "What the importer found.",
        "raw": "Text of the file, or null.",
        "item": "Id of the item, or null.",
        "severity": "error, warning or notice.",
    },
)
IMPORT = CommandLines(
    version=1,
    lines=[
        Line(
            "A run.",
            RUN_NUMBER
            | RUN_NAME
            | DATASET
            | MODEL
            | IMPORTED_RUN
            | select(RUN_COUNTS, IMPORT_COUNTS)
            | NOT_RUN
            | EXPECTED_ITEMS,
            kind="run",
        ),
        Line("An import issue.", ISSUE | optional(RUN_NUMBER), kind="issue"),
    ],
)

DOCTOR_KINDS = "workspace, journal, store, run, dataset, configuration, version or terminal"
DOCTOR = CommandLines(
    version=1,
    lines=[
        Line(
            "A fact about the setup.",
            {
                "kind": Field("string", f"Kind of the fact, such as {DOCTOR_KINDS}."),
                "name": Field("string", "What the fact is about."),
                "value": Field("string", "The fact."),
                "problem": Field("boolean", "Whether the fact is a problem."),
            },
        )
    ],
)
