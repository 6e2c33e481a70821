"""Join the predictions and reviews of a subset: one sample for each index.

An interrupted run may have written a line twice; then the last one counts. A prediction without a
review was not scored. A review without a prediction, in a subset with predictions, belongs to an
answer that is no longer there, and is dropped with an issue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_text import JsonRecord
from fcreview.importers.common.jsonl import make_excerpt, read_records, reread_value
from fcreview.importers.common.records import as_object, is_integer, list_objects
from fcreview.importers.evalscope.discovery import SubsetFiles
from fcreview.model.item import ImportIssue

JsonObject = dict[str, Any]
MAX_KEPT_BYTES = 32 << 20
"""Size of the files whose records stay in memory. Records of larger files are read again."""

LINE_FIELDS = {
    "prediction": ("index", "model", "model_output", "messages", "agent_trace", "metadata"),
    "review": (
        "index",
        "target",
        "messages",
        "agent_trace",
        "sample_score",
        "input",
        "trajectory",
    ),
}
OUTPUT_FIELDS = (
    "id",
    "model",
    "choices",
    "usage",
    "time",
    "metadata",
    "error",
    "perf_metrics",
)
CHOICE_FIELDS = ("message", "stop_reason", "logprobs")
SAMPLE_SCORE_FIELDS = (
    "score",
    "sample_id",
    "group_id",
    "generation_index",
    "sample_metadata",
)
SCORE_FIELDS = (
    "value",
    "status",
    "judge_summary",
    "judge_detail",
    "extracted_prediction",
    "prediction",
    "explanation",
    "metadata",
    "main_score_name",
)


@dataclass(slots=True)
class Line:
    """A line of a file of predictions or reviews."""

    path: Path
    record: JsonRecord

    @property
    def fields(self) -> JsonObject:
        return as_object(self.record.value)


@dataclass(slots=True)
class Sample:
    """What the files hold about one answer. At least one of the lines is there."""

    subset: str
    index: int
    prediction: Line | None = None
    review: Line | None = None

    @property
    def main_line(self) -> Line:
        """Line with the raw record of the item: the prediction, or else the review."""
        if self.prediction is not None:
            return self.prediction
        if self.review is None:
            raise ValueError("the sample has no line")
        return self.review

    @property
    def prediction_fields(self) -> JsonObject:
        return {} if self.prediction is None else self.prediction.fields

    @property
    def review_fields(self) -> JsonObject:
        return {} if self.review is None else self.review.fields

    @property
    def output(self) -> JsonObject:
        return as_object(self.prediction_fields.get("model_output"))

    @property
    def choice(self) -> JsonObject:
        """The first reply of the model."""
        choices = list_objects(self.output.get("choices"))
        return choices[0] if choices else {}

    @property
    def sample_score(self) -> JsonObject:
        return as_object(self.review_fields.get("sample_score"))

    @property
    def score(self) -> JsonObject:
        return as_object(self.sample_score.get("score"))

    @property
    def metadata(self) -> JsonObject:
        """Record of the dataset, and for agents what happened.

        BFCL removes the functions of multi-turn items before the review is written.
        """
        return self.predicted_metadata | self.reviewed_metadata

    @property
    def predicted_metadata(self) -> JsonObject:
        return as_object(self.prediction_fields.get("metadata"))

    @property
    def reviewed_metadata(self) -> JsonObject:
        return as_object(self.sample_score.get("sample_metadata"))

    @property
    def messages(self) -> Any:
        """The conversation with the reply. Early reviews have only the question, as a text."""
        for fields in (self.review_fields, self.prediction_fields):
            if fields.get("messages"):
                return fields["messages"]
        question = self.review_fields.get("input")
        if isinstance(question, str):
            return [{"role": "user", "content": question}]
        return self.main_line.fields.get("messages")

    @property
    def trace(self) -> JsonObject:
        for fields in (self.review_fields, self.prediction_fields):
            if isinstance(fields.get("agent_trace"), dict):
                return as_object(fields["agent_trace"])
        return {}

    @property
    def reply_text(self) -> str | None:
        """Text of the reply. None if it is no text."""
        content = as_object(self.choice.get("message")).get("content")
        if isinstance(content, str):
            return content
        if isinstance(content, list):
            texts = [part.get("text") for part in list_objects(content)]
            return "".join(text for text in texts if isinstance(text, str))
        return self.scored_text

    @property
    def scored_text(self) -> str | None:
        """Text of the reply that the review quotes."""
        text = self.score.get("prediction")
        return text if isinstance(text, str) else None

    def list_field_problems(self) -> Iterator[tuple[Line, str]]:
        """Yield each part of the lines that is missing, of another type, or not read."""
        if self.prediction is not None:
            for problem in _check_prediction(self.prediction.fields):
                yield self.prediction, problem
        if self.review is not None:
            for problem in _check_review(self.review.fields):
                yield self.review, problem


@dataclass(slots=True)
class _LoadedFile:
    path: Path
    lines: dict[int, JsonRecord] = field(default_factory=dict)
    issues: list[ImportIssue] = field(default_factory=list)
    keeps_values: bool = True

    def get_line(self, index: int) -> Line | None:
        record = self.lines.get(index)
        if record is None:
            return None
        if self.keeps_values:
            return Line(self.path, record)
        value = reread_value(self.path, record)
        read = JsonRecord(record.line, offset=record.offset, length=record.length, value=value)
        return Line(self.path, read)


def read_samples(files: SubsetFiles) -> Iterator[Sample | ImportIssue]:
    """Yield the samples of a subset by index, after the issues of its files."""
    predictions = _load_file(files.prediction)
    reviews = _load_file(files.review)
    for loaded in (predictions, reviews):
        if loaded is not None:
            yield from loaded.issues

    indexes = predictions.lines if predictions is not None else reviews.lines if reviews else {}
    for index in sorted(indexes):
        yield Sample(
            files.name,
            index,
            prediction=None if predictions is None else predictions.get_line(index),
            review=None if reviews is None else reviews.get_line(index),
        )
    if predictions is not None and reviews is not None:
        yield from _report_orphans(predictions, reviews)


def _report_orphans(predictions: _LoadedFile, reviews: _LoadedFile) -> Iterator[ImportIssue]:
    for index, record in reviews.lines.items():
        if index not in predictions.lines:
            what = f"the review of sample {index} has no prediction, so it was dropped"
            yield ImportIssue(str(reviews.path), record.line, what=what)


def _load_file(path: Path | None) -> _LoadedFile | None:
    """Read the lines of a file by index. Of a repeated index, the last line counts."""
    if path is None:
        return None
    loaded = _LoadedFile(path, keeps_values=path.stat().st_size <= MAX_KEPT_BYTES)
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            loaded.issues.append(record)
            continue
        index = as_object(record.value).get("index")
        if not is_integer(index):
            what = "the line has no index and was skipped"
            raw = make_excerpt(str(record.value))
            issue = ImportIssue(str(path), record.line, what=what, raw=raw, severity="error")
            loaded.issues.append(issue)
            continue
        if index in loaded.lines:
            what = (
                f"sample {index} also occurs in line {loaded.lines[index].line}. The last line"
                " counts"
            )
            loaded.issues.append(ImportIssue(str(path), record.line, what=what))
        loaded.lines[index] = _keep(record, loaded)
    return loaded


def _keep(record: JsonRecord, loaded: _LoadedFile) -> JsonRecord:
    if loaded.keeps_values:
        return record
    return JsonRecord(record.line, offset=record.offset, length=record.length, value=None)


# -- forms of the lines


def _check_prediction(fields: JsonObject) -> Iterator[str]:
    yield from _report_unknown(fields, LINE_FIELDS["prediction"], "the prediction")
    yield from _require(fields, "messages", list, "the prediction")
    yield from _require(fields, "model_output", dict, "the prediction")
    if not isinstance(fields.get("metadata"), dict):
        yield "the prediction has no object metadata, so the record of the dataset is missing"

    output = as_object(fields.get("model_output"))
    yield from _report_unknown(output, OUTPUT_FIELDS, "model_output")
    yield from _check_output_error(output)
    yield from _require(output, "choices", list, "model_output")
    choices = output.get("choices")
    if not isinstance(choices, list):
        return
    if len(choices) > 1:
        yield f"model_output has {len(choices)} choices. The first one is read"
    for choice in choices[:1]:
        yield from _report_unknown(as_object(choice), CHOICE_FIELDS, "the choice")
        yield from _require(as_object(choice), "message", dict, "the choice")
        yield from _require(as_object(choice), "stop_reason", str, "the choice")
        message = as_object(as_object(choice).get("message"))
        if not _is_content(message.get("content")):
            yield "content of the reply is neither a text nor a list of parts"


def _check_output_error(output: JsonObject) -> Iterator[str]:
    if output and "error" not in output:
        yield "model_output has no field error, so a failed request cannot be recognized"
    error = output.get("error")
    if error is not None and not isinstance(error, str):
        yield "error of model_output is not a text"


def _is_content(content: Any) -> bool:
    if isinstance(content, str):
        return True
    return isinstance(content, list) and all(isinstance(part, dict) for part in content)


def _check_review(fields: JsonObject) -> Iterator[str]:
    yield from _report_unknown(fields, LINE_FIELDS["review"], "the review")
    yield from _require(fields, "sample_score", dict, "the review")
    if "input" not in fields:
        yield from _require(fields, "messages", list, "the review")
    target = fields.get("target")
    if "target" not in fields or not _is_target(target):
        yield "target of the review is not a list of texts"

    sample_score = as_object(fields.get("sample_score"))
    yield from _report_unknown(sample_score, SAMPLE_SCORE_FIELDS, "sample_score")
    yield from _require(sample_score, "score", dict, "sample_score")
    score = as_object(sample_score.get("score"))
    yield from _report_unknown(score, SCORE_FIELDS, "score")
    yield from _require(score, "value", dict, "score")
    for name in ("main_score_name", "metadata", "explanation"):
        if score and name not in score:
            yield f"score has no field {name}"
    explanation = score.get("explanation")
    if explanation is not None and not isinstance(explanation, str):
        yield "explanation of score is not a text"
    details = score.get("metadata")
    if details is not None and not isinstance(details, dict):
        yield "metadata of score is not an object"
    for owner in (as_object(details), as_object(as_object(details).get("task_result"))):
        error = owner.get("error")
        if error is not None and not isinstance(error, (str, list)):
            yield "error in the metadata of score is not a text or a list"


def _is_target(target: Any) -> bool:
    if target is None or isinstance(target, str):
        return True
    return isinstance(target, list) and all(isinstance(text, str) for text in target)


def _report_unknown(fields: JsonObject, known: Sequence[str], owner: str) -> Iterator[str]:
    for name, value in fields.items():
        if name not in known and value not in (None, "", [], {}):
            yield f"the field {name[:60]} of {owner} is not read"


def _require(fields: JsonObject, name: str, kind: type[Any], owner: str) -> Iterator[str]:
    """Yield a problem if a field that EvalScope always writes is missing or of another type."""
    if name not in fields:
        yield f"{owner} has no field {name}"
    elif not isinstance(fields[name], kind):
        yield f"{name} of {owner} is not of the type {TYPE_NAMES[kind]}"


TYPE_NAMES: dict[type, str] = {list: "list", dict: "object", str: "text"}
