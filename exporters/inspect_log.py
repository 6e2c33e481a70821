"""Export a copy of each Inspect log, with reviews as edits of the scores and with recomputed
results.

Each human verdict becomes an edit of a score. If the verdict confirms the score, the edit repeats
the value and so marks the item as reviewed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from fcreview.exporters.base import ExportError, ExportSource, Label
from fcreview.model.effective_verdict import RESOLUTIONS, is_definite, is_same_verdict
from fcreview.model.review import Event, ItemKey, find_retracted_events
from fcreview.run_plan import ReviewedVerdict, RewrittenFile

BENCHMARK = "inspect"
SUFFIX = "-reviewed"
KEPT_METRIC = "fcreview_not_recomputed"
"""Key in the metadata of a metric that fcreview did not recompute after a review."""
CHECK_TOLERANCE = 1e-9
"""Maximum difference, due to rounding, between a result in a copy and the result that
`inspect_ai` computes.
"""


def write_reviewed_logs(source: ExportSource, folder: Path) -> None:
    """Write a copy of each log with reviews.

    Raises ExportError if no run comes from an Inspect log.
    """
    rewrite_logs = source.benchmark_services.write_reviewed_logs
    runs = [run for run in source.runs if run.info.benchmark == BENCHMARK]
    if not runs or rewrite_logs is None:
        raise ExportError("no run comes from an Inspect log. Choose another format.")

    n_items = 0
    n_files = 0
    for run in runs:
        plan = replace(source.benchmark_services.find_plan(run.info), run=run.info)
        verdicts = list(_iter_reviewed_verdicts(source, run.run))
        corrected_scores = source.store.analysis.fetch_scored_items(run.run)["corrected"]
        for result in rewrite_logs(plan, verdicts, corrected_scores):
            if isinstance(result, RewrittenFile):
                _choose_unused_path(folder, result.path).write_bytes(result.content)
                n_files += 1
            else:
                source.print_note(
                    f"{run.run_name}: the copy cannot contain: {result.description}"
                    f" ({result.count:,})"
                )
        n_items += len({verdict.item_id for verdict in verdicts})
    source.counts |= {"log": n_files, "reviewed item": n_items}


def _choose_unused_path(folder: Path, log_path: Path) -> Path:
    """Return an unused path for the copy of a log, because logs from different folders may have
    the same name.
    """
    number = 1
    target = folder / f"{log_path.stem}{SUFFIX}{log_path.suffix}"
    while target.exists():
        number += 1
        target = folder / f"{log_path.stem}{SUFFIX}-{number}{log_path.suffix}"
    return target


def _iter_reviewed_verdicts(source: ExportSource, run: int) -> Iterator[ReviewedVerdict]:
    from fcreview.store.label_fields import LabelSelection

    for lines in source.store.iter_label_batches(
        replace(source.view, runs=(run,)), LabelSelection("reviewed")
    ):
        for label in map(orjson.loads, lines):
            if label["decided_by"] in RESOLUTIONS and is_definite(label["human"]):
                yield _make_reviewed_verdict(source, label)


def _make_reviewed_verdict(source: ExportSource, label: Label) -> ReviewedVerdict:
    """Make the edit of a score from a label with a human verdict.

    Author, time and reason come from an adjudication, else from an annotator who agrees with the
    verdict. If nobody gave this verdict, it follows from reviews of parts of the item, and the last
    of them is used.
    """
    opinions = [opinion for opinion in label["opinions"] if not opinion["stale"]]
    agreeing = [
        opinion for opinion in opinions if is_same_verdict(opinion["value"], label["human"])
    ]
    adjudications = [opinion for opinion in opinions if opinion["act"] == "adjudicate"]
    events = _find_events_of_label(source, label)

    deciding: dict[str, Any] = {}
    if adjudications:
        deciding = adjudications[0]
    elif agreeing:
        deciding = agreeing[0]
    if deciding:
        author = deciding["annotator"]
        time = deciding["time"]
    else:
        author = events[-1].annotator
        time = events[-1].time

    agreeing_annotators = {
        opinion["annotator"] for opinion in agreeing if opinion["act"] != "adjudicate"
    }
    return ReviewedVerdict(
        label["id"],
        target=label["target"],
        criterion=label["criterion"],
        value=label["human"],
        author=author,
        time=time,
        reason=deciding.get("note") or deciding.get("reason") or label["fault"],
        details={
            "annotators": label["n_annotators"],
            "agree": len(agreeing_annotators),
            "fault": label["fault"],
            "tags": label["tags"],
            "blind": deciding.get("blind"),
            "events": [event.event for event in events],
        },
    )


def _find_events_of_label(source: ExportSource, label: Label) -> list[Event]:
    """Return the reviews on the label's target and criterion, without retracted ones. If there are
    none, return all reviews of the item, because its verdict follows from those of its parts.
    """
    key = ItemKey(*[label[name] for name in ItemKey._fields])
    history = source.store.reviews.events.get_history(key)
    retracted = find_retracted_events(history)
    events = [
        event
        for event in history
        if event.act != "retract" and (event.event, event.annotator) not in retracted
    ]
    target = (label["target"], label["criterion"])
    return [event for event in events if (event.target, event.criterion) == target] or events


def check_and_count_log_copies(folder: Path) -> int:
    """Read each copy with the package `inspect_ai`, and return the number of copies. Raises
    ExportError if the package is missing or cannot read a copy, or if `inspect_ai` computes other
    results than the copy contains.
    """
    try:
        from inspect_ai.log import read_eval_log, recompute_metrics
    except ImportError as error:
        raise ExportError(
            "--check needs the package inspect_ai: pip install 'fcreview[inspect]'"
        ) from error
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in paths:
        try:
            log = read_eval_log(str(path))
            written = _get_metric_values(log)
            kept = _list_kept_metrics(log)
            if log.samples and log.results and log.results.scores:
                recompute_metrics(log)
        except Exception as error:
            raise ExportError(f"{path.name}: inspect_ai cannot read the copy: {error}") from error

        recomputed = _get_metric_values(log)
        wrong = [
            name
            for name, value in recomputed.items()
            if name not in kept and not _is_equal_metric_value(value, written.get(name, value))
        ]
        if wrong:
            raise ExportError(
                f"{path.name}: inspect_ai computes different results: {', '.join(wrong[:5])}"
            )
    return len(paths)


def _get_metric_values(log: Any) -> dict[str, Any]:
    scores = log.results.scores if log.results is not None else ()
    values: dict[str, Any] = {}
    for score in scores:
        for key, metric in score.metrics.items():
            values[f"{score.name} {score.reducer or ''} {key}"] = metric.value
    return values


def _list_kept_metrics(log: Any) -> set[str]:
    """Return the metrics that keep their values because fcreview cannot recompute them, such as
    random ones.
    """
    kept: set[str] = set()
    for score in log.results.scores if log.results is not None else ():
        for key, metric in score.metrics.items():
            if (metric.metadata or {}).get(KEPT_METRIC):
                kept.add(f"{score.name} {score.reducer or ''} {key}")
    return kept


def _is_equal_metric_value(first: Any, second: Any) -> bool:
    return bool(
        first == second
        or (first != first and second != second)
        or abs(first - second) <= CHECK_TOLERANCE
    )
