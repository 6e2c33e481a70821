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
    out.write(b"[")
    separator = b"\n"
    for chunk in source.iter_label_chunks():
        for label in chunk:
            out.write(separator + orjson.dumps(convert_label_to_task(label)))
            separator = b",\n"
    out.write(b"\n]\n")


def convert_label_to_task(label: Label) -> dict[str, Any]:
    criterion = label["criterion"]
    data = {name: value for name, value in label.items() if name not in ("automatic", "opinions")}
    values = [each["value"] for each in [*label["automatic"], *label["opinions"]]]
    given_labels = {str(each) for value in values if isinstance(value, list) for each in value}
    shown = {
        "text": _format_task_text(label),
        "choices": [{"value": word} for word in get_scale_words(criterion)],
        "labels": [{"value": label} for label in sorted(given_labels)],
    }
    return {
        "data": data | shown,
        "predictions": [
            {
                "model_version": " ".join(word for word in (each["source"], each["by"]) if word),
                "result": list(
                    _make_opinion_results(
                        criterion, {"value": each["value"], "note": each["rationale"]}, each
                    )
                ),
            }
            for each in label["automatic"]
        ],
        "annotations": [
            {
                "result": list(
                    _make_opinion_results(
                        criterion, opinion, meta | {"digest": _hash_opinion(opinion)}
                    )
                ),
                "ground_truth": opinion["act"] == "adjudicate",
                "was_cancelled": False,
                "created_at": opinion["time"],
            }
            for opinion in label["opinions"]
            for meta in [{name: opinion[name] for name in META_FIELDS}]
        ],
    }


def _format_task_text(label: Label) -> str:
    lines = [f"{label['category']} {label['id']}, {label['target']}: {label['criterion']}"]
    for name in ("messages", "golden_calls", "predicted_calls"):
        lines += (
            [f"{name}:", *(orjson.dumps(each).decode() for each in label.get(name) or [])]
            if name in label
            else []
        )
    return "\n".join(lines)


def _make_opinion_results(
    criterion: str, opinion: dict[str, Any], meta: dict[str, Any]
) -> Iterator[dict[str, Any]]:
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
        yield _make_control_result(
            "golden_fix", [orjson.dumps(opinion["golden_fix"]).decode()], meta
        )


def _make_control_result(
    control_name: str, texts: list[str], meta: dict[str, Any]
) -> dict[str, Any]:
    kind = CONTROL_TYPES.get(control_name, "textarea")
    value = {"choices" if kind == "choices" else "text": texts}
    return {
        "from_name": control_name,
        "to_name": "text",
        "type": kind,
        "value": value,
        "meta": meta,
    }


def _hash_opinion(opinion: Mapping[str, Any]) -> str:
    content = [
        opinion.get(name) or None if name != "value" else opinion.get(name)
        for name in OPINION_FIELDS
    ]
    return json_hash(content, 8)


def read_tasks(content: bytes) -> Iterator[ImportedReview | InvalidRecord]:
    """Read the annotations in a JSON export from Label Studio.

    Cancelled annotations are skipped.
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
    for number, each in enumerate(tasks, 1):
        try:
            annotations = [
                one for one in each.get("annotations") or () if not one.get("was_cancelled")
            ]
            for annotation in annotations:
                found = _read_opinion(each["data"], annotation)
                if any(found.get(name) is not None for name in OPINION_FIELDS):
                    yield parse_review(number, each["data"], found)
        except ValueError as error:
            yield InvalidRecord(number, str(error))
        except (AttributeError, IndexError, KeyError, TypeError):
            yield InvalidRecord(number, "the task was not exported by fcreview")


def _read_opinion(task_data: Mapping[str, Any], annotation: Mapping[str, Any]) -> dict[str, Any]:
    opinion: dict[str, Any] = {}
    for result in annotation["result"]:
        control = result["from_name"]
        texts = result["value"]["choices" if CONTROL_TYPES.get(control) == "choices" else "text"]
        texts = [texts] if isinstance(texts, str) else texts
        if control == "verdict":
            opinion["value"] = parse_answer(task_data.get("criterion", CORRECT), texts[0])
        elif control == "labels":
            opinion["value"] = texts
        elif control == "golden_fix":
            opinion["golden_fix"] = orjson.loads(texts[0])
        elif control == "tags":
            opinion["tags"] = texts
        elif control in OPINION_FIELDS:
            opinion[control] = "\n".join(texts)
    meta: dict[str, Any] = next(
        (result["meta"] for result in annotation["result"] if result.get("meta")), {}
    )
    if meta.get("digest") == _hash_opinion(opinion):
        return opinion | {name: meta.get(name) for name in META_FIELDS}
    who = annotation.get("completed_by")
    name = who.get("email") or who.get("id") if isinstance(who, dict) else who
    return opinion | {
        "annotator": "" if name is None else str(name),
        "act": "adjudicate" if annotation.get("ground_truth") else "review",
        "time": annotation.get("updated_at") or annotation.get("created_at"),
    }
