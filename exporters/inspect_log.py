"""Inspect export: a copy of each log, with reviews as edits of its main score and recomputed results.

Each item with a decided verdict gets one edit. An edit that confirms the value marks the item as reviewed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fcreview.exporters.base import ExportError, ExportSource
from fcreview.model.review import ITEM_CORRECT, Opinion
from fcreview.model.verdict import same_verdict
from fcreview.run_plan import ReviewedVerdict, RewrittenFile
from fcreview.store.rows import ItemDetail

BENCHMARK = "inspect"
SUFFIX = "-reviewed"


def write(source: ExportSource, folder: Path) -> None:
    """Write the logs of the source's Inspect runs to the folder.

    Raises ExportError if no run comes from an Inspect log.
    """
    edit = source.benchmarks.write_reviewed_logs
    runs = [run for run in source.runs if run.info.benchmark == BENCHMARK]
    if not runs or edit is None:
        raise ExportError("no run comes from an Inspect log")
    n_edits = n_files = 0
    for run in runs:
        view = replace(source.view, runs=(run.run,))
        details = (each for chunk in source.store.iter_details(view) for each in chunk)
        verdicts = list(_reviewed_verdicts(details))
        for each in edit(source.benchmarks.find_plan(run.info), verdicts):
            if not isinstance(each, RewrittenFile):
                source.benchmarks.print_message(f"{run.info.model}: cannot be written: {each.description}")
                continue
            target = _unused(folder, each.path)
            target.write_bytes(each.content)
            n_files += 1
        n_edits += len(verdicts)
    source.counts |= {"log": n_files, "reviewed item": n_edits}


def _unused(folder: Path, path: Path) -> Path:
    """Return a name for the copy. Logs of several folders may have the same name."""
    number = 1
    target = folder / f"{path.stem}{SUFFIX}{path.suffix}"
    while target.exists():
        number += 1
        target = folder / f"{path.stem}{SUFFIX}-{number}{path.suffix}"
    return target


def _reviewed_verdicts(details: Iterable[ItemDetail]) -> Iterable[ReviewedVerdict]:
    for detail in details:
        human = detail.row.human
        opinions = [
            each for each in detail.opinions
            if (each.target, each.criterion) == ITEM_CORRECT and each.verdict is not None and not each.stale
        ]  # fmt: skip
        if not isinstance(human, bool):
            continue
        deciding = next((each for each in opinions if each.is_adjudication), None)
        agreeing = [each for each in opinions if same_verdict(each.verdict, human)]
        named = deciding or next(iter(agreeing), None)
        if named is None:  # the verdict follows from reviews of parts
            named = next((each for each in detail.opinions if not each.stale), None)
        if named is not None:
            yield _make_verdict(detail, human, named, agreeing)


def _make_verdict(detail: ItemDetail, passed: bool, named: Opinion, agreeing: list[Opinion]) -> ReviewedVerdict:
    annotators = {each.annotator for each in detail.opinions if not each.is_adjudication}
    details: dict[str, Any] = {
        "annotators": len(annotators),
        "agree": len({each.annotator for each in agreeing if not each.is_adjudication}),
        "fault": named.fault,
        "tags": named.tags or [],
        "blind": named.blind,
        "events": [event.event for event in detail.history],
    }
    reason = named.note or named.reason or named.fault
    return ReviewedVerdict(detail.item.id, passed, named.annotator, named.time, reason, details)
