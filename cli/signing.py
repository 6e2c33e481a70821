"""Build the signing sheet of a run from its sample, its estimate and the files from which it was
read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
from fcreview.store.judgements import get_judgements_folder
from fcreview.tables.estimates import (
    format_metric_estimate,
    format_metric_range,
    summarize_source_strata,
)

if TYPE_CHECKING:
    from pathlib import Path

    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.stats.agreement_ratings import Rating
    from fcreview.stats.estimation import MetricEstimate
    from fcreview.store.estimation import RunSampleStatus
    from fcreview.store.queue_file import QueueFile, SampleDesign
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

    entries = [
        SheetEntry("figure", list(_describe_figure(estimate))),
        SheetEntry("estimand", [_describe_estimand(row, estimate)]),
        SheetEntry("design", list(_describe_design(status))),
        SheetEntry("response", [_describe_response(status)]),
        SheetEntry("labels", list(_describe_labels(session, row, status, estimate))),
        SheetEntry("method", list(_describe_method(estimate, status, settings.seed))),
        SheetEntry("run", list(_describe_run(session, row))),
        SheetEntry("data", list(_describe_sources(session, row))),
        SheetEntry("reviews", list(_describe_journals(session.workspace))),
        *_build_judges_entry(session.workspace),
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
        f"the score {sanitize(estimate.name)!a} of {sanitize(row.info.full_title)} on all {items}"
        " of this run, if people had reviewed every item. It does not cover other questions or"
        " other answers of the model"
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
    facts = [*_list_draw_facts(queue), *_list_frame_facts(queue.design)]
    return sanitize("; ".join(facts))


def _list_draw_facts(queue: QueueFile) -> Iterator[str]:
    """Yield the size, the kind, the seed and the time of the sample, and its strata."""
    design = queue.design
    is_stratified = len(queue.strata) > 1
    # A queue with clusters draws whole groups of items.
    population = format_count(design.population, design.unit)
    kind = "stratified" if is_stratified else "simple"

    yield f"queue {sanitize(queue.name)}: {design.size:,} of {population}"
    yield f"{kind} random sample without replacement, seed {design.seed}"
    yield f"drawn {sanitize(queue.created)}"
    if is_stratified:
        yield _describe_strata(queue)


def _list_frame_facts(design: SampleDesign) -> Iterator[str]:
    """Yield what limits the items from which the sample was drawn."""
    if design.n_incidents:
        yield f"{format_count(design.n_incidents, 'incident')} left out"
    if design.where:
        yield f"filter {design.where}"
    if design.extends:
        yield f"extends {design.extends} for {design.target}"
    if design.excludes:
        earlier_queues = ", ".join(design.excludes)
        yield f"without the {design.n_excluded:,} items of {earlier_queues}"


def _describe_strata(queue: QueueFile) -> str:
    """Say by what the strata of a queue are defined, and how the sample is divided among them."""
    design = queue.design
    criteria = [design.stratify] if design.stratify else []
    if design.sources:
        criteria = [f"how many of these sources pass: {', '.join(design.sources)}"]
    if design.extends:
        criteria.append("automatic verdict")

    allocation = "proportional allocation"
    if design.allocation or design.extends:
        allocation = "Neyman allocation"
    n_strata = format_count(len(queue.strata), "stratum", "strata")
    return f"{n_strata} by {' and '.join(criteria)}, {allocation}"


def _describe_response(status: RunSampleStatus) -> str:
    counts = count_sample_outcomes(status.items)
    if not counts["drawn"]:
        return "–"
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _describe_labels(
    session: WorkspaceSession, row: RunRow, status: RunSampleStatus, estimate: MetricEstimate
) -> Iterator[str]:
    """Describe how reliable the labels are, and which of them are not from the sample."""
    yield from describe_label_agreement([estimate], count_run_label_agreement(session, row))

    if status.samples:
        yield _describe_blindness(session, row, status)
    n_outside = estimate.n_known - estimate.n_random
    if n_outside > 0:
        items = format_count(n_outside, "item")
        yield f"{items} reviewed outside the sample, which represent only themselves"


def _describe_blindness(session: WorkspaceSession, row: RunRow, status: RunSampleStatus) -> str:
    """Say how many reviews of the sample are blind. An item with two reviewers counts twice."""
    # A review counts once, even if its item is in several queues.
    blind_by_review: dict[tuple[int, str], bool | None] = {}
    for rating in _fetch_sample_ratings(session, row, status):
        blind_by_review[rating.item, rating.annotator] = rating.blind

    counts = Counter(blind_by_review.values())
    reviews = format_count(len(blind_by_review), "review")
    return (
        f"{reviews} of sampled items: {counts[True]:,} blind, {counts[False]:,} with other verdicts"
        f" in view, {counts[None]:,} unknown"
    )


def _fetch_sample_ratings(
    session: WorkspaceSession, row: RunRow, status: RunSampleStatus
) -> Iterator[Rating]:
    """Fetch the verdicts of annotators on the items of each queue of a run's samples."""
    from fcreview.store.rows import View

    for sample in status.samples:
        for name in sample.queue_names:
            # The view reads the items of the queue from a table, which this fills.
            session.store.load_queue(name)
            view = View(queue=name, runs=(row.run,))
            yield from session.store.analysis.fetch_ratings(view)


def _describe_method(estimate: MetricEstimate, status: RunSampleStatus, seed: int) -> Iterator[str]:
    """Describe how the interval was computed, or why there is none."""
    from fcreview.stats.estimation import explain_missing_interval

    if estimate.method != "posterior":
        yield explain_missing_interval(estimate.method, estimate.criteria)
        return
    labels = format_count(estimate.n_random, "label")
    model = "from the posterior of a Bayesian model"
    if any(item.cluster is not None for item in status.items):
        model = "from a Bayesian bootstrap of whole groups"
    yield (
        f"95 % credible interval {model}, {labels} of the sample, seed {seed};"
        " method and coverage: docs/estimates.md, docs/coverage.md"
    )
    if estimate.is_bounds_headline:
        yield (
            "the range is from the low end of the interval if all undecided items fail to its high"
            " end if they all pass"
        )
    if status.sources.uses:
        yield summarize_source_strata(status.sources)


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
    folder = workspace.root / "reviews"
    paths = sorted(path for path in folder.rglob("*.jsonl") if path.is_file())
    if paths:
        yield f"{format_count(len(paths), 'journal')}, hash {_hash_files(paths)}"


def _build_judges_entry(workspace: Workspace) -> Iterator[SheetEntry]:
    """Yield an entry with the files of the judges that fcreview asked, if there are any."""
    folder = get_judgements_folder(workspace)
    paths = sorted(path for path in folder.glob("*.jsonl") if path.is_file())
    if paths:
        files = f"{format_count(len(paths), 'file')}, hash {_hash_files(paths)}"
        yield SheetEntry("judges", [f"asked by fcreview: {files}"])


def _hash_files(paths: Iterable[Path]) -> str:
    """Return one hash of the contents of files."""
    from fcreview.store.importing.source_files import hash_file

    return _combine_hashes([hash_file(path) for path in paths])


def _combine_hashes(digests: Sequence[str]) -> str:
    """Combine hashes of files to one hash that does not depend on their order."""
    lines = "\n".join(sorted(digests))
    return blake2b(lines.encode(), digest_size=16).hexdigest()
