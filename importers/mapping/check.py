"""Check a mapping file: read everything that it names, and count what was found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.importers.mapping.counts import MappingCounts
from fcreview.importers.mapping.files import list_files
from fcreview.importers.mapping.mapping_file import ItemMapping, check_mapping
from fcreview.importers.mapping.read import check_items
from fcreview.model.item import ImportIssue, Item

VERDICT_NAMES = {True: "pass", False: "fail", None: "none"}


@dataclass(slots=True)
class MappingReport:
    """What a check of a mapping file found."""

    problems: list[str] = field(default_factory=list)
    """Mistakes in the mapping file itself."""
    issues: list[ImportIssue] = field(default_factory=list)
    counts: MappingCounts = field(default_factory=MappingCounts)
    verdicts: dict[str, int] = field(default_factory=dict)
    """Number of items by official verdict: `pass`, `fail` or `none`."""
    n_judge_verdicts: int = 0
    n_human_verdicts: int = 0

    @property
    def errors(self) -> list[ImportIssue]:
        return [issue for issue in self.issues if issue.severity == "error"]


def check_mapping_file(path: Path) -> MappingReport:
    """Check a mapping file with all files that it names. What has no mistake is read."""
    checked = check_mapping(path)
    report = MappingReport(list(checked.problems))
    if checked.mapping is None:
        return report

    base = path.parent
    report.problems += find_sources_without_files(checked.mapping, base)

    verdicts: Counter[str] = Counter()
    for reading in check_items(checked.mapping, base):
        match reading:
            case ImportIssue():
                report.issues.append(reading)
            case MappingCounts():
                report.counts = reading
            case Item():
                report.issues += reading.issues
                verdicts[VERDICT_NAMES[reading.official]] += 1
                _count_opinions(report, reading)

    report.verdicts = dict(verdicts)
    return report


def find_sources_without_files(mapping: ItemMapping, base: Path) -> list[str]:
    """Return a mistake for each source that names no file."""
    return [
        f"source[{index}].files: no file matches {', '.join(source.globs)}"
        for index, source in enumerate(mapping.sources)
        if not list_files(base, source)
    ]


def _count_opinions(report: MappingReport, item: Item) -> None:
    for verdict in item.verdicts:
        is_judge_verdict = verdict.source == "judge" and isinstance(verdict.value, bool)
        report.n_judge_verdicts += is_judge_verdict
    for review in item.extra.recorded_reviews:
        report.n_human_verdicts += isinstance(review.verdict, bool)
