"""Divide a large Inspect log into parts that several processes can read.

Only the archive of a finished run is divided. Each part consists of samples, in the order of the
dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fcreview.importers.inspect.log import ArchiveLog, InspectLog, open_log
from fcreview.importers.inspect.log_start import UnreadableLog
from fcreview.importers.inspect.read import (
    RunContext,
    SampleName,
    collect_statistics,
    list_log_paths,
    make_context,
    make_items,
    make_verdict_fact,
    read_end_of_log,
    read_header,
    read_up_to_scored_sample,
    report_run_status,
    report_values,
)
from fcreview.importers.inspect.scales import LogStatistics
from fcreview.model.item import PartSummary, ReadRecord
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import DependentParts, RunPart, RunPlan, group_into_parts

PART_BYTES = 25_000_000
"""Size of a part after decompression, in bytes. Each part reads the header, the list of members
and the first sample again.
"""
MAX_PARTS = 16


@dataclass(frozen=True, slots=True)
class SamplesOfPart:
    """The selection of a part."""

    names: list[str]
    """Names of the archive's members with the samples."""
    statistics: LogStatistics
    """The values of the scores in the whole log."""


@dataclass(frozen=True, slots=True)
class LogPart:
    """What reading some samples says about the whole log."""

    statistics: LogStatistics
    """The values of the scores in the whole log."""
    scored: list[ScoredItem]
    item_ids: dict[SampleName, str]
    n_unpacked_bytes: int
    """Number of bytes that were decompressed."""


def split_run(plan: RunPlan) -> list[RunPart]:
    """Return parts of the samples of a run that has one archive with scores."""
    paths = list_log_paths(plan)
    if len(paths) != 1:
        return []
    sizes = _measure_samples(paths[0])
    n_parts = min(sum(sizes.values()) // PART_BYTES, MAX_PARTS)
    if n_parts < 2:
        return []

    # Without scores, each part would search for a sample with scores in the whole log.
    statistics = collect_statistics(paths)
    if not statistics.by_name:
        return []
    return [
        replace(part, selection=SamplesOfPart(part.selection, statistics))
        for part in group_into_parts(sizes, n_parts)
    ]


def _measure_samples(path: Path) -> dict[str, int]:
    """Return the bytes of each sample in an archive with summaries. Empty for any other file."""
    try:
        with open_log(path) as log:
            if log.archive is None or not log.archive.has_summaries:
                return {}
            members = log.archive.reader.members
            return {name: members[name].file_size for name in log.archive.ordered_names}
    except UnreadableLog:
        return {}


def read_part(plan: RunPlan, part: RunPart) -> Iterator[ReadRecord]:
    """Yield the items of some samples, and then a summary. The first part also yields what precedes
    the items.

    Raises DependentParts if the parts cannot be read on their own: the archive is too large, or is
    no longer the one that was divided.
    """
    (path,) = list_log_paths(plan)
    try:
        with open_log(path) as log:
            if log.archive is None:
                raise DependentParts
            yield from _read_part_of_log(log, log.archive, plan, part)
    except UnreadableLog as error:
        raise DependentParts from error


def _read_part_of_log(
    log: InspectLog, archive: ArchiveLog, plan: RunPlan, part: RunPart
) -> Iterator[ReadRecord]:
    """Yield the records of a part. `archive` is the archive of the log."""
    selection: SamplesOfPart = part.selection
    context = make_context(plan)
    context.statistics = selection.statistics
    is_first = part.index == 0
    if is_first:
        yield from report_run_status(log)
    # This sets in the context what the fact about the verdicts and the items need.
    read_header(log, read_up_to_scored_sample(log.read_samples()), context)
    if is_first:
        yield make_verdict_fact(context)
        yield from archive.report_misplaced_samples()

    yield from make_items(archive.read_members(selection.names), context)
    yield PartSummary(_summarize_part(context, archive))


def _summarize_part(context: RunContext, archive: ArchiveLog) -> LogPart:
    """Return what the end of the import needs from a part.

    Raises DependentParts if the parts cannot be read on their own.
    """
    if not context.has_samples or archive.reader.budget.is_spent:
        raise DependentParts
    return LogPart(
        context.statistics,
        scored=context.scored,
        item_ids=context.item_ids.used_ids,
        n_unpacked_bytes=archive.reader.budget.n_bytes,
    )


def finish_run(plan: RunPlan, parts: Sequence[LogPart]) -> Iterator[ReadRecord]:
    """Yield what follows the items of all samples.

    Raises DependentParts if a sample or an item id is in two parts, or if all parts together unpack
    to more than is allowed.
    """
    _check_ids(parts)
    context = make_context(plan)
    # Each part knows the statistics of the whole log, but only the scores of its own samples.
    context.statistics = parts[0].statistics
    for part in parts:
        context.scored += part.scored

    (path,) = list_log_paths(plan)
    try:
        with open_log(path) as log:
            _check_budget(log, parts)
            yield from read_end_of_log(log, context)
    except UnreadableLog as error:
        raise DependentParts from error
    yield from report_values(plan.run.path, context.statistics)


def _check_ids(parts: Sequence[LogPart]) -> None:
    """Raise DependentParts if a sample or an item id is in two parts."""
    used_names: set[SampleName] = set()
    used_ids: set[str] = set()
    for part in parts:
        item_ids = set(part.item_ids.values())
        has_known_name = not used_names.isdisjoint(part.item_ids)
        has_known_id = not used_ids.isdisjoint(item_ids)
        if has_known_name or has_known_id:
            raise DependentParts
        used_names |= part.item_ids.keys()
        used_ids |= item_ids


def _check_budget(log: InspectLog, parts: Sequence[LogPart]) -> None:
    """Raise DependentParts if all parts together unpack to more than is allowed."""
    n_unpacked_bytes = sum(part.n_unpacked_bytes for part in parts)
    if log.archive is None or n_unpacked_bytes > log.archive.reader.budget.limit:
        raise DependentParts
