"""Export a copy of each Inspect log, with reviews as edits of the scores and with recomputed
results.

Each human verdict becomes an edit of a score. If the verdict confirms the score, the edit repeats
the value and so marks the item as reviewed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.exporters.base import ExportError, ExportSource, Label
from fcreview.model.effective_verdict import RESOLUTIONS, is_definite, is_same_verdict
from fcreview.model.review import Event, ItemKey, find_retracted_events
from fcreview.run_plan import ReviewedVerdict, RewrittenFile

if TYPE_CHECKING:
    from fcreview.store.rows import RunRow

BENCHMARK = "inspect"
SUFFIX = "-reviewed"
MAX_LISTED_METRICS = 5  # maximum number of metrics that an error message lists
KEPT_METRIC = "fcreview_not_recomputed"
"""Key in the metadata of a metric that fcreview did not recompute after a review."""
CHECK_TOLERANCE = 1e-9
"""Maximum difference, due to rounding, between a result in a copy and the result that
`inspect_ai` computes.
"""


def write_reviewed_logs(source: ExportSource, folder: Path) -> None:
    """Write a copy of each Inspect log that has reviews, with the reviews as edits of its scores.

    Raises ExportError if no run comes from an Inspect log.
    """
    runs = [run for run in source.runs if run.info.benchmark == BENCHMARK]
    # The importer writes the logs, by an optional service of this name.
    can_write_logs = source.benchmark_services.write_reviewed_logs is not None
    if not runs or not can_write_logs:
        raise ExportError("no run comes from an Inspect log. Choose another format.")

    n_items = 0
    n_files = 0
    for run in runs:
        verdicts = list(_iter_reviewed_verdicts(source, run.run))
        n_items += len({verdict.item_id for verdict in verdicts})
        n_files += _write_logs_of_run(source, run, verdicts, folder)
    # The command prints these counts at the end.
    source.counts |= {"log": n_files, "reviewed item": n_items}


def _write_logs_of_run(
    source: ExportSource, run: RunRow, verdicts: Sequence[ReviewedVerdict], folder: Path
) -> int:
    """Write the copies of the logs of a run. Return their number.

    Reviews that a log cannot contain are printed.
    """
    services = source.benchmark_services
    if services.write_reviewed_logs is None:
        return 0
    plan = replace(services.find_plan(run.info), run=run.info)
    corrected_scores = source.store.analysis.fetch_scored_items(run.run)["corrected"]

    n_files = 0
    for result in services.write_reviewed_logs(plan, verdicts, corrected_scores):
        if isinstance(result, RewrittenFile):
            _choose_unused_path(folder, result.path).write_bytes(result.content)
            n_files += 1
        else:
            omission = f"{result.description} ({result.count:,})"
            source.print_note(f"{run.run_name}: the copy cannot contain: {omission}")
    return n_files


def _choose_unused_path(folder: Path, log_path: Path) -> Path:
    """Return an unused path for the copy of a log, because logs from different folders may have
    the same name.
    """
    stem = f"{log_path.stem}{SUFFIX}"
    path = folder / f"{stem}{log_path.suffix}"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}{log_path.suffix}"
    return path


def _iter_reviewed_verdicts(source: ExportSource, run: int) -> Iterator[ReviewedVerdict]:
    """Yield the verdicts of a run on which annotators agree or that are adjudicated."""
    from fcreview.store.label_fields import LabelSelection

    view = replace(source.view, runs=(run,))
    for lines in source.store.iter_label_batches(view, LabelSelection("reviewed")):
        for line in lines:
            label = orjson.loads(line)
            if label["decided_by"] in RESOLUTIONS and is_definite(label["human"]):
                yield _make_reviewed_verdict(source, label)


def _make_reviewed_verdict(source: ExportSource, label: Label) -> ReviewedVerdict:
    """Convert a label with a human verdict to an edit of a score, which has one author, time and
    reason.

    They come from the adjudication, else from an annotator who agrees with the verdict.
    """
    opinions = [opinion for opinion in label["opinions"] if not opinion["stale"]]
    events = _find_events_of_label(source, label)
    decision = _make_decision(_find_deciding_opinion(opinions, label["human"]), events)
    return ReviewedVerdict(
        label["id"],
        target=label["target"],
        criterion=label["criterion"],
        value=label["human"],
        author=decision.author,
        time=decision.time,
        reason=decision.reason or label["fault"],
        details={
            "annotators": label["n_annotators"],
            "agree": _count_agreeing_annotators(opinions, label["human"]),
            "fault": label["fault"],
            "tags": label["tags"],
            "blind": decision.blind,
            "events": [event.event for event in events],
        },
    )


@dataclass(frozen=True, slots=True)
class _Decision:
    """Who decided a verdict, when, and why."""

    author: str
    time: str
    reason: Any = None
    blind: bool | None = None


def _make_decision(opinion: dict[str, Any] | None, events: Sequence[Event]) -> _Decision:
    """Return the decision of an opinion. Without an opinion, the verdict follows from reviews of
    parts of the item, and the last of these reviews decided it.
    """
    if opinion is None:
        last_event = events[-1]
        return _Decision(last_event.annotator, last_event.time)
    return _Decision(
        opinion["annotator"],
        opinion["time"],
        # The words of the reviewer come before the standard reasons.
        reason=opinion.get("note") or opinion.get("reason"),
        blind=opinion.get("blind"),
    )


def _find_deciding_opinion(
    opinions: Sequence[dict[str, Any]], verdict: Any
) -> dict[str, Any] | None:
    """Return the first adjudication, else the first opinion with the verdict, else None."""
    for opinion in opinions:
        if opinion["act"] == "adjudicate":
            return opinion
    for opinion in opinions:
        if is_same_verdict(opinion["value"], verdict):
            return opinion
    return None


def _count_agreeing_annotators(opinions: Sequence[dict[str, Any]], verdict: Any) -> int:
    """Count the annotators who gave a verdict. An adjudicator is no annotator."""
    annotators = set()
    for opinion in opinions:
        if opinion["act"] != "adjudicate" and is_same_verdict(opinion["value"], verdict):
            annotators.add(opinion["annotator"])
    return len(annotators)


def _find_events_of_label(source: ExportSource, label: Label) -> list[Event]:
    """Return the reviews from which a label follows, without retracted ones.

    These are the reviews on its target and criterion. If there are none, the verdict follows from
    reviews of parts of the item, so all reviews of the item are returned.
    """
    key = ItemKey(*[label[name] for name in ItemKey._fields])
    history = source.store.reviews.events.get_history(key)
    retracted_events = find_retracted_events(history)

    events_of_item = []
    events_of_label = []
    for event in history:
        is_retracted = (event.event, event.annotator) in retracted_events
        if event.act == "retract" or is_retracted:
            continue
        events_of_item.append(event)
        if event.target == label["target"] and event.criterion == label["criterion"]:
            events_of_label.append(event)
    return events_of_label or events_of_item


def check_and_count_log_copies(folder: Path) -> int:
    """Read each copy with the package `inspect_ai`, and return the number of copies.

    Raises ExportError if the package is missing, if it cannot read a copy, or if it computes other
    results than the copy contains.
    """
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    try:
        import inspect_ai.log  # noqa: F401
    except ImportError as error:
        raise ExportError(
            "--check needs the package inspect_ai: pip install 'fcreview[inspect]'"
        ) from error

    for path in paths:
        try:
            wrong_metrics = _find_wrong_metrics(path)
        except Exception as error:
            raise ExportError(f"{path.name}: inspect_ai cannot read the copy: {error}") from error
        if wrong_metrics:
            listed = ", ".join(wrong_metrics[:MAX_LISTED_METRICS])
            raise ExportError(f"{path.name}: inspect_ai computes different results: {listed}")
    return len(paths)


def _find_wrong_metrics(path: Path) -> list[str]:
    """Return the metrics of a log that differ from what `inspect_ai` computes from its scores."""
    from inspect_ai.log import read_eval_log, recompute_metrics

    log = read_eval_log(str(path))
    # Computing replaces the values in the log, so they are saved first.
    written_values = _get_metric_values(log)
    kept_metrics = _list_kept_metrics(log)
    if log.samples and log.results and log.results.scores:
        recompute_metrics(log)

    wrong_metrics = []
    for name, value in _get_metric_values(log).items():
        is_compared = name in written_values and name not in kept_metrics
        if is_compared and not _is_equal_metric_value(value, written_values[name]):
            wrong_metrics.append(name)
    return wrong_metrics


def _get_metric_values(log: Any) -> dict[str, Any]:
    return {name: metric.value for name, metric in _iter_named_metrics(log)}


def _iter_named_metrics(log: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name, metric). Several scorers and reducers can have the same metric."""
    if log.results is None:
        return
    for score in log.results.scores:
        for key, metric in score.metrics.items():
            yield f"{score.name} {score.reducer or ''} {key}", metric


def _list_kept_metrics(log: Any) -> set[str]:
    """Return the metrics that keep their values because fcreview cannot recompute them, such as
    random ones.
    """
    kept_metrics: set[str] = set()
    for name, metric in _iter_named_metrics(log):
        if (metric.metadata or {}).get(KEPT_METRIC):
            kept_metrics.add(name)
    return kept_metrics


def _is_equal_metric_value(first: Any, second: Any) -> bool:
    """Whether two values of a metric are equal, except for rounding."""
    if first == second:
        return True
    # Only NaN differs from itself. `inspect_ai` computes it as the mean of no scores.
    are_both_nan = first != first and second != second
    return are_both_nan or bool(abs(first - second) <= CHECK_TOLERANCE)
