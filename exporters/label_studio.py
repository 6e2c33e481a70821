"""Export labels as a JSON list of Label Studio tasks, and import tasks that were exported from
Label Studio.

A task has one label. Its `data` has the fields of the label, `text` (the displayed text), `choices`
(the values of the criterion's scale) and `labels` (the given labels). Automatic verdicts become
predictions. Reviews become annotations, and an adjudication is marked as `ground_truth`.

Label Studio has its own users. The field `meta` of each result therefore stores the annotator and
time, with a digest of the review. If the digest does not match on import, someone changed the
annotation in Label Studio, and the import uses `completed_by` as the annotator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from fcreview.exporters.base import ExportSource, Label, Sink
from fcreview.model.json_value import json_hash
from fcreview.model.review import CORRECT
from fcreview.model.wording import format_answer, get_scale_words, parse_answer
from fcreview.store.label_import import ImportedReview, InvalidRecord, parse_review

CONTROL_TYPES = {"verdict": "choices", "labels": "choices", "fault": "choices"}
"""Type of each control in the labelling interface of Label Studio.

Controls that are not listed are text areas.
"""
META_FIELDS = (
    "annotator",
    "act",
    "time",
    "blind",
    "bulk",
    "overrules",
    "prediction_hash",
    "golden_hash",
)
OPINION_FIELDS = ("value", "fault", "tags", "note", "golden_fix")


def write_tasks(source: ExportSource, out: Sink) -> None:
    """Write the labels as tasks of Label Studio: one JSON array, without keeping all of it in
    memory.
    """
    out.write(b"[")
    separator = b"\n"
    for chunk in source.iter_label_chunks():
        for label in chunk:
            out.write(separator + orjson.dumps(convert_label_to_task(label)))
            separator = b",\n"
    out.write(b"\n]\n")


def convert_label_to_task(label: Label) -> dict[str, Any]:
    """Convert a label to a task of Label Studio.

    Automatic verdicts become predictions, and reviews become annotations.
    """
    criterion = label["criterion"]
    data = dict(label)
    automatic_verdicts = data.pop("automatic")
    opinions = data.pop("opinions")
    data["text"] = _format_task_text(label)
    data["choices"] = [{"value": word} for word in get_scale_words(criterion)]
    data["labels"] = [{"value": name} for name in _list_given_labels(label)]
    return {
        "data": data,
        "predictions": [_make_prediction(criterion, verdict) for verdict in automatic_verdicts],
        "annotations": [_make_annotation(criterion, opinion) for opinion in opinions],
    }


def _list_given_labels(label: Label) -> list[str]:
    """Return all labels that a verdict contains, if the criterion's verdicts are sets of labels."""
    names: set[str] = set()
    for verdict in [*label["automatic"], *label["opinions"]]:
        if isinstance(verdict["value"], list):
            names.update(str(name) for name in verdict["value"])
    return sorted(names)


def _make_prediction(criterion: str, verdict: dict[str, Any]) -> dict[str, Any]:
    """Return an automatic verdict as a prediction, which Label Studio shows beside human
    annotations.
    """
    words = [word for word in (verdict["source"], verdict["by"]) if word]
    content = {"value": verdict["value"], "note": verdict["rationale"]}
    return {
        "model_version": " ".join(words),
        "result": list(_make_opinion_results(criterion, content, verdict)),
    }


def _make_annotation(criterion: str, opinion: dict[str, Any]) -> dict[str, Any]:
    """Convert a review to an annotation of a Label Studio task. A digest in it shows later whether
    somebody changed the annotation.
    """
    meta = {name: opinion[name] for name in META_FIELDS}
    meta["digest"] = _hash_opinion(opinion)
    return {
        "result": list(_make_opinion_results(criterion, opinion, meta)),
        "ground_truth": opinion["act"] == "adjudicate",
        "was_cancelled": False,
        "created_at": opinion["time"],
    }


def _format_task_text(label: Label) -> str:
    """Return the text of a task: what the label is about, the messages and the calls."""
    lines = [f"{label['category']} {label['id']}, {label['target']}: {label['criterion']}"]
    for name in ("messages", "golden_calls", "predicted_calls"):
        if name in label:
            lines.append(f"{name}:")
            for value in label[name] or []:
                lines.append(orjson.dumps(value).decode())
    return "\n".join(lines)


def _make_opinion_results(
    criterion: str, opinion: dict[str, Any], meta: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield a result for each control of the task that a review or an automatic verdict sets.

    A control is a part of the form in Label Studio, such as the choice of a verdict.
    """
    value = opinion["value"]
    if isinstance(value, list):
        yield _make_control_result("labels", value, meta)
    elif value is not None:
        yield _make_control_result("verdict", [format_answer(criterion, value)], meta)
    if opinion.get("fault"):
        yield _make_control_result("fault", [opinion["fault"]], meta)
    if opinion.get("tags") is not None:
        yield _make_control_result("tags", opinion["tags"], meta)
    if opinion.get("note"):
        yield _make_control_result("note", [opinion["note"]], meta)
    if opinion.get("golden_fix") is not None:
        json_text = orjson.dumps(opinion["golden_fix"]).decode()
        yield _make_control_result("golden_fix", [json_text], meta)


def _make_control_result(
    control_name: str, texts: list[str], meta: dict[str, Any]
) -> dict[str, Any]:
    """Make the result of a control, which can be a choice or a text."""
    kind = CONTROL_TYPES.get(control_name, "textarea")
    value_key = "choices" if kind == "choices" else "text"
    return {
        "from_name": control_name,
        "to_name": "text",
        "type": kind,
        "value": {value_key: texts},
        "meta": meta,
    }


def _hash_opinion(opinion: Mapping[str, Any]) -> str:
    """Return a hash of the fields that an annotator can change. Only as a value, an empty text or
    list differs from none.
    """
    content = []
    for name in OPINION_FIELDS:
        field_value = opinion.get(name)
        # The value false is a verdict. In other fields, an empty value is the same as none.
        if name != "value":
            field_value = field_value or None
        content.append(field_value)
    return json_hash(content, 8)


def read_tasks(content: bytes) -> Iterator[ImportedReview | InvalidRecord]:
    """Read the annotations in a JSON export from Label Studio as reviews.

    Annotations that were cancelled are skipped. A malformed task is an invalid record.
    """
    try:
        tasks = orjson.loads(content)
    except ValueError:
        tasks = None
    if not isinstance(tasks, list):
        yield InvalidRecord(
            1, "the file is not a JSON list of tasks. Use the JSON export of Label Studio."
        )
        return
    for number, task in enumerate(tasks, 1):
        try:
            yield from _read_annotations(number, task)
        except ValueError as error:
            yield InvalidRecord(number, str(error))
        except (AttributeError, IndexError, KeyError, TypeError):
            yield InvalidRecord(number, "the task was not exported by fcreview")


def _read_annotations(number: int, task: Mapping[str, Any]) -> Iterator[ImportedReview]:
    """Yield the reviews of the annotations that are not cancelled and not empty."""
    for annotation in task.get("annotations") or ():
        if annotation.get("was_cancelled"):
            continue
        opinion = _read_opinion(task["data"], annotation)
        has_content = any(opinion.get(name) is not None for name in OPINION_FIELDS)
        if has_content:
            yield parse_review(number, task["data"], opinion)


def _read_opinion(task_data: Mapping[str, Any], annotation: Mapping[str, Any]) -> dict[str, Any]:
    """Return an annotation of Label Studio as a review.

    If fcreview exported the annotation and nobody changed it, the review has the original annotator
    and time. Otherwise, it has those of Label Studio.
    """
    opinion: dict[str, Any] = {}
    exported_meta: dict[str, Any] = {}
    for result in annotation["result"]:
        opinion |= _read_control_result(task_data, result)
        # All results of an annotation have the same metadata.
        exported_meta = exported_meta or result.get("meta") or {}

    is_unchanged = exported_meta.get("digest") == _hash_opinion(opinion)
    if is_unchanged:
        return opinion | {name: exported_meta.get(name) for name in META_FIELDS}
    return opinion | {
        "annotator": _read_annotator_name(annotation),
        "act": "adjudicate" if annotation.get("ground_truth") else "review",
        "time": annotation.get("updated_at") or annotation.get("created_at"),
    }


def _read_control_result(task_data: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field of a review that a control of the form sets. Empty for an unknown
    control.
    """
    control = result["from_name"]
    has_choices = CONTROL_TYPES.get(control) == "choices"
    content = result["value"]["choices" if has_choices else "text"]
    # Label Studio writes a single text without a list.
    texts = [content] if isinstance(content, str) else content

    if control == "verdict":
        return {"value": parse_answer(task_data.get("criterion", CORRECT), texts[0])}
    if control == "labels":
        return {"value": texts}
    if control == "golden_fix":
        return {"golden_fix": orjson.loads(texts[0])}
    if control == "tags":
        return {"tags": texts}
    if control in OPINION_FIELDS:
        return {control: "\n".join(texts)}
    return {}


def _read_annotator_name(annotation: Mapping[str, Any]) -> str:
    user = annotation.get("completed_by")
    if isinstance(user, dict):
        user = user.get("email") or user.get("id")
    return "" if user is None else str(user)
