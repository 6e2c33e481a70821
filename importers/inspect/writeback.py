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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile, ZipInfo

from fcreview.importers.common.budgets import ArchiveBudget, format_megabytes
from fcreview.importers.common.jsonl import count_values
from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.inspect import leaderboard
from fcreview.importers.inspect.leaderboard import LogMetrics
from fcreview.importers.inspect.log import HEADER, SUMMARIES, ArchiveReader, is_sample_file
from fcreview.importers.inspect.metrics import (
    EpochValue,
    MetricSpec,
    NotRecomputable,
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
        buffer = io.BytesIO(content)
        archive: ZipFile = import_zipfile().ZipFile(buffer, "a")
        members = dict(archive.NameToInfo)
        reader = ArchiveReader(archive, ArchiveBudget.for_archive(len(content)))
        edited = self._edit_sample_members(reader)
        if not edited.n_changed:
            return content
        if HEADER not in members:
            raise LogEditError("the log has no header, so it cannot be edited")

        replaced = dict(edited.member_texts)
        if SUMMARIES in members:
            summaries = _update_summaries(_parse_member(reader, SUMMARIES), edited.summaries)
            replaced[SUMMARIES] = _to_member_text(summaries)
        if edited.changed_scorers:
            header = _parse_member(reader, HEADER)
            reductions = _parse_member(reader, REDUCTIONS) if REDUCTIONS in members else None
            self._recompute_metrics(header, edited, reductions)
            replaced[HEADER] = _to_member_text(header)
            if reductions is not None:
                replaced[REDUCTIONS] = _to_member_text(reductions)
        for name, text in replaced.items():
            _replace_member(archive, members[name], text)
        archive.close()
        return buffer.getvalue()

    def _edit_sample_members(self, reader: ArchiveReader) -> EditedSamples:
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
        """Recompute the metrics and the reduced scores of the changed scores."""
        results = log.get("results") or {}
        recorded = results.get("scores") or []
        named = {(each.get("scorer"), each.get("name")) for each in recorded if each.get("reducer")}
        for entry in recorded:
            scorer, name, reducer = (
                str(entry.get("scorer")),
                str(entry.get("name")),
                entry.get("reducer"),
            )
            if scorer not in edited.changed_scorers:
                continue
            column = ScoreColumn(
                name,
                scorer=scorer,
                reducer=reducer,
                metrics=[],
                is_unreduced=reducer is None and (scorer, name) in named,
            )
            self._recompute_column(entry, column, edited)
        for entry in reductions or ():
            if str(entry.get("scorer")) in edited.changed_scorers:
                _update_reduced_values(
                    entry, list(_collect_epoch_values(edited.summaries, str(entry.get("scorer"))))
                )

    def _recompute_column(
        self, entry: JsonObject, column: ScoreColumn, edited: EditedSamples
    ) -> None:
        stored = self._find_stored_column(column)
        has_all_samples = stored is None or not stored.has_fewer_samples_than_recorded
        try:
            reduced = reduce_column(
                column, list(_collect_epoch_values(edited.summaries, column.scorer))
            )
        except NotRecomputable:
            reduced = None
        if reduced is not None and has_all_samples:
            entry["scored_samples"] = sum(each.value is not None for each in reduced)
            entry["unscored_samples"] = len(reduced) - entry["scored_samples"]

        for key, metric in entry.get("metrics", {}).items():
            own_name, params = str(metric.get("name") or key), metric.get("params") or {}
            spec = MetricSpec(
                key, name=own_name, params=params, is_grouped=metric.get("group") == "grouped"
            )
            computed = (
                None
                if reduced is None or not has_all_samples
                else try_compute_metric(spec, reduced)
            )
            if computed is None or not computed.is_recomputable:
                self.n_kept_metrics += 1
                metric["metadata"] = as_object(metric.get("metadata")) | {NOT_RECOMPUTED: True}
            else:
                metric["value"] = float("nan") if computed.value is None else computed.value

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
    """Return whether the last edit of the score is an earlier export of the same journal events."""
    history = as_list(as_object(scores.get(planned.score)).get("history"))
    metadata = (history[-1].get("provenance") or {}).get("metadata") if history else None
    events = ((metadata or {}).get("fcreview") or {}).get("events")
    return bool(events) and events == planned.verdict.details.get("events")


def _edit_score(sample: JsonObject, scores: JsonObject, planned: PlannedEdit) -> bool:
    """Add an edit to a score, or add the score if it is missing.

    Return whether its value changed.
    """
    score, verdict = scores.get(planned.score), planned.verdict
    old = to_json_value(score.get("value")) if score is not None else None
    value = to_log_value(planned.value)
    provenance: JsonObject = {
        "timestamp": verdict.time,
        "author": verdict.author,
        "reason": verdict.reason,
    }
    provenance["metadata"] = {"fcreview": verdict.details}
    edit: JsonObject = dict.fromkeys(
        ("value", "answer", "explanation", "reason", "metadata"), UNCHANGED
    )
    edit |= {"value": value, "provenance": provenance}
    if score is None:
        edit |= {"answer": None, "explanation": None, "reason": None}
        scores[planned.score] = {"value": value, "history": [edit]}
    else:
        if not score.get("history"):
            original = {key: score.get(key) for key in ("value", "answer", "explanation", "reason")}
            score["history"] = [original | {"metadata": score.get("metadata") or {}}]
        score["history"].append(edit)
        score["value"] = value
    _insert_edit_event(sample, planned.score, edit)
    return not has_same_type_and_value(planned.value, old)


def _insert_edit_event(sample: JsonObject, score_name: str, edit: Mapping[str, Any]) -> None:
    """Insert the event of an edit into the events of a sample, before the end of the last span
    `scorers`.
    """
    events = sample.get("events")
    if not isinstance(events, list):
        events = sample["events"] = []
    spans = [
        e
        for e in events
        if e.get("event") == "span_begin" and e.get("type") == e.get("name") == "scorers"
    ]
    span = spans[-1].get("id") if spans else None
    ends = [
        at
        for at, e in enumerate(events)
        if span and e.get("event") == "span_end" and e.get("id") == span
    ]
    event = {"event": "score_edit", "span_id": span, "timestamp": edit["provenance"]["timestamp"]}
    event |= {"working_start": 0.0, "score_name": score_name, "edit": edit}
    events.insert(ends[-1] if ends else len(events), event)


def _update_summaries(summaries: Any, samples: Sequence[JsonObject]) -> Any:
    by_key = {(str(each["id"]), each["epoch"]): each for each in samples}
    for summary in summaries if isinstance(summaries, list) else ():
        sample = by_key.get((str(summary.get("id")), summary.get("epoch")))
        own = summary.get("scores") or {}
        for name, score in (sample["scores"] or {}).items() if sample else ():
            own[name] = own.get(name, {}) | {"value": score["value"]}
        if own:
            summary["scores"] = own
    return summaries


def _collect_epoch_values(samples: Sequence[JsonObject], scorer: str) -> Iterator[EpochValue]:
    for sample in samples:
        score = (sample.get("scores") or {}).get(scorer)
        if isinstance(score, dict):
            key, metadata = f"{sample['id']}#{sample['epoch']}", as_object(sample.get("metadata"))
            yield EpochValue(
                key,
                sample=str(sample["id"]),
                value=to_json_value(score.get("value")),
                metadata=metadata,
            )


def _update_reduced_values(reduction: JsonObject, values: Sequence[EpochValue]) -> None:
    by_sample: defaultdict[str, list[Any]] = defaultdict(list)
    for each in values:
        by_sample[each.sample].append(each.value)
    for sample in reduction.get("samples") or ():
        if str(sample.get("sample_id")) in by_sample:
            value = reduce_epochs(by_sample[str(sample["sample_id"])], reduction.get("reducer"))
            sample["value"] = float("nan") if value is None else value


SampleKey = tuple[str, type, Any]
"""The id of a sample as text, the type of the id, and the epoch."""


def write_reviewed_logs(
    plan: RunPlan, verdicts: Sequence[ReviewedVerdict], items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield a copy of each log of a run with the reviewed verdicts as edits of its scores.

    Args:
        plan: the plan of a run whose `official_metrics` contain the score columns.
        verdicts: the reviewed verdicts.
        items: the items with their effective verdicts.
    """
    log_metrics = leaderboard.load_log_metrics(plan.run)
    if log_metrics.primary is None:
        yield Unrepresentable("verdicts on samples of a log without scores", len(verdicts))
        return
    by_item: defaultdict[str, list[ReviewedVerdict]] = defaultdict(list)
    for verdict in verdicts:
        by_item[verdict.item_id].append(verdict)
    edits: dict[SampleKey, list[PlannedEdit]] = {}
    n_unscored = 0
    for item in items:
        if item.id in by_item:
            planned = list(_plan_edits(item, by_item[item.id], log_metrics))
            scored = [each for each in planned if each.value is not None]
            sample = item.metadata.get("sample")
            edits[str(sample), type(sample), item.metadata.get("epoch")] = scored
            n_unscored += len(planned) - len(scored)
    if n_unscored:
        yield Unrepresentable("reviews of samples without a score", n_unscored)

    def find_edits(sample: Mapping[str, Any]) -> Sequence[PlannedEdit]:
        return edits.get(
            (str(sample.get("id")), type(sample.get("id")), sample.get("epoch", 1)), ()
        )

    editor = LogEditor(find_edits, log_metrics)
    for path in list_log_paths(plan):
        try:
            yield RewrittenFile(path, editor.make_edited_log(path))
        except LogEditError as error:
            yield Unrepresentable(f"verdicts on samples of {error}", len(verdicts))
    if editor.n_kept_metrics:
        yield Unrepresentable(
            "metrics that fcreview cannot recompute, and that keep their values",
            editor.n_kept_metrics,
        )


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
    if (verdict.target, verdict.criterion) == ITEM_CORRECT:
        return log_metrics.primary or ""
    scores = as_object(item.metadata.get("scores")) if verdict.target == ITEM else {}
    for name, value in scores.items():
        if verdict.criterion in (name, *(f"{name}.{key}" for key in as_object(value))):
            return str(name)
    return make_part_score_name(verdict.target, verdict.criterion)
