"""The decisive step is stored as a recomputed verdict, and a review of it changes no metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fcreview.model.verdict import DECISIVE_STEP
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns, find_changes

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]


def test_moving_every_decisive_step_changes_no_metric(samples: Path, open_runs: OpenRuns) -> None:
    runs = open_runs([samples / "tau"])
    steps = [each for each in runs.automatic_verdicts() if each.criterion == DECISIVE_STEP]
    assert {each.target for each in steps} == {"item"}
    assert len(steps) == 7
    before = runs.compute_metrics()
    moved = [ItemVerdict(each.item, each.target, each.criterion, each.value + 1) for each in steps]
    assert (
        find_changes(before, runs.compute_metrics(*runs.make_events(moved), *runs.make_events(steps, annotator="bob")))
        == {}
    )


def test_stored_steps_have_a_kind_and_a_rationale(samples: Path, open_runs: OpenRuns) -> None:
    rows = open_runs([samples / "tau"]).store.run_sql(
        "SELECT i.official, v.source, v.error_type, v.rationale FROM verdicts v JOIN items i USING (item)"
        f" WHERE criterion = '{DECISIVE_STEP}'"
    )[1]
    assert {(official, source) for official, source, *_ in rows} == {(False, "rule")}
    assert all(kind and sentence.endswith(".") for *_, kind, sentence in rows)
