"""Fields that the lines of several commands have."""

from __future__ import annotations

from fcreview.cli.json_schemas.declaration import Field, from_dataclass
from fcreview.model.review import Event
from fcreview.store.judgements import ItemJudgement

RUN_NUMBER = {"run": Field("integer", "Number of the run in the workspace.")}
RUN_NAME = {
    "run_name": Field("string", "Name of the run, unique in the workspace; --run accepts it.")
}
DATASET = {
    "benchmark": Field("string", "Name of the benchmark, such as bfcl."),
    "generation": Field("string", "Version of the benchmark, such as V4."),
    "language": Field("string", "Language of the dataset, such as en."),
}
MODEL = {"model": Field("string", "Name of the model.")}
CATEGORY = {"category": Field("string", "Category of the item.")}
ITEM_ID = {"id": Field("string", "Id of the item.")}
QUESTION_KEY = DATASET | CATEGORY | ITEM_ID
ITEM_KEY = DATASET | MODEL | CATEGORY | ITEM_ID
NOT_RUN = {"not_run": Field("integer", "Number of items of the dataset without a result.")}
EXPECTED_ITEMS = {
    "expected_items": Field(
        "integer|null", "Number of items of the dataset in the run's categories, or null."
    )
}
INTERVAL = {
    "low": Field("number|null", "Lower end of the 95 % interval, or null."),
    "high": Field("number|null", "Upper end of the 95 % interval, or null."),
}
BOUNDS = {
    "bounds_low": Field("number|null", "Lowest value that the undecided items allow, or null."),
    "bounds_high": Field("number|null", "Highest value that the undecided items allow, or null."),
    "headline": Field(
        "string|null", "What reports show: interval or bounds; null if there is neither."
    ),
}
CLUSTERS = {"clusters": Field("integer", "Number of clusters of dependent questions.")}
TARGET = {
    "target": Field("string", "Part of the item, such as item or turn:1/call:2; counted from 1."),
    "criterion": Field("string", "Criterion of the verdict, such as correct."),
}
EVENT = from_dataclass(
    Event,
    {
        "act": "What was done: review, adjudicate or retract.",
        "target": "Part of the item, such as item or turn:1/call:2; counted from 1.",
        "criterion": "Criterion of the verdict, such as correct.",
        "verdict": "Verdict: true, false, unsure, a number, a label or a list of labels; or null.",
        "fault": "Whose fault a failure is, such as model or golden; or null.",
        "tags": "Tags of the review; null keeps the earlier ones.",
        "note": "Note of the review; null keeps the earlier one.",
        "golden_fix": "Corrected golden answer, or null.",
        "golden_status": "Decision on the golden answer: accepted, proposed, rejected; or null.",
        "golden_verdicts": "Recomputed verdicts that the correction changes, or null.",
        "overrules": "Automatic verdict that the review overrides (source, by, value), or null.",
        "event": "Id of the event.",
        "time": "Time of the event (ISO 8601).",
        "annotator": "Name of the annotator.",
        "key": "Identity of the item.",
        "prediction_hash": "Hash of the prediction that was reviewed.",
        "golden_hash": "Hash of the golden answer that was valid at the time.",
        "retracts": "Id of the event that this event retracts, or null.",
        "blind": "Whether other verdicts were hidden from the annotator; null if unknown.",
        "queue": "Queue in which the annotator opened the item, or null.",
        "presentation": "2 for a hidden duplicate, else 1 or null.",
        "bulk": "Id of the bulk review that the event belongs to, or null.",
        "place": "Place in the order of the annotator's events, or null.",
        "previous": "Hash of the previous line of the journal.",
        "hash": "Hash of this line of the journal.",
        "version": "Version of the journal format.",
        "extra": "Fields from a newer version of fcreview, or null.",
    },
)
JUDGEMENT = from_dataclass(
    ItemJudgement,
    {
        "judge": "Name of the judge.",
        "target": "Part of the item.",
        "criterion": "Criterion of the verdict.",
        "verdict": "Verdict of the judge.",
        "rationale": "Reason that the judge gave.",
        "model": "Name of the judge's model.",
        "prompt_hash": "Hash of the prompt.",
        "split": "Part of the data that the item belongs to.",
        "time": "Time of the verdict.",
    },
)
JUDGEMENTS = {
    "judgements": Field(
        "array",
        "Verdicts of fcreview judge that the annotator may see.",
        fields=JUDGEMENT,
    )
}
