"""Shared fixtures.

Tests on published results look in FCREVIEW_BENCH or ../shared/bench, else they are skipped.
"""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from fcreview.store import database
from fcreview.store.workspace import Workspace, find_workspace
from tests.examples import LONG
from tests.sharing import Imports
from tests.store.factory import Imported, import_items

gc.disable()  # until the tests are collected
ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("quick", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("default", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("FCREVIEW_EXAMPLES") or "default")


MAX_ID = 200


def pytest_make_parametrize_id(val: object) -> str | None:
    """Shorten the ids of long values, because pytest-xdist sends each id many times.

    Some values have a megabyte.
    """
    if isinstance(val, str | bytes) and len(val) > MAX_ID:
        return f"{val[:MAX_ID]!a} ({len(val)})"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use the fixture `bench` or `process` with the marker of the same name."""
    for item in items:
        for name in {"bench", "process"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(name)


def pytest_collection_finish() -> None:
    """Exclude the loaded modules from garbage collection, because they stay until the end."""
    gc.collect()
    gc.freeze()
    database.has_frozen_objects = lambda: True  # counting 100,000 objects for each store is slow
    gc.set_threshold(100_000, 20, 100)
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """Unfreeze after pytest's last garbage collection.

    Otherwise DuckDB reports objects that were not freed.
    """
    config.add_cleanup(gc.unfreeze)


def bench_folder() -> Path:
    return Path(os.environ.get("FCREVIEW_BENCH") or ROOT.parent / "shared" / "bench")


@pytest.fixture(scope="session")
def bench() -> Path:
    folder = bench_folder()
    if not folder.is_dir():
        pytest.skip("no published results: set FCREVIEW_BENCH or copy them to ../shared/bench")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _separate_state_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Create the key of the decision cache in a temporary folder instead of the home folder."""
    os.environ["XDG_STATE_HOME"] = str(state := tmp_path_factory.mktemp("state"))
    (state / "fcreview").mkdir()
    (state / "fcreview" / "welcome").touch()  # suppresses the welcome line of the first start


@pytest.fixture(autouse=True, scope="session")
def _handle_signals() -> None:
    """Handle SIGHUP and SIGINT.

    After nohup or `&` they are ignored, and child processes would inherit that.
    """
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(autouse=True)
def _fixed_seed(request: pytest.FixtureRequest) -> None:
    """Seed `random` by the name of the test, except in the long forms."""
    if not LONG:
        random.seed(request.node.nodeid)


@pytest.fixture(scope="session")
def samples() -> Path:
    return ROOT / "sample_runs"


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    """`import_items` of tests/store/factory.py that copies the workspace if the same items were
    imported before.
    """
    templates: dict[str, Path] = {}

    def make(place: Path, runs: dict[str, list[dict[str, Any]]]) -> Workspace:
        key = json.dumps(runs)
        if key not in templates:
            templates[key] = tmp_path_factory.mktemp("imported") / "runs"
            import_items(templates[key], runs)
        shutil.copytree(templates[key], place, dirs_exist_ok=True)
        return find_workspace(place)

    return make


@pytest.fixture(scope="session")
def imports(tmp_path_factory: pytest.TempPathFactory) -> Imports:
    """Imported runs, shared by all processes of pytest-xdist."""
    own = tmp_path_factory.getbasetemp()
    return Imports((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "imports")
