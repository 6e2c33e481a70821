from __future__ import annotations

import gc

import pytest

from fcreview.store import database
from fcreview.store.database import pause_garbage_collection


@pytest.fixture(autouse=True)
def count_frozen_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count frozen objects for real, unlike tests/conftest.py."""
    monkeypatch.setattr(database, "has_frozen_objects", lambda: gc.get_freeze_count() > 0)


def test_objects_created_in_a_pause_are_in_the_oldest_generation() -> None:
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    try:
        with pause_garbage_collection():
            created = [[number] for number in range(1000)]
        assert gc.isenabled()
        assert created not in gc.get_objects(generation=0)
        assert any(each is created for each in gc.get_objects(generation=2))
    finally:
        if frozen:
            gc.freeze()


def test_pause_keeps_frozen_objects_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with pause_garbage_collection():
        pass
    assert gc.get_freeze_count() == frozen
