from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.scores.reviewed import Reviewed
from tests.sharing import Imports


@pytest.fixture(scope="session")
def opened(imports: Imports) -> Iterator[Callable[[Sequence[Path]], Reviewed]]:
    """Opens the runs at some paths, each set of paths once."""
    known: dict[tuple[Path, ...], Reviewed] = {}

    def open_runs(paths: Sequence[Path]) -> Reviewed:
        if tuple(paths) not in known:
            known[tuple(paths)] = Reviewed(imports.of(paths))
        return known[tuple(paths)]

    yield open_runs
    for one in known.values():
        one.close()
