"""Shared fixtures. Tests on real benchmark files find them by FCREVIEW_BENCH or at ../shared/bench, else skip."""

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

from fcreview.store import garbage_collection
from fcreview.store.workspace import Workspace, find_workspace
from tests.sharing import Imports
from tests.store.factory import Imported, import_items

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("quick", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("default", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("FCREVIEW_EXAMPLES") or "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What uses benchmark files or starts the program is marked so by the fixture it asks for."""
    for item in items:
        for name in {"bench", "process"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(name)


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    garbage_collection.has_frozen_objects = lambda: True  # counting 100,000 objects at each start of a store takes long
    gc.set_threshold(50_000, 20, 20)


def pytest_configure(config: pytest.Config) -> None:
    """Runs after pytest's last garbage collections. Without it, DuckDB reports objects that were not freed."""
    config.add_cleanup(gc.unfreeze)


def bench_folder() -> Path:
    return Path(os.environ.get("FCREVIEW_BENCH") or ROOT.parent / "shared" / "bench")


@pytest.fixture(scope="session")
def bench() -> Path:
    folder = bench_folder()
    if not folder.is_dir():
        pytest.skip("benchmark files not here: set FCREVIEW_BENCH or put them at ../shared/bench")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The key of the decision cache is made here, not in the home folder of the person who runs the tests."""
    os.environ["XDG_STATE_HOME"] = str(state := tmp_path_factory.mktemp("state"))
    (state / "fcreview").mkdir()
    (state / "fcreview" / "welcome").touch()  # no test is the first start


@pytest.fixture(autouse=True, scope="session")
def _signals_as_in_a_shell() -> None:
    """Under nohup, or behind `&` in a script, they are ignored, and so they would be by every program started here."""
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(autouse=True)
def _fixed_seed(request: pytest.FixtureRequest) -> None:
    """Every run of the tests draws the same cases. Only the long forms draw new ones each time."""
    if "long" not in (os.environ.get("FCREVIEW_EXAMPLES"), os.environ.get("FCREVIEW_FAULTS")):
        random.seed(request.node.nodeid)


@pytest.fixture(scope="session")
def samples() -> Path:
    return ROOT / "sample_runs"


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    """As `import_items` of tests/store/factory.py, but what was imported once is copied the next time."""
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
    """Runs imported once, for all processes of pytest-xdist."""
    own = tmp_path_factory.getbasetemp()
    return Imports((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "imports")
