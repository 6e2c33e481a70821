"""Check which fields of a line are missing, of another type, or not read.

EvalScope writes all fields of its models, also if they are null. Early writers lack some fields,
which are optional here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

from fcreview.importers.common.records import as_list, as_object

JsonObject = dict[str, Any]
Types = tuple[type, ...]
TYPE_NAMES: Mapping[type, str] = {
    str: "a text",
    int: "a number",
    list: "a list",
    dict: "an object",
    NoneType: "null",
}


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of one kind of object in a line."""

    name: str
    required: Mapping[str, Types]
    """Field that EvalScope always writes -> its types."""
    optional: tuple[str, ...] = ()


PREDICTION = Form(
    "the prediction",
    required={"index": (int,), "model_output": (dict,), "messages": (list,), "metadata": (dict,)},
    optional=("model", "agent_trace"),
)
OUTPUT = Form(
    "model_output",
    required={"choices": (list,), "error": (str, NoneType)},
    optional=("id", "model", "usage", "time", "metadata", "perf_metrics"),
)
CHOICE = Form(
    "the choice",
    required={"message": (dict,), "stop_reason": (str,)},
    optional=("logprobs",),
)
REVIEW = Form(
    "the review",
    required={"index": (int,), "sample_score": (dict,), "target": (list, str, NoneType)},
    optional=("messages", "agent_trace", "input", "trajectory"),
)
SAMPLE_SCORE = Form(
    "sample_score",
    required={"score": (dict,)},
    optional=("sample_id", "group_id", "generation_index", "sample_metadata"),
)
SCORE = Form(
    "score",
    required={
        "value": (dict,),
        "main_score_name": (str, NoneType),
        "explanation": (str, NoneType),
        "metadata": (dict, NoneType),
    },
    optional=(
        "status",
        "judge_summary",
        "judge_detail",
        "extracted_prediction",
        "prediction",
    ),
)


MISSING = " has no field "
UNREAD = " is not read"


def is_missing_or_unknown_field(problem: str) -> bool:
    """Whether a problem is a missing or an unknown field. All lines of a program have the same."""
    return MISSING in problem or problem.endswith(UNREAD)


def check_prediction(line: JsonObject) -> Iterator[str]:
    """Yield each problem of the fields of a prediction."""
    yield from _check_form(PREDICTION, line)
    yield from _check_form(OUTPUT, line.get("model_output"))
    choices = as_list(as_object(line.get("model_output")).get("choices"))
    if len(choices) > 1:
        yield f"model_output has {len(choices)} choices. The first one is read"
    for choice in choices[:1]:
        yield from _check_choice(choice)


def _check_choice(choice: Any) -> Iterator[str]:
    if not isinstance(choice, dict):
        yield "the choice is not an object"
    yield from _check_form(CHOICE, choice)
    content = as_object(as_object(choice).get("message")).get("content")
    if not isinstance(content, str) and not _is_list_of(content, dict):
        yield "content of the reply is neither a text nor a list of parts"


def check_review(line: JsonObject) -> Iterator[str]:
    """Describe each problem in the fields of a review, EvalScope's record with the score of a
    sample.

    Fields of another type than expected, and fields that fcreview does not read, are problems.
    """
    yield from _check_form(REVIEW, line)
    if "input" not in line and not isinstance(line.get("messages"), list):
        yield "messages of the review is not a list"
    if isinstance(line.get("target"), list) and not _is_list_of(line["target"], str):
        yield "target of the review is not a list of texts"
    yield from _check_form(SAMPLE_SCORE, line.get("sample_score"))
    sample_score = as_object(line.get("sample_score"))
    yield from _check_score(sample_score.get("score"))


def _check_score(score: Any) -> Iterator[str]:
    yield from _check_form(SCORE, score)
    fields = as_object(score)
    if not isinstance(fields.get("status", ""), str):
        yield "status of score is not a text"
    yield from _check_errors(as_object(fields.get("metadata")))


def _check_errors(details: JsonObject) -> Iterator[str]:
    """Yield a problem for each error in the details of a score that is no text."""
    for owner in (details, as_object(details.get("task_result"))):
        error = owner.get("error")
        if error is not None and not isinstance(error, (str, list)):
            yield "error in the metadata of score is neither a text nor a list"


def _check_form(form: Form, value: Any) -> Iterator[str]:
    """Describe each problem of an object: fields that are missing, have another type, or are
    unknown.

    `form` says which fields the object must and may have. If the value is no object, nothing is
    yielded, because the check of the object around it reports that.
    """
    if not isinstance(value, dict):
        return
    for name, types in form.required.items():
        if name not in value:
            yield f"{form.name}{MISSING}{name}"
        elif not isinstance(value[name], types):
            yield f"{name} of {form.name} is not {_describe_types(types)}"
    for name in _list_unknown_fields(form, value):
        yield f"the field {name[:60]} of {form.name}{UNREAD}"


def _list_unknown_fields(form: Form, value: JsonObject) -> list[str]:
    """Return the names of fields that are not in the form and not empty."""
    known_names = (*form.required, *form.optional)
    return [
        name
        for name, field in value.items()
        if name not in known_names and field not in (None, "", [], {})
    ]


def _describe_types(types: Types) -> str:
    return " or ".join(TYPE_NAMES[each] for each in types)


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(element, kind) for element in value)
