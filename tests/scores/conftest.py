from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.scores.reviewed_runs import ReviewedRuns
from tests.sharing import Imports


@pytest.fixture(scope="session")
def open_runs(imports: Imports) -> Iterator[Callable[[Sequence[Path]], ReviewedRuns]]:
    """Return a function that opens the runs at some paths and reuses runs that are open."""
    known: dict[tuple[Path, ...], ReviewedRuns] = {}

    def open_once(paths: Sequence[Path]) -> ReviewedRuns:
        if tuple(paths) not in known:
            known[tuple(paths)] = ReviewedRuns(imports.of(paths))
        return known[tuple(paths)]

    yield open_once
    for runs in known.values():
        runs.close()
