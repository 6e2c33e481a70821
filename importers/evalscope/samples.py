"""Join the predictions and reviews of a subset: one sample for each index.

An interrupted run may have written a line twice; then the last one counts. A prediction without a
review was not scored. A review without a prediction, in a subset with predictions, belongs to an
answer that is no longer there, and is dropped with an issue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from fcreview.importers.common.json_text import JsonRecord
from fcreview.importers.common.jsonl import make_excerpt, read_records, reread_value
from fcreview.importers.common.records import as_object, is_integer, list_objects
from fcreview.importers.evalscope.discovery import SubsetFiles
from fcreview.importers.evalscope.forms import check_prediction, check_review
from fcreview.model.item import ImportIssue

JsonObject = dict[str, Any]
MAX_KEPT_BYTES = 8 << 20
"""Size of the files whose records stay in memory. Records of larger files are read again."""


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
        """Metadata of the sample: the record of the dataset and, for agents, a record of what
        happened. In multi-turn items of BFCL, the functions are missing.
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
            for problem in check_prediction(self.prediction.fields):
                yield self.prediction, problem
        if self.review is not None:
            for problem in check_review(self.review.fields):
                yield self.review, problem


@dataclass(slots=True)
class _LoadedFile:
    path: Path
    lines: dict[int, JsonRecord] = field(default_factory=dict)
    issues: list[ImportIssue] = field(default_factory=list)
    keeps_values: bool = True

    def add(self, record: JsonRecord) -> None:
        """Add a line of a file by the index of its sample. Of several lines with the same index,
        the last one counts.
        """
        index = as_object(record.value).get("index")
        if not is_integer(index):
            raw = make_excerpt(str(record.value))
            what = "the line has no index and was skipped"
            self._report(record, what, raw=raw, severity="error")
            return

        earlier = self.lines.get(index)
        if earlier is not None:
            what = f"sample {index} also occurs in line {earlier.line}. The last line counts"
            self._report(record, what)
        # The values of a large file do not fit in memory. They are read again on use, unless the
        # record has no place in the file, as in UTF-16.
        is_read_again = not self.keeps_values and record.length > 0
        self.lines[index] = replace(record, value=None) if is_read_again else record

    def _report(
        self,
        record: JsonRecord,
        what: str,
        *,
        raw: str | None = None,
        severity: Literal["error", "warning"] = "warning",
    ) -> None:
        """Report a problem with a record of the file."""
        issue = ImportIssue(str(self.path), record.line, what=what, raw=raw, severity=severity)
        self.issues.append(issue)

    def get_line(self, index: int) -> Line | None:
        """Return the line of a sample, read again from the file if its value was not kept; None if
        the file lacks it.
        """
        record = self.lines.get(index)
        if record is None:
            return None
        if self.keeps_values or record.length == 0:
            return Line(self.path, record)
        value = reread_value(self.path, record)
        read = JsonRecord(record.line, offset=record.offset, length=record.length, value=value)
        return Line(self.path, read)


def read_samples(files: SubsetFiles) -> Iterator[Sample | ImportIssue]:
    """Yield the samples of a subset by index, after the issues of its files."""
    predictions = _load_file(files.prediction)
    reviews = _load_file(files.review)
    yield from predictions.issues
    yield from reviews.issues

    has_predictions = files.prediction is not None
    indexes = predictions.lines if has_predictions else reviews.lines
    for index in sorted(indexes):
        yield Sample(
            files.name,
            index,
            prediction=predictions.get_line(index),
            review=reviews.get_line(index),
        )
    if has_predictions:
        yield from _report_orphans(predictions, reviews)


def _report_orphans(predictions: _LoadedFile, reviews: _LoadedFile) -> Iterator[ImportIssue]:
    for index, record in reviews.lines.items():
        if index not in predictions.lines:
            what = f"the review of sample {index} has no prediction, so it was dropped"
            yield ImportIssue(str(reviews.path), record.line, what=what)


def _load_file(path: Path | None) -> _LoadedFile:
    """Read the lines of a file by index. Without a file, there are none."""
    if path is None:
        return _LoadedFile(Path())
    loaded = _LoadedFile(path, keeps_values=path.stat().st_size <= MAX_KEPT_BYTES)
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            loaded.issues.append(record)
        else:
            loaded.add(record)
    return loaded
