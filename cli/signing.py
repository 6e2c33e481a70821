"""Build the signing sheet of a run from its sample, its estimate and the files from which it was
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from importlib.metadata import version
from typing import TYPE_CHECKING

from fcreview.cli.estimate_data import (
    build_estimation_input,
    count_run_label_agreement,
    count_sample_outcomes,
    describe_label_agreement,
)
from fcreview.exporters.signing_sheet import SheetEntry, SigningSheet
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count, format_metric_value
from fcreview.tables.estimates import (
    format_metric_estimate,
    format_metric_range,
)

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.stats.estimation import MetricEstimate
    from fcreview.store.estimation import RunSampleStatus
    from fcreview.store.queue_file import QueueFile
    from fcreview.store.rows import RunRow
    from fcreview.store.workspace import Workspace


def build_signing_sheet(session: WorkspaceSession, row: RunRow) -> SigningSheet:
    """Build the sheet that a person signs who vouches for a figure of a run.

    The figure is the first metric of `fcreview estimate`. The sheet says what it is, how it was
    measured, and on which data.
    """
    from fcreview.stats.estimation import EstimationSettings, estimate_metrics

    settings = EstimationSettings()
    status = session.store.analysis.fetch_sample_status(row.run)
    estimation_input = build_estimation_input(session, row, status)
    estimate = next(estimate_metrics(estimation_input, settings))
    agreement = count_run_label_agreement(session, row)

    entries = [
        SheetEntry("figure", list(_describe_figure(estimate))),
        SheetEntry("estimand", [_describe_estimand(row, estimate)]),
        SheetEntry("design", list(_describe_design(status))),
        SheetEntry("response", [_describe_response(status)]),
        SheetEntry("labels", list(describe_label_agreement([estimate], agreement))),
        SheetEntry("method", [_describe_method(estimate, settings.seed)]),
        SheetEntry("run", list(_describe_run(session, row))),
        SheetEntry("data", list(_describe_sources(session, row))),
        SheetEntry("reviews", list(_describe_journals(session.workspace))),
        SheetEntry("program", [f"fcreview {version('fcreview')}"]),
    ]
    title = f"{sanitize(row.run_name)}: {sanitize(estimate.name)}"
    return SigningSheet(title, entries)


def _describe_figure(estimate: MetricEstimate) -> Iterator[str]:
    """Describe the estimated, the automatic and the corrected value of a metric."""
    if estimate.is_bounds_headline:
        yield f"estimated {format_metric_range(estimate)} (range, because of undecided items)"
    elif estimate.low is None:
        yield "no estimate"
    else:
        yield f"estimated {format_metric_estimate(estimate)} (95 % interval)"

    automatic = format_metric_value(estimate.automatic, estimate.unit, estimate.digits)
    corrected = format_metric_value(estimate.corrected, estimate.unit, estimate.digits)
    yield f"automatic {automatic}"
    yield f"corrected {corrected}"


def _describe_estimand(row: RunRow, estimate: MetricEstimate) -> str:
    """Return what the estimate is about: the score if people had reviewed every item."""
    items = format_count(row.n_items, "item")
    return (
        f"{sanitize(estimate.name)} of {items} of {sanitize(row.info.full_title)}, if people had"
        " reviewed every item"
    )


def _describe_design(status: RunSampleStatus) -> Iterator[str]:
    """Describe each queue of the samples, and the queues that extend it."""
    if not status.samples:
        yield "no random sample"
    for sample in status.samples:
        yield _describe_queue(sample.queue)
        for extension in sample.extensions:
            yield _describe_queue(extension)


def _describe_queue(queue: QueueFile) -> str:
    """Say how a queue was drawn, so that a reader can draw the same sample again."""
    design = queue.design
    # A queue with clusters draws whole groups of items.
    population = format_count(design.population, design.unit)
    parts = [
        f"queue {sanitize(queue.name)}: {design.size:,} of {population}",
        f"simple random sample without replacement, seed {design.seed}",
        f"drawn {sanitize(queue.created)}",
    ]
    if design.stratify:
        n_strata = format_count(len(queue.strata), "stratum", "strata")
        parts.append(f"stratified by {design.stratify}, {n_strata}")
    if design.where:
        parts.append(f"filter {design.where}")
    if design.extends:
        parts.append(f"extends {design.extends} for {design.target}")
    if design.excludes:
        earlier_queues = ", ".join(design.excludes)
        parts.append(f"without the {design.n_excluded:,} items of {earlier_queues}")
    return sanitize("; ".join(parts))


def _describe_response(status: RunSampleStatus) -> str:
    counts = count_sample_outcomes(status.items)
    if not counts["drawn"]:
        return "–"
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _describe_method(estimate: MetricEstimate, seed: int) -> str:
    """Return how the interval was computed, or why there is none."""
    from fcreview.stats.estimation import explain_missing_interval

    if estimate.method != "posterior":
        return explain_missing_interval(estimate.method, estimate.criteria)
    return (
        f"credible interval from the posterior (docs/estimates.md), seed {seed},"
        f" {estimate.n_random:,} labels"
    )


def _describe_run(session: WorkspaceSession, row: RunRow) -> Iterator[str]:
    """Describe the run, the facts that are recorded about it, and the result of its checks."""
    info = row.info
    n_items = format_count(row.n_items, "item")
    yield f"{sanitize(info.full_title)}, {sanitize(info.model)}, {n_items}"

    for fact in info.facts.values():
        name = fact.name.replace("_", " ")
        reason = f" ({sanitize(fact.reason)})" if fact.reason else ""
        yield f"{name}: {sanitize(str(fact.value))}{reason}"

    for check in session.store.check_runs([row]):
        summary = sanitize(check.summary) or "no problem"
        yield f"check: {summary}"


def _describe_sources(session: WorkspaceSession, row: RunRow) -> Iterator[str]:
    """Describe the files of the run by kind, with one hash of the hashes of all files of a kind."""
    hashes: dict[str, list[str]] = {}
    for kind, digest in session.store.fetch_source_hashes(row.run):
        hashes.setdefault(kind, []).append(digest)
    for kind, digests in hashes.items():
        yield f"{kind}: {format_count(len(digests), 'file')}, hash {_combine_hashes(digests)}"


def _describe_journals(workspace: Workspace) -> Iterator[str]:
    """Describe the journals with the reviews of all annotators by one hash."""
    from fcreview.store.importing.source_files import hash_file

    folder = workspace.root / "reviews"
    paths = sorted(path for path in folder.rglob("*.jsonl") if path.is_file())
    if paths:
        digest = _combine_hashes([hash_file(path) for path in paths])
        yield f"{format_count(len(paths), 'journal')}, hash {digest}"


def _combine_hashes(digests: Sequence[str]) -> str:
    """Combine hashes of files to one hash that does not depend on their order."""
    lines = "\n".join(sorted(digests))
    return blake2b(lines.encode(), digest_size=16).hexdigest()
