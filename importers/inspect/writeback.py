"""Write reviewed verdicts as edits of the scores in an Inspect log. Golden answers in a log cannot
be corrected.

A verdict on the item edits the primary score, and a verdict on `SCORER` or `SCORER.KEY` edits that
score. A verdict on a part of the item, such as a call, becomes a new score, whose name
`make_part_score_name` returns.

The rules are those of the program's `edit_score` and `recompute_metrics`: an edit keeps the history
and adds an event, and the metrics of changed scores are recomputed. A metric that fcreview cannot
compute from the scores in the file keeps its value, and its metadata says so. All other members of
an archive keep their bytes. Without edits, the copy is identical.
"""

from __future__ import annotations

import io
import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile, ZipInfo

from fcreview.importers.common.budgets import ArchiveBudget, format_megabytes
from fcreview.importers.common.jsonl import count_values
from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.inspect import leaderboard
from fcreview.importers.inspect.leaderboard import LogMetrics
from fcreview.importers.inspect.log import SUMMARIES, ArchiveReader, is_sample_file
from fcreview.importers.inspect.log_start import HEADER
from fcreview.importers.inspect.metrics import (
    EpochValue,
    MetricSpec,
    NotRecomputable,
    ReducedScore,
    ScoreColumn,
    reduce_column,
    reduce_epochs,
    try_compute_metric,
)
from fcreview.importers.inspect.read import list_log_paths
from fcreview.importers.inspect.scores import (
    UNCHANGED,
    has_same_type_and_value,
    make_part_score_name,
    parse_part_score_name,
    to_json_value,
    to_log_value,
)
from fcreview.model.address import ITEM
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import ReviewedVerdict, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import SIGNATURE, ArchiveError, import_zipfile, read_file

REDUCTIONS = "reductions.json"
NOT_RECOMPUTED = "fcreview_not_recomputed"
"""Key in the metadata of a metric that keeps its value although a review changed the scores."""
MAX_LOG_BYTES = 512 << 20
MAX_SAMPLE_BYTES = 64 << 20
"""Maximum size, in bytes, of a sample that can be edited, because samples are parsed as a whole
for editing.
"""
MAX_EDITED_BYTES = 512 << 20
"""Maximum size, in bytes, of all edited samples of an archive together."""
MAX_PARSED_VALUES = 4_000_000
"""Maximum number of JSON values that are parsed at once.

Each one takes memory as a Python object.
"""
JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PlannedEdit:
    """An edit of one score of a sample."""

    score: str
    value: Any
    """Value after the edit. It may be equal to the current value."""
    verdict: ReviewedVerdict
    """The reviewed verdict that the edit records."""


FindEdits = Callable[[JsonObject], Sequence[PlannedEdit]]
"""Function that returns the planned edits of a sample."""


class LogEditError(ValueError):
    """Raised for a log that cannot be edited. The message is the reason."""


@dataclass(slots=True)
class LogEditor:
    """Makes copies of logs with edited scores."""

    find_edits: FindEdits
    metrics: LogMetrics
    """The score columns of the run, with the metrics that fcreview can compute."""
    n_kept_metrics: int = 0
    """Number of metrics of changed scores that could not be recomputed."""

    def make_edited_log(self, path: Path) -> bytes:
        """Return the content of a log with edited scores. Raises LogEditError."""
        if path.is_dir():
            raise LogEditError(
                f"{path.name}: an unpacked log cannot be edited. Pack it to an archive first"
            )
        content = read_file(path, MAX_LOG_BYTES)
        try:
            if content.startswith(SIGNATURE):
                return self._edit_archive_log(content)
            return self._edit_json_log(content)
        except (ArchiveError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise LogEditError(f"{path.name}: {error}") from error

    def _edit_json_log(self, content: bytes) -> bytes:
        """Return the content of a JSON log with the reviewed values, and with metrics that are
        recomputed from them. Without any change, return the same content.
        """
        _check_number_of_values(content, "the log")
        log = json.loads(content.decode("utf-8", "replace").removeprefix("\ufeff"))
        edited = EditedSamples()
        for sample in log["samples"]:
            edited.add(sample, _apply_edits(sample, self.find_edits(sample)))
        if not edited.n_changed:
            return content

        if edited.changed_scorers:
            self._recompute_metrics(log, edited, log.get("reductions"))
        return json.dumps(log, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def _edit_archive_log(self, content: bytes) -> bytes:
        """Return an archive with the edited samples. Its summaries, metrics and reduced scores are
        updated too.

        The members of the archive that do not change are kept as they are. `content` is the
        archive.
        """
        buffer = io.BytesIO(content)
        archive: ZipFile = import_zipfile().ZipFile(buffer, "a")
        members = dict(archive.NameToInfo)
        reader = ArchiveReader(archive, ArchiveBudget.for_archive(len(content)))
        edited = self._edit_sample_members(reader)
        if not edited.n_changed:
            return content
        if HEADER not in members:
            raise LogEditError("the log has no header, so it cannot be edited")

        for name, text in self._make_new_members(reader, members, edited).items():
            _replace_member(archive, members[name], text)
        archive.close()
        return buffer.getvalue()

    def _make_new_members(
        self, reader: ArchiveReader, members: Container[str], edited: EditedSamples
    ) -> dict[str, bytes]:
        """Return the new texts of the members that change, by name."""
        new_texts = dict(edited.member_texts)
        if SUMMARIES in members:
            summaries = _update_summaries(_parse_member(reader, SUMMARIES), edited.summaries)
            new_texts[SUMMARIES] = _to_member_text(summaries)
        if edited.changed_scorers:
            new_texts |= self._rewrite_metrics(reader, edited, has_reductions=REDUCTIONS in members)
        return new_texts

    def _rewrite_metrics(
        self, reader: ArchiveReader, edited: EditedSamples, *, has_reductions: bool
    ) -> dict[str, bytes]:
        """Return the members with recomputed metrics: the header and, if the archive has them, the
        reductions, which are the values of samples after their epochs were combined.
        """
        header = _parse_member(reader, HEADER)
        reductions = _parse_member(reader, REDUCTIONS) if has_reductions else None
        # This changes both in place.
        self._recompute_metrics(header, edited, reductions)

        new_texts = {HEADER: _to_member_text(header)}
        if reductions is not None:
            new_texts[REDUCTIONS] = _to_member_text(reductions)
        return new_texts

    def _edit_sample_members(self, reader: ArchiveReader) -> EditedSamples:
        """Apply the edits to the samples of an archive, and return all samples with the new texts
        of those that changed.

        The texts are kept in memory, so their size is limited. Raises LogEditError above the limit.
        """
        edited = EditedSamples()
        for name, member in reader.members.items():
            if not is_sample_file(name):
                continue
            if member.file_size > MAX_SAMPLE_BYTES:
                limit = format_megabytes(MAX_SAMPLE_BYTES)
                raise LogEditError(f"the sample {name} is larger than {limit}")
            sample = _parse_member(reader, name)
            changes = _apply_edits(sample, self.find_edits(sample))
            edited.add(sample, changes)
            if changes:
                edited.keep_text(name, sample)
            if edited.n_text_bytes > MAX_EDITED_BYTES:
                limit = format_megabytes(MAX_EDITED_BYTES)
                raise LogEditError(f"the samples with reviews are together larger than {limit}")
        return edited

    def _recompute_metrics(self, log: JsonObject, edited: EditedSamples, reductions: Any) -> None:
        """Recompute the metrics of the scores that edits changed, in place.

        `log` has the results of the log. `reductions` are the values of the samples after their
        epochs (repeats) were combined.
        """
        results = log.get("results") or {}
        recorded_columns = results.get("scores") or []
        reduced_scores = {
            leaderboard.get_score_key(entry) for entry in recorded_columns if entry.get("reducer")
        }
        for entry in recorded_columns:
            scorer, _ = leaderboard.get_score_key(entry)
            if scorer in edited.changed_scorers:
                column = _make_column_without_metrics(entry, reduced_scores)
                self._recompute_column(entry, column, edited)

        for reduction in reductions or ():
            scorer = str(reduction.get("scorer"))
            if scorer in edited.changed_scorers:
                epoch_values = list(_collect_epoch_values(edited.summaries, scorer))
                _update_reduced_values(reduction, epoch_values)

    def _recompute_column(
        self, entry: JsonObject, column: ScoreColumn, edited: EditedSamples
    ) -> None:
        """Recompute the metrics of a score column, in place. `entry` are its results in the log."""
        reduced = self._reduce_if_complete(column, edited)
        if reduced is not None:
            n_scored = sum(score.value is not None for score in reduced)
            entry["scored_samples"] = n_scored
            entry["unscored_samples"] = len(reduced) - n_scored
        for key, metric in entry.get("metrics", {}).items():
            self._recompute_metric(key, metric, reduced)

    def _recompute_metric(
        self, key: str, metric: JsonObject, reduced: Sequence[ReducedScore] | None
    ) -> None:
        """Recompute a metric of a log, in place. One that cannot be recomputed keeps its value and
        gets a mark.
        """
        computed = None
        if reduced is not None:
            computed = try_compute_metric(_read_metric_spec(key, metric), reduced)
        if computed is None or not computed.is_recomputable:
            self.n_kept_metrics += 1
            metric["metadata"] = as_object(metric.get("metadata")) | {NOT_RECOMPUTED: True}
        else:
            metric["value"] = float("nan") if computed.value is None else computed.value

    def _reduce_if_complete(
        self, column: ScoreColumn, edited: EditedSamples
    ) -> list[ReducedScore] | None:
        """Return the reduced scores of a column, or None if the file has fewer samples than the
        recorded metrics cover, or the reducer is unknown.
        """
        stored = self._find_stored_column(column)
        if stored is not None and stored.has_fewer_samples_than_recorded:
            return None
        try:
            return reduce_column(
                column, list(_collect_epoch_values(edited.summaries, column.scorer))
            )
        except NotRecomputable:
            return None

    def _find_stored_column(self, column: ScoreColumn) -> ScoreColumn | None:
        wanted = (column.scorer, column.name, column.reducer)
        columns = self.metrics.columns
        return next(
            (each for each in columns if (each.scorer, each.name, each.reducer) == wanted), None
        )


@dataclass(slots=True)
class EditedSamples:
    """The samples of a log after the edits."""

    summaries: list[JsonObject] = field(default_factory=list)
    """Scores of all samples."""
    n_changed: int = 0
    """Number of samples with edits."""
    member_texts: dict[str, bytes] = field(default_factory=dict)
    """Name of a member of an archive -> JSON text of the edited sample."""
    n_text_bytes: int = 0
    """Length of `member_texts` together."""
    changed_scorers: set[str] = field(default_factory=set)
    """Names of the scores whose value an edit changed."""

    def add(self, sample: JsonObject, changes: Sequence[ScoreChange]) -> None:
        self.summaries.append(_make_sample_summary(sample))
        if changes:
            self.n_changed += 1
        self.changed_scorers |= {change.scorer for change in changes if change.is_value_changed}

    def keep_text(self, name: str, sample: JsonObject) -> None:
        text = _to_member_text(sample)
        self.member_texts[name] = text
        self.n_text_bytes += len(text)


class ScoreChange(NamedTuple):
    """An edit that was made."""

    scorer: str
    is_value_changed: bool


def _replace_member(archive: ZipFile, member: ZipInfo, text: bytes) -> None:
    archive.filelist.remove(member)
    del archive.NameToInfo[member.filename]
    archive.writestr(member.filename, text, compress_type=member.compress_type)


def _to_member_text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _parse_member(reader: ArchiveReader, name: str) -> Any:
    text = reader.read_member(name, MAX_LOG_BYTES)
    _check_number_of_values(text, name)
    return json.loads(text.decode("utf-8", "replace"))


def _check_number_of_values(text: bytes, name: str) -> None:
    if count_values(text) > MAX_PARSED_VALUES:
        raise LogEditError(f"{name} has more than {MAX_PARSED_VALUES:,} values")


def _make_sample_summary(sample: JsonObject) -> JsonObject:
    return {name: sample.get(name) for name in ("id", "epoch", "scores", "metadata", "error")}


def _apply_edits(sample: JsonObject, edits: Sequence[PlannedEdit]) -> list[ScoreChange]:
    """Make the edits that the sample does not contain yet."""
    scores = sample.get("scores")
    if edits and not isinstance(scores, dict):
        scores = sample["scores"] = {}
    if scores is None:
        return []
    new = [each for each in edits if not _is_already_exported(scores, each)]
    return [ScoreChange(each.score, _edit_score(sample, scores, each)) for each in new]


def _is_already_exported(scores: JsonObject, planned: PlannedEdit) -> bool:
    """Whether the last edit of the score is an earlier export of the same journal events."""
    history = as_list(as_object(scores.get(planned.score)).get("history"))
    if not history:
        return False
    provenance = as_object(history[-1].get("provenance"))
    own_metadata = as_object(as_object(provenance.get("metadata")).get("fcreview"))
    exported_events = own_metadata.get("events")
    return bool(exported_events) and exported_events == planned.verdict.details.get("events")


def _edit_score(sample: JsonObject, scores: JsonObject, planned: PlannedEdit) -> bool:
    """Add an edit to a score of a sample, or add the score if the sample does not have it.

    Returns whether the value of the score changed.
    """
    score = scores.get(planned.score)
    if score is None:
        old_value = None
        # A new score has no other fields that could stay unchanged, so they are null. In Inspect's
        # schema, only the metadata cannot be null.
        edit = _make_edit(planned, unchanged_field=None) | {"metadata": UNCHANGED}
        scores[planned.score] = {"value": edit["value"], "history": [edit]}
    else:
        old_value = to_json_value(score.get("value"))
        edit = _make_edit(planned, unchanged_field=UNCHANGED)
        _add_edit_to_history(score, edit)
    _insert_edit_event(sample, planned.score, edit)
    return not has_same_type_and_value(planned.value, old_value)


def _make_edit(planned: PlannedEdit, unchanged_field: str | None) -> JsonObject:
    """Return the entry of a score's history. `unchanged_field` stands for all other fields."""
    verdict = planned.verdict
    return {
        "value": to_log_value(planned.value),
        "answer": unchanged_field,
        "explanation": unchanged_field,
        "reason": unchanged_field,
        "metadata": unchanged_field,
        "provenance": {
            "timestamp": verdict.time,
            "author": verdict.author,
            "reason": verdict.reason,
            "metadata": {"fcreview": verdict.details},
        },
    }


def _add_edit_to_history(score: JsonObject, edit: JsonObject) -> None:
    """Set the value of a score, and add the edit to its history, which begins with the official
    score.
    """
    if not score.get("history"):
        official: JsonObject = {
            field_name: score.get(field_name)
            for field_name in ("value", "answer", "explanation", "reason")
        }
        official["metadata"] = score.get("metadata") or {}
        score["history"] = [official]
    score["history"].append(edit)
    score["value"] = edit["value"]


def _make_column_without_metrics(
    entry: JsonObject, reduced_scores: Set[tuple[str, str]]
) -> ScoreColumn:
    """Make the score column of an entry. Its metrics are recomputed in the entry itself.

    Beside columns with a reducer, a column without one has metrics of the single epochs.
    """
    scorer, name = leaderboard.get_score_key(entry)
    reducer = entry.get("reducer")
    return ScoreColumn(
        name,
        scorer=scorer,
        reducer=reducer,
        metrics=[],
        is_unreduced=reducer is None and (scorer, name) in reduced_scores,
    )


def _read_metric_spec(key: str, metric: JsonObject) -> MetricSpec:
    return MetricSpec(
        key,
        name=str(metric.get("name") or key),
        params=metric.get("params") or {},
        is_grouped=metric.get("group") == "grouped",
    )


def _insert_edit_event(sample: JsonObject, score_name: str, edit: Mapping[str, Any]) -> None:
    """Add the event of an edit to the events of a sample, where Inspect itself would put it: at the
    end of the last span `scorers`, the part in which scorers ran.
    """
    if not isinstance(sample.get("events"), list):
        sample["events"] = []
    events = sample["events"]
    span_id = _find_last_span_of_scorers(events)
    edit_event = {
        "event": "score_edit",
        "span_id": span_id,
        "timestamp": edit["provenance"]["timestamp"],
        "working_start": 0.0,
        "score_name": score_name,
        "edit": edit,
    }
    events.insert(_find_end_of_span(events, span_id), edit_event)


def _find_end_of_span(events: Sequence[JsonObject], span_id: Any) -> int:
    """Return the index of the event that ends a span, or the end of the list if there is none."""
    end_index = len(events)
    if not span_id:
        return end_index
    for index, event in enumerate(events):
        if event.get("event") == "span_end" and event.get("id") == span_id:
            end_index = index
    return end_index


def _find_last_span_of_scorers(events: Sequence[JsonObject]) -> Any:
    """Return the id of the last span `scorers`, or None without one."""
    span_id = None
    for event in events:
        has_names = event.get("type") == "scorers" and event.get("name") == "scorers"
        if event.get("event") == "span_begin" and has_names:
            span_id = event.get("id")
    return span_id


def _update_summaries(summaries: Any, samples: Sequence[JsonObject]) -> Any:
    """Set the scores in the summaries of an archive to those of the edited samples.

    A summary is a short record of a sample, which Inspect shows in lists.
    """
    if not isinstance(summaries, list):
        return summaries

    samples_by_key = {(str(sample["id"]), sample["epoch"]): sample for sample in samples}
    for summary in summaries:
        key = (str(summary.get("id")), summary.get("epoch"))
        sample = samples_by_key.get(key)
        scores = summary.get("scores") or {}
        if sample is not None:
            for name, score in (sample["scores"] or {}).items():
                scores[name] = scores.get(name, {}) | {"value": score["value"]}
        if scores:
            summary["scores"] = scores
    return summaries


def _collect_epoch_values(samples: Sequence[JsonObject], scorer: str) -> Iterator[EpochValue]:
    """Yield the values of one score in the samples that have it."""
    for sample in samples:
        score = (sample.get("scores") or {}).get(scorer)
        if not isinstance(score, dict):
            continue
        yield EpochValue(
            f"{sample['id']}#{sample['epoch']}",
            sample=str(sample["id"]),
            value=to_json_value(score.get("value")),
            metadata=as_object(sample.get("metadata")),
        )


def _update_reduced_values(reduction: JsonObject, values: Sequence[EpochValue]) -> None:
    """Set the values in the reductions of a log to the reduced `values` of the samples."""
    values_by_sample: defaultdict[str, list[Any]] = defaultdict(list)
    for epoch in values:
        values_by_sample[epoch.sample].append(epoch.value)

    for sample in reduction.get("samples") or ():
        sample_id = str(sample.get("sample_id"))
        if sample_id in values_by_sample:
            value = reduce_epochs(values_by_sample[sample_id], reduction.get("reducer"))
            sample["value"] = float("nan") if value is None else value


SampleKey = tuple[str, type, Any]
"""The id of a sample as text, the type of the id, and the epoch."""


def write_reviewed_logs(
    plan: RunPlan, verdicts: Sequence[ReviewedVerdict], items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield a copy of each log of a run with the reviewed verdicts as edits of its scores, as a
    user of Inspect would make them.

    Args:
        plan: The plan of the run. Its `official_metrics` contain the score columns.
        verdicts: The reviewed verdicts.
        items: The items with their effective verdicts.
    """
    log_metrics = leaderboard.load_log_metrics(plan.run)
    if log_metrics.primary is None:
        yield Unrepresentable("verdicts on samples of a log without scores", len(verdicts))
        return

    planned = _plan_edits_of_samples(verdicts, items, log_metrics)
    if planned.n_unscored:
        yield Unrepresentable("reviews of samples without a score", planned.n_unscored)

    editor = LogEditor(planned.find_edits, log_metrics)
    for path in list_log_paths(plan):
        try:
            content = editor.make_edited_log(path)
        except LogEditError as error:
            yield Unrepresentable(f"verdicts on samples of {error}", len(verdicts))
        else:
            yield RewrittenFile(path, content)
    if editor.n_kept_metrics:
        what = "metrics that fcreview cannot recompute, and that keep their values"
        yield Unrepresentable(what, editor.n_kept_metrics)


@dataclass(slots=True)
class _EditsOfSamples:
    """The planned edits of all samples of a run."""

    by_sample: dict[SampleKey, list[PlannedEdit]] = field(default_factory=dict)
    n_unscored: int = 0
    """Number of reviews without an edit, because the score has no value."""

    def find_edits(self, sample: Mapping[str, Any]) -> Sequence[PlannedEdit]:
        key = _make_sample_key(sample.get("id"), epoch=sample.get("epoch", 1))
        return self.by_sample.get(key, ())


def _make_sample_key(sample_id: Any, epoch: Any) -> SampleKey:
    """Return what identifies a sample in one epoch (repeat).

    It has the type of the id, because 1 and "1" are two samples.
    """
    return str(sample_id), type(sample_id), epoch


def _plan_edits_of_samples(
    verdicts: Sequence[ReviewedVerdict], items: Sequence[ScoredItem], log_metrics: LogMetrics
) -> _EditsOfSamples:
    """Plan the edits of each sample from the reviewed verdicts on its item.

    Also counts the reviews of samples without a score, which no edit can represent.
    """
    verdicts_by_item = _group_by_item(verdicts)
    planned = _EditsOfSamples()
    for item in items:
        if item.id not in verdicts_by_item:
            continue
        edits = list(_plan_edits(item, verdicts_by_item[item.id], log_metrics))
        # The value is None if the sample has no score.
        edits_with_value = [edit for edit in edits if edit.value is not None]
        planned.n_unscored += len(edits) - len(edits_with_value)
        key = _make_sample_key(item.metadata.get("sample"), epoch=item.metadata.get("epoch"))
        planned.by_sample[key] = edits_with_value
    return planned


def _group_by_item(verdicts: Sequence[ReviewedVerdict]) -> dict[str, list[ReviewedVerdict]]:
    verdicts_by_item: dict[str, list[ReviewedVerdict]] = {}
    for verdict in verdicts:
        verdicts_by_item.setdefault(verdict.item_id, []).append(verdict)
    return verdicts_by_item


def _plan_edits(
    item: ScoredItem, verdicts: Sequence[ReviewedVerdict], log_metrics: LogMetrics
) -> Iterator[PlannedEdit]:
    """Yield one edit for each reviewed score, with the value that the corrected metrics use."""
    by_score: dict[str, ReviewedVerdict] = {}
    for verdict in verdicts:
        by_score.setdefault(_choose_score_name(item, verdict, log_metrics), verdict)
    for name, verdict in by_score.items():
        is_part = parse_part_score_name(name) is not None
        value = (
            verdict.value if is_part else leaderboard.get_reviewed_value(item, name, log_metrics)
        )
        yield PlannedEdit(name, value=value, verdict=verdict)


def _choose_score_name(item: ScoredItem, verdict: ReviewedVerdict, log_metrics: LogMetrics) -> str:
    """Return the name of the score that a reviewed verdict edits.

    A verdict on the item edits the primary score, one on a criterion the score of that criterion.
    Any other verdict becomes a score of its own.
    """
    if (verdict.target, verdict.criterion) == ITEM_CORRECT:
        return log_metrics.primary or ""

    if verdict.target == ITEM:
        for name, value in as_object(item.metadata.get("scores")).items():
            criteria_of_keys = [f"{name}.{key}" for key in as_object(value)]
            if verdict.criterion == name or verdict.criterion in criteria_of_keys:
                return str(name)
    return make_part_score_name(verdict.target, verdict.criterion)
