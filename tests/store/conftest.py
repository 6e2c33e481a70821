"""A store of two runs with 500 items each, shared by tests that only read it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fcreview.model.item import Item
from fcreview.run_plan import RunPlan
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from tests.store.factory import make_item, write_run

ERRORS = [None, "value_error:string", "value_error", "type_error:simple"]


def read_many(plan: RunPlan) -> Iterator[Item]:
    for n in range(500):
        official = (True, False, False, None)[n % 4]
        yield make_item(
            n,
            category=f"c{n % 3}",
            official=official,
            rule=n % 5 == 0,
            error_type=None if official else ERRORS[n % 7 % 4],
            diff_function=None if official else [None, "f", 'say "none"', "none"][n % 11 % 4],
            diff_argument=None if official else [None, "a|b", "a"][n % 3],
            verdicts=[],
        )


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    place = tmp_path_factory.mktemp("store")
    workspace = find_workspace(place)
    import_runs(workspace, [write_run(place / name, [{}], name) for name in ("a", "b")], read_many)
    return workspace


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with Store.open(workspace, "alice") as store:
        yield store
