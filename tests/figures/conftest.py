from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.figures.reviewed import Reviewed


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Sequence[Path]], Reviewed]]:
    """Opens the runs at some paths, each set of paths once."""
    known: dict[tuple[Path, ...], Reviewed] = {}

    def open_runs(paths: Sequence[Path]) -> Reviewed:
        if tuple(paths) not in known:
            known[tuple(paths)] = Reviewed(tmp_path_factory.mktemp("figures"), paths)
        return known[tuple(paths)]

    yield open_runs
    for one in known.values():
        one.close()
