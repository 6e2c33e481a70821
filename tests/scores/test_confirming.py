"""The law of figures: whoever confirms what the benchmark says changes none of its figures, of whatever source."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fcreview.importers.registry import IMPORTERS
from tests.examples import examples
from tests.scores.reviewed import Reviewed, changed

Opened = Callable[[Sequence[Path]], Reviewed]
BENCH = (
    "acebench", "atif", "bfcl_v1", "bfcl_v4", "complexfuncbench", "confetti", "hammerbench", "harbor_job", "inspect",
)  # fmt: skip


def confirm_subsets(runs: Reviewed, times: float) -> None:
    before = runs.figures()
    every = runs.automatic()
    assert every
    assert changed(before, runs.figures(*runs.says(every))) == {}

    @examples(times, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32), st.floats(0, 1), st.booleans())
    def some(seed: int, share: float, two: bool) -> None:
        chosen = [one for one in every if random.Random(f"{seed} {one}").random() < share]
        events = runs.says(chosen)
        if two:
            events += runs.says(chosen[::2], who="bob")
        assert changed(before, runs.figures(*events)) == {}

    some()


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(IMPORTERS))
def test_confirming_changes_no_figure_of_the_sample_runs(samples: Path, opened: Opened, name: str) -> None:
    confirm_subsets(opened([samples / name]), 0.25)


@pytest.mark.sweep
@pytest.mark.parametrize("name", BENCH)
def test_confirming_changes_no_figure_of_whole_runs(bench: Path, opened: Opened, name: str) -> None:
    confirm_subsets(opened([bench / name]), 0.02)
