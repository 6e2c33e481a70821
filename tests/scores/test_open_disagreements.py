"""Open disagreements: figures keep the automatic verdict, say how many are open, and have bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.report_data import compute_combined_metrics, compute_run_metrics, load_scored_runs
from fcreview.exporters.report.metrics import MetricRow, format_disagreements
from fcreview.model.metric import MetricKey
from fcreview.model.review import Event
from fcreview.model.verdict import TRUE_MEANS_FAILURE
from fcreview.tui.queue.header import rates_line
from fcreview.tui.text.lines import plain_text
from tests.scores.reviewed import Reviewed, Said, changed
from tests.scores.test_own_verdicts import alternatives

Opened = Callable[[Sequence[Path]], Reviewed]
BENCHMARKS = ("bfcl", "acebench", "hammerbench", "confetti", "complexfuncbench", "generic")


def disputes(runs: Reviewed, said: Iterable[Said]) -> list[Event]:
    """Ann confirms each verdict, bob contradicts it."""
    own = list(said)
    others = [
        Said(one.item, one.target, one.criterion, next(iter(alternatives(one.criterion, one.value)))) for one in own
    ]
    return [*runs.says(own), *runs.says(others, who="bob")]


def lines_of(runs: Reviewed, *events: Event) -> dict[tuple[int, MetricKey], MetricRow]:
    runs.store.reviews.rebuild(events)
    parts = list(load_scored_runs(runs.store.analysis, runs.store.fetch_runs()))
    found = {
        (part.row.run, line.key): line for part in parts for line in compute_run_metrics(part.items, part.row.info)
    }
    return found | {(0, line.key): line for line in compute_combined_metrics(parts)}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_dispute_moves_no_figure_at_any_level(samples: Path, opened: Opened, benchmark: str) -> None:
    """Every verdict there is, one criterion after the other: items, turns, calls, arguments, scores and lists."""
    runs = opened([samples / benchmark])
    before = runs.figures()
    every = runs.automatic()
    for criterion in {one.criterion for one in every}:
        events = disputes(runs, [one for one in every if one.criterion == criterion])
        assert changed(before, runs.figures(*events)) == {}, criterion
    assert changed(before, runs.figures(*disputes(runs, every))) == {}


def test_no_bounds_without_a_dispute(samples: Path, opened: Opened) -> None:
    runs = opened([samples / "bfcl"])
    agreed = runs.says(runs.automatic()[:5])
    assert not any(line.open_disagreements for line in lines_of(runs, *agreed).values())


def passing(one: Said, value: bool) -> Any:
    return value is not (one.criterion in TRUE_MEANS_FAILURE)


@pytest.mark.parametrize("benchmark", ["bfcl", "acebench", "generic"])
def test_bounds_are_the_figures_of_all_passes_and_all_failures(samples: Path, opened: Opened, benchmark: str) -> None:
    runs = opened([samples / benchmark])
    items = [one for one in runs.automatic() if (one.target, one.criterion) == ("item", "correct")][::2]
    lines = lines_of(runs, *disputes(runs, items))
    ends = [
        runs.figures(*runs.says([Said(one.item, one.target, one.criterion, passing(one, value)) for one in items]))
        for value in (True, False)
    ]
    tried = 0
    for (run, key), line in lines.items():
        values = [line.values["corrected"], *(end.get((run or None, "corrected", key)) for end in ends)]
        known = [value for value in values if value is not None]
        if line.open_disagreements:
            assert (line.corrected_low, line.corrected_high) == (min(known), max(known)), key
            tried += 1
        else:
            assert len(set(known)) <= 1 or line.values["corrected"] is None, key
    assert tried


def test_each_figure_counts_the_disagreements_that_it_depends_on(samples: Path, opened: Opened) -> None:
    runs = opened([samples / "bfcl"])
    verdict = lambda name, value: Said(runs.item(name, 1), "item", "correct", value)  # noqa: E731
    said = [verdict("simple_python_1", False), verdict("simple_python_2", False), verdict("irrelevance_0", True)]
    automatic = {one.item: one.value for one in runs.automatic() if (one.target, one.criterion) == ("item", "correct")}
    lines = lines_of(runs, *disputes(runs, [Said(*one_key(one), automatic[one.item]) for one in said]))
    counts = {
        key[2]: line.open_disagreements for (run, key), line in lines.items() if run == 1 and key[0] == "accuracy"
    }
    assert (counts["simple_python"], counts["non_live"], counts["irrelevance"], counts["overall"]) == (2, 2, 1, 3)
    assert counts["multiple"] == counts["multi_turn"] == 0
    assert format_disagreements(lines[1, ("accuracy", 3, "simple_python")]).startswith("2 · ")


def one_key(one: Said) -> tuple[int, str, str]:
    return one.item, one.target, one.criterion


def test_runs_and_the_header_show_how_many_are_open(samples: Path, opened: Opened) -> None:
    runs = opened([samples / "bfcl"])
    before = runs.store.fetch_runs()[0]
    items = [one for one in runs.automatic() if (one.target, one.criterion) == ("item", "correct")]
    runs.store.reviews.rebuild(disputes(runs, items[:13]))
    row, other = runs.store.fetch_runs()
    assert (row.disputed, other.disputed) == (13, 0)
    assert (row.effective_pass, row.effective_known) == (before.effective_pass, before.effective_known)
    assert "corrected 35.9 %   13 disagreements" in plain_text(rates_line([row], 120))
    assert "corrected 35.9 %   13 open " in plain_text(rates_line([row], 62)) + " "
    assert "open" not in plain_text(rates_line([other], 120))
