"""Label Studio: a JSON list of tasks, one a label, to be imported there; and what is exported from there, read again.

A task is `{"data": {...}, "predictions": [...], "annotations": [...]}`, see "Task format" in Label Studio's guide.
`data` has the label's fields, `text` (what is shown) and `choices` (the answers of the criterion's scale). Predictions
are the automatic verdicts, annotations people's opinions, an adjudication with `ground_truth`. A result is what a control
of the labelling interface holds: `verdict` and `fault` (choices), `labels` (choices, for lists of labels), `tags`,
`note` and `golden_fix` (text areas). Who said it and when stands in the `meta` of each result: Label Studio keeps
that until somebody changes the annotation there, and knows only its own users by `completed_by`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from fcreview.answers import answer
from fcreview.criteria import PASS_FAIL, SCALES
from fcreview.exporters.base import Label, Sink, Source

CONTROLS = {"verdict": "choices", "labels": "choices", "fault": "choices"}
"""Types of results; any other is a text area."""
META = ("annotator", "act", "time", "blind", "stale")
NAMES = {"text", "choices"}
"""Of `data`, besides the label's fields."""


def write(source: Source, out: Sink) -> None:
    out.write(b"[")
    separator = b"\n"
    for chunk in source.labels():
        for label in chunk:
            out.write(separator + orjson.dumps(task(label)))
            separator = b",\n"
    out.write(b"\n]\n")


def task(label: Label) -> dict[str, Any]:
    """One label as a task."""
    criterion = label["criterion"]
    data = {name: value for name, value in label.items() if name not in ("automatic", "opinions")}
    return {
        "data": data
        | {"text": _shown(label), "choices": [{"value": word} for word in SCALES.get(criterion, PASS_FAIL)]},
        "predictions": [
            {
                "model_version": " ".join(word for word in (said["source"], said["by"]) if word),
                "result": list(_results(criterion, {"value": said["value"], "note": said["rationale"]}, said)),
            }
            for said in label["automatic"]
        ],
        "annotations": [
            {
                "result": list(_results(criterion, said, {name: said[name] for name in META})),
                "ground_truth": said["act"] == "adjudicate",
                "was_cancelled": False,
                "created_at": said["time"],
            }
            for said in label["opinions"]
        ],
    }


def _shown(label: Label) -> str:
    """What an annotator sees: of which item, and as much of it as was exported."""
    lines = [f"{label['category']} {label['id']}, {label['target']}: {label['criterion']}"]
    for name in ("messages", "golden_calls", "predicted_calls"):
        lines += [f"{name}:", *(orjson.dumps(each).decode() for each in label.get(name) or [])] if name in label else []
    return "\n".join(lines)


def _results(criterion: str, said: dict[str, Any], meta: dict[str, Any]) -> Iterator[dict[str, Any]]:
    value = said["value"]
    if isinstance(value, list):
        yield _result("labels", value, meta)
    elif value is not None:
        yield _result("verdict", [answer(criterion, value)], meta)
    if said.get("fault"):
        yield _result("fault", [said["fault"]], meta)
    if said.get("tags") is not None:
        yield _result("tags", said["tags"], meta)
    if said.get("note"):
        yield _result("note", [said["note"]], meta)
    if said.get("golden_fix") is not None:
        yield _result("golden_fix", [orjson.dumps(said["golden_fix"]).decode()], meta)


def _result(control: str, content: list[str], meta: dict[str, Any]) -> dict[str, Any]:
    kind = CONTROLS.get(control, "textarea")
    value = {"choices" if kind == "choices" else "text": content}
    return {"from_name": control, "to_name": "text", "type": kind, "value": value, "meta": meta}
