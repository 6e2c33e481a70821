"""Shared fixtures. Tests on real benchmark files find them by FCREVIEW_BENCH or at ../shared/bench, else skip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def bench_folder() -> Path:
    return Path(os.environ.get("FCREVIEW_BENCH") or ROOT.parent / "shared" / "bench")


@pytest.fixture(scope="session")
def bench() -> Path:
    folder = bench_folder()
    if not folder.is_dir():
        pytest.skip("benchmark files not here: set FCREVIEW_BENCH or put them at ../shared/bench")
    return folder


@pytest.fixture(scope="session")
def samples() -> Path:
    return ROOT / "sample_runs"
