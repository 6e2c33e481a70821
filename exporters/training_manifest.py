"""Build the manifest of exported training rows: from which files, rules and people they come, how
far the labels agree, and how often the automatic verdicts are wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fcreview.exporters.training_rewards import RewardCounts
from fcreview.model.review import CORRECT
from fcreview.stats.agreement import build_rating_groups, compute_coefficients
from fcreview.stats.calibration import CalibrationMeasure, compute_calibrations

if TYPE_CHECKING:
    from fcreview.exporters.base import ExportSource
    from fcreview.exporters.decontamination import BenchmarkMatch
    from fcreview.store.label_fields import Split
    from fcreview.store.rows import RunRow

FORMAT = 1
"""Format version, the value of `fcreview_manifest`."""
MAX_LISTED_MATCHES = 1000


@dataclass(slots=True)
class RowFacts:
    """Counts of the exported training rows, and of the items that were left out. They are written
    to the manifest beside the export.
    """

    format: str
    rows: int = 0
    benchmark_rows: int = 0
    """Rows that contain data of a benchmark."""
    corrected_rows: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    """Rows by label, for formats whose rows are right or wrong."""
    splits: Counter[str] = field(default_factory=Counter)
    rows_by_run: Counter[int] = field(default_factory=Counter)
    annotators: Counter[str] = field(default_factory=Counter)
    """Rows whose item an annotator reviewed."""
    incidents: int = 0
    """Items that were left out because they have no answer of the model."""
    untrusted_verdicts: int = 0
    """Unreviewed items that were left out because annotators found their golden answer wrong."""
    rewards: RewardCounts = field(default_factory=RewardCounts)
    """Validity of the rewards of all items of the view."""
    unclear_replies: int = 0
    """Failing conversations that were left out because it is unknown which reply is wrong."""
    matches: list[tuple[str, BenchmarkMatch]] = field(default_factory=list)
    """Items, by id, that were left out because a given benchmark has their question."""
    n_benchmark_questions: int = 0
    """Questions of the given benchmarks. 0 if none was given."""


def build_manifest(source: ExportSource, facts: RowFacts) -> dict[str, Any]:
    """Build the JSON object of the manifest of rows that were just written."""
    runs = [row for row in source.store.fetch_runs() if row.run in facts.rows_by_run]
    return {
        "fcreview_manifest": FORMAT,
        "fcreview": version("fcreview"),
        "format": facts.format,
        "filter": source.view.where,
        "queue": source.view.queue,
        "options": _describe_options(source),
        "counts": {
            "rows": facts.rows,
            "contain_benchmark": facts.benchmark_rows,
            "corrected_golden": facts.corrected_rows,
            "labels": dict(facts.labels),
            "incidents_left_out": facts.incidents,
            "unclear_replies_left_out": facts.unclear_replies,
            "untrusted_verdicts_left_out": facts.untrusted_verdicts,
        },
        "rewards": facts.rewards.to_json(),
        "splits": _describe_splits(source.selection.training.splits, facts),
        "decontamination": _describe_decontamination(source, facts),
        "runs": [_describe_run(source, row, facts) for row in runs],
        "annotators": dict(sorted(facts.annotators.items())),
        "agreement": _measure_agreement(source),
        "automatic_verdicts": _measure_automatic_verdicts(source),
    }


def _describe_splits(splits: Sequence[Split], facts: RowFacts) -> dict[str, Any]:
    grouping = ""
    if splits:
        # Rows that belong together are in the same split.
        grouping = "question, conversation, siblings and equal texts"
    return {
        "rows": dict(facts.splits),
        "shares": {split.name: split.share for split in splits},
        "groups": grouping,
    }


def _describe_options(source: ExportSource) -> dict[str, Any]:
    options = source.selection.training
    fields = asdict(options)
    fields["decontaminate"] = [str(path) for path in options.decontaminate]
    del fields["splits"]  # a part of its own
    return fields


def _describe_decontamination(source: ExportSource, facts: RowFacts) -> dict[str, Any]:
    """Return how many items were left out because of given benchmarks, and which ones."""
    kinds = Counter(match.kind for _, match in facts.matches)
    listed = []
    for item_id, match in facts.matches[:MAX_LISTED_MATCHES]:
        listed.append({"id": item_id, **asdict(match)})
    return {
        "benchmarks": [str(path) for path in source.selection.training.decontaminate],
        "questions": facts.n_benchmark_questions,
        "exact": kinds["exact"],
        "near": kinds["near"],
        "items": listed,
        "items_not_listed": max(len(facts.matches) - MAX_LISTED_MATCHES, 0),
    }


def _describe_run(source: ExportSource, row: RunRow, facts: RowFacts) -> dict[str, Any]:
    """Describe a run: its files by their hashes, and how fcreview read them."""
    info = row.info
    files: dict[str, list[str]] = {}
    for kind, digest in source.store.fetch_source_hashes(row.run):
        files.setdefault(kind, []).append(digest)

    read_as = {}
    for fact in info.facts.values():
        read_as[fact.name] = {"value": fact.value, "reason": fact.reason}

    return {
        "run": row.run,
        "run_name": row.run_name,
        "benchmark": info.benchmark,
        "generation": info.generation,
        "language": info.language,
        "model": info.model,
        "items": row.n_items,
        "rows": facts.rows_by_run[row.run],
        "source_hashes": files,
        "read_as": read_as,
    }


def _measure_agreement(source: ExportSource) -> list[dict[str, Any]]:
    """Return the agreement of the annotators on whole items of the runs, one object for each
    coefficient. The list is empty if there are fewer than two annotators.
    """
    coefficients = []
    ratings = source.store.analysis.fetch_ratings(source.view)
    for group in build_rating_groups(ratings, ["overall"], "all"):
        if group.criterion != CORRECT:
            continue
        names = {rating.annotator for rating in group.ratings}
        for coefficient in compute_coefficients(group):
            # A coefficient of only some annotators, such as a pair, is left out.
            if set(coefficient.annotators) != names:
                continue
            coefficients.append(
                {
                    "measure": coefficient.metric,
                    "annotators": list(coefficient.annotators),
                    "value": coefficient.value,
                    "low": coefficient.low,
                    "high": coefficient.high,
                    "n": coefficient.n_units,
                }
            )
    return coefficients


def _measure_automatic_verdicts(source: ExportSource) -> list[dict[str, Any]]:
    """Return how often each source of automatic verdicts passes what annotators fail (false
    positives) and fails what they pass (false negatives), with 95 % intervals.
    """
    measured = []
    pairs = source.store.analysis.fetch_verdict_pairs(source.view)
    for calibration in compute_calibrations(pairs, ["overall"]):
        if not calibration.binary or calibration.criterion != CORRECT:
            continue
        measures = {measure.metric: measure for measure in calibration.rates}
        measured.append(
            {
                "source": calibration.source,
                "judge": calibration.judge,
                "chosen": calibration.chosen,
                "n": calibration.n,
                "false_positive_rate": _complement(measures.get("tnr")),
                "false_negative_rate": _complement(measures.get("tpr")),
            }
        )
    return measured


def _complement(measure: CalibrationMeasure | None) -> dict[str, Any]:
    """Return 1 minus a rate, with its interval. All values are None if the rate is unknown."""
    if measure is None or measure.value is None:
        return {"value": None, "low": None, "high": None, "n": 0}

    # The high end of the rate gives the low end of its complement.
    low = None if measure.high is None else 1 - measure.high
    high = None if measure.low is None else 1 - measure.low
    return {"value": 1 - measure.value, "low": low, "high": high, "n": measure.n}
