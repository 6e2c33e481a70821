"""Metrics with open disagreements keep the automatic verdict, count the disagreements and have
bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.report_data import compute_combined_metrics, compute_run_metrics, load_scored_runs
from fcreview.exporters.report_summary import MetricRow, format_open_disagreements
from fcreview.model.metric import MetricKey
from fcreview.model.review import Event
from fcreview.model.verdict import TRUE_MEANS_FAILURE
from fcreview.tui.queue.header import rates_line
from fcreview.tui.text.lines import plain_text
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns, find_changes
from tests.scores.test_own_verdicts import contradicting_values

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
BENCHMARKS = ("bfcl", "acebench", "hammerbench", "confetti", "complexfuncbench", "generic")


def make_disagreements(runs: ReviewedRuns, verdicts: Iterable[ItemVerdict]) -> list[Event]:
    """Return events in which ann confirms each verdict and bob contradicts it."""
    own = list(verdicts)
    others = [
        ItemVerdict(
            one.item,
            one.target,
            one.criterion,
            next(iter(contradicting_values(one.criterion, one.value))),
        )
        for one in own
    ]
    return [*runs.make_events(own), *runs.make_events(others, annotator="bob")]


def compute_rows(runs: ReviewedRuns, *events: Event) -> dict[tuple[int, MetricKey], MetricRow]:
    runs.store.reviews.rebuild(events)
    parts = list(load_scored_runs(runs.store.analysis, runs.store.fetch_runs()))
    found = {
        (part.row.run, line.key): line
        for part in parts
        for line in compute_run_metrics(part.items, part.row.info)
    }
    return found | {(0, line.key): line for line in compute_combined_metrics(parts)}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_disagreement_changes_no_metric(samples: Path, open_runs: OpenRuns, benchmark: str) -> None:
    """Annotators disagree on every verdict of items, turns, calls, arguments, scores and lists."""
    runs = open_runs([samples / benchmark])
    before = runs.compute_metrics()
    every = runs.automatic_verdicts()
    for criterion in {one.criterion for one in every}:
        events = make_disagreements(runs, [one for one in every if one.criterion == criterion])
        assert find_changes(before, runs.compute_metrics(*events)) == {}, criterion
    assert find_changes(before, runs.compute_metrics(*make_disagreements(runs, every))) == {}


def test_no_bounds_without_a_disagreement(samples: Path, open_runs: OpenRuns) -> None:
    runs = open_runs([samples / "bfcl"])
    agreed = runs.make_events(runs.automatic_verdicts()[:5])
    assert not any(line.open_disagreements for line in compute_rows(runs, *agreed).values())


def passing_value(one: ItemVerdict, value: bool) -> Any:
    return value is not (one.criterion in TRUE_MEANS_FAILURE)


@pytest.mark.parametrize("benchmark", ["bfcl", "acebench", "generic"])
def test_bounds_are_metrics_with_all_passes_and_all_failures(
    samples: Path, open_runs: OpenRuns, benchmark: str
) -> None:
    runs = open_runs([samples / benchmark])
    items = [
        one
        for one in runs.automatic_verdicts()
        if (one.target, one.criterion) == ("item", "correct")
    ][::2]
    lines = compute_rows(runs, *make_disagreements(runs, items))
    ends = [
        runs.compute_metrics(
            *runs.make_events(
                [
                    ItemVerdict(one.item, one.target, one.criterion, passing_value(one, value))
                    for one in items
                ]
            )
        )
        for value in (True, False)
    ]
    tried = 0
    for (run, key), line in lines.items():
        values = [
            line.values["corrected"],
            *(end.get((run or None, "corrected", key)) for end in ends),
        ]
        known = [value for value in values if value is not None]
        if line.open_disagreements:
            assert (line.corrected_low, line.corrected_high) == (min(known), max(known)), key
            tried += 1
        else:
            assert len(set(known)) <= 1 or line.values["corrected"] is None, key
    assert tried


def test_each_metric_counts_its_disagreements(samples: Path, open_runs: OpenRuns) -> None:
    runs = open_runs([samples / "bfcl"])
    verdict = lambda name, value: ItemVerdict(runs.find_item(name, 1), "item", "correct", value)  # noqa: E731
    overrides = [
        verdict("simple_python_1", False),
        verdict("simple_python_2", False),
        verdict("irrelevance_0", True),
    ]
    automatic = {
        one.item: one.value
        for one in runs.automatic_verdicts()
        if (one.target, one.criterion) == ("item", "correct")
    }
    lines = compute_rows(
        runs,
        *make_disagreements(
            runs, [ItemVerdict(*target_key(one), automatic[one.item]) for one in overrides]
        ),
    )
    counts = {
        key[2]: line.open_disagreements
        for (run, key), line in lines.items()
        if run == 1 and key[0] == "accuracy"
    }
    assert (
        counts["simple_python"],
        counts["non_live"],
        counts["irrelevance"],
        counts["overall"],
    ) == (2, 2, 1, 3)
    assert counts["multiple"] == counts["multi_turn"] == 0
    assert format_open_disagreements(lines[1, ("accuracy", 3, "simple_python")]).startswith("2 · ")


def target_key(one: ItemVerdict) -> tuple[int, str, str]:
    return one.item, one.target, one.criterion


def test_run_list_and_header_count_open_disagreements(samples: Path, open_runs: OpenRuns) -> None:
    runs = open_runs([samples / "bfcl"])
    before = runs.store.fetch_runs()[0]
    items = [
        one
        for one in runs.automatic_verdicts()
        if (one.target, one.criterion) == ("item", "correct")
    ]
    runs.store.reviews.rebuild(make_disagreements(runs, items[:13]))
    row, other = runs.store.fetch_runs()
    assert (row.disputed, other.disputed) == (13, 0)
    assert (row.effective_pass, row.effective_known) == (
        before.effective_pass,
        before.effective_known,
    )
    assert "corrected 35.9 %   13 disagreements" in plain_text(rates_line([row], 120))
    assert "corrected 35.9 %   13 unresolved " in plain_text(rates_line([row], 62)) + " "
    assert "open" not in plain_text(rates_line([other], 120))
