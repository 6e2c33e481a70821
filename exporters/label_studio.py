"""Label Studio: a JSON list of tasks, one a label, to be imported there; and what is exported from there, read again.

A task is `{"data": {...}, "predictions": [...], "annotations": [...]}`, see "Task format" in Label Studio's guide.
`data` has the label's fields, `text` (what is shown), `choices` (the words of the scale) and `labels`. Predictions
are the automatic verdicts, annotations people's opinions, an adjudication with `ground_truth`. A result is what a
control of the labelling interface holds: `verdict` and `fault` (choices), `labels` (choices, for lists of labels),
`tags`, `note` and `golden_fix` (text areas). Label Studio knows only its own users, so who said it and when stands in
the `meta` of each result, with a digest: where it does not fit any more the annotation was changed there, and is that
of whoever `completed_by` names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from fcreview.exporters.base import Label, Sink, Source
from fcreview.model.json_value import json_hash
from fcreview.model.review import CORRECT
from fcreview.model.wording import format_answer, parse_answer, scale_words
from fcreview.store.labels.import_labels import ImportedReview, InvalidRecord, parse_review

CONTROLS = {"verdict": "choices", "labels": "choices", "fault": "choices"}
"""Types of results; any other is a text area."""
META = ("annotator", "act", "time", "blind", "overrules", "prediction_hash", "golden_hash")
SAID = ("value", "fault", "tags", "note", "golden_fix")
NAMES = {"text", "choices", "labels"}
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
    shown = {"text": _shown(label), "choices": _options(scale_words(criterion)), "labels": _options(_labels(label))}
    return {
        "data": data | shown,
        "predictions": [
            {
                "model_version": " ".join(word for word in (said["source"], said["by"]) if word),
                "result": list(_results(criterion, {"value": said["value"], "note": said["rationale"]}, said)),
            }
            for said in label["automatic"]
        ],
        "annotations": [
            {
                "result": list(_results(criterion, said, _meta(said))),
                "ground_truth": said["act"] == "adjudicate",
                "was_cancelled": False,
                "created_at": said["time"],
            }
            for said in label["opinions"]
        ],
    }


def _options(words: Iterable[str]) -> list[dict[str, str]]:
    """What a control offers that has its choices from the task."""
    return [{"value": word} for word in words]


def _labels(label: Label) -> list[str]:
    """Labels that anybody gave."""
    values = [said["value"] for said in [*label["automatic"], *label["opinions"]]]
    return sorted({str(each) for value in values if isinstance(value, list) for each in value})


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
        yield _result("verdict", [format_answer(criterion, value)], meta)
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


def _meta(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said[name] for name in META} | {"digest": _digest(said)}


def _digest(said: Mapping[str, Any]) -> str:
    content = [said.get(name) or None if name != "value" else said.get(name) for name in SAID]
    return json_hash(content, 8)


def read(content: bytes) -> Iterator[ImportedReview | InvalidRecord]:
    """Every annotation of every task, as exported from Label Studio (JSON), but those that were cancelled."""
    try:
        tasks = orjson.loads(content)
    except ValueError:
        tasks = None
    if not isinstance(tasks, list):
        yield InvalidRecord(1, "not a JSON list of tasks")
        return
    for number, each in enumerate(tasks, 1):
        try:
            annotations = [one for one in each.get("annotations") or () if not one.get("was_cancelled")]
            for annotation in annotations:
                found = _opinion(each["data"], annotation)
                if any(found.get(name) is not None for name in SAID):
                    yield parse_review(number, each["data"], found)
        except ValueError as error:
            yield InvalidRecord(number, str(error))
        except (AttributeError, IndexError, KeyError, TypeError):
            yield InvalidRecord(number, "not a task of a label that was exported from here")


def _opinion(data: Mapping[str, Any], annotation: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an opinion, from the results of an annotation."""
    said: dict[str, Any] = {}
    for result in annotation["result"]:
        control = result["from_name"]
        texts = result["value"]["choices" if CONTROLS.get(control) == "choices" else "text"]
        texts = [texts] if isinstance(texts, str) else texts
        if control == "verdict":
            said["value"] = parse_answer(data.get("criterion", CORRECT), texts[0])
        elif control == "labels":
            said["value"] = texts
        elif control == "golden_fix":
            said["golden_fix"] = orjson.loads(texts[0])
        elif control == "tags":
            said["tags"] = texts
        elif control in SAID:
            said[control] = "\n".join(texts)
    meta: dict[str, Any] = next((result["meta"] for result in annotation["result"] if result.get("meta")), {})
    if meta.get("digest") == _digest(said):
        return said | {name: meta.get(name) for name in META}
    who = annotation.get("completed_by")
    name = who.get("email") or who.get("id") if isinstance(who, dict) else who
    return said | {
        "annotator": "" if name is None else str(name),
        "act": "adjudicate" if annotation.get("ground_truth") else "review",
        "time": annotation.get("updated_at") or annotation.get("created_at"),
    }
