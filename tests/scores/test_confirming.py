"""Reviews that confirm automatic verdicts change no metric of any source."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fcreview.importers.registry import IMPORTERS
from tests.examples import examples
from tests.scores.reviewed_runs import ReviewedRuns, find_changes

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
BENCH = (
    "acebench", "atif", "bfcl_v1", "bfcl_v4", "complexfuncbench", "confetti", "hammerbench", "harbor_job", "inspect",
)  # fmt: skip


def confirm_subsets(runs: ReviewedRuns, times: float) -> None:
    before = runs.compute_metrics()
    every = runs.automatic_verdicts()
    assert every
    assert find_changes(before, runs.compute_metrics(*runs.make_events(every))) == {}

    @examples(times, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32), st.floats(0, 1), st.booleans())
    def confirm_random_subset(seed: int, share: float, two: bool) -> None:
        chosen = [one for one in every if random.Random(f"{seed} {one}").random() < share]
        events = runs.make_events(chosen)
        if two:
            events += runs.make_events(chosen[::2], annotator="bob")
        assert find_changes(before, runs.compute_metrics(*events)) == {}

    confirm_random_subset()


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(IMPORTERS))
def test_confirming_changes_no_metric_of_sample_runs(samples: Path, open_runs: OpenRuns, name: str) -> None:
    confirm_subsets(open_runs([samples / name]), 0.25)


@pytest.mark.sweep
@pytest.mark.parametrize("name", BENCH)
def test_confirming_changes_no_metric_of_published_runs(bench: Path, open_runs: OpenRuns, name: str) -> None:
    confirm_subsets(open_runs([bench / name]), 0.02)
