"""Published runs under other model names have the verdicts that they have under their own names."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bfcl_renamed import MIN_EQUAL, Totals, compare_runs
from tests.examples import only_long

pytestmark = [pytest.mark.sweep, pytest.mark.bench]

RUNS = (
    "bfcl_families/v3 gemini-2.0",  # native objects
    pytest.param("bfcl_families/v3 NousResearch", marks=only_long),  # tags
    pytest.param("bfcl_v1_panel firefunction", marks=only_long),  # names with dots
    pytest.param("bfcl_families/v3 THUDM", marks=only_long),
    pytest.param("bfcl_families/v1 command-r-plus", marks=only_long),
    pytest.param("bfcl_families/v1 deepseek-ai", marks=only_long),  # finds few calls
    pytest.param("bfcl_v1_panel gpt-4-0613-FC", marks=only_long),
)


@pytest.mark.parametrize("run", RUNS)
def test_renamed_run_keeps_its_verdicts(bench: Path, tmp_path: Path, run: str) -> None:
    totals = Totals()
    for comparison in compare_runs(bench, tmp_path, run):
        totals.add(comparison)
    assert totals.n_names >= 7
    assert (totals.n_missed, totals.n_silent) == (0, 0)
    assert totals.share >= MIN_EQUAL
